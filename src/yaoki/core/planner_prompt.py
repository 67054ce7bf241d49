"""The prompt of a planner, with the tasks that are not done."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import (
    REPLANS_MAX,
    CheckSpec,
    PlanningBrief,
    PlanningRole,
    Reason,
    Run,
    State,
    Task,
    TaskKind,
)
from yaoki.core.text import bullet_some, one_line

GOAL_CHARS_MAX = 400
FAILURE_CHARS_MAX = 300
TOLD_MAX = 60

# Only a person can fix these; no plan of an agent can.
PERSON_ONLY = frozenset(
    {
        Reason.NEEDS_HUMAN,
        Reason.MANUAL,
        Reason.SYSTEM_ERROR_PERMANENT,
        Reason.RESOURCE_EXHAUSTED,
    }
)

PLANNER_RULES = """\
- You plan work for other agents. Read what you need in the current directory, a checkout of
  the head of the run branch. Change nothing: every change here is discarded.
- No one answers questions while you plan.
- Each task is done by an agent that sees only its own goal, in its own worktree; put everything it
  must know into the goal. A task is done only when its checks pass.
- Small tasks that can be proven one by one are better than large ones. Name needs only where one
  task must see another's work."""

# Deliberately invalid JSON: an agent that repeats its prompt has not answered.
ANSWER_FORM = """\
End your standard output with exactly one JSON object and nothing after it:

{"tasks": [{"id": "...", "goal": "...", "kind": "{kinds}", "needs": ["..."], "checks": ["..."],
            "scope": ["..."], "agent": "...", "required": true|false, "replaces": "..."}, ...],
 "reason": "..."}

- id: a new short name. goal: what to do, in full. Both are required; all else may be left out.
- needs: ids of this answer, or names or ids of tasks listed above; never ones you invent.
- checks, agent: only names listed above. Without checks every check listed above must pass.
- replaces: the id of a failed task listed above that this one replaces; tasks that needed the
  failed one then need this one.
- at most {most} tasks.
- If nothing is left to do: {"tasks": [], "done": true, "reason": "why"}.
- If it cannot be done: {"tasks": [], "impossible": "why"}; a person is asked."""


@dataclass(frozen=True, slots=True)
class UnfinishedTask:
    """A task that is not done, as the planner sees it."""

    id: str
    name: str
    state: str
    acceptance: str
    last_failure: str = ""
    replaceable: bool = False


def may_be_replaced(task: Task) -> bool:
    """May a planner replace this task?  It failed for good, for a reason that not only a person can
    fix (unless a judge asks for another plan), and was not replaced too often.
    """
    failed = task.state is State.ESCALATED and task.spec.kind is not TaskKind.PLAN
    judge_requests = task.failure is not None and task.failure.replan
    is_allowed = judge_requests or task.reason not in PERSON_ONLY
    return failed and is_allowed and task.counts.replans < REPLANS_MAX


def answer_form(fill: PlanningBrief) -> str:
    kinds = "|".join(kind.value for kind in fill.kinds)
    return ANSWER_FORM.replace("{kinds}", kinds).replace("{most}", str(fill.tasks_max))


def planning_context(
    run: Run, incomplete: Sequence[UnfinishedTask], done: Sequence[tuple[str, str]]
) -> str:
    """The names that the planner may use: the checks, agents and tasks of the run."""
    parts = [
        _section("Checks", [_check(c) for c in run.checks.values()]),
        _section("Agents", list(run.catalogue.agents)),
        _section("Done when these checks pass on the run branch", list(run.done_when)),
        _section("Tasks that are not done", [_describe_task(one) for one in incomplete]),
        _section("Tasks that are done", [f"{i} ({name})" for i, name in done]),
    ]
    return "\n\n".join(part for part in parts if part)


def _check(check: CheckSpec) -> str:
    words = check.shell or shlex.join(check.argv) or check.ask or check.git or check.entry
    return f"{check.name}: {one_line(words or check.path)}"


def _describe_task(task: UnfinishedTask) -> str:
    failure = one_line(task.last_failure, FAILURE_CHARS_MAX)
    failed = f"; last failure: {failure}" if failure else ""
    may = "; may be replaced" if task.replaceable else ""
    goal = one_line(task.acceptance, GOAL_CHARS_MAX)
    return f"{task.id} ({task.name}, {task.state}{may}): {goal}{failed}"


def _section(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return "\n".join((f"{title}:", *bullet_some(lines, TOLD_MAX)))


PLANNING_GOALS: Mapping[PlanningRole, str] = {
    PlanningRole.GOAL: "Plan how to reach this goal, as tasks for other agents:\n\n{goal}",
    PlanningRole.PHASE: "Plan the tasks of the phase {phase!r} of this run:\n\n{goal}",
    PlanningRole.REPLAN: "Some of this run is not done. Plan what is still missing:\n\n{goal}",
    PlanningRole.ITERATION: "Plan the next iteration towards this goal:\n\n{goal}",
}


def planning_goal(role: PlanningRole, goal: str, phase: str = "") -> str:
    return PLANNING_GOALS[role].format(goal=goal, phase=phase)
