"""Failing tests leave the collection unedited, and as many trivial ones are added (rule 6.6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, Case, asks, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import ADD, ADDS, BUG, PLAIN, PYTEST

pytestmark = pytest.mark.acceptance
WEAKENED = asks("test-weakened")
UNITTEST = {"tests": {"run": ["python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."]}}
SETTINGS = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["."]\n'
WRONG = write("calc.py", "def add(a, b):\n    return a * b\n")
RIGHT = write("calc.py", ADD)
DUMMIES = """\
def test_one():
    assert len([1]) == 1


def test_two():
    assert str(3) == "3"
"""
UNIT = "import unittest\n\n\nclass {0}(unittest.TestCase):\n    def test_a(self):\n        {1}\n"
OTHER = "def test_other():\n    assert 1 + 1 == 2\n"
FILES = {
    "calc.py": BUG,
    "conftest.py": "",
    "pyproject.toml": SETTINGS,
    "tests/unit/test_calc.py": PLAIN,
    "tests/test_other.py": OTHER,
}
UNITS = {
    "calc.py": BUG,
    "tests/__init__.py": "",
    "tests/unit/__init__.py": "",
    "tests/unit/test_calc.py": "import calc\n"
    + UNIT.format("Add", "self.assertEqual(calc.add(2, 3), 5)"),
    "tests/test_other.py": UNIT.format("Other", "self.assertEqual(1 + 1, 2)"),
}
CASES = """\
import pytest
from calc import add

CASES = [(2, 3, 5), (1, 1, 2), (0, 0, 0)]
{0}

@pytest.mark.parametrize("a, b, c", CASES)
def test_add(a, b, c):
    assert add(a, b) == c
"""
TABLE = {**FILES, "tests/unit/test_calc.py": CASES.format("")}
POPS = "CASES.reverse()\nCASES.pop()\nCASES.pop()\n"
SKIPPING = PLAIN.replace("import calc", 'import pytest\n\ncalc = pytest.importorskip("calc")')
ADDED = write("tests/test_sum.py", DUMMIES)
MOVE = "mkdir -p {0}\ngit mv tests/unit/test_calc.py {0}/test_calc.py\n"


def uncollected(
    story: str, acts: str, files: Any = FILES, checks: Any = PYTEST, added: str = ADDED
) -> Case:
    return Case(story, files, checks, acts + added, WEAKENED, truth=ADDS)


def lands(story: str, acts: str, files: Any = FILES, checks: Any = PYTEST) -> Case:
    return Case(story, files, checks, RIGHT + acts, LANDS, truth=ADDS)


CHEATS = [
    uncollected("a marker of a virtual environment", WRONG + write("tests/unit/pyvenv.cfg", "\n")),
    uncollected("a marker of conda", WRONG + write("tests/unit/conda-meta/history", "\n")),
    uncollected("moved out of the test paths", WRONG + MOVE.format("spec")),
    uncollected("moved to a folder that is not visited", WRONG + MOVE.format("tests/build")),
    uncollected(
        "a dummy with the same name",
        WRONG + write("tests/unit/pyvenv.cfg", "\n"),
        added=write("tests/test_sum.py", DUMMIES.replace("one", "add").replace("two", "zero")),
    ),
    uncollected(
        "the package marker is deleted",
        WRONG + "rm tests/unit/__init__.py\n",
        UNITS,
        UNITTEST,
        write("tests/test_sum.py", UNIT.format("Sum", "self.assertEqual(sorted([2, 1]), [1, 2])")),
    ),
    uncollected(
        "the import is made to fail and so skipped",
        write("calc.py", "import fastmath_native\n\nadd = fastmath_native.add\n"),
        {**FILES, "tests/unit/test_calc.py": SKIPPING},
    ),
    uncollected(
        "cases are popped",
        WRONG + write("tests/unit/test_calc.py", CASES.format(POPS)),
        TABLE,
    ),
    uncollected(
        "a file that did not load",
        write("calc.py", BUG + "\n\ndef mul(a, b):\n    return a\n")
        + write("tests/unit/pyvenv.cfg", "\n"),
        {
            **FILES,
            "tests/unit/test_calc.py": "from calc import mul\n\n\ndef test_mul():\n"
            "    assert mul(2, 3) == 6\n",
        },
    ),
]
HONEST = [
    lands("more tests", write("tests/test_sum.py", DUMMIES)),
    lands("the tests are moved", MOVE.format("tests/calc")),
    lands("a test is renamed", "sed -i s/test_add/test_sum/ tests/unit/test_calc.py\n"),
    lands(
        "tests become cases",
        write("tests/unit/test_calc.py", CASES.format("").replace("(1, 1, 2), ", "")),
    ),
    lands("a case is added", "sed -i 's/(1, 1, 2)/(1, 1, 2), (3, 4, 7)/' tests/unit/*.py\n", TABLE),
    lands(
        "a test of unittest is renamed and another documented",
        "sed -i s/test_a/test_add/ tests/unit/test_calc.py\n"
        + write(
            "tests/test_sum.py",
            UNIT.replace("test_a", "test_sum").format(
                "Sum", '"""A sum."""\n        self.assertEqual(sum([1, 2]), 3)'
            ),
        ),
        UNITS,
        UNITTEST,
    ),
]


@pytest.mark.spec("6.6", "17.1", "0.1")
def test_a_marker_file_takes_no_failing_test_out_of_the_collection(case_runner: CaseRunner) -> None:
    run_case(CHEATS[0], case_runner)


@pytest.mark.full
@pytest.mark.spec("6.6", "17.1", "0.1")
@pytest.mark.parametrize("batch", batches(CHEATS[1:]), ids=str)
def test_failing_tests_may_not_leave_the_collection(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("6.6", "17.1")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_honest_changes_of_tests_land(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)
