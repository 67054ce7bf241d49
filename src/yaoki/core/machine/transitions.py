"""The changes that an event makes to a task, where they take more than a line."""

from __future__ import annotations

import dataclasses

from yaoki.core.machine.events import (
    AgentFinished,
    AgentRunLost,
    AttemptStarted,
    Judged,
    LandingRefused,
    LeaseReleased,
    PromptSent,
)
from yaoki.core.machine.failure_transitions import return_to_agent, switch_agent
from yaoki.core.machine.fast_replace import replace
from yaoki.core.machine.request_events import Answered, ChecksRevised, UndoCompleted
from yaoki.core.model import (
    AgentLimit,
    AttemptMode,
    CheckRevision,
    Choice,
    Counts,
    FailOverCause,
    PendingRequest,
    Question,
    Reason,
    RecoveryStrategy,
    Spend,
    Stage,
    State,
    Task,
    TaskKind,
    WaitReason,
    Work,
)


def apply_lease_ended(task: Task, deliveries: int) -> Task:
    """The claim is over and the stage stays: the next claim continues there."""
    counts = replace(task.counts, deliveries=task.counts.deliveries + deliveries)
    return replace(task, state=State.WAITING, lease=None, counts=counts)


def apply_lease_released(task: Task, event: LeaseReleased) -> Task:
    discarded = task.work.discarded_proofs + event.proof_discarded
    avoids_queue = task.work.avoids_queue or event.avoids_queue
    work = replace(task.work, discarded_proofs=discarded, avoids_queue=avoids_queue)
    return replace(apply_lease_ended(task, deliveries=0), due_at=event.due_at, work=work)


def _forgive_deliveries(task: Task) -> Counts:
    """Progress was made, so earlier claims that never reported back are forgiven."""
    if task.forgiven_counts.deliveries == task.counts.deliveries:
        return task.forgiven_counts
    return replace(task.forgiven_counts, deliveries=task.counts.deliveries)


def apply_attempt_started(task: Task, event: AttemptStarted) -> Task:
    counts = replace(task.counts, attempts=task.counts.attempts + 1)
    no_agent = task.spec.kind in {TaskKind.CHECK, TaskKind.GROUP}
    stage = Stage.VERIFY if no_agent else Stage.WORK
    work = Work(
        base=event.base,
        head=event.head,
        worktree=event.worktree,
        host=event.host,
        tree=event.tree,
        protected_hashes=event.protected_hashes,
    )
    started = replace(
        task,
        stage=stage,
        attempt=event.attempt,
        counts=counts,
        forgiven_counts=_forgive_deliveries(task),
        work=work,
        needs_fresh_worktree=False,
        session="" if event.fresh else task.session,
        first_base=task.first_base or event.base,
    )
    # The work of any other task is known only when its agent has finished.
    return end_waivers(started) if task.spec.kind is TaskKind.GROUP else started


def end_waivers(task: Task) -> Task:
    """A waiver holds for the work that the person saw; other work needs another answer.

    A waiver in a journal of an earlier version names no work and stays, so that the journal folds
    to the row that was written with it.
    """
    if not task.waived_work or task.keeps_waived_work:
        return task
    return replace(task, waivers=(), waived_work="")


def apply_prompt_sent(task: Task, event: PromptSent) -> Task:
    work = replace(
        task.work,
        prompt_sent=True,
        spend_counted=event.spend_counted,
        treatment=event.treatment,
    )
    spent = task.spend.with_start() if event.spend_counted else task.spend
    return replace(task, work=work, spend=spent)


def apply_agent_finished(task: Task, event: AgentFinished) -> Task:
    work = replace(
        task.work,
        head=event.head,
        tree=event.tree,
        diff_digest=event.diff_digest,
        exit=event.exit,
        attempt_file_count=event.attempt_file_count,
        left_out_files=event.left_out_files,
        queue_choice=event.queue_choice,
    )
    spent = task.spend
    finished = replace(
        task,
        stage=Stage.VERIFY,
        work=work,
        forgiven_counts=_forgive_deliveries(task),
        spend=spent.with_end(event.exit) if task.work.spend_counted else spent.with_run(event.exit),
        session=_session(task, event),
    )
    return end_waivers(finished)


def apply_agent_run_lost(task: Task, event: AgentRunLost) -> Task:
    """The result is unknown; what the agent left is work that a person may continue."""
    work = replace(task.work, head=event.head, tree=event.tree) if event.head else task.work
    return replace(task, work=work, spend=task.spend.plus(Spend(seconds=event.seconds or 0.0)))


# A lost or full conversation is not continued.
_ENDED_SESSION_LIMITS = frozenset({AgentLimit.SESSION, AgentLimit.CONTEXT})


