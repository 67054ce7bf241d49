"""`decide`: what follows from what a stage saw.

Values in, events out.  The clock and the dice are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from yaoki.core import classify, escalate, retry
from yaoki.core.events import (
    AgentFinished,
    AttemptStarted,
    Cancelled,
    Conflicted,
    EscalateDecided,
    Event,
    Faulted,
    Interrupted,
    Judged,
    Landed,
    LandedOn,
    LandRefused,
    Lost,
    Moved,
    Note,
    Prepared,
    Report,
    RetryDecided,
    Verified,
    Why,
    Worked,
    check_finished,
)
from yaoki.core.model import Failure, Item, Kind, Reason, Stage, Task, TaskKind, Verdict

PERSON = "person"


@dataclass(frozen=True, slots=True)
class Moment:
    """The clock and the dice, as arguments."""

    now: datetime
    chance: float


def decide(task: Task, report: Report, moment: Moment) -> tuple[Event, ...]:
    """What follows from what a stage saw."""
    if task.cancel_wanted and not isinstance(report, LandedOn):
        return (Cancelled("cancelled by a person", getattr(report, "ref", "")),)
    match report:
        case Prepared():
            return _prepared(task, report)
        case Worked():
            return _worked(task, report, moment)
        case Verified():
            return _verified(task, report, moment)
        case Conflicted(paths=paths):
            items = tuple(Item(path, "conflicts with the run branch") for path in paths)
            words = f"{len(paths)} files conflict with the run branch: {', '.join(paths[:5])}"
            failure = classify.failed(Kind.CONFLICT, words, pattern="merge-conflict", items=items)
            failure = replace(failure, params={"conflictedFiles": list(paths[:100])})
            return _failing(task, failure, moment, report.tree)
        case LandedOn():
            return _landed(task, report)
        case Moved(head=head):
            return _moved(task, head, moment)
        case Faulted(message=message, transient=transient, code=code):
            return _failing(task, classify.fault(message, transient=transient, code=code), moment)
        case Lost(why=why):
            return _failing(task, classify.failed(Kind.LOST, why), moment)
        case Interrupted(why=why):
            return _failing(task, classify.failed(Kind.LOST, why), moment)


def _prepared(task: Task, report: Prepared) -> tuple[Event, ...]:
    attempt = task.attempt + 1
    agent = PERSON if task.take_over else (task.agent.name if task.agent else "")
    events: list[Event] = [
        AttemptStarted(
            attempt,
            agent,
            report.base,
            report.worktree,
            report.host,
            report.fresh,
            report.tree,
            report.snapshot,
            report.guards,
        )
    ]
    if report.warning:
        events.append(Note("WARNING", {"message": report.warning}))
    if task.failure is not None:
        events.append(
            Note(
                "RETRY_START",
                {
                    "retry_count": task.counts.total,
                    "previous_failure_type": task.failure.kind.value,
                    "modification_hint": escalate.hint(task.feedback, task.spec.policy.hints),
                },
            )
        )
    return tuple(events)


def _worked(task: Task, report: Worked, moment: Moment) -> tuple[Event, ...]:
    finished = AgentFinished(report.exit, report.head, report.tree, len(report.changed))
    if report.tampered:
        names = ", ".join(report.tampered)
        words = f"the agent changed the repository's own configuration: {names}"
        failure = classify.failed(Kind.ESCALATE_REQUIRED, words)
        return (finished, *_failing(task, failure, moment, report.tree))
    failure_ = classify.before_verify(report.exit)
    if failure_ is not None:
        return (finished, *_failing(task, failure_, moment, report.tree))
    return (finished,)


def _verified(task: Task, report: Verified, moment: Moment) -> tuple[Event, ...]:
    verdict, exit_ = report.verdict, task.work.exit
    unchanged = task.spec.kind is TaskKind.CHANGE and not report.changed
    proven = verdict.passed and not (unchanged and exit_ is not None and not exit_.clean)
    outcomes = {finding.check: finding.outcome.value for finding in verdict.findings}
    judged = Judged(proven, report.commit, report.onto, outcomes, unchanged)
    told: list[Event] = [check_finished(f, report.commit) for f in verdict.findings]
    if proven:
        return (*told, judged)
    failure = classify.of_verdict(verdict, exit_)
    final = failure.kind is Kind.ESCALATE_REQUIRED
    if unchanged and not failure.ours and not final and exit_ is not None:
        nothing = classify.of_nothing(exit_)
        failure = _with_findings(nothing, failure, verdict)
    return (*told, judged, *_failing(task, failure, moment, task.work.tree))


def _with_findings(nothing: Failure, failure: Failure, verdict: Verdict) -> Failure:
    """The findings say what is still missing, so they go along with "nothing was changed"."""
    told = replace(nothing, check=failure.check, output=failure.output)
    if nothing.kind is not Kind.INCOMPLETE:
        return told
    said = [finding.message for finding in verdict.findings if finding.check in {"Q5", "Q6"}]
    words = "; ".join((nothing.message, *said))
    return replace(told, message=words, items=failure.items, params=failure.params)


def _landed(task: Task, report: LandedOn) -> tuple[Event, ...]:
    landed = Landed(report.commit, report.already)
    if task.counts.total == 0:
        return (landed,)
    data = {
        "retry_count": task.counts.total,
        "total_attempts": task.attempt,
        "final_status": "PASS",
        "cured": task.feedback.pattern if task.feedback else "",
    }
    return (landed, Note("RETRY_SUCCESS", data))


def _moved(task: Task, head: str, moment: Moment) -> tuple[Event, ...]:
    """Verify again on the new head; a branch that never stands still is a fault of ours."""
    refused = LandRefused(head)
    if task.work.refused < task.spec.policy.landings_max:
        return (refused,)
    words = f"the run branch moved {task.work.refused + 1} times while this task was verified"
    failure = classify.fault(words, transient=True)
    return (refused, *_failing(replace(task, stage=Stage.VERIFY), failure, moment))


def _failing(task: Task, failure: Failure, moment: Moment, tree: str = "") -> tuple[Event, ...]:
    """Plan the next try, or hand the task to a person."""
    same = retry.same_in_a_row(task, failure, tree)
    decision = retry.decide_retry(task, failure, same, moment.chance)
    why = Why(decision.rule, _inputs(task, failure, decision, same), (decision.otherwise,))
    stage = task.stage if failure.ours else Stage.PREPARE
    if decision.verdict == "RETRY":
        delay_ms = decision.delay // timedelta(milliseconds=1)
        next_agent = 1 if decision.strategy == "next-agent" else 0
        return (
            RetryDecided(
                failure=failure,
                stage=stage,
                due_at=moment.now
                + timedelta(milliseconds=decision.delay // timedelta(milliseconds=1)),
                current_retry_count=decision.current,
                max_retries=decision.maximum,
                delay_ms=delay_ms,
                reasoning=decision.reasoning,
                modification_hint=escalate.hint(failure, task.spec.policy.hints),
                strategy=decision.strategy,
                fresh=decision.strategy in {"fresh", "next-agent"},
                agent_index=task.agent_index + next_agent,
                same_failures=same,
                tree=tree,
                failure_type=failure.kind.value,
                why=why,
            ),
        )
    blocked = decision.reason or Reason.UNKNOWN
    report = escalate.report(task, failure, blocked, decision, moment.now)
    decided = EscalateDecided(
        failure=failure,
        blocked=blocked,
        reason={"type": report.type, "description": report.description},
        failure_summary=report.summary,
        question=report.question,
        stage=stage,
        same_failures=same,
        tree=tree,
        current_retry_count=decision.current,
        max_retries=decision.maximum,
        why=why,
    )
    told = Note(
        "ESCALATE_EXECUTED",
        {"user_message": report.message, "recommended_actions": list(report.actions)},
    )
    return (decided, told)


def _inputs(task: Task, failure: Failure, decision: retry.Decision, same: int) -> dict[str, object]:
    policy = task.spec.policy
    return {
        "kind": failure.kind.value,
        "pattern": failure.pattern,
        "count": decision.current,
        "maximum": decision.maximum,
        "content_failures": task.counts.content - task.forgiven.content,
        "content_retries_max": policy.content_retries_max,
        "total": task.spent_total,
        "max_total_attempts": policy.total_attempts_max,
        "same_failure_in_a_row": same,
        "fingerprint": failure.fingerprint,
        "delay_s": decision.delay.total_seconds(),
        "reasoning": decision.reasoning,
        "retry_after_s": failure.retry_after.total_seconds() if failure.retry_after else None,
    }


__all__ = ["PERSON", "EscalateDecided", "Moment", "decide"]
