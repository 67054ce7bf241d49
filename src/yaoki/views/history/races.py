"""The races of a task: each round with its candidates side by side and what decided it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model import CandidateOutcome, Stage, State
from yaoki.core.model.race import letters_for
from yaoki.ports import JournalEntry, TaskRow
from yaoki.views.plain_words import describe_criterion


@dataclass(frozen=True, slots=True)
class RaceCandidate:
    """One candidate with the values that are compared; None where a value is unknown.

    `outcome` is empty while it works or waits, and `has_agent` says that its agent was started.
    `head`: the commit of everything it left.
    """

    id: str
    name: str = ""
    agent: str = ""
    outcome: str = ""
    failed_checks: int | None = None
    hidden_failures: int | None = None
    surviving_mutants: int | None = None
    changed_lines: int | None = None
    cost: float | None = None
    head: str = ""
    message: str = ""
    has_agent: bool = False


@dataclass(frozen=True, slots=True)
class RaceJudge:
    """The judge of a round.  `letters` names the candidates as it saw them, by id and by name.

    `choice` is a letter; empty if it decided nothing, and `message` says why once it has ended.
    `id` is empty if it could not be asked.
    """

    agent: str
    id: str = ""
    letters: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    choice: str = ""
    reason: str = ""
    message: str = ""

    @property
    def words(self) -> str:
        """`judge careful chose B (A is x~1.2, B is x~1.1): it is simpler`."""
        names = ", ".join(f"{letter} is {name}" for letter, (_, name) in self.letters.items())
        seen = f" ({names})" if names else ""
        if self.choice:
            return f"judge {self.agent} chose {self.choice}{seen}: {self.reason}"
        if self.message:
            return f"judge {self.agent} decided nothing{seen}: {self.message}"
        return f"judge {self.agent} compares the candidates{seen}"


@dataclass(frozen=True, slots=True)
class RaceRound:
    """One attempt of a racing task; `decided_at` is None while its candidates work."""

    attempt: int
    started_at: datetime
    candidates: tuple[RaceCandidate, ...]
    decided_at: datetime | None = None
    winner: str = ""
    criterion: str = ""
    judge: RaceJudge | None = None

    @property
    def winner_name(self) -> str:
        return next((one.name for one in self.candidates if one.id == self.winner), self.winner)

    @property
    def words(self) -> str:
        """The result in a sentence, or how far the race is."""
        if self.decided_at is None:
            ended = sum(bool(one.outcome) for one in self.candidates)
            return f"{ended} of {len(self.candidates)} candidates have ended"
        reason = describe_criterion(self.criterion)
        return f"{self.winner_name} won: {reason}" if self.winner else reason


@dataclass(slots=True)
class RaceLog:
    """The races of one task, oldest first."""

    rounds: list[RaceRound] = field(default_factory=list)

    def start(self, entry: JournalEntry) -> None:
        candidates = tuple(RaceCandidate(str(one)) for one in entry.data.get("candidates", ()))
        self.rounds.append(RaceRound(entry.attempt, entry.at, candidates))

    def settle(self, entry: JournalEntry) -> None:
        """Also of an earlier round, if its candidate was slow to end."""
        settled = read_candidate(entry.data)
        self.rounds = [
            replace(one, candidates=_with(one.candidates, settled)) for one in self.rounds
        ]

    def reopen(self) -> None:
        """The checks were changed: a candidate of an open round is proven by the new ones only."""
        if self.rounds and self.rounds[-1].decided_at is None:
            candidates = tuple(map(_without_proof, self.rounds[-1].candidates))
            self.rounds[-1] = replace(self.rounds[-1], candidates=candidates)

    def call_judge(self, entry: JournalEntry) -> None:
        works, judge = entry.data.get("works", ()), str(entry.data.get("judge", ""))
        seen = ((str(work["candidate"]), str(work["name"])) for work in works)
        letters = dict(zip(letters_for(len(works)), seen, strict=True))
        self._set_judge(RaceJudge(str(entry.data.get("agent", "")), judge, letters))

    def settle_judge(self, entry: JournalEntry) -> None:
        """The end of the judge of the newest round; that of an earlier one decided nothing."""
        data, judgment = entry.data, entry.data.get("judgment") or {}
        judge, agent = str(data.get("judge", "")), str(data.get("agent", ""))
        before = (self.rounds[-1].judge if self.rounds else None) or RaceJudge(agent, judge)
        if before.id == judge:
            choice, reason = str(judgment.get("choice", "")), str(judgment.get("reason", ""))
            message = str(data.get("message", ""))
            self._set_judge(replace(before, choice=choice, reason=reason, message=message))

    def _set_judge(self, judge: RaceJudge) -> None:
        if self.rounds:
            self.rounds[-1] = replace(self.rounds[-1], judge=judge)

    def decide(self, entry: JournalEntry) -> None:
        if self.rounds:
            data = entry.data
            winner, criterion = str(data.get("winner", "")), str(data.get("criterion", ""))
            self.rounds[-1] = replace(
                self.rounds[-1], decided_at=entry.at, winner=winner, criterion=criterion
            )


def _with(candidates: Sequence[RaceCandidate], settled: RaceCandidate) -> tuple[RaceCandidate, ...]:
    return tuple(settled if one.id == settled.id else one for one in candidates)


def _without_proof(candidate: RaceCandidate) -> RaceCandidate:
    is_proven = candidate.outcome == CandidateOutcome.PROVEN
    return RaceCandidate(candidate.id) if is_proven else candidate


def read_candidate(data: Mapping[str, Any]) -> RaceCandidate:
    """The candidate of a CANDIDATE_SETTLED entry."""
    score = data.get("score") or {}
    return RaceCandidate(
        str(data["candidate"]),
        str(data.get("name", "")),
        str(data.get("agent", "")),
        str(data.get("outcome", "")),
        score.get("failed_checks"),
        score.get("hidden_failures"),
        score.get("surviving_mutants"),
        score.get("changed_lines"),
        score.get("cost"),
        str(data.get("head", "")),
        str(data.get("message", "")),
    )


def name_open_candidates(race: RaceRound, rows: Mapping[str, TaskRow]) -> RaceRound:
    """The round with the names and agents of the candidates that have not ended, by their rows."""
    return replace(
        race,
        candidates=tuple(
            _from_row(one, rows[one.id]) if not one.outcome and one.id in rows else one
            for one in race.candidates
        ),
    )


def _from_row(candidate: RaceCandidate, row: TaskRow) -> RaceCandidate:
    has_agent = row.state is State.ACTIVE and row.stage in {Stage.WORK, Stage.VERIFY}
    return replace(candidate, name=row.name, agent=row.agent_title, has_agent=has_agent)


def candidate_values(candidate: RaceCandidate) -> dict[str, str]:
    """The known values in words, in the order in which they are compared."""
    values: dict[str, Any] = {
        "failed checks": candidate.failed_checks or None,
        "hidden checks failed": candidate.hidden_failures,
        "surviving mutants": candidate.surviving_mutants,
        "changed lines": candidate.changed_lines,
        "cost": None if candidate.cost is None else f"${candidate.cost:,.2f}",
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def describe_candidate(candidate: RaceCandidate, winner: str) -> str:
    """`signup~1.2 (small): proven, won; changed lines 4, cost $0.12`."""
    agent = f" ({candidate.agent})" if candidate.agent else ""
    won = ", won" if winner and candidate.id == winner else ""
    values = ", ".join(f"{name} {value}" for name, value in candidate_values(candidate).items())
    failed = candidate.message if candidate.outcome == CandidateOutcome.FAILED else ""
    details = "; ".join(filter(None, (values, failed)))
    outcome = candidate.outcome.replace("-", " ") or _open_words(candidate)
    return f"{candidate.name or candidate.id}{agent}: {outcome}{won}" + (
        f"; {details}" if details else ""
    )


def _open_words(candidate: RaceCandidate) -> str:
    return "at work" if candidate.has_agent else "at work or waiting"
