"""Whose proof is worth making: the turns of tasks that land on the same line.

A landing makes every proof on its way worthless.  So the first proof of a task is made beside the
others', and tells early what is wrong; who was refused makes the next one alone, in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yaoki.core.model import Stage, Task

# Refused so often, a task lands before any other that could still be refused.
PATIENCE = 2
# A proof of another task that is on its way, or about to be landed.
CONTENDING = (Stage.VERIFY, Stage.LAND)


@dataclass(frozen=True, slots=True)
class Contender:
    """Another task of the same line that is at its proof: its number, and how often refused."""

    n: int
    refused: int


def waits(task: Task, others: Iterable[Contender]) -> bool:
    """Refused before, it lets those go first who were refused more often, or came before it."""
    mine = task.work.refused
    if task.stage is not Stage.VERIFY or not mine:
        return False
    return any((one.refused, -one.n) > (mine, -task.n) for one in others if one.refused)


def gives_way(task: Task, others: Iterable[Contender]) -> bool:
    """Never refused itself, it does not land before one whose patience is at its end."""
    moves = task.work.proven != task.work.onto
    if task.stage is not Stage.LAND or task.work.refused or not moves:
        return False
    return any(one.refused >= PATIENCE for one in others)
