"""A plan before it starts: its tasks in order, the worst number of agent runs, what it may cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from yaoki.core.bound import Bound, worst_case
from yaoki.core.counting import count
from yaoki.core.model import Spec
from yaoki.views.costs import AgentCost, Known, plan_costs


@dataclass(frozen=True, slots=True)
class TaskBound:
    """A task of a plan and how often an agent can run for it without a person's answer."""

    n: int
    spec: Spec
    bound: Bound

    @property
    def made_of(self) -> str:
        """The parts of the bound in words."""
        if not self.bound.total:
            return "no agent: only checks"
        retries = count(self.bound.content - 1, "retry", "retries")
        parts = [f"1 + {retries} of its content"] if self.spec.agents else []
        if self.bound.rerun:
            parts.append(f"{self.bound.rerun} from the run branch")
        if self.bound.repeats:
            repeats = count(self.bound.repeats, "repeat")
            parts.append(f"{repeats} after rate limits and passing errors")
        if self.bound.interruptions:
            parts.append(f"{self.bound.interruptions} after interruptions")
        if self.bound.judging:
            parts.append(
                f"{self.bound.judging} by judges, if every answer breaks and the branch moves"
            )
        return " + ".join(parts)


@dataclass(frozen=True, slots=True)
class PlanView:
    """What `yaoki plan` shows."""

    goal: str
    tasks: tuple[TaskBound, ...]
    done_when: tuple[str, ...]
    costs: tuple[AgentCost, ...] = ()

    @property
    def content(self) -> int:
        """Agent runs that answer for the work."""
        return sum(task.bound.content + task.bound.rerun for task in self.tasks)

    @property
    def total(self) -> int:
        return sum(task.bound.total for task in self.tasks)


def plan_view(
    goal: str,
    specs: Sequence[Spec],
    done_when: Sequence[str] = (),
    known: Mapping[str, Known] | None = None,
) -> PlanView:
    """`known` is what agents cost before, by name."""
    tasks = (TaskBound(n, spec, worst_case(spec)) for n, spec in enumerate(specs, start=1))
    return PlanView(goal, tuple(tasks), tuple(done_when), plan_costs(specs, known or {}))
