"""Races: the rules of a task whose work several candidates try, and what is compared (18.4)."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum, unique

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.names import TaskId

# More candidates than this cost more than they can find.
RACE_TRIES_MAX = 10
# The judge of a race is asked once more after an interruption.
RACE_JUDGE_CALLS_MAX = 2


@unique
class RaceStart(StrEnum):
    """The start of a further candidate: at once, after the one before it failed or ran so long."""

    AT_ONCE = "at-once"
    AFTER_FAILURE = "after-failure"
    AFTER = "after"


@unique
class RaceEnd(StrEnum):
    """The end of a race: the first proven candidate, or the end of all."""

    FIRST = "first"
    ALL = "all"


@unique
class CandidateOutcome(StrEnum):
    """STOPPED: the race was over before the candidate was; NOT_STARTED: before it began."""

    PROVEN = "proven"
    FAILED = "failed"
    STOPPED = "stopped"
    NOT_STARTED = "not-started"


@unique
class RaceCriterion(StrEnum):
    """The first difference between the winner and the next candidate; NONE without a winner.

    FIRST: its proof ended the race.  ONLY: no other candidate was proven.
    """

    NONE = ""
    FIRST = "first"
    ONLY = "only"
    HIDDEN_CHECKS = "hidden-checks"
    MUTANTS = "mutants"
    JUDGE = "judge"
    DIFF = "diff"
    COST = "cost"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class RaceRules:
    """`delay` counts only with the start AFTER.

    With `agents_take_turns` each candidate begins with the next agent of the task's chain;
    otherwise all begin with the first one.  `judge` names the agent that is asked which of several
    equal candidates is best; empty: none.
    """

    tries: int
    start: RaceStart = RaceStart.AT_ONCE
    delay: timedelta = timedelta(0)
    until: RaceEnd = RaceEnd.FIRST
    agents_take_turns: bool = False
    judge: str = ""


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """The values of a candidate that are compared; None where a value is unknown.

    `failed_checks`: the number of required checks that failed when the candidate was verified.
    `hidden_failures`: the number of failed optional hidden checks.
    """

    failed_checks: int | None = None
    hidden_failures: int | None = None
    surviving_mutants: int | None = None
    changed_lines: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ComparedWork:
    """The work of a proven candidate: the diff from `base` to `head`."""

    candidate: TaskId
    name: str
    base: str
    head: str


@dataclass(frozen=True, slots=True)
class JudgingBrief:
    """The works that the judge of a race compares, in the order of their letters."""

    works: tuple[ComparedWork, ...] = ()


@dataclass(frozen=True, slots=True)
class RaceJudgment:
    """The letter that the judge of a race chose, and why; both are empty if it gave no answer."""

    choice: str = ""
    reason: str = ""


def letters_for(count: int) -> tuple[str, ...]:
    """A, B, C: the names under which a judge sees the works."""
    return tuple(chr(ord("A") + n) for n in range(count))
