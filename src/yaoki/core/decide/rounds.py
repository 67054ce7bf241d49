"""When everything else rests: who gets the one re-run from the run branch, and who is asked."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import RERUNS_PER_ROUND, FailureKind, Task

# Work that was begun and not ended goes before work that was ended and refused.
CONTINUATION_KINDS = frozenset({FailureKind.INCOMPLETE, FailureKind.TIMEOUT, FailureKind.LOST})


@dataclass(frozen=True, slots=True)
class RerunRound:
    """`rerun` start now, `ask` never will; whoever is in neither waits for the next round."""

    to_rerun: tuple[Task, ...]
    to_escalate: tuple[Task, ...]


def plan_rerun_round(waiting: Sequence[Task], head: str) -> RerunRound:
    """Rule 8.4: only on a head the task has not started from, continuations first, then by age.

    A task that never began, because our own preparations failed, has seen no head: that others
    landed is no reason to believe that they will not fail again.
    """
    able = [task for task in waiting if task.first_base and task.first_base != head]
    rerun = tuple(sorted(able, key=_order)[:RERUNS_PER_ROUND])
    return RerunRound(rerun, tuple(task for task in waiting if task not in able))


def _order(task: Task) -> tuple[bool, int]:
    ended = task.failure is None or task.failure.kind not in CONTINUATION_KINDS
    return (ended, task.n)
