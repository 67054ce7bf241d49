"""How far the work of an attempt came, by its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum, unique
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import BUILT_IN_CHECKS, FailureKind, Outcome, Stage
from yaoki.core.model.names import CONFLICT_MARKERS_CHECK, explain_check_name
from yaoki.core.text import list_some, shorten

if TYPE_CHECKING:
    from yaoki.ports import SavedWork
    from yaoki.views.history import Attempt

NAMES_SHOWN = 3
WORDS_CHARS_MAX = 80
_FAILING = frozenset({Outcome.FAILED, Outcome.BROKEN})


@unique
class WorkEnd(StrEnum):
    """How far the work of an attempt came; the least first."""

    # It left no changes.
    EMPTY = "EMPTY"
    # It contains conflict markers.
    CONFLICTED = "CONFLICTED"
    UNKNOWN = "UNKNOWN"
    FAILED = "FAILED"
    # The checks of its plan passed, and one that yaoki adds failed.
    CHECKED = "CHECKED"
    PASSED = "PASSED"


@dataclass(frozen=True, slots=True)
class SavedAttempt:
    """`words` say what failed."""

    end: WorkEnd
    started_at: datetime | None = None
    words: str = ""


NOTHING_KNOWN = SavedAttempt(WorkEnd.UNKNOWN)
# The least first; work that was changed after its attempt counts for more than any.
ENDS = tuple(WorkEnd)
# By the ref of the work.
Attempts = Mapping[str, SavedAttempt]


def judge_attempt(attempt: Attempt) -> SavedAttempt:
    """What its last verification says; a failure without a failing check has its own words."""
    last = {check.check: check.outcome for check in attempt.checks if check.required}
    failing = [name for name, outcome in last.items() if outcome in _FAILING]
    is_proven = bool(attempt.stages) and attempt.stages[-1].stage == Stage.LAND
    # Work that was proven may be verified again, on a run branch that has moved, and fail there.
    if attempt.landed or (is_proven and not failing):
        return SavedAttempt(WorkEnd.PASSED, attempt.started_at)
    own = [name for name in last if name not in BUILT_IN_CHECKS]
    failure = attempt.recorded_failure
    words = list_some([explain_check_name(name) for name in failing], NAMES_SHOWN)
    if CONFLICT_MARKERS_CHECK in failing:
        return SavedAttempt(WorkEnd.CONFLICTED, attempt.started_at, words)
    if failing and own and not set(failing) & set(own):
        return SavedAttempt(WorkEnd.CHECKED, attempt.started_at, words)
    if failing or failure is None:
        end = WorkEnd.FAILED if failing else WorkEnd.UNKNOWN
        return SavedAttempt(end, attempt.started_at, words)
    is_conflict = failure.kind == FailureKind.CONFLICT
    told = "in conflict with other work" if is_conflict else failure.subject
    return SavedAttempt(WorkEnd.FAILED, attempt.started_at, shorten(told, WORDS_CHARS_MAX))


def choose_furthest(works: Sequence[SavedWork], attempts: Attempts) -> SavedWork:
    """The newest of those that came furthest; `works` are oldest first, and at least one.

    The newest attempt of all is often the worst: the agent had to change what was good.
    """
    return max(reversed(works), key=lambda work: _rank(work, attempts))


def _rank(work: SavedWork, attempts: Attempts) -> int:
    """Work that was changed after the attempt is mostly a person's, and that is what is sought."""
    if left_nothing(work, attempts):
        return 0
    return len(ENDS) if is_late(work) else ENDS.index(find_attempt(work, attempts).end)


def find_attempt(work: SavedWork, attempts: Attempts) -> SavedAttempt:
    return attempts.get(work.ref, NOTHING_KNOWN)


def left_nothing(work: SavedWork, attempts: Attempts) -> bool:
    return find_attempt(work, attempts).end is WorkEnd.EMPTY


def is_late(work: SavedWork) -> bool:
    """Was it saved after the end of its attempt?"""
    return "-late" in work.ref
