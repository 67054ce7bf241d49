"""Real agent programs execute a plan to its verified end, against a scripted model.

`python3 dev.py agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.project import Completed
from tests.acceptance.real_agents import RealAgentRun, RealAgentRuns, ScriptedModel, real_agent_runs
from tests.scripted_model import Step, say, shell, write

__all__ = ["real_agent_runs"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.timeout(300),
]

GOALS = {
    "add": "Write add.py with a function add that adds two numbers.",
    "twice": "Write twice.py with a function twice that doubles a number.",
    "note": "Write NOTE.txt that says hello.",
}
TESTS = {
    "__gitignore": "__pycache__/\n",
    "test_add__py": """\
import unittest
from add import add

class Adding(unittest.TestCase):
    def test_two_and_three_are_five(self):
        self.assertEqual(add(2, 3), 5)
""",
    "test_twice__py": """\
import unittest
from twice import twice

class Doubling(unittest.TestCase):
    def test_twice_two_is_four(self):
        self.assertEqual(twice(2), 4)
""",
}
FAILING = "test_two_and_three_are_five"
RESUMING = ("claude", "codex", "gemini", "opencode", "pi")
# Two turns of the scripted model; only one program knows the price of such a model.
TOKENS, PRICED = 240, {"claude"}


def the_plan(agent: dict[str, Any]) -> dict[str, Any]:
    def tests(module: str) -> dict[str, Any]:
        return {"run": [sys.executable, "-m", "unittest", module], "pattern": "test-failed"}

    return {
        "goal": "Count",
        "agents": {"real": agent},
        "agent": "real",
        "checks": {
            "adds": tests("test_add"),
            "doubles": tests("test_twice"),
            "greets": {"file": {"path": "NOTE.txt", "contains": "hello"}},
        },
        "tasks": [
            {"id": "add", "goal": GOALS["add"], "checks": ["adds"]},
            {"id": "twice", "goal": GOALS["twice"], "checks": ["doubles"], "needs": ["add"]},
            {"id": "note", "goal": GOALS["note"], "checks": ["greets"], "needs": ["twice"]},
        ],
    }


def only_first_task(plan: dict[str, Any]) -> dict[str, Any]:
    """Only its first task."""
    return {**plan, "tasks": plan["tasks"][:1], "checks": {"adds": plan["checks"]["adds"]}}


def write_turns(agent_run: RealAgentRun, path: str, text: str) -> tuple[Step, ...]:
    """By its shell: the worktree of a task has no name before it is made."""
    return agent_run.program.ran(f"cat > {path} <<'END'\n{text}END")


def false_claim_and_fix(agent_run: RealAgentRun) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The turns of a lie, and of the fix."""
    lie = write_turns(agent_run, "add.py", "def add(a, b):\n    return a - b\n")
    return lie, write_turns(agent_run, "add.py", "def add(a, b):\n    return a + b\n")


@dataclass(frozen=True)
class CompletedRun:
    """How a run ended, and what its model was asked."""

    done: Completed
    model: ScriptedModel


def run_false_claim(agent_run: RealAgentRun) -> CompletedRun:
    agent_run.commit_files(**TESTS)
    lie, fix = false_claim_and_fix(agent_run)
    scripts = {
        GOALS["add"]: (*lie, *fix),
        GOALS["twice"]: write_turns(agent_run, "twice.py", "def twice(a):\n    return a * 2\n"),
        GOALS["note"]: write_turns(agent_run, "NOTE.txt", "hello\n"),
    }
    with agent_run.model(scripts) as model:
        return CompletedRun(agent_run.run(the_plan(agent_run.agent(model))), model)


@pytest.mark.spec("12.8", "3.7", "0.1", "10.6")
def test_a_false_claim_is_sent_back_in_the_same_conversation_and_the_fix_lands(
    real_agent_runs: RealAgentRuns,
) -> None:
    """The model claims success with a wrong file, and fixes it after the failing test."""
    real_agent_runs.run_each(RESUMING, run_false_claim, assert_false_claim_is_fixed)


