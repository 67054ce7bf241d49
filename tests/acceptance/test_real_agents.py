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
from tests.scripted_model.matrix import SEEN

__all__ = ["real_agent_runs"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.timeout(300),
]

GOALS = {
    "add": "Write add.py with a function add that adds two numbers.",
    "twice": "Write twice.py with a function twice that doubles a number.",
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
FURTHER = ("qwen", "vibe", "copilot")
# Two turns of the scripted model; few programs know the price of such a model.
TOKENS, PRICED = 240, {"claude", "vibe"}
# One reports no tokens, and one makes further calls of its own.
UNCOUNTED, TALKATIVE = {"copilot"}, {"qwen"}


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
        },
        "tasks": [
            {"id": "add", "goal": GOALS["add"], "checks": ["adds"]},
            {"id": "twice", "goal": GOALS["twice"], "checks": ["doubles"], "needs": ["add"]},
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
    }
    with agent_run.model(scripts) as model:
        return CompletedRun(agent_run.run(the_plan(agent_run.agent(model))), model)


@pytest.mark.spec("12.8", "3.7", "0.1", "10.6")
@pytest.mark.parametrize("names", [RESUMING, FURTHER], ids=["first", "further"])
def test_a_false_claim_is_sent_back_in_the_same_conversation_and_the_fix_lands(
    real_agent_runs: RealAgentRuns, names: tuple[str, ...]
) -> None:
    """The model claims success with a wrong file, and fixes it after the failing test."""
    real_agent_runs.run_each(names, run_false_claim, assert_false_claim_is_fixed, "lie, fix")


def assert_false_claim_is_fixed(agent_run: RealAgentRun, played: CompletedRun) -> None:
    project = agent_run.project
    assert played.done.code == 0, played.done.out
    status = project.status()
    add, twice = status["tasks"][:2]
    assert [(t["state"], t["attempt"]) for t in (add, twice)] == [("DONE", 2), ("DONE", 1)]
    agent_run.cells["happy"] = SEEN
    assert "a + b" in project.show(status["run_branch"], "add.py")
    assert_log_is_readable(agent_run)
    assert_prompt_has_only_the_failure(agent_run, played, add)
    first, second = agent_run.why("add")["attempts"]
    assert first["session"] == second["session"] == add["session"] != ""
    assert add["session"] != twice["session"] != ""
    agent_run.cells["conv."] = "yes"
    assert_tokens_are_reported_or_unknown(agent_run, status, (first, second))
    assert_cost_is_reported_or_unknown(agent_run, status, (first, second))
    assert_report_is_complete(agent_run, status)


def assert_log_is_readable(agent_run: RealAgentRun, words: str = "Done.") -> None:
    """`yaoki logs` shows words and tools, and no line of JSON."""
    shown = agent_run.project.query("logs", "add", "--attempt", "1").out.splitlines()
    assert [line for line in shown if line.startswith('{"')] == []
    assert any(words in line for line in shown), shown
    agent_run.cells["words"] = "yes"


def assert_tokens_are_reported_or_unknown(
    agent_run: RealAgentRun, status: dict[str, Any], tries: tuple[dict[str, Any], ...]
) -> None:
    tokens = [one["tokens"] for one in tries]
    agent_run.cells["told"] = "nothing" if agent_run.name in UNCOUNTED else "tokens"
    if agent_run.name in UNCOUNTED:
        assert tokens == [None] * 2
    elif agent_run.name in TALKATIVE:
        # Its own calls are counted as well, and the first conversation only once.
        assert all(TOKENS <= count < 2 * TOKENS for count in tokens), tokens
    else:
        assert tokens == [TOKENS] * 2
        add = status["tasks"][0]
        assert (add["tokens"], status["tokens"]) == (2 * TOKENS, 3 * TOKENS)


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
    costs = [task["cost"] for task in status["tasks"][:2]]
    if agent_run.name not in PRICED:
        assert costs == [None] * 2
        assert {one["cost"] for one in tries} == {None}
        assert (status["cost"], status["untold"]) == (None, 3)
        return
    agent_run.cells["told"] = "$, tokens"
    assert all(one["cost"] > 0 for one in tries)
    assert sum(one["cost"] for one in tries) == pytest.approx(costs[0], abs=1e-5)
    assert sum(costs) == pytest.approx(status["cost"], abs=1e-5)
    assert status["untold"] == 0


