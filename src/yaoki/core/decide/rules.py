"""`decide`: the events that follow from a stage report.

Pure: the present time and the random number are arguments.
"""

from __future__ import annotations

from yaoki.core.decide import escalation, exit_classification
from yaoki.core.decide.agent_notes import git_config_warning, note_agent_end
from yaoki.core.decide.failure_response import ClockAndChance, plan_retry_or_escalate
from yaoki.core.decide.failures import make_failure, make_fault
from yaoki.core.decide.same_at_base import SAME_AT_BASE
from yaoki.core.decide.verdict_classification import (
    classify_verdict,
    count_outside_change,
    name_landed_since,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import (
    AttemptStarted,
    CulpritFound,
    Event,
    JointProofFailed,
    Judged,
    Landed,
    LandingRefused,
    LeaseReleased,
    Planned,
    RowRefused,
)
from yaoki.core.machine.evolution import evolve
from yaoki.core.machine.journal_notes import JournalNote, check_finished_note
from yaoki.core.machine.race_events import JudgeEnded, RaceStarted
from yaoki.core.machine.request_events import Cancelled, Recalled
from yaoki.core.model import (
    GIT_CONFIG_CHECK,
    NO_CHANGE_CHECK,
    PERSON_AGENT,
    AccountProblem,
    AgentExit,
    FailOverCause,
    Failure,
    FailureKind,
    FaultSource,
    FindingItem,
    Outcome,
    RecoveryStrategy,
    RefusalCause,
    Stage,
    Task,
    TaskKind,
    Verdict,
)
from yaoki.core.model.outcome import MARKED_FILES_PARAM, describe_exit
from yaoki.core.model.stage_report import (
    AgentLost,
    BisectResult,
    CandidateVerified,
    CommitLanded,
    CommitNotLanded,
    JointCandidateFailed,
    JudgeAnswered,
    MergeConflicted,
    PlanAccepted,
    RacePrepared,
    StageDeferred,
    StageFaulted,
    StageReport,
    WorkCommitted,
    WorkInterrupted,
    WorktreePrepared,
)
from yaoki.core.text import format_count
from yaoki.errors import FatalCode


def decide(task: Task, report: StageReport, moment: ClockAndChance) -> tuple[Event, ...]:
    """The events that follow from a stage report."""
    if task.cancel_requested and not isinstance(report, CommitLanded):
        return (
            *note_agent_end(task, report),
            Cancelled("cancelled by a person", _saved_ref(report)),
        )
    if task.recall_requested and not isinstance(report, CommitLanded):
        return (
            *note_agent_end(task, report),
            Recalled("work that it is based on was reverted", _saved_ref(report)),
        )
    match report:
        case WorktreePrepared():
            return _after_prepare(task, report)
        case RacePrepared(base=base, host=host, protected_hashes=hashes):
            started = AttemptStarted(
                task.attempt + 1, "", base, "", host, fresh=True, protected_hashes=hashes
            )
            return (started, RaceStarted())
        case WorkCommitted():
            return _after_work(task, report, moment)
        case CandidateVerified(check_revision=number) if number != task.check_revision_number:
            words = "its checks were changed while they ran; it is verified again"
            return (JournalNote("WARNING", {"message": words}),)
        case CandidateVerified():
            return _after_verify(task, report, moment)
        case JointCandidateFailed(commit=commit, tasks=tasks, message=message):
            return (JointProofFailed(commit, tasks, message),)
        case JudgeAnswered():
            return (_after_answer(task, report),)
        case MergeConflicted(paths=paths, marked_paths=marked):
            items = tuple(FindingItem(path, "conflicts with the run branch") for path in paths)
            files = format_count(len(paths), "file conflicts", "files conflict")
            words = f"{files} with the run branch: {', '.join(paths[:5])}"
            failure = make_failure(
                FailureKind.CONFLICT, words, pattern="merge-conflict", items=items
            )
            left = {MARKED_FILES_PARAM: list(marked[:100])} if marked else {}
            failure = replace(failure, params={"conflictedFiles": list(paths[:100]), **left})
            return plan_retry_or_escalate(
                task, failure, moment, _work_identity(task.work.diff_digest, report.tree)
            )
        case CommitLanded():
            return _after_landing(task, report)
        case PlanAccepted():
            names = tuple(spec.name for spec in report.specs)
            pause = str(report.pause) if report.pause else ""
            planned = Planned(names, report.replaces, pause, specs=report.specs)
            return (planned, *_after_landing(task, CommitLanded(report.commit)))
        case CommitNotLanded():
            return _after_refused_landing(task, report, moment)
        case StageFaulted():
            return plan_retry_or_escalate(task, _failure_of_stage(report), moment)
        case AgentLost(reason=reason, counts_as_failure=charged):
            kind = FailureKind.INCOMPLETE if charged else FailureKind.LOST
            return _after_agent_end(task, report, make_failure(kind, reason), moment)
        case WorkInterrupted(reason=reason):
            return plan_retry_or_escalate(task, make_failure(FailureKind.LOST, reason), moment)
        case StageDeferred():
            return (_release(task, report, moment),)


def _after_answer(task: Task, report: JudgeAnswered) -> JudgeEnded:
    """An answer counts only if it is valid and its agent ended by itself, without a failure."""
    exit_, defect = task.work.exit, report.defect
    if exit_ is not None and not exit_.ended_cleanly:
        ended = describe_exit(exit_.code, exit_.signal, exit_.ended_by)
        defect = f"its agent failed: {ended}" if ended else "its agent failed"
    if not defect:
        return JudgeEnded(report.judgment)
    return JudgeEnded(failure=make_failure(FailureKind.INCOMPLETE, defect))


def _release(task: Task, report: StageDeferred, moment: ClockAndChance) -> LeaseReleased:
    assert task.lease is not None, f"{task.id} has no lease"
    due_at = moment.now + report.wait
    holder, epoch = task.lease.holder, task.lease.epoch
    return LeaseReleased(
        holder, epoch, report.reason, due_at, report.proof_discarded, report.avoids_queue
    )


def _failure_of_stage(report: StageFaulted) -> Failure:
    """A failure of our own infrastructure; an agent that cannot be started may have a successor."""
    fault = make_fault(report.message, transient=report.transient, code=report.code)
    is_missing = report.source is FaultSource.AGENT and not report.transient
    if is_missing and report.code is FatalCode.AUTHENTICATION_FAILED:
        # Its key is not set here: another account of the same agent may continue.
        return replace(fault, source=report.source, account_problem=AccountProblem.KEY_MISSING)
    problem = FailOverCause.MISSING_PROGRAM if is_missing else FailOverCause.NONE
    return replace(fault, source=report.source, agent_problem=problem)


def _after_prepare(task: Task, report: WorktreePrepared) -> tuple[Event, ...]:
    attempt = task.attempt + 1
    agent = PERSON_AGENT if task.taken_over else (task.agent.name if task.agent else "")
    title = task.agent.title if task.agent and not task.taken_over else agent
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
            report.protected_hashes,
            report.head,
            title if title != agent else "",
        )
    ]
    if report.warning:
        events.append(JournalNote("WARNING", {"message": report.warning}))
    if task.failure is not None:
        events.append(
            JournalNote(
                "RETRY_START",
                {
                    "retry_count": task.failed_attempts,
                    "previous_failure_type": task.failure.kind.value,
                    "modification_hint": escalation.retry_hint(
                        task.feedback, task.spec.policy.hints
                    ),
                },
            )
        )
    return tuple(events)


