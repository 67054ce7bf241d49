"""A plan before it starts: its tasks in order, the most agent runs possible, the expected cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.core.bound import WorstCase, worst_case
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count
from yaoki.views.costs import AgentCost, AgentCostHistory, plan_costs

if TYPE_CHECKING:
    from yaoki.core.forecast.forecast import Forecast
    from yaoki.core.model import TaskSpec


@dataclass(frozen=True, slots=True)
class TaskBound:
    """A task of a plan, and the most agent runs for it without a person's answer."""

    n: int
    spec: TaskSpec
    bound: WorstCase

    @property
    def bound_words(self) -> str:
        """The parts of the bound in words."""
        if not self.bound.total:
            return "no agent: only checks"
        parts = [self._content_words] if self.spec.agents else []
        if self.bound.reruns:
            parts.append(f"{self.bound.reruns} from the run branch")
        if self.bound.repeats:
            repeats = format_count(self.bound.repeats, "repeat")
            parts.append(f"{repeats} after rate limits and temporary errors")
        if self.bound.interruptions:
            parts.append(f"{self.bound.interruptions} after interruptions")
        if self.bound.judge_runs:
            parts.append(f"{self.bound.judge_runs} by {self._judge_words}")
        return " + ".join(parts)

    @property
    def _judge_words(self) -> str:
        if any(check.agent is not None for check in self.spec.checks):
            return "judges, if every answer is invalid and the branch moves"
        return "the judge of its race, if each round is a tie and the judge is interrupted"

    @property
    def _content_words(self) -> str:
        race = self.spec.race
        if race is None:
            return f"1 + {format_count(self.bound.content - 1, 'retry', 'retries')} of its content"
        rounds = format_count(self.bound.content // race.tries, "round")
        return f"{rounds} of {race.tries} candidates"


@dataclass(frozen=True, slots=True)
class PlanView:
    """The content of `yaoki plan`."""

    goal: str
    tasks: tuple[TaskBound, ...]
    done_when: tuple[str, ...]
    costs: tuple[AgentCost, ...] = ()
    forecast: Forecast | None = None
    # The agent runs after which the budget pauses the run; 0 for no limit.
    budget_runs: int = 0

    @property
    def content_runs_max(self) -> int:
        """Agent runs for the work itself."""
        return sum(task.bound.content + task.bound.reruns for task in self.tasks)

    @property
    def runs_max(self) -> int:
        return sum(task.bound.total for task in self.tasks)


def build_plan_view(
    goal: str,
    specs: Sequence[TaskSpec],
    done_when: Sequence[str] = (),
    cost_histories: Mapping[str, AgentCostHistory] | None = None,
    forecast: Forecast | None = None,
    budget: Mapping[str, float] | None = None,
) -> PlanView:
    """`cost_histories` are by the name of the agent; `budget` is that of the run."""
    tasks = (TaskBound(n, spec, worst_case(spec)) for n, spec in enumerate(specs, start=1))
    costs = plan_costs(specs, cost_histories or {})
    runs = int((budget or {}).get("attempts", 0))
    return PlanView(goal, tuple(tasks), tuple(done_when), costs, forecast, runs)