def assert_report_is_complete(agent_run: RealAgentRun, status: dict[str, Any]) -> None:
    output = agent_run.project.query("report", status["run"]).out
    for task in status["tasks"][:2]:
        assert task["session"] in output
    assert ("unknown" in output) is (agent_run.name not in PRICED)


# ------------------------------------------------------------------ over the protocol

FURTHER_OVER_ACP = ("claude-acp", "codex-acp", "vibe-acp", "qwen-acp")
# What each reports; opencode reports only its last step, which is not taken.
ACP_TOLD = {"opencode-acp": "nothing", "claude-acp": "$, tokens", "vibe-acp": "$, tokens"}


@pytest.mark.spec("12.8", "3.7", "3.9", "0.1")
def test_an_acp_agents_false_claim_is_sent_back_and_a_forbidden_tool_call_is_denied(
    real_agent_runs: RealAgentRuns,
) -> None:
    """opencode continues its conversation; gemini cannot load one and gets the full prompt."""
    real_agent_runs.run_each(
        ("opencode-acp", "gemini-acp"),
        run_acp_false_claim,
        assert_acp_false_claim_is_fixed,
        "lie, fix",
    )


def run_acp_false_claim(agent_run: RealAgentRun) -> CompletedRun:
    agent_run.commit_files(**TESTS)
    lie = (write("add.py", "def add(a, b):\n    return a - b\n"), say("Done."))
    fix = (write("add.py", "def add(a, b):\n    return a + b\n"), shell("touch no"), say("Done."))
    with agent_run.model({GOALS["add"]: (*lie, *fix)}) as model:
        return CompletedRun(agent_run.run(only_first_task(the_plan(agent_run.agent(model)))), model)


def assert_acp_false_claim_is_fixed(agent_run: RealAgentRun, played: CompletedRun) -> None:
    add = assert_fix_over_acp_lands(agent_run, played)
    project, run_branch = agent_run.project, agent_run.project.status()["run_branch"]
    assert "no" not in project.git("ls-tree", "--name-only", run_branch).split()
    second = project.query("logs", "add").out
    assert "[denied: execute (execute is not allowed)" in second
    assert "touch no" in second
    resumed = agent_run.name == "opencode-acp"
    assert bool(add["session"]) is resumed
    assert (GOALS["add"] not in project.prompt(add, 2)) is resumed
    assert played.model.requests_by_script[GOALS["add"]][2].holds(GOALS["add"])
    agent_run.cells["conv."] = "yes" if resumed else "no"


def assert_fix_over_acp_lands(agent_run: RealAgentRun, played: CompletedRun) -> dict[str, Any]:
    """The task that landed after its second attempt, with its usage, and a log in words."""
    project = agent_run.project
    assert played.done.code == 0, played.done.out
    add = project.task("add")
    assert (add["state"], add["attempt"]) == ("DONE", 2)
    assert "a + b" in project.show(project.status()["run_branch"], "add.py")
    assert_log_is_readable(agent_run)
    told = ACP_TOLD.get(agent_run.name, "tokens")
    assert (bool(add["tokens"]), bool(add["cost"])) == ("tokens" in told, "$" in told)
    agent_run.cells["told"] = told
    return add


@pytest.mark.spec("12.8", "3.7", "10.6", "0.1")
def test_a_false_claim_over_acp_is_sent_back_in_the_same_conversation(
    real_agent_runs: RealAgentRuns,
) -> None:
    """With the right to run commands; each reports its usage in its own way."""
    real_agent_runs.run_each(
        FURTHER_OVER_ACP, run_allowed_false_claim, assert_conversation_is_continued, "lie, fix"
    )


def run_allowed_false_claim(agent_run: RealAgentRun) -> CompletedRun:
    agent_run.commit_files(**TESTS)
    lie, fix = false_claim_and_fix(agent_run)
    with agent_run.model({GOALS["add"]: (*lie, *fix)}) as model:
        agent = agent_run.agent(model)
        agent["options"]["allow"] = ["*"]
        return CompletedRun(agent_run.run(only_first_task(the_plan(agent))), model)


def assert_conversation_is_continued(agent_run: RealAgentRun, played: CompletedRun) -> None:
    add = assert_fix_over_acp_lands(agent_run, played)
    assert_prompt_has_only_the_failure(agent_run, played, add)
    first, second = agent_run.why("add")["attempts"]
    assert first["session"] == second["session"] == add["session"] != ""
    agent_run.cells["conv."] = "yes"
    # Nothing is counted twice, whether a program reports the turn or the conversation.
    assert first["tokens"] == second["tokens"] == TOKENS
