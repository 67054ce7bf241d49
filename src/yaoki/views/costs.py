"""What a plan may cost, by what the same agents took before; what nobody told is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from yaoki.core.bound import worst_case
from yaoki.core.model import TaskSpec
from yaoki.core.text import format_count
from yaoki.ports import JournalEntry

# What tells who ran, what it took, and after how many attempts its task landed.
COST_EVENTS = ("ATTEMPT_STARTED", "AGENT_FINISHED", "TASK_LANDED")


@dataclass(slots=True)
class AgentCostHistory:
    """What the runs of one agent told: their costs in US dollars, and attempts per landed task."""

    runs: int = 0
    costs: list[float] = field(default_factory=list)
    landed: int = 0
    attempts: int = 0

    @property
    def median_cost(self) -> float | None:
        """The median of what a run cost."""
        return median(self.costs) if self.costs else None

    @property
    def attempts_per_landing(self) -> float:
        """Attempts that a task took until it landed; one while none has."""
        return max(1.0, self.attempts / self.landed) if self.landed else 1.0


def fold_agent_costs(entries: Iterable[JournalEntry]) -> dict[str, AgentCostHistory]:
    """By the agent's name; the entries stand in their order."""
    found: dict[str, AgentCostHistory] = {}
    agents: dict[str, str] = {}
    for entry in entries:
        if entry.event == "ATTEMPT_STARTED":
            agents[entry.task_id] = str(entry.data.get("agent", ""))
        if not (agent := agents.get(entry.task_id)):
            continue
        known = found.setdefault(agent, AgentCostHistory())
        if entry.event == "AGENT_FINISHED":
            known.runs += 1
            cost = entry.data["exit"].get("cost")
            known.costs += [float(cost)] if cost is not None else []
        elif entry.event == "TASK_LANDED":
            known.landed += 1
            known.attempts += entry.attempt
    return found


@dataclass(frozen=True, slots=True)
class AgentCost:
    """The tasks of a plan that one agent begins, and what it took before."""

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
    """By the first agent of each chain; runs of judges are not in it."""
    tasks: dict[str, list[int]] = {}
    for spec in specs:
        if spec.agents:
            bound = worst_case(spec)
            tasks.setdefault(spec.agents[0].name, []).append(bound.total - bound.judge_runs)
    return tuple(
        AgentCost(name, len(worst), sum(worst), histories.get(name, AgentCostHistory()))
        for name, worst in tasks.items()
    )


def _sum(values: Iterable[float | None]) -> float | None:
    held = [value for value in values if value is not None]
    return round(sum(held), 6) if held else None


def cost_lines(costs: Sequence[AgentCost]) -> list[str]:
    """What it may cost and by what that was judged, or why nobody knows."""
    if not costs:
        return []
    expected, worst = _sum(c.expected_cost for c in costs), _sum(c.worst_cost for c in costs)
    head = "expected cost unknown"
    if expected is not None and worst is not None:
        without = any(cost.expected_cost is None for cost in costs)
        more = ", without what is unknown" if without else ""
        head = f"expected cost {format_dollars(expected)}, at worst {format_dollars(worst)}{more}"
    each = (_judged(cost) if cost.expected_cost is not None else _unknown(cost) for cost in costs)
    return [head, *each]


def _judged(cost: AgentCost) -> str:
    known, usual = cost.history, cost.history.median_cost
    assert usual is not None, "asked only when it is known"
    tasks, runs = format_count(cost.tasks, "task"), format_count(len(known.costs), "run")
    tries = f"{known.attempts_per_landing:.2g}"
    attempts = f"{tries} attempt" if tries == "1" else f"{tries} attempts"
    return (
        f"  {cost.agent}: {tasks} × {attempts} × {format_dollars(usual)}, the median of "
        f"its last {runs}"
    )


def _unknown(cost: AgentCost) -> str:
    tasks = format_count(cost.tasks, "task")
    if not cost.history.runs:
        return f"  {cost.agent}: {tasks}, no run of {cost.agent} yet: cost unknown"
    runs = format_count(cost.history.runs, "run")
    return f"  {cost.agent}: {tasks}, none of its last {runs} told a cost: cost unknown"


def format_dollars(dollars: float) -> str:
    """Two digits, and more for what is less than a cent."""
    return f"${dollars:.2f}" if dollars >= 0.01 or not dollars else f"${dollars:.4f}"


def cost_document(costs: Sequence[AgentCost]) -> dict[str, Any]:
    """Sums of what is known; null when nothing is."""
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