def _saved_ref(report: StageReport) -> str:
    """The ref of the saved work of an interrupted attempt."""
    match report:
        case WorkCommitted(head=ref) | WorkInterrupted(saved_ref=ref):
            return ref
        case _:
            return ""


def _after_work(task: Task, report: WorkCommitted, moment: ClockAndChance) -> tuple[Event, ...]:
    if report.changed_git_config:
        failure = make_failure(
            FailureKind.ESCALATE_REQUIRED, git_config_warning(report), check=GIT_CONFIG_CHECK
        )
        ended = note_agent_end(task, replace(report, changed_git_config=()))
        # The work is recorded first: a person may continue it.
        committed = replace(task, work=replace(task.work, head=report.head))
        return (
            *ended,
            *plan_retry_or_escalate(
                committed, failure, moment, _work_identity(report.diff_digest, report.tree)
            ),
        )
    finished = note_agent_end(task, report)
    failure_ = _before_verify(task, report) or _unanswered(task, report)
    if failure_ is None and report.size_excess:
        failure_ = exit_classification.classify_oversize(report.size_excess)
    if failure_ is None and report.git_refusal:
        failure_ = exit_classification.classify_git_refusal(report.git_refusal)
    if failure_ is not None:
        identity = _work_identity(report.diff_digest, report.tree)
        return _after_agent_end(task, report, failure_, moment, identity)
    return finished


def _after_agent_end(
    task: Task, report: StageReport, failure: Failure, moment: ClockAndChance, identity: str = ""
) -> tuple[Event, ...]:
    """Record the agent run first, since its usage counts in the decision about the next one."""
    ended = note_agent_end(task, report)
    spend = evolve(task, ended[0]).spend if ended else task.spend
    decided = plan_retry_or_escalate(replace(task, spend=spend), failure, moment, identity)
    return (*ended, *decided)


