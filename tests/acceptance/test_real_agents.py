"""Real agent programs carry a plan to its proven end, against a scripted model.

`make agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.real_agents import Theatre, homes, on, theatre
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.model import Step

__all__ = ["homes", "theatre"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.slow,
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
    """By its shell, where it has one: the worktree of a task has no name before it is made."""
    if theatre.program.name == "aider":
        return theatre.program.wrote(path, text)
    return theatre.program.ran(f"cat > {path} <<'END'\n{text}END")


def told(theatre: Theatre) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The turns of a lie, and of the fix."""
    lie = wrote(theatre, "add.py", "def add(a, b):\n    return a - b\n")
    return lie, wrote(theatre, "add.py", "def add(a, b):\n    return a + b\n")


@pytest.mark.spec("12.8", "3.7", "0.1", "10.6")
@on(*RESUMING)
def test_a_lie_is_sent_back_in_the_same_conversation_and_the_fix_lands(theatre: Theatre) -> None:
    """The model says done over a wrong file; told which test fails, it writes the right one."""
    place = theatre.place
    theatre.settle(**TESTS)
    lie, fix = told(theatre)
    scripts = {
        GOALS["add"]: (*lie, *fix),
        GOALS["twice"]: wrote(theatre, "twice.py", "def twice(a):\n    return a * 2\n"),
        GOALS["note"]: wrote(theatre, "NOTE.txt", "hello\n"),
    }

    with theatre.model(scripts) as model:
        done = theatre.run(the_plan(theatre.agent(model)))

    assert done.code == 0, done.out
    status = place.status()
    add, twice, note = status["tasks"][:3]
    assert [(t["state"], t["attempt"]) for t in (add, twice, note)] == [
        ("DONE", 2),
        ("DONE", 1),
        ("DONE", 1),
    ]
    assert "a + b" in place.show(status["run_branch"], "add.py")
    feedback, again = place.prompt(add, 2), model.asked[GOALS["add"]][len(lie)]
    assert FAILING in feedback
    assert GOALS["add"] not in feedback, "it knows its task"
    assert again.holds(FAILING)
    assert again.holds(GOALS["add"])
    first, second = theatre.why("add")["attempts"]
    assert first["session"] == second["session"] == add["session"] != ""
    assert len({t["session"] for t in (add, twice, note)}) == 3
    assert [first["tokens"], second["tokens"]] == [TOKENS] * 2
    assert (add["tokens"], status["tokens"]) == (2 * TOKENS, 4 * TOKENS)
    assert_the_cost_is_told_or_unknown(theatre, status, (first, second))


def assert_the_cost_is_told_or_unknown(
    theatre: Theatre, status: dict[str, Any], tries: tuple[dict[str, Any], ...]
) -> None:
    """An agent that names no price shows unknown, never zero; sums are of what was told."""
    costs = [task["cost"] for task in status["tasks"][:3]]
    if theatre.program.name not in PRICED:
        assert costs == [None] * 3
        assert {one["cost"] for one in tries} == {None}
        assert (status["cost"], status["untold"]) == (None, 4)
        return
    assert all(one["cost"] > 0 for one in tries)
    assert sum(one["cost"] for one in tries) == pytest.approx(costs[0], abs=1e-5)
    assert sum(costs) == pytest.approx(status["cost"], abs=1e-5)
    assert status["untold"] == 0


@pytest.mark.spec("12.8", "3.7", "3.10")
@on("aider")
def test_an_agent_without_conversations_is_told_everything_again(theatre: Theatre) -> None:
    """It exits 0 whatever happens; only the check knows."""
    place = theatre.place
    theatre.settle(**TESTS)
    lie, fix = told(theatre)
    with theatre.model({GOALS["add"]: (*lie, *fix)}) as model:
        done = theatre.run(alone(the_plan(theatre.agent(model))))

    assert done.code == 0, done.out
    add = place.task("add")
    assert (add["state"], add["attempt"], add["session"]) == ("DONE", 2, None)
    assert (add["cost"], add["tokens"]) == (None, 240)
    assert FAILING in place.prompt(add, 2)
    assert GOALS["add"] in place.prompt(add, 2)


@pytest.mark.spec("14.3", "12.8", "3.7")
@on("claude", "codex")
def test_inside_the_sandbox_it_works_and_remembers_its_conversation(theatre: Theatre) -> None:
    """Its own folder stays writable, or no conversation could be gone on with."""
    needs_bubblewrap()
    place = theatre.place
    file = place.repo / "yaoki.toml"
    file.write_text(f'{file.read_text()}\n[sandbox]\nmode = "on"\n')
    theatre.settle(**TESTS)
    lie, fix = told(theatre)
    with theatre.model({GOALS["add"]: (*lie, *fix)}) as model:
        done = theatre.run(alone(the_plan(theatre.agent(model))))

    assert done.code == 0, done.out
    add = place.task("add")
    assert (add["state"], add["attempt"]) == ("DONE", 2)
    assert GOALS["add"] not in place.prompt(add, 2)
    assert model.asked[GOALS["add"]][len(lie)].holds(GOALS["add"])
    assert "CHECKOUT_CHANGED" not in place.story("add")
