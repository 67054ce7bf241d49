"""A goal in one sentence becomes a plan with one task: to write the plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import PlanningRole
from yaoki.core.planner_prompt import planning_goal
from yaoki.errors import PlanInvalid

if TYPE_CHECKING:
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.plan import Plan, PlanEnvironment


def make_goal_plan(goal: str, settings: Settings, known: PlanEnvironment) -> Plan:
    """Refused without a planner, an agent, or a check that could prove the goal."""
    from yaoki.formats.plan_file import parse_plan

    if not settings.planner:
        raise PlanInvalid(
            "no planner is configured",
            hint='add to yaoki.toml: planner = "NAME", with NAME one of its [agents.NAME]',
        )
    if not settings.agent:
        raise PlanInvalid(
            "no agent is configured",
            hint='add to yaoki.toml: agent = "NAME", with NAME one of its [agents.NAME]',
        )
    proofs = [name for name, check in settings.checks.items() if check.get("required", True)]
    if not proofs:
        raise PlanInvalid(
            "no check is configured, so nothing would prove the goal",
            hint="yaoki init, or add [checks.NAME] to yaoki.toml",
        )
    task = {"id": "plan", "goal": planning_goal(PlanningRole.GOAL, goal), "kind": "plan"}
    plan = parse_plan(
        json.dumps({"goal": goal, "tasks": [task], "done_when": proofs}), "GOAL", settings, known
    )
    spec = plan.specs[0]
    assert spec.planning_brief is not None, "a plan task says what it may make"
    return replace(
        plan,
        specs=(replace(spec, planning_brief=replace(spec.planning_brief, role=PlanningRole.GOAL)),),
    )
