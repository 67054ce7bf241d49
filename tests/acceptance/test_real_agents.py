"""Real agent programs carry a plan to its proven end, against a scripted model.

`python3 dev.py agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.project import Completed
from tests.acceptance.real_agents import Scripts, Theatre, Theatres, theatres
from tests.scripted_model import Step, say, shell, write

__all__ = ["theatres"]

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


def alone(plan: dict[str, Any]) -> dict[str, Any]:
    """Only its first task."""
    return {**plan, "tasks": plan["tasks"][:1], "checks": {"adds": plan["checks"]["adds"]}}


def wrote(theatre: Theatre, path: str, text: str) -> tuple[Step, ...]:
    """By its shell: the worktree of a task has no name before it is made."""
    return theatre.program.ran(f"cat > {path} <<'END'\n{text}END")


def told(theatre: Theatre) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The turns of a lie, and of the fix."""
    lie = wrote(theatre, "add.py", "def add(a, b):\n    return a - b\n")
    return lie, wrote(theatre, "add.py", "def add(a, b):\n    return a + b\n")


@dataclass(frozen=True)
class Played:
    """How a run ended, and what its model was asked."""

    done: Completed
    model: Scripts


def the_story(theatre: Theatre) -> Played:
    theatre.settle(**TESTS)
    lie, fix = told(theatre)
    scripts = {
        GOALS["add"]: (*lie, *fix),
        GOALS["twice"]: wrote(theatre, "twice.py", "def twice(a):\n    return a * 2\n"),
        GOALS["note"]: wrote(theatre, "NOTE.txt", "hello\n"),
    }
    with theatre.model(scripts) as model:
        return Played(theatre.run(the_plan(theatre.agent(model))), model)


@pytest.mark.spec("12.8", "3.7", "0.1", "10.6")
def test_a_false_claim_is_sent_back_in_the_same_conversation_and_the_fix_lands(
    theatres: Theatres,
) -> None:
    """The model says done over a wrong file; told which test fails, it writes the right one."""
    theatres.play(RESUMING, the_story, assert_the_story)


def assert_the_story(theatre: Theatre, played: Played) -> None:
    place = theatre.place
    assert played.done.code == 0, played.done.out
    status = place.status()
    add, twice, note = status["tasks"][:3]
    assert [(t["state"], t["attempt"]) for t in (add, twice, note)] == [
        ("DONE", 2),
        ("DONE", 1),
        ("DONE", 1),
    ]
    assert "a + b" in place.show(status["run_branch"], "add.py")
    assert_it_was_told_only_what_failed(theatre, played, add)
    first, second = theatre.why("add")["attempts"]
    assert first["session"] == second["session"] == add["session"] != ""
    assert len({t["session"] for t in (add, twice, note)}) == 3
    assert [first["tokens"], second["tokens"]] == [TOKENS] * 2
    assert (add["tokens"], status["tokens"]) == (2 * TOKENS, 4 * TOKENS)
    assert_the_cost_is_told_or_unknown(theatre, status, (first, second))
    assert_the_report_tells_it(theatre, status)


def assert_it_was_told_only_what_failed(
    theatre: Theatre, played: Played, add: dict[str, Any]
) -> None:
    feedback = theatre.place.prompt(add, 2)
    again = played.model.asked[GOALS["add"]][len(told(theatre)[0])]
    assert FAILING in feedback
    assert GOALS["add"] not in feedback, "it knows its task"
    assert again.holds(FAILING)
    assert again.holds(GOALS["add"])


def assert_the_cost_is_told_or_unknown(
    theatre: Theatre, status: dict[str, Any], tries: tuple[dict[str, Any], ...]
) -> None:
    """An agent that names no price shows unknown, never zero; sums are of what was told."""
    costs = [task["cost"] for task in status["tasks"][:3]]
    if theatre.name not in PRICED:
        assert costs == [None] * 3
        assert {one["cost"] for one in tries} == {None}
        assert (status["cost"], status["untold"]) == (None, 4)
        return
    assert all(one["cost"] > 0 for one in tries)
    assert sum(one["cost"] for one in tries) == pytest.approx(costs[0], abs=1e-5)
    assert sum(costs) == pytest.approx(status["cost"], abs=1e-5)
    assert status["untold"] == 0


def assert_the_report_tells_it(theatre: Theatre, status: dict[str, Any]) -> None:
    told = theatre.place.look("report", status["run"]).out
    for task in status["tasks"][:3]:
        assert task["session"] in told
    assert ("unknown" in told) is (theatre.name not in PRICED)


# ------------------------------------------------------------------ over the protocol


@pytest.mark.spec("12.8", "3.7", "3.9", "0.1")
def test_an_acp_agents_false_claim_is_sent_back_and_a_forbidden_tool_call_is_denied(
    theatres: Theatres,
) -> None:
    """opencode goes on with its conversation; gemini has none to load and is told everything."""
    theatres.play(("opencode-acp", "gemini-acp"), acp_story, assert_acp_story)


def acp_story(theatre: Theatre) -> Played:
    theatre.settle(**TESTS)
    lie = (write("add.py", "def add(a, b):\n    return a - b\n"), say("Done."))
    fix = (write("add.py", "def add(a, b):\n    return a + b\n"), shell("touch no"), say("Done."))
    with theatre.model({GOALS["add"]: (*lie, *fix)}) as model:
        return Played(theatre.run(alone(the_plan(theatre.agent(model)))), model)


def assert_acp_story(theatre: Theatre, played: Played) -> None:
    place = theatre.place
    assert played.done.code == 0, played.done.out
    add = place.task("add")
    assert (add["state"], add["attempt"]) == ("DONE", 2)
    run_branch = place.status()["run_branch"]
    assert "a + b" in place.show(run_branch, "add.py")
    assert "no" not in place.git("ls-tree", "--name-only", run_branch).split()
    second = place.look("logs", "add").out
    assert '"type": "acp.permission", "kind": "execute"' in second
    assert '"allowed": false' in second
    resumed = theatre.name == "opencode-acp"
    assert bool(add["session"]) is resumed
    assert (GOALS["add"] not in place.prompt(add, 2)) is resumed
    assert played.model.asked[GOALS["add"]][2].holds(GOALS["add"])
