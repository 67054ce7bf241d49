"""Events of a race: those of the racing task and those of its candidates (rule 18.4)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import (
    CandidateOutcome,
    CandidateScore,
    Failure,
    RaceCriterion,
    Spend,
    TaskId,
    Work,
)


@dataclass(frozen=True, slots=True)
class RaceStarted:
    """The racing task waits for these candidates, which the same transaction adds."""

    NAME: ClassVar[str] = "RACE_STARTED"
    candidates: tuple[TaskId, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateReleased:
    """The candidate may be claimed, not before `due_at`.

    `feedback` and `answer_text` are what the racing task learned in earlier attempts.
    """

    NAME: ClassVar[str] = "CANDIDATE_RELEASED"
    due_at: datetime | None = None
    feedback: Failure | None = None
    answer_text: str = ""


@dataclass(frozen=True, slots=True)
class CandidateProven:
    """The candidate passed its checks and waits for the end of its race."""

    NAME: ClassVar[str] = "CANDIDATE_PROVEN"
    score: CandidateScore


@dataclass(frozen=True, slots=True)
class CandidateFailed:
    NAME: ClassVar[str] = "CANDIDATE_FAILED"
    failure: Failure
    score: CandidateScore


@dataclass(frozen=True, slots=True)
class CandidateRetired:
    """Its race is over.  `won`: its work continues as that of the racing task."""

    NAME: ClassVar[str] = "CANDIDATE_RETIRED"
    why: str
    won: bool = False
    saved_ref: str = ""


@dataclass(frozen=True, slots=True)
class CandidateSettled:
    """A candidate of the racing task has ended, and has used this much."""

    NAME: ClassVar[str] = "CANDIDATE_SETTLED"
    candidate: TaskId
    name: str
    agent: str
    outcome: CandidateOutcome
    score: CandidateScore = field(default_factory=CandidateScore)
    spend: Spend = field(default_factory=Spend)
    head: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class RaceDecided:
    """The race has a winner, or only a best failure (`winner` is empty).

    `work` is that of the winner or of the best failure, as the work of the racing task.
    """

    NAME: ClassVar[str] = "RACE_DECIDED"
    winner: TaskId
    criterion: RaceCriterion
    best: TaskId
    work: Work
    why: Mapping[str, Any] = field(default_factory=dict)


RaceEvent = (
    RaceStarted
    | CandidateReleased
    | CandidateProven
    | CandidateFailed
    | CandidateRetired
    | CandidateSettled
    | RaceDecided
)