def _work_identity(diff: str, tree: str) -> str:
    """The identity of the work: the diff, or the tree in an attempt of an older yaoki."""
    return diff or tree


def _before_verify(task: Task, report: WorkCommitted) -> Failure | None:
    exit_ = report.exit
    cut_off = exit_classification.classify_before_verify(exit_)
    if report.stopped_on_request and cut_off is not None and cut_off.kind is FailureKind.LOST:
        return replace(cut_off, stopped_on_request=True)
    if cut_off is None and exit_.contradiction:
        return exit_classification.classify_contradiction(task.spec.goal, exit_.contradiction)
    return cut_off


def _unanswered(task: Task, report: WorkCommitted) -> Failure | None:
    """Rule 18.6: on an unchanged tree no check can say more than the service did."""
    before = task.work.tree
    unchanged = report.tree == before if before else not report.changed
    return exit_classification.classify_unanswered(report.exit) if unchanged else None


def _after_verify(
    task: Task, report: CandidateVerified, moment: ClockAndChance
) -> tuple[Event, ...]:
    verdict, exit_ = report.verdict, task.work.exit
    done_nothing = not report.changed and not report.is_already_landed
    unchanged = task.spec.kind.is_change and done_nothing
    refuted = exit_ is not None and exit_.reports_failure
    idle = unchanged and not _may_change_nothing(task)
    proven = verdict.passed and not refuted and not idle
    outcomes = {finding.check: finding.outcome.value for finding in verdict.findings}
    same = tuple(one.check for one in verdict.findings if SAME_AT_BASE in one.params)
    judgment = Judged(proven, report.commit, report.onto, outcomes, unchanged, same)
    notes: list[Event] = [check_finished_note(f, report.commit) for f in verdict.findings]
    if proven:
        return (*notes, judgment)
    failure = count_outside_change(classify_verdict(verdict, exit_), task.feedback, report.changed)
    failure = name_landed_since(failure, task.work, report.onto)
    if report.bisect_result is not None:
        return (*notes, judgment, _culprit_found(report.bisect_result, failure))
    is_same = done_nothing and task.work.attempt_file_count > 0
    is_needless = exit_ is not None and (exit_.ended_cleanly or (is_same and not refuted))
    if verdict.passed and exit_ is not None and is_needless:
        waived = [f.check for f in verdict.findings if f.outcome is Outcome.WAIVED]
        needless = exit_classification.classify_needless_run(exit_, waived)
        if is_same:
            needless = exit_classification.describe_same_work(needless, exit_, report.landed_with)
        failure = exit_classification.add_work_location(needless, report.work_elsewhere)
        failure = _with_left_out_files(task, failure)
        work = _work_identity(task.work.diff_digest, task.work.tree)
        return (*notes, judgment, *plan_retry_or_escalate(task, failure, moment, work))
    final = failure.kind is FailureKind.ESCALATE_REQUIRED
    is_external = failure.is_our_fault or bool(failure.account)
    if unchanged and not is_same and not is_external and not final and exit_ is not None:
        nothing = exit_classification.add_work_location(
            exit_classification.classify_no_change(exit_), report.work_elsewhere
        )
        failure = _with_left_out_files(task, _with_findings(nothing, failure, verdict, exit_))
    return (
        *notes,
        judgment,
        *plan_retry_or_escalate(
            task, failure, moment, _work_identity(task.work.diff_digest, task.work.tree)
        ),
    )


def _may_change_nothing(task: Task) -> bool:
    """The plan or a person allows it; never for an agent that did not end by itself."""
    exit_ = task.work.exit
    allowed = task.spec.may_change_nothing and (exit_ is None or exit_.ended_cleanly)
    return allowed or NO_CHANGE_CHECK in task.waivers or _is_waived_idle(task)


def _is_waived_idle(task: Task) -> bool:
    """Did a person waive the check of a failure that said that nothing was changed?

    Then the person is not asked again: the question would be about the same work.
    """
    last = task.feedback
    said = last is not None and last.pattern == NO_CHANGE_CHECK and last.check in task.waivers
    return said and task.keeps_waived_work


def _culprit_found(blame: BisectResult, failure: Failure) -> CulpritFound:
    """The failure of the final check becomes that of the task whose landing caused it."""
    words = f"{failure.check} has failed since it landed"
    if blame.partners:
        # Only here the check is known to pass on this landing alone.
        words = f"passed alone; {words} together with {', '.join(blame.partners)}"
    words = f"{words}: {failure.message}"
    blamed = make_failure(
        FailureKind.QUALITY_FAILURE,
        words,
        pattern=failure.pattern,
        check=failure.check,
        items=failure.items,
    )
    blamed = replace(blamed, params=failure.params, output=failure.output)
    return CulpritFound(blame.culprit, blame.partners, blame.commit, blame.checked_commits, blamed)


