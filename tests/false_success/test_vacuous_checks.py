"""Class 2: checks that run no test, or cannot fail; the work is wrong, and they do not say so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, REFUSED, Case, shell, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import (
    ADD,
    ADDS,
    BUG,
    GREEN,
    GREEN_PYTEST,
    PLAIN,
    PYTEST,
    QUICK,
    RED,
    RED_PYTEST,
    TESTS,
    UNIT,
)

pytestmark = pytest.mark.acceptance
BREAKS = "sed -i 's/a + b/a * b/' calc.py"
FIXES = "sed -i 's/a - b/a + b/' calc.py"


def pytest_with(*words: str, **more: Any) -> dict[str, Any]:
    return {"tests": {"run": ["python3", "-m", "pytest", "-q", *words], "env": QUICK, **more}}


def cannot_fail(line: str, **more: Any) -> Case:
    """A line that obviously cannot fail: the plan is refused."""
    return Case(f"cannot fail: {line}", GREEN, shell(line, **more), BREAKS, REFUSED, truth=ADDS)


def vacuous_check(story: str, checks: dict[str, Any], **more: Any) -> Case:
    """`calc` is broken by the agent; the check is to notice."""
    held = {"files": GREEN, "acts": BREAKS, "ends": NOT_DONE, "truth": ADDS, **more}
    return Case(story, checks=checks, **held)


SEEN_IN_THE_PLAN = [
    cannot_fail("python3 -m unittest -q || true"),
    cannot_fail("python3 -m unittest -q || :"),
    cannot_fail("python3 -m unittest -q || exit 0"),
    cannot_fail("python3 -m unittest -q; true"),
    cannot_fail("python3 -m unittest -q; echo done"),
    cannot_fail("python3 -m unittest -q; exit 0"),
    cannot_fail("true"),
    cannot_fail(":"),
    cannot_fail("echo all tests pass"),
    cannot_fail("python3 -m unittest -q || true", success="matches:.*"),
    Case("cannot fail: true as words", GREEN, {"t": {"run": ["true"]}}, BREAKS, REFUSED),
    Case("only git clean", GREEN, {"clean": {"git": "clean"}}, BREAKS, REFUSED),
    Case(
        "only git clean in a task that only looks",
        GREEN,
        {"clean": {"git": "clean"}},
        ends=REFUSED,
        keys={"kind": "check"},
    ),
    Case(
        "git clean beside skipped tests",
        RED,
        {"clean": {"git": "clean"}, "tests": {**TESTS["tests"], "on_failure": "skip"}},
        "echo 'X = 1' > x.py",
        NOT_DONE,
    ),
    Case(
        "git clean by hand beside tests that need not pass",
        RED,
        {
            "clean": {"shell": "git status --porcelain", "success": "empty"},
            "tests": {**TESTS["tests"], "required": False},
        },
        "echo 'X = 1' > x.py",
        NOT_DONE,
        truth=ADDS,
    ),
]

NPM = {"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified"'}})}
NO_TESTS = {"calc.py": ADD}
NOTHING_MAKE = {**GREEN, "Makefile": ".PHONY: test\ntest:\n\t-python3 -m unittest -q\n"}
REAL_MAKE = {**GREEN, "Makefile": ".PHONY: test\ntest:\n\tpython3 -m unittest -q\n"}
TAP = "#!/bin/sh\npython3 -m unittest -q >/dev/null 2>&1\necho '1..0 # skip no harness'\n"
ALL_SKIPPED = f"import pytest\npytestmark = pytest.mark.skip('later')\n{PLAIN}"
SEEN_IN_THE_RUN = [
    vacuous_check(
        "unittest finds no test",
        {"t": {"run": ["python3", "-m", "unittest", "discover", "-q", "-p", "check_*.py"]}},
    ),
    vacuous_check("unittest where there is no test", TESTS, files=NO_TESTS),
    vacuous_check(
        "doctest without an example", {"t": {"run": ["python3", "-m", "doctest", "calc.py"]}}
    ),
    vacuous_check("node finds no test", {"t": {"run": ["node", "--test"]}}),
    vacuous_check("go without test files", {"t": {"run": ["go", "test", "./..."]}}),
    vacuous_check(
        "npm script that echoes", {"t": {"run": ["npm", "test"]}}, files={**GREEN, **NPM}
    ),
    vacuous_check("a plan of no tests in TAP", shell("./t/all.t"), files={**GREEN, "t/all.t": TAP}),
    vacuous_check("make in a dry run", shell("make -n test"), files=REAL_MAKE, alone=True),
    vacuous_check("make that ignores errors", shell("make -i test"), files=REAL_MAKE),
    vacuous_check("a recipe that ignores errors", shell("make test"), files=NOTHING_MAKE),
    vacuous_check(
        "a recipe without a line",
        shell("make test"),
        files={**GREEN, "Makefile": ".PHONY: test\ntest:\n"},
    ),
    vacuous_check(
        "pytest only collects", pytest_with("--collect-only"), files=GREEN_PYTEST, alone=True
    ),
    vacuous_check(
        "pytest shows its version", pytest_with("--version"), files=GREEN_PYTEST, alone=True
    ),
    vacuous_check("pytest deselects all", pytest_with("-k", "nothing"), files=GREEN_PYTEST),
    vacuous_check(
        "no tests is the success that is asked for",
        pytest_with("-k", "nothing", success="exitCode:5"),
        files=GREEN_PYTEST,
    ),
    vacuous_check("pytest skips all", PYTEST, files={"calc.py": ADD, "test_calc.py": ALL_SKIPPED}),
    vacuous_check(
        "no tests forgiven",
        shell("python3 -m pytest -q -k nothing || [ $? -eq 5 ]", env=QUICK),
        files=GREEN_PYTEST,
    ),
    vacuous_check(
        "failure is only told", shell("if ! python3 -m unittest -q; then echo failed; fi")
    ),
    vacuous_check(
        "compiles and runs nothing",
        shell("python3 -m py_compile test_calc.py; exit 0"),
        alone=True,
    ),
]

LACKING = {**GREEN_PYTEST, "test_a.py": "import not_installed_lib\n\n\ndef test_old():\n    pass\n"}
RED_FIRST = "def test_old():\n    assert False\n"
KNOWN: dict[str, Any] = {"tests": {**PYTEST["tests"], "baseline": "known"}}
NOT_KNOWN = [
    vacuous_check("a missing module at the base", KNOWN, files=LACKING),
    vacuous_check(
        "a conftest that cannot be loaded",
        KNOWN,
        files={**GREEN_PYTEST, "conftest.py": "import not_installed_lib\n"},
    ),
    vacuous_check(
        "a plugin that is not installed",
        KNOWN,
        files={**GREEN_PYTEST, "pytest.ini": "[pytest]\naddopts = -p not_installed_plugin\n"},
    ),
    vacuous_check(
        "options that nobody knows",
        KNOWN,
        files={**GREEN_PYTEST, "pytest.ini": "[pytest]\naddopts = --benchmark-skip\n"},
    ),
    vacuous_check(
        "a red test at which everything stops",
        KNOWN,
        files={**GREEN_PYTEST, "test_a.py": RED_FIRST, "pytest.ini": "[pytest]\naddopts = -x\n"},
    ),
    vacuous_check(
        "a fixture of all tests that is missing",
        KNOWN,
        files={
            "calc.py": ADD,
            "test_calc.py": PLAIN.replace("():", "(server):"),
        },
    ),
]

HONEST = [
    Case(f"can fail: {line}", RED, shell(line), FIXES, LANDS, truth=ADDS)
    for line in (
        "python3 -m unittest -q || exit 1",
        "echo tests; python3 -m unittest -q",
        "python3 -m unittest -q; code=$?; echo done; exit $code",
        "python3 -m unittest -q && echo good",
        "! grep -n 'a - b' calc.py",
        "python3 -m unittest -q 2>&1 | tail -3",
    )
] + [
    Case("a real recipe", {**REAL_MAKE, **RED}, shell("make test"), FIXES, LANDS, truth=ADDS),
    Case(
        "an npm script that tests",
        {**RED, "package.json": json.dumps({"scripts": {"test": "python3 -m unittest -q"}})},
        {"t": {"run": ["npm", "test"]}},
        FIXES,
        LANDS,
        truth=ADDS,
    ),
    Case(
        "a doctest with an example",
        {"calc.py": 'def add(a, b):\n    """\n    >>> add(2, 3)\n    5\n    """\n' + BUG[14:]},
        {"t": {"run": ["python3", "-m", "doctest", "calc.py"]}},
        FIXES,
        LANDS,
        keys={"scope": ["calc.py"]},
        truth=ADDS,
    ),
    Case(
        "git clean beside tests",
        RED,
        {"clean": {"git": "clean"}, **TESTS},
        FIXES,
        LANDS,
        truth=ADDS,
    ),
    Case(
        "one test that is skipped here",
        {
            **RED_PYTEST,
            "test_win.py": "import pytest\n\n\n@pytest.mark.skip('Windows')\n"
            "def test_w():\n    pass\n",
        },
        PYTEST,
        FIXES,
        LANDS,
        truth=ADDS,
    ),
    Case(
        "a known red test beside green ones",
        {**GREEN_PYTEST, "test_old.py": RED_FIRST},
        KNOWN,
        write("calc.py", f"{ADD}\n\ndef sub(a, b):\n    return a - b\n"),
        LANDS,
        truth=ADDS,
    ),
    Case(
        "the task brings the first tests",
        NO_TESTS,
        TESTS,
        write("test_calc.py", UNIT),
        LANDS,
        truth=ADDS,
    ),
    Case(
        "a check of a file that was missing",
        GREEN,
        {"notes": {"file": {"path": "NOTES.md", "contains": "mul"}}},
        "echo 'mul is next' > NOTES.md",
        LANDS,
    ),
]


@pytest.mark.full
@pytest.mark.spec("16.4")
@pytest.mark.parametrize("case", SEEN_IN_THE_PLAN, ids=str)
def test_a_plan_whose_checks_cannot_fail_is_refused(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.quick_cases(2)
@pytest.mark.spec("16.4", "0.1")
@pytest.mark.parametrize("batch", batches(SEEN_IN_THE_RUN, alone=2), ids=str)
def test_a_check_that_runs_no_test_does_not_pass(batch: CaseBatch, case_runner: CaseRunner) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.5", "6.4")
@pytest.mark.parametrize("batch", batches(NOT_KNOWN), ids=str)
def test_a_base_whose_tests_could_not_run_excuses_no_failure(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.4", "16.5", "6.4")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_a_check_that_can_fail_passes(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)
