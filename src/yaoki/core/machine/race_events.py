"""Events of a race: those of the racing task and those of its candidates (rule 18.4)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import (
    CandidateOutcome,
    CandidateScore,
    ComparedWork,
    Failure,
    RaceCriterion,
    RaceJudgment,
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
    """The candidate may be claimed, but not before `due_at`.

    `feedback` is the last failure of the racing task, and `answer_text` a person's answer to it.
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
    """The candidate failed and is not retried; its race continues without it."""

    NAME: ClassVar[str] = "CANDIDATE_FAILED"
    failure: Failure
    score: CandidateScore


@dataclass(frozen=True, slots=True)
class CandidateRetired:
    """The race of the candidate is over.  `won`: its work becomes the work of the racing task."""

    NAME: ClassVar[str] = "CANDIDATE_RETIRED"
    why: str
    won: bool = False
    saved_ref: str = ""


@dataclass(frozen=True, slots=True)
class CandidateSettled:
    """A candidate of the racing task has ended; `spend` is its usage of agents."""

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
class JudgeCalled:
    """The best candidates are equal so far, so `agent` is asked which one is best.

    `works` are in the order of the letters A, B, C.  The same transaction adds the task `judge`.
    """

    NAME: ClassVar[str] = "JUDGE_CALLED"
    agent: str
    works: tuple[ComparedWork, ...]
    judge: TaskId = TaskId("")


@dataclass(frozen=True, slots=True)
class JudgeEnded:
    """The judge of a race chose a letter, or chose none because of `failure`.

    `account_until`: the account of the judge is closed until then.
    """

    NAME: ClassVar[str] = "JUDGE_ENDED"
    judgment: RaceJudgment = field(default_factory=RaceJudgment)
    failure: Failure | None = None
    account_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class JudgeSettled:
    """The judge of the race has ended; `spend` is its usage of agents.

    `candidate` is the one that it chose; if it chose none, this is empty and `message` says why.
    `judge` is empty if the judge could not be asked.
    """

    NAME: ClassVar[str] = "JUDGE_SETTLED"
    judge: TaskId
    agent: str
    judgment: RaceJudgment = field(default_factory=RaceJudgment)
    candidate: TaskId = TaskId("")
    message: str = ""
    spend: Spend = field(default_factory=Spend)


@dataclass(frozen=True, slots=True)
class RaceDecided:
    """The race has a winner, or only a best failed candidate (then `winner` is empty).

    `work` is the work of the winner or of the best failed candidate; the racing task takes it over.
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
    | JudgeCalled
    | JudgeEnded
    | JudgeSettled
    | RaceDecided
)