def decide_after_revert(task: Task, moment: ClockAndChance) -> tuple[Event, ...]:
    """A task whose landing was reverted: retried or escalated, as after any failure.

    `task` is its state after TASK_UNLANDED.
    """
    assert task.revert_cause is not None, f"{task.id} is not blamed"
    return plan_retry_or_escalate(task, task.revert_cause, moment)


def decide_row_refused(task: Task, words: str, moment: ClockAndChance) -> tuple[Event, ...]:
    """The row claims more than is proven, or cannot be read: one question, no retry."""
    refused = RowRefused(words)
    failure = make_failure(FailureKind.ESCALATE_REQUIRED, words)
    return (refused, *plan_retry_or_escalate(evolve(task, refused), failure, moment))


def _with_findings(
    nothing: Failure, failure: Failure, verdict: Verdict, exit_: AgentExit
) -> Failure:
    """Add the findings, which say what is missing, to the failure "nothing was changed".

    The exit code stays the agent's own, not that of a check.  If the agent could not work at all,
    that alone is the failure: the checks fail only because of it.
    """
    if nothing.kind is FailureKind.FATAL_ERROR:
        return nothing
    combined = replace(nothing, check=failure.check, output=failure.output)
    if nothing.kind is not FailureKind.INCOMPLETE:
        return combined
    messages = [finding.message for finding in verdict.findings if finding.check in {"Q5", "Q6"}]
    known = f"{exit_classification.NOTHING_CHANGED}, and "
    texts = [text.removeprefix(known) for text in messages]
    words = "; ".join((nothing.message, *texts, *exit_classification.name_failed_checks(verdict)))
    params = {**failure.params, "exitCode": exit_.code}
    # Screens show the first item instead of the message.
    end = exit_classification.describe_failed_agent(exit_)
    return replace(combined, message=words, items=failure.items, params=params, agent_end=end)


def _with_left_out_files(task: Task, failure: Failure) -> Failure:
    return exit_classification.add_left_out_files(
        failure, task.work.left_out_files, task.spec.scope
    )


def _after_landing(task: Task, report: CommitLanded) -> tuple[Event, ...]:
    is_verification = report.was_there_before and task.spec.kind is TaskKind.CHECK
    landed = Landed(report.commit, report.was_there_before, report.taken_along_by, is_verification)
    if task.recovery_strategy is not None:
        return (landed, _recovery_note(task, task.recovery_strategy))
    if not task.failed_attempts:
        return (landed,)
    return (landed, JournalNote("RETRY_SUCCESS", _success_notes(task)))


def _success_notes(task: Task) -> dict[str, object]:
    """A check that a person waived does not count as fixed."""
    last = task.feedback
    waived = last.check if last and last.check in task.waivers else ""
    return {
        "retry_count": task.failed_attempts,
        "total_attempts": task.attempt,
        "final_status": "PASS",
        "cured": last.pattern if last and not waived else "",
        "waived": waived,
    }


def _recovery_note(group: Task, strategy: RecoveryStrategy) -> JournalNote:
    data = {
        "strategy": strategy.value,
        "recovered_subtasks": list(group.recovered_subtasks),
        "left_out_subtasks": list(group.left_out_subtasks),
        "final_status": "PARTIAL" if group.left_out_subtasks else "PASS",
    }
    return JournalNote("RECOVERY_COMPLETE", data)


# The commit on which the work passed is on the branch then, not only in the merge queue.
_PASSED_ALONE = frozenset({RefusalCause.MOVED, RefusalCause.WAITED, RefusalCause.UNKNOWN})


def _after_refused_landing(
    task: Task, report: CommitNotLanded, moment: ClockAndChance
) -> tuple[Event, ...]:
    """Verify again; a landing that is refused each time is a fault of ours."""
    refused = LandingRefused(
        report.head,
        cause=report.cause,
        avoids_queue=report.avoids_queue,
        passed_onto=task.work.onto if report.cause in _PASSED_ALONE else "",
    )
    if task.work.landing_refusals < task.spec.policy.landing_refusals_max:
        return (refused,)
    times = format_count(task.work.landing_refusals + 1, "time")
    words = f"its landing was refused {times}, because of other tasks on the same branch"
    failure = make_fault(words, transient=True)
    return (refused, *plan_retry_or_escalate(replace(task, stage=Stage.VERIFY), failure, moment))
