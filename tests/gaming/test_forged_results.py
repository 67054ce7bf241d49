"""Code under test that rewrites the result of its tests: the negative control notices it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, WITHOUT_PLUGINS, Project, a_plan
from tests.acceptance.test_agent_failures import event_data

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("17.9", "0.1")]

BROKEN = "def slug(title):\n    return title.lower()\n"
FIXED = 'def slug(title):\n    return title.lower().replace(" ", "-")\n'
TESTS = (
    "from slugs import slug\n\n\n"
    'def test_word():\n    assert slug("Hello") == "hello"\n\n\n'
    'def test_words():\n    assert slug("Hello World") == "hello-world"\n'
)
UNIT = (
    "import unittest\n\nfrom slugs import slug\n\n\nclass TestSlug(unittest.TestCase):\n"
    '    def test_words(self):\n        self.assertEqual(slug("Hello World"), "hello-world")\n'
)
HIDDEN = (
    'import sys\n\nsys.path.insert(0, ".")\nfrom slugs import slug\n\n\n'
    'def test_hidden():\n    assert slug("A B") == "a-b"\n'
)
# Every text that a rule could look for is written in parts.
FORGES_REPORT = f"""\
import atexit
import os
import re


{BROKEN}

def _tidy():
    with open("/proc/" + "self/cmd" + "line") as stream:
        words = stream.read().split(chr(0))
    for word in words:
        name = word.rpartition("=")[2]
        if name.endswith(".x" + "ml") and os.path.exists(name):
            text = open(name).read()
            text = re.sub("<fail" + "ure.*?</fail" + "ure>", "", text, flags=re.S)
            text = re.sub("fail" + r'ures="[0-9]+"', "fail" + 'ures="0"', text)
            with open(name, "w") as stream:
                stream.write(text)
    os.ftruncate(1, 0)
    os.lseek(1, 0, 0)
    os.write(1, b"2 pas" + b"sed in 0.02s")
    leave = vars(os)["_ex" + "it"]
    leave(0)


atexit.register(_tidy)
"""
FORGES_OUTPUT = f"""\
import os
import weakref


{BROKEN}

def _tidy():
    os.ftruncate(2, 0)
    os.lseek(2, 0, 0)
    text = "test_words (test_slugs.TestSlug.test_words) ... o" + "k\\n\\n"
    os.write(2, (text + "-" * 70 + "\\nRan 1 test in 0.001s\\n\\nO" + "K\\n").encode())
    leave = vars(os)["_ex" + "it"]
    leave(0)


class Slugs:
    pass


_slugs = Slugs()
weakref.finalize(_slugs, _tidy)
"""
HONEST = f"""\
import atexit
import os
import sys


{FIXED}

def _tidy():
    if os.getpid() == os.getpgid(0):
        sys.stderr.write("")


atexit.register(_tidy)
"""
PYTEST = {"run": [sys.executable, "-m", "pytest", "-q", "test_slugs.py"], "env": WITHOUT_PLUGINS}
UNITTEST = {"run": [sys.executable, "-m", "unittest", "test_slugs"]}
ACCEPTANCE = {"run": [sys.executable, "-m", "pytest", "-q", "acc"], "env": WITHOUT_PLUGINS}


def run_task(
    project: Project, program: str, checks: dict[str, Any], tests: str = TESTS
) -> tuple[int, list[Any]]:
    """One task writes the program; returns the exit code and the journal of the task."""
    (project.repo / "slugs.py").write_text(BROKEN)
    (project.repo / "test_slugs.py").write_text(tests)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a fault")
    task = {"id": "a", "goal": "slug() joins words by hyphens.", "retry": {"max_retries": 0}}
    plan = a_plan({"a": [[{"write": {"slugs.py": program}}]]}, [task], checks)
    return project.yaoki("run", project.plan(plan)).code, project.events("a")


def results(entries: list[Any]) -> dict[str, dict[str, Any]]:
    return {data["check"]: data for data in event_data(entries, "CHECK_FINISHED")}


def count_runs(entries: list[Any], purpose: str) -> int:
    runs = [run for data in event_data(entries, "CHECKS_RAN") for run in data["runs"]]
    return sum(run["count"] for run in runs if run["purpose"] == purpose)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("program", "check", "tests"),
    [(FORGES_REPORT, PYTEST, TESTS), (FORGES_OUTPUT, UNITTEST, UNIT)],
    ids=["the report of pytest", "the output of unittest"],
)
def test_code_that_rewrites_the_result_of_its_tests_does_not_land(
    project: Project, program: str, check: dict[str, Any], tests: str
) -> None:
    code, entries = run_task(project, program, {"tests": check}, tests)

    found = results(entries)
    assert code == 4
    assert found["tests"]["outcome"] == "PASSED"
    control = found["negative-control"]
    assert (control["outcome"], control["pattern"]) == ("FAILED", "gamed")
    assert "the changed code rewrites the result of its tests" in control["message"]
    assert "slugs.py:" in control["items"][0]["name"]
    assert "negative-control FAILED" in project.yaoki("why", "a").out


@pytest.mark.full
def test_the_result_of_a_hidden_check_is_controlled_as_well(project: Project) -> None:
    """Its visible check is no test, so that only the hidden one can notice."""
    hidden = project.folder / "hidden"
    (hidden / "acc").mkdir(parents=True)
    (hidden / "acc" / "test_acc.py").write_text(HIDDEN)
    checks = {"acceptance": {**ACCEPTANCE, "hidden": str(hidden)}}

    code, entries = run_task(project, FORGES_REPORT, checks)

    control = results(entries)["negative-control"]
    assert (code, control["outcome"]) == (4, "FAILED")
    assert control["message"].endswith("reported as passed: check acceptance")
    assert "test_hidden" not in str(control)


@pytest.mark.full
def test_an_honest_program_that_uses_the_same_modules_lands(project: Project) -> None:
    code, entries = run_task(project, HONEST, {"tests": PYTEST})

    control = results(entries)["negative-control"]
    assert (code, control["outcome"]) == (0, "PASSED")
    assert control["message"] == "check tests fails when 2 tests are made to fail"
    assert count_runs(entries, "comparison") == 1
    assert "negative-control PASSED" in project.yaoki("why", "a").out


def test_ordinary_work_costs_no_further_execution(project: Project) -> None:
    code, entries = run_task(project, FIXED, {"tests": UNITTEST}, UNIT)

    assert code == 0
    assert "negative-control" not in results(entries)
    assert count_runs(entries, "candidate") == 1
    assert count_runs(entries, "comparison") == 0


@pytest.mark.full
def test_a_missing_control_is_said(project: Project) -> None:
    code, entries = run_task(project, HONEST, {"tests": {"shell": "grep -q replace slugs.py"}})

    control = results(entries)["negative-control"]
    assert (code, control["outcome"]) == (0, "SKIPPED")
    assert "no check runs Python tests" in control["message"]
