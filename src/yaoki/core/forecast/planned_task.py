"""The tasks of a forecast and the conditions of its run, without anything that takes no time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from yaoki.core.bound import worst_case
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import TaskKind, TaskSpec

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


def has_race(specs: Iterable[TaskSpec]) -> bool:
    """Several agents work on one of the tasks: neither their time nor their cost is simulated."""
    return any(spec.race is not None for spec in specs)


def plan_tasks(specs: Sequence[TaskSpec], done_when: Sequence[str] = ()) -> list[ForecastTask]:
    """The tasks of a plan before its start, and `done_when` after all of them."""
    positions = {spec.name: n for n, spec in enumerate(specs)}
    tasks = [forecast_task(spec, positions) for spec in specs]
    if done_when:
        checks = tuple(sorted(done_when))
        tasks.append(ForecastTask(tuple(range(len(tasks))), checks=checks, retries=0))
    return tasks


def forecast_task(spec: TaskSpec, positions: Mapping[str, int]) -> ForecastTask:
    bound = worst_case(spec)
    return ForecastTask(
        needs=tuple(positions[need] for need in spec.needs if need in positions),
        agents=tuple(ForecastAgent(agent.name, agent.billed_account) for agent in spec.agents),
        checks=tuple(sorted(check.name for check in spec.checks)),
        priority=spec.priority,
        retries=max(0, bound.content - 1),
        repeats=bound.repeats + bound.interruptions,
        reruns=spec.policy.reruns_max if bound.reruns else 0,
        fail_over_after_s=spec.policy.fail_over_after.total_seconds(),
    )
