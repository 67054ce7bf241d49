"""When everything else rests: who gets the one re-run from the run branch, and who is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yaoki.core.model import RERUNS_PER_ROUND, Kind, Task

# Work that was begun and not ended goes before work that was ended and refused.
CONTINUATIONS = frozenset({Kind.INCOMPLETE, Kind.TIMEOUT, Kind.LOST})


@dataclass(frozen=True, slots=True)
class Round:
    """`rerun` start now, `ask` never will; whoever is in neither waits for the next round."""

    rerun: tuple[Task, ...]
    ask: tuple[Task, ...]


def next_round(held: Sequence[Task], head: str) -> Round:
    """Rule 8.4: only on a head the task has not started from, continuations first, then by age.

    A task that never began, because our own preparations failed, has seen no head: that others
    landed is no reason to believe that they will not fail again.
    """
    able = [task for task in held if task.began_at and task.began_at != head]
    rerun = tuple(sorted(able, key=_order)[:RERUNS_PER_ROUND])
    return Round(rerun, tuple(task for task in held if task not in able))


def _order(task: Task) -> tuple[bool, int]:
    ended = task.failure is None or task.failure.kind not in CONTINUATIONS
    return (ended, task.n)
