"""Rewritten tests land with the same assertions and are refused with others."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("6.6", "16.7")]

CODE = "def sub(a, b):\n    return a - b\n"
REVERSED = "def sub(a, b):\n    return b - a\n"
HEAD = "import unittest\n\nfrom calc import sub\n\n\nclass T(unittest.TestCase):\n"
TESTS = HEAD + (
    "    def test_one(self):\n        self.assertEqual(sub(3, 1), 2)\n\n"
    "    def test_two(self):\n        self.assertEqual(sub(5, 1), 4)\n\n"
    "    def test_zero(self):\n        self.assertEqual(sub(0, 0), 0)\n"
)


def a_table(*rows: str) -> str:
    return HEAD + (
        f"    def test_sub(self):\n        for a, b, wanted in ({', '.join(rows)},):\n"
        "            with self.subTest(a=a, b=b):\n"
        "                self.assertEqual(sub(a, b), wanted)\n"
    )


def run_rewrites(project: Project, rewrites: Mapping[str, tuple[str, str]]) -> int:
    """Run an agent for each that writes this program and these tests, verified by unittest."""
    (project.repo / "calc.py").write_text(CODE)
    (project.repo / "test_calc.py").write_text(TESTS)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a program")
    plan: dict[str, Any] = {
        "goal": "x",
        "agents": {name: an_agent(*files) for name, files in rewrites.items()},
        "checks": {"tests": {"run": ["python3", "-m", "unittest", "-v"], "pattern": "test-failed"}},
        "tasks": [
            {"id": name, "goal": "Tidy calc.", "agent": name, "retry": {"max_retries": 0}}
            for name in rewrites
        ],
    }
    return project.yaoki("run", project.plan(plan), "--quiet").code


def an_agent(code: str, tests: str) -> dict[str, Any]:
    files = json.dumps({"calc.py": code, "test_calc.py": tests})
    act = f"import pathlib\nfor n, t in {files}.items(): pathlib.Path(n).write_text(t)"
    return {"command": ["sh", "-c", f"{sys.executable} -c {shlex.quote(act)}"]}


def test_tests_rewritten_as_a_table_with_the_same_cases_land(project: Project) -> None:
    """Three tests became one, and each question is still asked."""
    code = f"{CODE}\n\ndef add(a, b):\n    return sub(a, -b)\n"

    table = a_table("(3, 1, 2)", "(5, 1, 4)", "(0, 0, 0)")

    assert run_rewrites(project, {"t": (code, table)}) == 0


LOOSER = {
    "a-case-is-gone": (CODE + "\n", a_table("(3, 1, 2)", "(5, 1, 4)")),
    "other-signs": (REVERSED, a_table("(3, 1, -2)", "(5, 1, -4)", "(0, 0, 0)")),
    "other-order": (REVERSED, a_table("(1, 3, 2)", "(1, 5, 4)", "(0, 0, 0)")),
    "signs-in-place": (REVERSED, TESTS.replace(", 2)", ", -2)").replace(", 4)", ", -4)")),
    "order-in-place": (REVERSED, TESTS.replace("3, 1", "1, 3").replace("5, 1", "1, 5")),
}


@pytest.mark.full
def test_tests_rewritten_with_other_expectations_do_not_land(project: Project) -> None:
    """The program is broken, and the tests say what it does now, with the same numbers."""
    assert run_rewrites(project, LOOSER) == 4

    ended = {name: project.task(name) for name in LOOSER}
    assert {name: (task["state"], task["landed"]) for name, task in ended.items()} == dict.fromkeys(
        LOOSER, ("ESCALATED", None)
    )


def test_a_changed_expected_value_is_called_so_and_a_removed_assertion_too(
    project: Project,
) -> None:
    """Nothing was removed or loosened where a test only expects another value."""
    broken = CODE.replace("a - b", "a - b - 1")
    changed = TESTS.replace("(3, 1), 2", "(3, 1), 1").replace("(5, 1), 4", "(5, 1), 3")
    gone = TESTS.replace("self.assertEqual(sub(3, 1), 2)", "sub(3, 1)")

    rewrites = {"changed": (broken, changed.replace("), 0)", "), -1)")), "gone": (CODE, gone)}
    assert run_rewrites(project, rewrites) == 4

    told = {name: " ".join(project.query("why", name).out.split()) for name in rewrites}
    assert "an expected value was changed: self.assertEqual(sub(3, 1), 2)" in told["changed"]
    assert "removed or loosened" not in told["changed"]
    assert "an assertion was removed or loosened: self.assertEqual(sub(3, 1), 2)" in told["gone"]
