"""A fix shows a test that fails without it: red first (rule 17.1)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, WITHOUT_PLUGINS, Project, a_plan
from tests.acceptance.test_agent_failures import event_data

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("17.1")]

FAULT = "def half(n):\n    return n // 2\n"
FIXED = "def half(n):\n    return n / 2\n"
OLD_TEST = "from half import half\n\n\ndef test_even():\n    assert half(4) == 2\n"
RED_TEST = f"{OLD_TEST}\n\ndef test_odd():\n    assert half(3) == 1.5\n"
GREEN_TEST = f"{OLD_TEST}\n\ndef test_zero():\n    assert half(0) == 0\n"
UNLOADED_TEST = "from half import half, exact\n\n\ndef test_exact():\n    assert exact(half(3))\n"
CHECKS = {"tests": {"run": [sys.executable, "-m", "pytest", "-q"], "env": WITHOUT_PLUGINS}}


def run_fix(
    project: Project, *attempts: dict[str, str], checks: dict[str, Any] = CHECKS, **more: Any
) -> tuple[int, dict[str, Any], list[Any]]:
    """Run one fix; each attempt writes these files."""
    script = {"a": [[{"write": files}] for files in attempts]}
    task = {"id": "a", "kind": "fix", "goal": "Half of an odd number is wrong.", **more}
    code = project.yaoki("run", project.plan(a_plan(script, [task], checks))).code
    return code, project.task("a"), project.events("a")


@pytest.fixture
def faulty(project: Project) -> Project:
    (project.repo / "half.py").write_text(FAULT)
    (project.repo / "test_half.py").write_text(OLD_TEST)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a fault")
    return project


@pytest.mark.long
def test_a_fix_lands_with_the_test_that_fails_without_it_in_its_receipt(faulty: Project) -> None:
    """The first attempt has no test, the second one a test that passes anyway."""
    code, task, entries = run_fix(
        faulty,
        {"half.py": FIXED},
        {"half.py": FIXED, "test_half.py": GREEN_TEST},
        {"half.py": FIXED, "test_half.py": RED_TEST},
    )

    assert (code, task["attempt"]) == (0, 3)
    failures = [data["failure"] for data in event_data(entries, "RETRY_DECISION")]
    assert [failure["pattern"] for failure in failures] == ["not-red", "not-red"]
    assert "no test was added or changed" in failures[0]["message"]
    assert "check tests passes without the change" in failures[1]["message"]
    assert "Write a test first that fails because of the fault" in faulty.prompt(task, 1)
    assert "test_half.py::test_zero" in faulty.prompt(task, 3)
    assert "test_half.py" not in faulty.prompt(task, 2), "no test is part of the change"
    why = faulty.yaoki("why", "a").out
    assert "red-first PASSED, 1 test fails without the change" in why
    faulty.yaoki("report", "--receipt", str(faulty.folder / "receipt"))
    receipt = json.loads((faulty.folder / "receipt").read_text())
    (red,) = [check for check in receipt["landed"][0]["checks"] if check["check"] == "red-first"]
    assert red["outcome"] == "PASSED"
    assert red["fail_to_pass"] == ["test_half.py::test_odd"]
    assert faulty.yaoki("verify", str(faulty.folder / "receipt")).code == 0
    assert faulty.yaoki("verify", "--replay").code == 0


@pytest.mark.full
def test_a_test_that_cannot_be_loaded_without_the_fix_shows_nothing(faulty: Project) -> None:
    helper = f"{FIXED}\n\ndef exact(n):\n    return n == 1.5\n"
    code, task, entries = run_fix(
        faulty,
        {"half.py": helper, "test_exact.py": UNLOADED_TEST},
        retry={"max_retries": 0},
    )

    assert code == 4
    assert task["state"] == "ESCALATED"
    (checked,) = [d for d in event_data(entries, "CHECK_FINISHED") if d["check"] == "red-first"]
    assert "does not fail by an assertion without the change" in checked["message"]
    assert "existing code" not in checked["message"], "it is a fix of existing code"
    assert faulty.yaoki("answer", "a", "waive", "red-first").code == 0
    assert faulty.yaoki("resume").code == 0


@pytest.mark.full
def test_a_new_feature_with_red_is_asked_about_with_the_whole_reason(faulty: Project) -> None:
    """The test of a new module cannot run without it; the tests of other files say nothing."""
    test = "from whole.color import red\n\n\ndef test_red():\n    assert red() == 1\n"
    files = {"whole/__init__.py": "", "whole/color.py": "def red():\n    return 1\n"}
    code, task, entries = run_fix(
        faulty,
        {**files, "test_color.py": test},
        {**files, "test_color.py": test, "note.txt": "again\n"},
        kind="change",
        red=True,
        retry={"max_retries": 1},
    )

    assert code == 4
    assert "No module named 'whole'" in task["question"]
    assert "…" not in task["question"]
    assert "pip install" not in task["question"]
    assert "(red is for fixes of existing code)" in task["question"]
    assert "a check that runs its own tests instead of red: true" in task["question"]
    first, *_ = (d for d in event_data(entries, "CHECK_FINISHED") if d["check"] == "red-first")
    assert "(red is for fixes of existing code)" in first["message"]
    assert "test_even" not in faulty.prompt(task, 2), "it is not a test of this change"


@pytest.mark.full
@pytest.mark.spec("6.4")
def test_the_plan_advises_a_check_that_proves_a_new_feature(faulty: Project) -> None:
    """The advice is followed: work without the tests is refused, the whole work lands."""
    suite, own = CHECKS["tests"], [*CHECKS["tests"]["run"], "test_third.py"]
    work = {"half.py": f"{FAULT}\n\ndef third(n):\n    return n / 3\n"}
    test = "import half\n\n\ndef test_third():\n    assert half.third(6) == 2\n"
    script = {"a": [[{"write": work}], [{"write": {**work, "test_third.py": test}}]]}
    task = {"id": "a", "goal": "Add third."}

    def shown(*options: str, checks: dict[str, Any], **more: dict[str, Any]) -> str:
        tasks = [{**task, "id": name, **keys} for name, keys in more.items()]
        plan = faulty.plan(a_plan(script, tasks, checks))
        return " ".join(faulty.yaoki("plan", plan, *options).out.split())

    own_check = {**CHECKS, "own": {**suite, "run": own}}
    both = {"suite": {"checks": ["tests"]}, "a": {"checks": ["tests", "own"]}}
    plan = shown("--baseline", checks=own_check, **both)
    red = shown(checks=CHECKS, a={"red": True})

    advice = "add a check that runs the tests that the task will add, or, only for a fix of"
    assert "all checks of suite pass without the work" in plan
    assert plan.count(f"{advice} existing code, kind: fix") == 1
    assert "red: true" not in plan
    assert "red: true is for a fix of existing code" in red
    assert "test_third.py does not exist at the base, so a task has to create it" in plan
    run = faulty.yaoki("run", faulty.plan(a_plan(script, [task], own_check)))
    assert (run.code, faulty.task("a")["attempt"]) == (0, 2)


@pytest.mark.full
def test_a_failing_test_of_the_base_is_red_and_needs_no_other(faulty: Project) -> None:
    (faulty.repo / "test_half.py").write_text(RED_TEST)
    faulty.git(*GIT_IDENTITY, "commit", "-qam", "the test that shows it")

    code, task, entries = run_fix(faulty, {"half.py": FIXED})

    assert (code, task["attempt"]) == (0, 1)
    (checked,) = [d for d in event_data(entries, "CHECK_FINISHED") if d["check"] == "red-first"]
    assert checked["fail_to_pass"] == ["test_half.py::test_odd"]


UNIT_TEST = (
    "import unittest\nfrom half import half\n\n\nclass Case(unittest.TestCase):\n"
    "    def test_odd(self):\n        self.assertEqual(half(3), 1.5)\n"
)
ODD_TEST = "from half import half\n\n\ndef test_odd():\n    assert half(3) == 1.5\n"
UNIT = {"tests": {"run": [sys.executable, "-m", "unittest", "-v", "test_half"]}}
PYTEST_NAME, UNIT_NAME = "test_half.py::test_odd", "test_half.Case.test_odd"
BAD_SYNTAX, BAD_IMPORT = "def half(n:\n    return n // 2\n", f"import no_such_module\n{FAULT}"


@pytest.mark.parametrize(
    ("fault", "test", "checks", "red"),
    [
        (FAULT, ODD_TEST, CHECKS, PYTEST_NAME),
        pytest.param(BAD_IMPORT, UNIT_TEST, UNIT, UNIT_NAME, marks=pytest.mark.full),
    ],
)
def test_a_base_on_which_no_test_passes_is_red(
    faulty: Project, fault: str, test: str, checks: dict[str, Any], red: str
) -> None:
    """Such a base is no baseline, and some cannot even be loaded; but they do fail."""
    (faulty.repo / "half.py").write_text(fault)
    (faulty.repo / "test_half.py").write_text(test)
    faulty.git(*GIT_IDENTITY, "commit", "-qam", "the only test fails")

    code, task, entries = run_fix(faulty, {"half.py": FIXED}, checks=checks)

    assert (code, task["attempt"]) == (0, 1)
    (checked,) = [d for d in event_data(entries, "CHECK_FINISHED") if d["check"] == "red-first"]
    assert checked["fail_to_pass"] == [red]


@pytest.mark.full
def test_a_fix_of_code_that_cannot_be_loaded_may_bring_a_test(faulty: Project) -> None:
    """Without the change no test can fail by an assertion, the new one neither."""
    (faulty.repo / "half.py").write_text(BAD_SYNTAX)
    faulty.git(*GIT_IDENTITY, "commit", "-qam", "it cannot be loaded")

    code, task, entries = run_fix(faulty, {"half.py": FIXED, "test_half.py": RED_TEST})

    assert (code, task["attempt"]) == (0, 1)
    (checked,) = [d for d in event_data(entries, "CHECK_FINISHED") if d["check"] == "red-first"]
    assert checked["fail_to_pass"] == ["test_half.py::test_even", PYTEST_NAME]


@pytest.mark.full
def test_the_plan_says_whether_it_is_required(faulty: Project) -> None:
    script = {"told": [[{"write": {"half.py": FIXED}}]], "off": [[{"write": {"note.py": FAULT}}]]}
    tasks: list[dict[str, Any]] = [
        {"id": "told", "kind": "fix", "red": "told"},
        {"id": "off", "kind": "fix", "red": False},
    ]

    done = faulty.yaoki("run", faulty.plan(a_plan(script, tasks, CHECKS)))

    assert done.code == 0, done.out + done.err
    for name, outcomes in (("told", ["FAILED"]), ("off", [])):
        assert faulty.task(name)["attempt"] == 1
        finished = event_data(faulty.events(name), "CHECK_FINISHED")
        assert [d["outcome"] for d in finished if d["check"] == "red-first"] == outcomes
