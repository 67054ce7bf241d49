"""Real agent programs in a chain: after a limit, a refused key or a missing program the next one
lands the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
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
from tests.scripted_model.server import Request
from tests.scripted_model.turns import Step

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
@pytest.mark.parametrize(("first", "second"), [("claude", "pi"), ("pi", "claude")])
def test_the_next_program_lands_the_work_of_one_that_cannot_go_on(
    real_agent_runs: RealAgentRuns, first: str, second: str
) -> None:
    """One names the time of its limit and the other does not: there is no third kind of program.

    That each program's limit and refused key are recognised is shown by the tests of faults.
    """
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


# ------------------------------------------------------------------ several accounts of one program

# The variable of each program's key; the worker has one for each account under another name.
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY"}
ACCOUNTS = {"work": "sk-ant-work-key", "home": "sk-ant-home-key"}
POOL_TASKS = ("one", "two")


class LimitedModel(ScriptedModel):
    """A service at which one of the keys is at its limit; it notes the keys of all requests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.accounts: list[str] = []

    def next(self, request: Request) -> Step:
        sent = " ".join(request.headers.values())
        account = next((name for name, key in ACCOUNTS.items() if key in sent), "unknown")
        if request.side:
            return super().next(request)
        self.accounts.append(account)
        return super().next(request) if account == "home" else usage_limit()


def usage_limit() -> Fault:
    """One program reads the header, the other one the fields of the error."""
    resets_at = int(datetime.now(UTC).timestamp()) + LIMIT_S
    fields = {"type": "usage_limit_reached", "plan_type": "plus", "resets_at": resets_at}
    words = "You've hit your usage limit."
    return Fault(429, words, {"retry-after": str(LIMIT_S)}, fields)


@pytest.mark.spec("18.1", "18.6")
def test_the_second_account_of_the_same_program_lands_the_work(
    real_agent_runs: RealAgentRuns,
) -> None:
    """The account `work` is at its usage limit; the first task finds out, the second one knows."""
    real_agent_runs.run_each(tuple(KEYS), run_pool, assert_second_account_landed)


def run_pool(agent_run: RealAgentRun) -> tuple[Completed, LimitedModel]:
    scripts = {goal(name): agent_run.program.ran(f"echo good > {name}.txt") for name in POOL_TASKS}
    variable = KEYS[agent_run.name]
    agent_run.project.env |= {f"KEY_{name.upper()}": key for name, key in ACCOUNTS.items()}
    accounts = {name: {"env_from": {variable: f"KEY_{name.upper()}"}} for name in ACCOUNTS}
    with LimitedModel(scripts, tools=agent_run.program.has_tools) as model:
        assert isinstance(model, LimitedModel)
        plan = {
            "goal": "Do it",
            "agents": {"bot": agent_run.agent(model, accounts=accounts)},
            "agent": "bot",
            "checks": {name: file_contains(f"{name}.txt") for name in POOL_TASKS},
            "tasks": [
                {"id": "one", "goal": goal("one"), "checks": ["one"]},
                {"id": "two", "goal": goal("two"), "checks": ["two"], "needs": ["one"]},
            ],
        }
        return agent_run.run(plan), model


def assert_second_account_landed(
    agent_run: RealAgentRun, played: tuple[Completed, LimitedModel]
) -> None:
    project, (done, model) = agent_run.project, played
    assert done.code == 0, done.out
    assert {project.task(name)["state"] for name in POOL_TASKS} == {"DONE"}
    assert "ESCALATE_DECISION" not in project.event_names()
    (decision,) = (e for e in project.events("one") if e["event"] == "RETRY_DECISION")
    assert decision["data"]["fail_over"] == "limit"
    told_at = datetime.fromisoformat(decision["at"])
    reset = datetime.fromisoformat(decision["data"]["account_until"]) - told_at
    assert LIMIT_S - 120 <= reset.total_seconds() <= LIMIT_S + 120, "the reset is kept"
    limited = model.accounts.count("work")
    assert limited >= 1
    assert model.accounts == ["work"] * limited + ["home"] * (len(model.accounts) - limited)
    switched = [e["data"]["cause"] for e in project.events("two") if e["event"] == "AGENT_SWITCHED"]
    assert switched == ["limit"], "the second task leaves the account without a request"