def assert_false_claim_is_fixed(agent_run: RealAgentRun, played: CompletedRun) -> None:
    project = agent_run.project
    assert played.done.code == 0, played.done.out
    status = project.status()
    add, twice, note = status["tasks"][:3]
    assert [(t["state"], t["attempt"]) for t in (add, twice, note)] == [
        ("DONE", 2),
        ("DONE", 1),
        ("DONE", 1),
    ]
    assert "a + b" in project.show(status["run_branch"], "add.py")
    assert_prompt_has_only_the_failure(agent_run, played, add)
    first, second = agent_run.why("add")["attempts"]
    assert first["session"] == second["session"] == add["session"] != ""
    assert len({t["session"] for t in (add, twice, note)}) == 3
    assert [first["tokens"], second["tokens"]] == [TOKENS] * 2
    assert (add["tokens"], status["tokens"]) == (2 * TOKENS, 4 * TOKENS)
    assert_cost_is_reported_or_unknown(agent_run, status, (first, second))
    assert_report_is_complete(agent_run, status)


def assert_prompt_has_only_the_failure(
    agent_run: RealAgentRun, played: CompletedRun, add: dict[str, Any]
) -> None:
    feedback = agent_run.project.prompt(add, 2)
    again = played.model.requests_by_script[GOALS["add"]][len(false_claim_and_fix(agent_run)[0])]
    assert FAILING in feedback
    assert GOALS["add"] not in feedback, "it knows its task"
    assert again.holds(FAILING)
    assert again.holds(GOALS["add"])


def assert_cost_is_reported_or_unknown(
    agent_run: RealAgentRun, status: dict[str, Any], tries: tuple[dict[str, Any], ...]
) -> None:
    """An unreported cost is unknown, never zero; sums contain only reported costs."""
    costs = [task["cost"] for task in status["tasks"][:3]]
    if agent_run.name not in PRICED:
        assert costs == [None] * 3
        assert {one["cost"] for one in tries} == {None}
        assert (status["cost"], status["untold"]) == (None, 4)
        return
    assert all(one["cost"] > 0 for one in tries)
    assert sum(one["cost"] for one in tries) == pytest.approx(costs[0], abs=1e-5)
    assert sum(costs) == pytest.approx(status["cost"], abs=1e-5)
    assert status["untold"] == 0


def assert_report_is_complete(agent_run: RealAgentRun, status: dict[str, Any]) -> None:
    output = agent_run.project.query("report", status["run"]).out
    for task in status["tasks"][:3]:
        assert task["session"] in output
    assert ("unknown" in output) is (agent_run.name not in PRICED)


# ------------------------------------------------------------------ over the protocol


@pytest.mark.spec("12.8", "3.7", "3.9", "0.1")
def test_an_acp_agents_false_claim_is_sent_back_and_a_forbidden_tool_call_is_denied(
    real_agent_runs: RealAgentRuns,
) -> None:
    """opencode continues its conversation; gemini cannot load one and gets the full prompt."""
    real_agent_runs.run_each(
        ("opencode-acp", "gemini-acp"), run_acp_false_claim, assert_acp_false_claim_is_fixed
    )


def run_acp_false_claim(agent_run: RealAgentRun) -> CompletedRun:
    agent_run.commit_files(**TESTS)
    lie = (write("add.py", "def add(a, b):\n    return a - b\n"), say("Done."))
    fix = (write("add.py", "def add(a, b):\n    return a + b\n"), shell("touch no"), say("Done."))
    with agent_run.model({GOALS["add"]: (*lie, *fix)}) as model:
        return CompletedRun(agent_run.run(only_first_task(the_plan(agent_run.agent(model)))), model)


def assert_acp_false_claim_is_fixed(agent_run: RealAgentRun, played: CompletedRun) -> None:
    project = agent_run.project
    assert played.done.code == 0, played.done.out
    add = project.task("add")
    assert (add["state"], add["attempt"]) == ("DONE", 2)
    run_branch = project.status()["run_branch"]
    assert "a + b" in project.show(run_branch, "add.py")
    assert "no" not in project.git("ls-tree", "--name-only", run_branch).split()
    second = project.query("logs", "add").out
    assert '"type": "acp.permission", "kind": "execute"' in second
    assert '"allowed": false' in second
    resumed = agent_run.name == "opencode-acp"
    assert bool(add["session"]) is resumed
    assert (GOALS["add"] not in project.prompt(add, 2)) is resumed
    assert played.model.requests_by_script[GOALS["add"]][2].holds(GOALS["add"])
