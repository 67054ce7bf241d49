"""Real agent programs that report their tokens while they work are stopped at the cap."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Completed, file_contains
from tests.acceptance.real_agents import RealAgentRun, RealAgentRuns, ScriptedModel, real_agent_runs
from tests.scripted_model import Step, say

__all__ = ["real_agent_runs"]

pytestmark = [pytest.mark.acceptance, pytest.mark.agents, pytest.mark.timeout(300)]
GOAL = "Write slow.txt that says good."
# Each turn of the scripted model costs 120 tokens, and its command takes a second.
TURNS, CAP = 12, 300


@pytest.mark.spec("18.7", "10.6")
@pytest.mark.parametrize("name", ["claude", "opencode", "pi"])
def test_a_program_that_reports_its_tokens_is_stopped_at_the_cap(
    real_agent_runs: RealAgentRuns, name: str
) -> None:
    real_agent_runs.run_each((name,), run_slow_task, assert_stopped_at_cap)


def run_slow_task(agent_run: RealAgentRun) -> tuple[Completed, ScriptedModel]:
    steps: list[Step] = []
    for number in range(TURNS):
        steps += agent_run.program.ran(f"echo {number} >> slow.txt; sleep 1")[:-1]
    with agent_run.model({GOAL: (*steps, say("Done."))}) as model:
        plan = {
            "goal": "Do it",
            "agents": {"real": agent_run.agent(model)},
            "agent": "real",
            "checks": {"slow": file_contains("slow.txt")},
            "tasks": [{"id": "slow", "goal": GOAL, "checks": ["slow"], "budget": {"tokens": CAP}}],
        }
        return agent_run.run(plan), model


def assert_stopped_at_cap(agent_run: RealAgentRun, seen: tuple[Completed, ScriptedModel]) -> None:
    done, model = seen
    assert done.code == 4, done.out
    task = agent_run.project.task("slow")
    assert (task["reason"], task["attempt"]) == ("RESOURCE_EXHAUSTED", 1), done.out
    assert "the agent reached the budget of its task and was stopped" in done.out
    assert task["tokens"] >= CAP
    assert len(model.requests_by_script[GOAL]) < TURNS
    assert agent_run.project.query("recover").out.count("slow") >= 1, "its work is saved"
