"""Landed work that no check tells from its base, derived from the journal of its judgment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.core.model import BUILT_IN_CHECKS, RED_FIRST_CHECK, Outcome

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry

JUDGMENT = "QUALITY_JUDGMENT"

INDISTINCT_WORDS = "no check tells this work from the base: all pass without it"


def is_indistinct(outcomes: Mapping[str, str], same_at_base: Sequence[str]) -> bool:
    """Are all checks of a judgment known to pass without the work?

    A test that fails without it (red first) shows the difference.
    """
    own = [name for name in outcomes if name not in BUILT_IN_CHECKS]
    red = outcomes.get(RED_FIRST_CHECK) == Outcome.PASSED
    return bool(own) and not red and set(own) <= set(same_at_base)


def find_indistinct_tasks(
    judgments: Iterable[JournalEntry], landed: Mapping[str, str]
) -> tuple[str, ...]:
    """The tasks whose landed commit no check tells from its base; `landed`: their commits."""
    found: dict[str, bool] = {}
    for entry in judgments:
        data = entry.data
        if data["passed"] and landed.get(entry.task_id) == data["commit"]:
            same = data.get("same_at_base", ())
            found[entry.task_id] = is_indistinct(data.get("checks", {}), same)
    return tuple(task_id for task_id in landed if found.get(task_id))
