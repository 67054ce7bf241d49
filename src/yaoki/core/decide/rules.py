"""`decide`: what follows from what a stage saw.

Values in, events out.  The clock and the dice are arguments.
"""

from __future__ import annotations

from dataclasses import replace

from yaoki.core.counting import count
from yaoki.core.decide import classification, escalation
from yaoki.core.decide.failure_response import Moment, failing
from yaoki.core.machine.events import (
    AgentFinished,
    AttemptStarted,
    Blamed,
    Cancelled,
    Event,
    Judged,
    Landed,
    LandRefused,
    Note,
    Planned,
    Recalled,
    Released,
    RowRefused,
    check_finished,
)
from yaoki.core.machine.evolution import evolve
from yaoki.core.model import (
    GIT_CONFIG,
    NO_CHANGE,
    AgentExit,
    Failure,
    Item,
    Kind,
    Stage,
    Strategy,
    Task,
    TaskKind,
    Verdict,
)
from yaoki.core.model.report import (
    Blame,
    Conflicted,
    Declined,
    Faulted,
    Interrupted,
    LandedOn,
    Lost,
    Moved,
    PlanMade,
    Prepared,
    Report,
    Verified,
    Worked,
)

PERSON = "person"


def decide(task: Task, report: Report, moment: Moment) -> tuple[Event, ...]:
    """What follows from what a stage saw."""
    if task.cancel_wanted and not isinstance(report, LandedOn):
        return (*_ended(task, report), Cancelled("cancelled by a person", _ref(report)))
    if task.recall_wanted and not isinstance(report, LandedOn):
        return (*_ended(task, report), Recalled("what it stands on was taken back", _ref(report)))
    match report:
        case Prepared():
            return _prepared(task, report)
        case Worked():
            return _worked(task, report, moment)
        case Verified():
            return _verified(task, report, moment)
        case Conflicted(paths=paths):
            items = tuple(Item(path, "conflicts with the run branch") for path in paths)
            files = count(len(paths), "file conflicts", "files conflict")
            words = f"{files} with the run branch: {', '.join(paths[:5])}"
            failure = classification.failed(
                Kind.CONFLICT, words, pattern="merge-conflict", items=items
            )
            failure = replace(failure, params={"conflictedFiles": list(paths[:100])})
            return failing(task, failure, moment, _work(task.work.diff, report.tree))
        case LandedOn():
            return _landed(task, report)
        case PlanMade():
            names = tuple(spec.name for spec in report.specs)
            planned = Planned(names, report.replaces, report.pause, specs=report.specs)
            return (planned, *_landed(task, LandedOn(report.commit)))
        case Moved():
            return _moved(task, report, moment)
        case Faulted(message=message, transient=transient, code=code, source=source):
            fault = classification.fault(message, transient=transient, code=code)
            return failing(task, replace(fault, source=source), moment)
        case Lost(why=why, charged=charged):
            kind = Kind.INCOMPLETE if charged else Kind.LOST
            return failing(task, classification.failed(kind, why), moment)
        case Interrupted(why=why):
            return failing(task, classification.failed(Kind.LOST, why), moment)
        case Declined(why=why, wait=wait):
            assert task.lease is not None, f"{task.id} is not held"
            return (Released(task.lease.holder, task.lease.epoch, why, moment.now + wait),)


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
            report.head,
        )
    ]
    if report.warning:
        events.append(Note("WARNING", {"message": report.warning}))
    if task.failure is not None:
        events.append(
            Note(
                "RETRY_START",
                {
                    "retry_count": task.failed_tries,
                    "previous_failure_type": task.failure.kind.value,
                    "modification_hint": escalation.hint(task.feedback, task.spec.policy.hints),
                },
            )
        )
    return tuple(events)


def _ref(report: Report) -> str:
    """Where the work is kept that somebody gave up."""
    match report:
        case Worked(head=ref) | Interrupted(ref=ref):
            return ref
        case _:
            return ""


