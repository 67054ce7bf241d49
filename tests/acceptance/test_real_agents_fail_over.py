"""Real agent programs in a chain: after a limit, a refused key or a missing program the next one
lands the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Completed, file_contains
from tests.acceptance.real_agents import (
    SETTINGS,
    RealAgentRun,
    RealAgentRuns,
    ScriptedModel,
    real_agent_runs,
)
from tests.scripted_model import Fault
from tests.scripted_model.programs import needed

__all__ = ["real_agent_runs"]

pytestmark = [pytest.mark.acceptance, pytest.mark.agents, pytest.mark.timeout(400)]

LIMIT_S = 5400
# A limit whose time the program does not pass on is waited for this long before the next agent.
QUICK = """
[retry]
fail_over_after_s = 1.0
account_probe_max_s = 0.5
"""
FAULTS: Mapping[str, Fault] = {
    "limited": Fault(429, headers={"retry-after": str(LIMIT_S)}),
    "locked": Fault(401),
}
TASKS = (*FAULTS, "missing")
CAUSES = {"limited": "limit", "locked": "key-refused", "missing": "missing-program"}


@dataclass(frozen=True)
class PlayedChain:
    """A run of a chain, and what the services of its first agents were asked."""

    done: Completed
    refusing: Mapping[str, ScriptedModel]


@pytest.mark.spec("18.1", "18.6")
@pytest.mark.parametrize(
    ("first", "second"),
    [("claude", "pi"), ("codex", "pi"), ("gemini", "pi"), ("opencode", "pi"), ("pi", "claude")],
)
def test_the_next_program_lands_the_work_of_one_that_cannot_go_on(
    real_agent_runs: RealAgentRuns, first: str, second: str
) -> None:
    needed(second)
    real_agent_runs.run_each((first,), lambda run: run_chain(run, second), assert_second_landed)


def goal(name: str) -> str:
    return f"Write {name}.txt that says good."


def run_chain(agent_run: RealAgentRun, second: str) -> PlayedChain:
    next_run = RealAgentRun(needed(second), agent_run.project)
    agent_run.project.settings(SETTINGS + QUICK)
    good = {goal(name): next_run.program.ran(f"echo good > {name}.txt") for name in TASKS}
    with ExitStack() as services:
        landing = services.enter_context(next_run.model(good))
        refusing = {
            name: services.enter_context(agent_run.model({goal(name): (fault,)}))
            for name, fault in FAULTS.items()
        }
        agents: dict[str, Any] = {
            name: agent_run.agent(model, home=name) for name, model in refusing.items()
        }
        agents["second"] = next_run.agent(landing, home="second")
        agents["missing"] = agent_run.agent(landing, home="missing")
        removed = hide_behind_script(agent_run, agents["missing"])
        agents["remover"] = {"command": ["sh", "-c", f"rm {removed}; echo good > remove.txt"]}
        remove = {"id": "remove", "goal": "Remove it.", "agent": "remover", "checks": ["remove"]}
        plan = {
            "goal": "Do it",
            "agents": agents,
            "checks": {name: file_contains(f"{name}.txt") for name in (*TASKS, "remove")},
            "tasks": [
                remove,
                *(
                    {
                        "id": name,
                        "goal": goal(name),
                        "agent": [name, "second"],
                        "checks": [name],
                        "needs": ["remove"],
                    }
                    for name in TASKS
                ),
            ],
        }
        return PlayedChain(agent_run.run(plan), refusing)


def hide_behind_script(agent_run: RealAgentRun, agent: dict[str, Any]) -> Path:
    """A script that starts the program: what is missing at the start of a run is refused there."""
    script = agent_run.project.folder / "agent.sh"
    script.write_text(f'#!/bin/sh\nexec {agent["options"]["program"]} "$@"\n')
    script.chmod(0o755)
    agent["options"] = {**agent["options"], "program": str(script)}
    return script


def assert_second_landed(agent_run: RealAgentRun, played: PlayedChain) -> None:
    project = agent_run.project
    assert played.done.code == 0, played.done.out
    assert {project.task(name)["state"] for name in TASKS} == {"DONE"}
    assert "ESCALATE_DECISION" not in project.event_names()
    for name, cause in CAUSES.items():
        decisions = [e["data"] for e in project.events(name) if e["event"] == "RETRY_DECISION"]
        causes = [decision["fail_over"] for decision in decisions if decision["fail_over"]]
        assert causes == [cause], (name, decisions)
    assert all(model.requests_by_script[goal(name)] for name, model in played.refusing.items())