def _session(task: Task, event: AgentFinished) -> str:
    return "" if event.exit.limit in _ENDED_SESSION_LIMITS else event.exit.session or task.session


def apply_judgment(task: Task, event: Judged) -> Task:
    if not event.passed:
        return task
    work = replace(task.work, verified_commit=event.commit, onto=event.onto)
    proven = replace(task, stage=Stage.LAND, work=work, forgiven_counts=_forgive_deliveries(task))
    return replace(proven, earlier_checks=None) if task.earlier_checks else proven


def apply_recovery_started(task: Task, strategy: RecoveryStrategy, failed: tuple[str, ...]) -> Task:
    """The group continues: the `failed` subtasks are tried again, or it lands without them.

    A subtask that was tried again and failed again was not recovered.
    """
    counts = replace(task.counts, reruns=task.counts.reruns + 1)
    if strategy is not RecoveryStrategy.PARTIAL_COMMIT:
        return replace(task, counts=counts, recovery_strategy=strategy, recovered_subtasks=failed)
    recovered = tuple(one for one in task.recovered_subtasks if one not in failed)
    return replace(
        task,
        counts=counts,
        recovery_strategy=strategy,
        recovered_subtasks=recovered,
        left_out_subtasks=failed,
    )


def apply_landing_refused(task: Task, event: LandingRefused) -> Task:
    counts = replace(task.counts, refused_landings=task.counts.refused_landings + 1)
    work = replace(
        task.work,
        verified_commit="",
        onto="",
        landing_refusals=task.work.landing_refusals + 1,
        avoids_queue=event.avoids_queue,
        passed_onto=event.passed_onto or task.work.passed_onto,
    )
    return replace(task, stage=Stage.VERIFY, counts=counts, work=work)


def apply_joint_proof_failed(task: Task) -> Task:
    return replace(task, work=replace(task.work, joint_failures=task.work.joint_failures + 1))


def apply_landed(task: Task, commit: str) -> Task:
    """The landing was not interrupted, so a request to cancel or recall the task is over.

    Were it kept, it would cancel the task after an undo although a person answered `retry`.
    """
    return replace(
        task,
        state=State.DONE,
        lease=None,
        landed_commit=commit,
        reason=None,
        question=None,
        waiting_for=WaitReason.CLAIM,
        request=PendingRequest.NONE,
        work=replace(task.work, treatment=None) if task.work.treatment else task.work,
    )


def apply_final(task: Task, state: State, request: PendingRequest) -> Task:
    return replace(
        task,
        state=state,
        lease=None,
        question=None,
        waiting_for=WaitReason.CLAIM,
        request=request,
    )


def apply_recalled(task: Task) -> Task:
    return replace(
        task,
        state=State.WAITING,
        stage=Stage.PREPARE,
        request=PendingRequest.NONE,
        needs_fresh_worktree=True,
        lease=None,
        due_at=None,
    )


def apply_undo_dropped(task: Task) -> Task:
    """Only a revert that a final check requested keeps bisection from blaming the landing again."""
    failed = task.revert_failed or task.revert_cause is not None
    return replace(task, request=PendingRequest.NONE, revert_cause=None, revert_failed=failed)


def apply_undo_completed(task: Task, event: UndoCompleted) -> Task:
    return replace(
        task,
        state=State.ESCALATED,
        stage=Stage.PREPARE,
        reason=Reason.MANUAL,
        question=event.question,
        feedback=None if event.feedback_is_void else task.feedback,
        landed_commit="",
        request=PendingRequest.NONE,
        needs_fresh_worktree=True,
        mode=return_to_agent(task.mode),
        work=replace(task.work, verified_commit="", onto=""),
    )


def apply_culprit_found(task: Task) -> Task:
    """A final check is over, since the next one verifies another commit; a group waits again for
    the subtask whose landing is reverted.
    """
    if task.spec.kind is not TaskKind.GROUP:
        return apply_final(task, State.REPLACED, PendingRequest.NONE)
    return replace(task, state=State.WAITING, lease=None, stage=Stage.PREPARE, work=Work())


def apply_landing_reverted(task: Task) -> Task:
    return replace(
        task,
        state=State.WAITING,
        stage=Stage.PREPARE,
        landed_commit="",
        request=PendingRequest.NONE,
        waiting_for=WaitReason.DECISION if task.revert_cause is not None else WaitReason.CLAIM,
        first_base="",
        needs_fresh_worktree=True,
        due_at=None,
        mode=return_to_agent(task.mode),
        work=Work(),
    )


