"""The next round when nothing else can be claimed: tasks that get their re-run, and tasks that are
escalated.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import RERUNS_PER_ROUND, FailureKind, Task

# Unfinished work goes before finished work that was refused.
CONTINUATION_KINDS = frozenset({FailureKind.INCOMPLETE, FailureKind.TIMEOUT, FailureKind.LOST})


@dataclass(frozen=True, slots=True)
class RerunRound:
    """`to_rerun` start now, `to_escalate` become questions; all others wait for the next round."""

    to_rerun: tuple[Task, ...]
    to_escalate: tuple[Task, ...]


def plan_rerun_round(waiting: Sequence[Task], head: str) -> RerunRound:
    """Rule 8.4: only on a head the task has not started from, continuations first, then by age.

    A task that never began, because our own preparation failed, started from no head: landings of
    others are no reason to expect that the preparation works now.
    """
    able = [task for task in waiting if task.first_base and task.first_base != head]
    rerun = tuple(sorted(able, key=_order)[:RERUNS_PER_ROUND])
    return RerunRound(rerun, tuple(task for task in waiting if task not in able))


def _order(task: Task) -> tuple[bool, int]:
    ended = task.failure is None or task.failure.kind not in CONTINUATION_KINDS
    return (ended, task.n)