def _ended(task: Task, report: Report) -> tuple[Event, ...]:
    """Of whatever comes afterwards: that an agent ran is told, with what it cost and did."""
    if not isinstance(report, Worked):
        return ()
    changed = len(report.changed)
    finished = AgentFinished(
        report.exit, report.head, report.tree, changed, report.diff, report.left_out
    )
    notes = [_disturbed(report.disturbed)] if report.disturbed and not task.take_over else []
    if report.left_out:
        notes.append(Note("WARNING", {"message": _left_out(task, report.left_out)}))
    if report.tampered:
        notes.append(Note("WARNING", {"message": _tampered(report)}))
    return (finished, *notes)


def _left_out(task: Task, names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    files = count(len(names), "new file")
    return (
        f"{files} outside the task's scope left out of its work: {', '.join(names[:5])}{more}; "
        f"saved, see: yaoki recover {task.id}"
    )


def _tampered(report: Worked) -> str:
    """Who did it cannot be told without a sandbox; who lives with it is asked."""
    what = ", ".join(report.tampered)
    return f"git's own configuration changed while the agent was at work: {what}"


def _worked(task: Task, report: Worked, moment: Moment) -> tuple[Event, ...]:
    if report.tampered:
        failure = classification.failed(Kind.ESCALATE_REQUIRED, _tampered(report), check=GIT_CONFIG)
        ended = _ended(task, replace(report, tampered=()))
        # With the work in sight: a person may go on with it.
        kept = replace(task, work=replace(task.work, head=report.head))
        return (*ended, *failing(kept, failure, moment, _work(report.diff, report.tree)))
    finished = _ended(task, report)
    failure_ = _before_verify(task, report.exit)
    if failure_ is None and report.excess:
        failure_ = classification.too_large(report.excess)
    if failure_ is not None:
        return (*finished, *failing(task, failure_, moment, _work(report.diff, report.tree)))
    return finished


def _work(diff: str, tree: str) -> str:
    """By what two tries are compared: the diff, or the tree of one that an older yaoki began."""
    return diff or tree


def _before_verify(task: Task, exit_: AgentExit) -> Failure | None:
    cut_off = classification.before_verify(exit_)
    if cut_off is None and exit_.contradiction:
        return classification.contradicted(task.spec.goal, exit_.contradiction)
    return cut_off


def _disturbed(names: tuple[str, ...]) -> Note:
    """Who did it cannot be told: people work in their checkout while a run goes on."""
    what = ", ".join(name.partition("/")[2] for name in names)
    refs = "your refs, " if any(name.startswith("checkout/refs/") for name in names) else ""
    yours = f"{refs}your checkout or your own settings"
    words = f"{yours} changed while the agent was at work: {what}"
    told = {"what": list(names), "message": f"{words}; if that was not you: git reflog, git status"}
    return Note("CHECKOUT_CHANGED", told)


def _verified(task: Task, report: Verified, moment: Moment) -> tuple[Event, ...]:
    verdict, exit_ = report.verdict, task.work.exit
    done_nothing = not report.changed and not report.already
    unchanged = task.spec.kind is TaskKind.CHANGE and done_nothing
    refuted = exit_ is not None and exit_.failed
    idle = unchanged and not _may_change_nothing(task)
    proven = verdict.passed and not refuted and not idle
    outcomes = {finding.check: finding.outcome.value for finding in verdict.findings}
    judged = Judged(proven, report.commit, report.onto, outcomes, unchanged)
    told: list[Event] = [check_finished(f, report.commit) for f in verdict.findings]
    if proven:
        return (*told, judged)
    failure = classification.of_verdict(verdict, exit_)
    if report.blame is not None:
        return (*told, judged, _blamed(report.blame, failure))
    if verdict.passed and exit_ is not None and exit_.clean:
        failure = classification.located(classification.of_idleness(exit_), report.elsewhere)
        work = _work(task.work.diff, task.work.tree)
        return (*told, judged, *failing(task, failure, moment, work))
    final = failure.kind is Kind.ESCALATE_REQUIRED
    theirs = failure.ours or bool(failure.account)
    if unchanged and not theirs and not final and exit_ is not None:
        nothing = classification.located(classification.of_nothing(exit_), report.elsewhere)
        failure = _with_findings(nothing, failure, verdict, exit_)
    return (*told, judged, *failing(task, failure, moment, _work(task.work.diff, task.work.tree)))


def _may_change_nothing(task: Task) -> bool:
    """The plan says so, or a person does; an agent that did not come to its own end never."""
    exit_ = task.work.exit
    allowed = task.spec.may_change_nothing and (exit_ is None or exit_.clean)
    return allowed or NO_CHANGE in task.waivers or task.take_over


def _blamed(blame: Blame, failure: Failure) -> Blamed:
    """What the proof saw becomes the failure of the task whose landing did it."""
    beside = f" together with {', '.join(blame.partners)}" if blame.partners else ""
    words = f"passed alone; {failure.check} fails since it landed{beside}: {failure.message}"
    told = classification.failed(
        Kind.QUALITY_FAILURE,
        words,
        pattern=failure.pattern,
        check=failure.check,
        items=failure.items,
    )
    told = replace(told, params=failure.params, output=failure.output)
    return Blamed(blame.culprit, blame.partners, blame.commit, blame.looked, told)


def sent_back(task: Task, moment: Moment) -> tuple[Event, ...]:
    """A blamed task whose work was taken back: tried again, or asked about, as after any failure.

    `task` is as it stands after UNLANDED.
    """
    assert task.blame is not None, f"{task.id} is not blamed"
    return failing(task, task.blame, moment)


def row_refused(task: Task, words: str, moment: Moment) -> tuple[Event, ...]:
    """A row that claims more than is proven, or cannot be read: one question, no retry."""
    refused = RowRefused(words)
    failure = classification.failed(Kind.ESCALATE_REQUIRED, words)
    return (refused, *failing(evolve(task, refused), failure, moment))


def _with_findings(
    nothing: Failure, failure: Failure, verdict: Verdict, exit_: AgentExit
) -> Failure:
    """The findings say what is still missing, so they go along with "nothing was changed".

    The exit code is the agent's own: that of a check would be told as if it were.
    """
    told = replace(nothing, check=failure.check, output=failure.output)
    if nothing.kind is not Kind.INCOMPLETE:
        return told
    said = [finding.message for finding in verdict.findings if finding.check in {"Q5", "Q6"}]
    words = "; ".join((nothing.message, *said))
    params = {**failure.params, "exitCode": exit_.code}
    return replace(told, message=words, items=failure.items, params=params)


def _landed(task: Task, report: LandedOn) -> tuple[Event, ...]:
    landed = Landed(report.commit, report.already)
    if task.strategy is not None:
        return (landed, _recovered(task, task.strategy))
    if not task.failed_tries:
        return (landed,)
    return (landed, Note("RETRY_SUCCESS", _success(task)))


def _success(task: Task) -> dict[str, object]:
    """A check that a person waived was not cured."""
    last = task.feedback
    waived = last.check if last and last.check in task.waivers else ""
    return {
        "retry_count": task.failed_tries,
        "total_attempts": task.attempt,
        "final_status": "PASS",
        "cured": last.pattern if last and not waived else "",
        "waived": waived,
    }


def _recovered(group: Task, strategy: Strategy) -> Note:
    told = {
        "strategy": strategy.value,
        "recovered_subtasks": list(group.recovered),
        "left_out_subtasks": list(group.left_out),
        "final_status": "PARTIAL" if group.left_out else "PASS",
    }
    return Note("RECOVERY_COMPLETE", told)


def _moved(task: Task, report: Moved, moment: Moment) -> tuple[Event, ...]:
    """Verify again on the new head; a branch that never stands still is a fault of ours."""
    refused = LandRefused(report.head, report.why)
    if task.work.refused < task.spec.policy.landings_max:
        return (refused,)
    times = count(task.work.refused + 1, "time")
    words = f"its landing was refused {times}, because other tasks land on the same branch"
    failure = classification.fault(words, transient=True)
    return (refused, *failing(replace(task, stage=Stage.VERIFY), failure, moment))