def apply_checks_revised(task: Task, event: ChecksRevised) -> Task:
    """The task has new checks or rules.  A verdict that waits to land was made with the old ones
    and counts no more, unless a worker is landing it at this moment.
    """
    revision = event.revision
    waivers = tuple(name for name in task.waivers if name not in event.ended_waivers)
    revised = replace(
        task,
        waivers=waivers,
        waived_work=task.waived_work if waivers else "",
        spec=revision.apply_to(task.spec),
        feedback=None if event.feedback_is_void else task.feedback,
        check_revision=revision,
        question=_question_after_revision(task, revision),
        # It has not passed the new checks.
        work=replace(task.work, passed_onto=""),
    )
    if task.state is State.DONE or (task.state is State.ACTIVE and task.stage is Stage.LAND):
        before = CheckRevision.of(task.spec, task.check_revision_number)
        return replace(revised, earlier_checks=task.earlier_checks or before)
    if task.stage is not Stage.LAND:
        return revised
    unproven = replace(revised.work, verified_commit="", onto="")
    unverified = replace(revised, stage=Stage.VERIFY, work=unproven)
    return _return_to_race(unverified) if event.proof_is_void else unverified


def _return_to_race(candidate: Task) -> Task:
    """The proven candidate is verified again; what it used so far is counted in its race."""
    return replace(
        candidate, waiting_for=WaitReason.CLAIM, score=None, settled_spend=candidate.spend
    )


def _question_after_revision(task: Task, revision: CheckRevision) -> Question | None:
    """The open question is about a verdict of the old checks."""
    if task.question is None or task.failure is None or not task.failure.check:
        return task.question
    change = revision.describe_change(task.spec)
    return note_revision(task.question, task, revision.number, change)


def note_revision(question: Question, task: Task, number: int, what: str) -> Question:
    """The question with a note about `what` changed after it was asked ("checks were")."""
    can_verify = Choice.DONE in question.choices
    answer = (
        "done verifies the work as it is, without an agent"
        if can_verify
        else "retry runs its checks again"
    )
    note = f"Its {what} changed after that (revision {number}): yaoki answer {task.id} {answer}."
    return Question(question.text, question.choices, note)


def apply_row_refused(task: Task) -> Task:
    """Reset the task as after a reverted landing, regardless of its row, and ask a person."""
    return replace(
        apply_landing_reverted(task),
        lease=None,
        waiting_for=WaitReason.DECISION,
        revert_cause=None,
        reason=None,
        question=None,
    )


def _accept_failure_report(work: Work) -> Work:
    """A person who waives a check has read the agent's own report as well."""
    if work.exit is None or not work.exit.reports_failure:
        return work
    # An exit has slots, which the fast `replace` cannot copy.
    return replace(work, exit=dataclasses.replace(work.exit, reports_failure=False))


def apply_answer(task: Task, event: Answered) -> Task:
    """An answer gives a fresh budget; the counts stay."""
    if event.choice is Choice.ABORT:
        return replace(task, state=State.CANCELLED, question=None, request=PendingRequest.NONE)
    reset = replace(
        task,
        state=State.WAITING,
        due_at=None,
        reason=None,
        question=None,
        forgiven_counts=task.counts,
        forgiven_spend=task.spend,
        same_work_failures=0,
        same_fingerprint_failures=0,
        failed_work_digest="",
        given_up_agents=(),
        # The answer is newer than any request.
        request=PendingRequest.NONE,
        mode=AttemptMode.NORMAL,
    )
    match event.choice:
        case Choice.RETRY:
            begun = replace(reset, answer_text=event.said or event.words)
            index = task.agent_index if event.agent_index is None else event.agent_index
            return switch_agent(begun, index, FailOverCause.NONE, "")
        case Choice.DONE:
            return replace(
                reset,
                stage=Stage.PREPARE,
                mode=AttemptMode.TAKEN_OVER,
                needs_fresh_worktree=False,
            )
        case Choice.WAIVE:
            stage = Stage.VERIFY if task.work.head else Stage.PREPARE
            waivers = tuple(dict.fromkeys((*task.waivers, event.check)))
            return replace(
                reset,
                stage=stage,
                waivers=waivers,
                waived_work=event.waived_work,
                work=_accept_failure_report(task.work),
                mode=AttemptMode.TAKEN_OVER if task.taken_over else AttemptMode.NORMAL,
            )


def apply_wait_ended(task: Task, words: str) -> Task:
    """The task is due; attempts that its service did not answer no longer lengthen its waits."""
    forgiven = replace(task.forgiven_counts, unanswered=task.counts.unanswered)
    answer = words or task.answer_text
    return replace(task, due_at=None, forgiven_counts=forgiven, answer_text=answer)
