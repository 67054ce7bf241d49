"""`[setup]` of the settings in plans of every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaoki.app.goal_plan import make_goal_plan
from yaoki.core.settings.settings import Settings, SetupSettings
from yaoki.formats.plan import PlanEnvironment
from yaoki.formats.plan_file import load_plan, parse_plan

FIXTURES = Path(__file__).parents[2] / "fixtures"
COMMANDS = (("npm", "ci"),)
GIVEN = Settings(
    agents={"claudecode": {"command": ["my-agent"]}},
    agent=("claudecode",),
    planner=("claudecode",),
    checks={"tests": {"run": ["run-tests"]}},
    setup=SetupSettings(commands=COMMANDS, inputs=("tools/**",)),
)
PLAN = "goal: x\ntasks: [{id: a, goal: x}, {id: b, goal: x, setup: [more], setup_inputs: [m]}]\n"


@pytest.mark.spec("15")
def test_plans_of_every_format_have_the_setup_of_the_settings() -> None:
    playbook = load_plan(FIXTURES / "playbook" / "playbook-auto-retry.md", GIVEN)
    goal = make_goal_plan("do it", GIVEN, PlanEnvironment())

    for plan in (playbook, goal):
        assert plan.specs
        assert {spec.setup for spec in plan.specs} == {COMMANDS}
        assert {spec.setup_inputs for spec in plan.specs} == {("tools/**",)}


@pytest.mark.spec("15")
def test_the_setup_of_a_plan_replaces_that_of_the_settings_and_a_task_adds_to_it() -> None:
    usual = parse_plan(PLAN, "plan.yaml", GIVEN)
    own = parse_plan(f"setup: [own]\n{PLAN}", "plan.yaml", GIVEN)
    none = parse_plan(f"setup: []\n{PLAN}", "plan.yaml", GIVEN)

    assert [spec.setup for spec in usual.specs] == [COMMANDS, (*COMMANDS, ("more",))]
    assert [spec.setup_inputs for spec in usual.specs] == [("tools/**",), ("tools/**", "m")]
    assert [spec.setup for spec in own.specs] == [(("own",),), (("own",), ("more",))]
    assert [spec.setup_inputs for spec in own.specs] == [(), ("m",)]
    assert [spec.setup for spec in none.specs] == [(), (("more",),)]
