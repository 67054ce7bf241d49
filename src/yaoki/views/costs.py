"""The expected cost of a plan, judged by earlier runs of its agents; unknown without reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.core.bound import worst_case
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model.race import RaceStart
from yaoki.core.text import format_count
from yaoki.views.history import Attempt, build_run_history

if TYPE_CHECKING:
    from yaoki.core.model import TaskSpec
    from yaoki.ports import JournalEntry

# The events that name an agent, its cost, and the attempt that landed.
COST_EVENTS = ("ATTEMPT_STARTED", "AGENT_FINISHED", "TASK_LANDED")


@dataclass(slots=True)
class AgentCostHistory:
    """The costs in US dollars that runs of one agent reported, and its attempts per landed task."""

    runs: int = 0
    costs: list[float] = field(default_factory=list)
    landed: int = 0
    attempts: int = 0

    def add(self, attempt: Attempt) -> None:
        self.runs += len(attempt.agent_runs)
        self.costs += [float(run.cost) for run in attempt.agent_runs if run.cost is not None]
        if attempt.landed:
            self.landed += 1
            self.attempts += attempt.number

    @property
    def median_cost(self) -> float | None:
        from statistics import median  # slow to import, and most commands show no cost

        return median(self.costs) if self.costs else None

    @property
    def attempts_per_landing(self) -> float:
        """Attempts that a task took until it landed; 1 while none has landed."""
        return max(1.0, self.attempts / self.landed) if self.landed else 1.0


def fold_agent_costs(entries: Iterable[JournalEntry]) -> dict[str, AgentCostHistory]:
    """By the agent's name; `entries` are oldest first."""
    histories: dict[str, AgentCostHistory] = {}
    for task in build_run_history(entries).tasks.values():
        for attempt in task.attempts:
            if attempt.agent:
                agent = histories.setdefault(attempt.agent, AgentCostHistory())
                agent.add(attempt)
    return histories


@dataclass(frozen=True, slots=True)
class AgentCost:
    """The tasks of a plan that one agent begins, and the history of that agent.

    A candidate of a race counts as a task, unless it starts only after another one.
    """

    agent: str
    tasks: int
    runs_at_worst: int
    history: AgentCostHistory

    @property
    def expected_cost(self) -> float | None:
        usual = self.history.median_cost
        return None if usual is None else usual * self.history.attempts_per_landing * self.tasks

    @property
    def worst_cost(self) -> float | None:
        usual = self.history.median_cost
        return None if usual is None else usual * self.runs_at_worst


def plan_costs(
    specs: Sequence[TaskSpec], histories: Mapping[str, AgentCostHistory]
) -> tuple[AgentCost, ...]:
    """By the first agent of each chain, without the runs of judges."""
    tasks: Counter[str] = Counter()
    worst: Counter[str] = Counter()
    for spec in specs:
        for agent, is_certain, runs in _first_runs(spec):
            tasks[agent] += is_certain
            worst[agent] += runs
    return tuple(
        AgentCost(name, tasks[name], runs, histories.get(name, AgentCostHistory()))
        for name, runs in worst.items()
    )


def _first_runs(spec: TaskSpec) -> Iterator[tuple[str, bool, int]]:
    """Each agent that begins the task or a candidate, whether it is sure to run, and how often."""
    if not spec.agents:
        return
    bound, race = worst_case(spec), spec.race
    runs, tries = bound.total - bound.judge_runs, race.tries if race else 1
    names = list(dict.fromkeys(agent.name for agent in spec.agents))
    for n in range(tries):
        turn = n % len(names) if race and race.agents_take_turns else 0
        certain = n == 0 or (race is not None and race.start is RaceStart.AT_ONCE)
        yield names[turn], certain, runs // tries


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 6) if known else None


def cost_lines(costs: Sequence[AgentCost]) -> list[str]:
    """The expected cost and how it was derived, or why it is unknown."""
    if not costs:
        return []
    expected, worst = _sum(c.expected_cost for c in costs), _sum(c.worst_cost for c in costs)
    head = "expected cost unknown"
    if expected is not None and worst is not None:
        without = any(cost.expected_cost is None for cost in costs)
        more = ", unknown costs not included" if without else ""
        head = f"expected cost {format_dollars(expected)}, at worst {format_dollars(worst)}{more}"
    each = (
        _known_line(cost) if cost.expected_cost is not None else _unknown_line(cost)
        for cost in costs
    )
    return [head, *each]


def _known_line(cost: AgentCost) -> str:
    known, usual = cost.history, cost.history.median_cost
    assert usual is not None, "only called for a known cost"
    tasks, runs = format_count(cost.tasks, "task"), len(known.costs)
    basis = "that of its last run" if runs == 1 else f"the median of its last {runs} runs"
    tries = f"{known.attempts_per_landing:.2g}"
    attempts = f"{tries} attempt" if tries == "1" else f"{tries} attempts"
    return f"  {cost.agent}: {tasks} × {attempts} × {format_dollars(usual)}, {basis}"


def _unknown_line(cost: AgentCost) -> str:
    tasks = format_count(cost.tasks, "task")
    if not cost.history.runs:
        return f"  {cost.agent}: {tasks}, no run of {cost.agent} yet: cost unknown"
    runs = cost.history.runs
    known = "its last run reported no cost" if runs == 1 else f"its last {runs} runs reported none"
    return f"  {cost.agent}: {tasks}, {known}: cost unknown"


def format_dollars(dollars: float) -> str:
    """Two decimals, or four below one cent."""
    return f"${dollars:.2f}" if dollars >= 0.01 or not dollars else f"${dollars:.4f}"


def cost_document(costs: Sequence[AgentCost]) -> dict[str, Any]:
    """Sums of the known costs; null when none is known."""
    return {
        "expected": _sum(cost.expected_cost for cost in costs),
        "worst": _sum(cost.worst_cost for cost in costs),
        "unknown": [cost.agent for cost in costs if cost.expected_cost is None],
        "agents": [
            {
                "agent": cost.agent,
                "tasks": cost.tasks,
                "median": cost.history.median_cost,
                "runs": cost.history.runs,
                "runs_told": len(cost.history.costs),
                "attempts": round(cost.history.attempts_per_landing, 3),
                "expected": _sum([cost.expected_cost]),
                "worst": _sum([cost.worst_cost]),
            }
            for cost in costs
        ],
    }
