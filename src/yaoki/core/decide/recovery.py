"""Recovery when nothing else can be claimed: of groups (rule 8.3), and by re-runs (rule 8.4)."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from datetime import datetime, timedelta

from yaoki.core.graph import downstream
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import RERUNS_PER_ROUND, FailureKind, RecoveryStrategy, Task, TaskId
from yaoki.core.text import format_count

# Unfinished work goes before finished work that was refused.
CONTINUATION_KINDS = frozenset({FailureKind.INCOMPLETE, FailureKind.TIMEOUT, FailureKind.LOST})


@dataclass(frozen=True, slots=True)
class RecoveryDecision:
    """The strategy and its reason; `otherwise` says what would have changed it."""

    strategy: RecoveryStrategy
    reason: str
    otherwise: str


def decide_recovery(
    group: Task,
    failed: Sequence[TaskId],
    succeeded: Sequence[TaskId],
    needs: Mapping[TaskId, Sequence[TaskId]],
    required: Container[TaskId],
) -> RecoveryDecision:
    """A group is recovered once; after that it lands in part if allowed, or a person is asked.

    Endless recovery would spend agent runs without a bound.  Optional subtasks never block their
    group, unless a required one needs them.
    """
    if group.counts.reruns == 0:
        return _recover(group, failed, succeeded, needs)
    failed_again = f"{format_count(len(failed), 'subtask')} failed again"
    landable = bool(succeeded) and not group.spec.atomic
    dropped = [one for one in subtasks_to_leave_out(group, failed, needs) if one not in succeeded]
    if landable and not any(one in required for one in dropped):
        words = f"{failed_again}, none of them required; {len(succeeded)} succeeded and may land"
        return RecoveryDecision(
            RecoveryStrategy.PARTIAL_COMMIT, words, "required: true on one that failed"
        )
    if landable and group.spec.partial:
        words = f"{failed_again}; {len(succeeded)} succeeded and may land"
        return RecoveryDecision(RecoveryStrategy.PARTIAL_COMMIT, words, "partial: false")
    words = f"{failed_again} after the group was recovered once"
    return RecoveryDecision(
        RecoveryStrategy.ESCALATE, words, "partial: true with a subtask that succeeded"
    )


def subtasks_to_leave_out(
    group: Task, failed: Sequence[TaskId], needs: Mapping[TaskId, Sequence[TaskId]]
) -> list[TaskId]:
    """The failed subtasks and everything in the group that needs them."""
    members = {group.id, *needs.get(group.id, ())}
    below = [t for one in failed for t in downstream(one, needs) if t in members and t != group.id]
    return list(dict.fromkeys((*failed, *below)))


def _recover(
    group: Task,
    failed: Sequence[TaskId],
    succeeded: Sequence[TaskId],
    needs: Mapping[TaskId, Sequence[TaskId]],
) -> RecoveryDecision:
    if group.spec.atomic:
        words = "the group is atomic: all of it or nothing"
        return RecoveryDecision(RecoveryStrategy.ROLLBACK_AND_RETRY, words, "atomic: false")
    below = {task for one in failed for task in downstream(one, needs)}
    dependent_successes = [task for task in succeeded if task in below]
    if dependent_successes:
        names = ", ".join(dependent_successes[:3])
        words = f"subtasks that succeeded need a failed one: {names}"
        otherwise = "no successful subtask that needs a failed one"
        return RecoveryDecision(RecoveryStrategy.ROLLBACK_AND_RETRY, words, otherwise)
    words = "no subtask that succeeded needs a failed one"
    return RecoveryDecision(
        RecoveryStrategy.RETRY_FAILED_ONLY, words, "a successful subtask that needs a failed one"
    )


# ------------------------------------------------------------------ re-runs

CONFLICT_PATTERN = "merge-conflict"
# A landing within this time is worth the wait.
RERUN_PATIENCE = timedelta(minutes=1)


def is_worth_waiting(next_due: datetime | None, now: datetime) -> bool:
    """May another task land soon, so that a re-run should wait for it?

    `next_due` is the time at which the first waiting task of the run can start; None if there is
    none.  A task that waits for hours, as for an account at its limit, holds up no re-run.
    """
    return next_due is not None and next_due - now <= RERUN_PATIENCE


@dataclass(frozen=True, slots=True)
class RerunRound:
    """`to_rerun` start now, `to_escalate` become questions; all others wait for the next round."""

    to_rerun: tuple[Task, ...]
    to_escalate: tuple[Task, ...]


def plan_rerun_round(
    waiting: Sequence[Task], head: str, refused_accounts: Collection[str] = ()
) -> RerunRound:
    """Rule 8.4: only on a head the task has not started from, continuations first, then by age.

    Another agent of its chain may succeed on the same head (rule 18.1), unless only a person can
    open its account.
    A task that never began, because our own preparation failed, started from no head: landings of
    others are no reason to expect that the preparation works now.
    Of tasks that met a conflict one starts: from the same head two would meet it again.
    """
    able = [
        task
        for task in waiting
        if task.first_base
        and (task.first_base != head or task.substitutes_without(refused_accounts))
    ]
    ordered = sorted(able, key=_order)
    first = next(filter(_met_conflict, ordered), None)
    rerun = [task for task in ordered if task is first or not _met_conflict(task)]
    return RerunRound(
        tuple(rerun[:RERUNS_PER_ROUND]), tuple(task for task in waiting if task not in able)
    )


def _met_conflict(task: Task) -> bool:
    """Did it fail by a conflict?  Markers that an agent left are a failure of quality."""
    failure = task.failure
    return failure is not None and (
        failure.kind is FailureKind.CONFLICT or failure.pattern == CONFLICT_PATTERN
    )


def _order(task: Task) -> tuple[bool, int]:
    ended = task.failure is None or task.failure.kind not in CONTINUATION_KINDS
    return (ended, task.n)
