"""Rewritten tests land with the same assertions and are refused with others."""

from __future__ import annotations

import json
import shlex
import sys
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


def run_rewrite(project: Project, code: str, tests: str) -> int:
    """Run one agent that writes this program and these tests, verified by unittest."""
    (project.repo / "calc.py").write_text(CODE)
    (project.repo / "test_calc.py").write_text(TESTS)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a program")
    files = json.dumps({"calc.py": code, "test_calc.py": tests})
    act = f"import pathlib\nfor n, t in {files}.items(): pathlib.Path(n).write_text(t)"
    plan: dict[str, Any] = {
        "goal": "x",
        "agents": {"m": {"command": ["sh", "-c", f"{sys.executable} -c {shlex.quote(act)}"]}},
        "agent": "m",
        "checks": {"tests": {"run": ["python3", "-m", "unittest", "-v"], "pattern": "test-failed"}},
        "tasks": [{"id": "t", "goal": "Tidy calc.", "retry": {"max_retries": 0}}],
    }
    return project.yaoki("run", project.plan(plan), "--quiet").code


def test_tests_rewritten_as_a_table_with_the_same_cases_land(project: Project) -> None:
    """Three tests became one, and each question is still asked."""
    code = f"{CODE}\n\ndef add(a, b):\n    return sub(a, -b)\n"

    assert run_rewrite(project, code, a_table("(3, 1, 2)", "(5, 1, 4)", "(0, 0, 0)")) == 0


LOOSER = {
    "a case is gone": (CODE + "\n", a_table("(3, 1, 2)", "(5, 1, 4)")),
    "other signs": (REVERSED, a_table("(3, 1, -2)", "(5, 1, -4)", "(0, 0, 0)")),
    "other order": (REVERSED, a_table("(1, 3, 2)", "(1, 5, 4)", "(0, 0, 0)")),
    "signs in place": (REVERSED, TESTS.replace(", 2)", ", -2)").replace(", 4)", ", -4)")),
    "order in place": (REVERSED, TESTS.replace("3, 1", "1, 3").replace("5, 1", "1, 5")),
}


@pytest.mark.full
@pytest.mark.parametrize("name", LOOSER)
def test_tests_rewritten_with_other_expectations_do_not_land(project: Project, name: str) -> None:
    """The program is broken, and the tests say what it does now, with the same numbers."""
    assert run_rewrite(project, *LOOSER[name]) == 4
