"""What a plan may cost, by what the same agents took before; what nobody told is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from yaoki.core.bound import worst_case
from yaoki.core.counting import count
from yaoki.core.model import Spec
from yaoki.ports import Entry

# What tells who ran, what it took, and after how many attempts its task landed.
TELLING = ("ATTEMPT_STARTED", "AGENT_FINISHED", "TASK_LANDED")


@dataclass(slots=True)
class Known:
    """What the runs of one agent told: their costs in US dollars, and attempts per landed task."""

    runs: int = 0
    costs: list[float] = field(default_factory=list)
    landed: int = 0
    attempts: int = 0

    @property
    def usual(self) -> float | None:
        """The median of what a run cost."""
        return median(self.costs) if self.costs else None

    @property
    def tries(self) -> float:
        """Attempts that a task took until it landed; one while none has."""
        return max(1.0, self.attempts / self.landed) if self.landed else 1.0


def known_costs(entries: Iterable[Entry]) -> dict[str, Known]:
    """By the agent's name; the entries stand in their order."""
    found: dict[str, Known] = {}
    agents: dict[str, str] = {}
    for entry in entries:
        if entry.event == "ATTEMPT_STARTED":
            agents[entry.task_id] = str(entry.data.get("agent", ""))
        if not (agent := agents.get(entry.task_id)):
            continue
        known = found.setdefault(agent, Known())
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
    worst: int
    known: Known

    @property
    def expected(self) -> float | None:
        usual = self.known.usual
        return None if usual is None else usual * self.known.tries * self.tasks

    @property
    def at_worst(self) -> float | None:
        usual = self.known.usual
        return None if usual is None else usual * self.worst


def plan_costs(specs: Sequence[Spec], known: Mapping[str, Known]) -> tuple[AgentCost, ...]:
    """By the first agent of each chain; runs of judges are not in it."""
    tasks: dict[str, list[int]] = {}
    for spec in specs:
        if spec.agents:
            bound = worst_case(spec)
            tasks.setdefault(spec.agents[0].name, []).append(bound.total - bound.judging)
    return tuple(
        AgentCost(name, len(worst), sum(worst), known.get(name, Known()))
        for name, worst in tasks.items()
    )


def _sum(values: Iterable[float | None]) -> float | None:
    held = [value for value in values if value is not None]
    return round(sum(held), 6) if held else None


def cost_lines(costs: Sequence[AgentCost]) -> list[str]:
    """What it may cost and by what that was judged, or why nobody knows."""
    if not costs:
        return []
    expected, worst = _sum(c.expected for c in costs), _sum(c.at_worst for c in costs)
    head = "expected cost unknown"
    if expected is not None and worst is not None:
        without = any(cost.expected is None for cost in costs)
        more = ", without what is unknown" if without else ""
        head = f"expected cost {money(expected)}, at worst {money(worst)}{more}"
    each = (_judged(cost) if cost.expected is not None else _unknown(cost) for cost in costs)
    return [head, *each]


def _judged(cost: AgentCost) -> str:
    known, usual = cost.known, cost.known.usual
    assert usual is not None, "asked only when it is known"
    tasks, runs = count(cost.tasks, "task"), count(len(known.costs), "run")
    tries = f"{known.tries:.2g}"
    attempts = f"{tries} attempt" if tries == "1" else f"{tries} attempts"
    return f"  {cost.agent}: {tasks} × {attempts} × {money(usual)}, the median of its last {runs}"


def _unknown(cost: AgentCost) -> str:
    tasks = count(cost.tasks, "task")
    if not cost.known.runs:
        return f"  {cost.agent}: {tasks}, no run of {cost.agent} yet: cost unknown"
    runs = count(cost.known.runs, "run")
    return f"  {cost.agent}: {tasks}, none of its last {runs} told a cost: cost unknown"


def money(dollars: float) -> str:
    """Two digits, and more for what is less than a cent."""
    return f"${dollars:.2f}" if dollars >= 0.01 or not dollars else f"${dollars:.4f}"


def cost_document(costs: Sequence[AgentCost]) -> dict[str, Any]:
    """Sums of what is known; null when nothing is."""
    return {
        "expected": _sum(cost.expected for cost in costs),
        "worst": _sum(cost.at_worst for cost in costs),
        "unknown": [cost.agent for cost in costs if cost.expected is None],
        "agents": [
            {
                "agent": cost.agent,
                "tasks": cost.tasks,
                "median": cost.known.usual,
                "runs": cost.known.runs,
                "runs_told": len(cost.known.costs),
                "attempts": round(cost.known.tries, 3),
                "expected": _sum([cost.expected]),
                "worst": _sum([cost.at_worst]),
            }
            for cost in costs
        ],
    }
