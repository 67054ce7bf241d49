"""The tasks of a forecast and the conditions of its run, without anything that takes no time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto, unique

from yaoki.core.bound import worst_case
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import RaceRules, TaskKind, TaskSpec
from yaoki.core.model.treatment import LearningMode

# The end of a forecast for tasks that a planner has yet to write is unknown.
OPEN_ENDED_KINDS = frozenset({TaskKind.PLAN})


@dataclass(frozen=True, slots=True)
class ForecastAgent:
    """An agent of a task's chain, and the account that its limits close."""

    name: str
    account: str


@dataclass(frozen=True, slots=True)
class ForecastTask:
    """An open task.  `needs` are the positions of other open tasks.

    `retries`, `repeats` and `reruns` are what is left of its limits.  An active task has been in
    its stage for `elapsed_s`; `is_proving`: its agent has ended.  `due_s`: it waits at least so
    long.

    With a `race` each try is a round of candidates; `candidates` are those of the round that goes
    on.  `has_winner`: the last round is decided, and its winner is still to land.
    """

    needs: tuple[int, ...] = ()
    agents: tuple[ForecastAgent, ...] = ()
    checks: tuple[str, ...] = ()
    priority: int = 0
    retries: int = 3
    repeats: int = 5
    reruns: int = 0
    fail_over_after_s: float = 300.0
    is_retry: bool = False
    is_active: bool = False
    is_proving: bool = False
    elapsed_s: float = 0.0
    due_s: float = 0.0
    race: RaceRules | None = None
    candidates: tuple[ForecastCandidate, ...] = ()
    has_winner: bool = False
    # With `learn: choose` the agent of each retry is drawn.
    learns: bool = False

    @property
    def waits_for_proof(self) -> bool:
        """Its agent has ended, and nothing verifies its work at present."""
        return self.is_proving and not self.is_active and not self.has_winner

    @property
    def first_agents(self) -> tuple[str, ...]:
        """The names of the agents that work if nothing fails."""
        names = list(dict.fromkeys(agent.name for agent in self.agents))
        takes_turns = self.race is not None and self.race.agents_take_turns
        return tuple(names[: self.race.tries if self.race and takes_turns else 1])

    def list_candidates(self, *, is_retry: bool) -> list[ForecastTask]:
        """The candidates of a new round; work of theirs that fails is not tried again."""
        assert self.race is not None, "the task has no race"
        return [
            ForecastTask(
                agents=self._chain(number if self.race.agents_take_turns else 0),
                checks=self.checks,
                priority=self.priority,
                retries=0,
                repeats=self.repeats,
                fail_over_after_s=self.fail_over_after_s,
                is_retry=is_retry,
            )
            for number in range(self.race.tries)
        ]

    def _chain(self, turns: int) -> tuple[ForecastAgent, ...]:
        """The accounts of one agent are one turn."""
        if not self.agents:
            return ()
        names = list(dict.fromkeys(agent.name for agent in self.agents))
        chosen = names[turns % len(names)]
        first = next(n for n, agent in enumerate(self.agents) if agent.name == chosen)
        return (*self.agents[first:], *self.agents[:first])


@unique
class CandidatePhase(Enum):
    """The progress of a candidate.  RELEASED: it may start."""

    UNRELEASED = auto()
    RELEASED = auto()
    STARTED = auto()
    PROVEN = auto()
    FAILED = auto()

    @property
    def is_settled(self) -> bool:
        return self is CandidatePhase.PROVEN or self is CandidatePhase.FAILED


@dataclass(frozen=True, slots=True)
class ForecastCandidate:
    """A candidate of a round that goes on."""

    phase: CandidatePhase
    task: ForecastTask


@dataclass(frozen=True, slots=True)
class RunConditions:
    """The limits of a run.  Times are seconds from now; a budget that is None has no limit.

    `quiet`: the times in which no agent starts.  `closed`: when each closed account opens again.
    """

    slots: int
    quiet: Sequence[tuple[float, float]] = ()
    closed: Mapping[str, float] = field(default_factory=dict)
    money_left: float | None = None
    runs_left: float | None = None
    agent_seconds_left: float | None = None
    wall_s_left: float | None = None


def plan_tasks(specs: Sequence[TaskSpec], done_when: Sequence[str] = ()) -> list[ForecastTask]:
    """The tasks of a plan before its start, and `done_when` after all of them."""
    positions = {spec.name: n for n, spec in enumerate(specs)}
    tasks = [forecast_task(spec, positions) for spec in specs]
    if done_when:
        checks = tuple(sorted(done_when))
        tasks.append(ForecastTask(tuple(range(len(tasks))), checks=checks, retries=0))
    return tasks


def forecast_task(spec: TaskSpec, positions: Mapping[str, int]) -> ForecastTask:
    """The bounds of a racing task are in candidates: a try is a round of them."""
    bound, tries = worst_case(spec), spec.race.tries if spec.race else 1
    candidates = bound.content + bound.reruns if spec.race else 1
    return ForecastTask(
        needs=tuple(positions[need] for need in spec.needs if need in positions),
        agents=tuple(ForecastAgent(agent.name, agent.billed_account) for agent in spec.agents),
        checks=tuple(sorted(check.name for check in spec.checks)),
        priority=spec.priority,
        retries=max(0, bound.content // tries - 1),
        repeats=(bound.repeats + bound.interruptions) // max(1, candidates),
        reruns=spec.policy.reruns_max if bound.reruns else 0,
        fail_over_after_s=spec.policy.fail_over_after.total_seconds(),
        race=spec.race,
        learns=spec.policy.learn is LearningMode.CHOOSE,
    )
