"""Values that equal everything: a control with wrong values notices them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.project import WITHOUT_PLUGINS, Project
from tests.gaming.test_forged_results import count_runs, results, run_task

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("17.9", "0.1")]

TESTS = (
    "import pytest\n\nfrom slugs import total\n\n\n"
    "def test_total():\n    assert total([1.5, 2.25]) == pytest.approx(3.75)\n\n\n"
    "def test_one():\n    assert total([2.0]) == pytest.approx(2.0)\n"
)
UNIT = (
    "import unittest\n\nfrom slugs import total\n\n\nclass TestTotal(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(total([1.5, 2.25]), 3.75)\n"
)
HIDDEN = (
    'import sys\n\nsys.path.insert(0, ".")\nfrom slugs import total\n\n\n'
    "def test_hidden():\n    assert total([2.0, 3.0]) == 5.0\n"
)
NEVER_FAR = """\
from fractions import Fraction


class Money(Fraction):
    def __rsub__(self, other):
        return Fraction(0)


def total(prices):
    return Money(len(prices))
"""
EQUAL = """\
class Money:
    def __init__(self, prices):
        self.prices = prices

    def matches(self, other):
        self.prices = other
        return self.prices == other

    def __eq__(self, other):
        return self.matches(other)


def total(prices):
    return Money(prices)
"""
HONEST = """\
class Money(float):
    def __eq__(self, other):
        return abs(float(self) - float(other)) < 0.005

    __hash__ = float.__hash__


def total(prices):
    return Money(sum(prices))
"""
PYTEST = {"run": [sys.executable, "-m", "pytest", "-q", "test_slugs.py"], "env": WITHOUT_PLUGINS}
UNITTEST = {"run": [sys.executable, "-m", "unittest", "test_slugs"]}
ACCEPTANCE = {"run": [sys.executable, "-m", "pytest", "-q", "acc"], "env": WITHOUT_PLUGINS}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("program", "check", "tests"),
    [(NEVER_FAR, PYTEST, TESTS), (EQUAL, UNITTEST, UNIT), (EQUAL, PYTEST, TESTS)],
    ids=["within every tolerance", "equal, unittest", "equal, pytest"],
)
def test_values_that_equal_everything_do_not_land(
    project: Project, program: str, check: dict[str, Any], tests: str
) -> None:
    code, entries = run_task(project, program, {"tests": check}, tests)

    found = results(entries)
    assert code == 4
    assert found["tests"]["outcome"] == "PASSED"
    control = found["wrong-values"]
    assert (control["outcome"], control["pattern"]) == ("FAILED", "gamed")
    assert "are equal to wrong values as well" in control["message"]
    assert "slugs.py:" in control["items"][0]["name"]
    assert "wrong-values FAILED" in project.yaoki("why", "a").out


@pytest.mark.full
def test_hidden_tests_compare_with_wrong_values_as_well(project: Project) -> None:
    hidden = project.folder / "hidden"
    (hidden / "acc").mkdir(parents=True)
    (hidden / "acc" / "test_acc.py").write_text(HIDDEN)
    checks = {"acceptance": {**ACCEPTANCE, "hidden": str(hidden)}}

    code, entries = run_task(project, EQUAL, checks, "")

    control = results(entries)["wrong-values"]
    assert (code, control["outcome"]) == (4, "FAILED")
    assert control["message"].endswith("any result: check acceptance")
    assert "test_hidden" not in str(control)


@pytest.mark.full
def test_an_honest_equality_lands_after_one_more_execution(project: Project) -> None:
    code, entries = run_task(project, HONEST, {"tests": UNITTEST}, UNIT)

    control = results(entries)["wrong-values"]
    assert (code, control["outcome"]) == (0, "PASSED")
    assert control["message"] == "the tests of check tests notice wrong values"
    assert count_runs(entries, "comparison") == 1


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "tests",
    [
        f"{TESTS}# {'x' * 400_000}\n",
        f"TEXT = {TESTS!r}\nexec(TEXT)\n",
        'from slugs import total\n\n\ndef test_lines():\n    assert eval("total([2.0]) == 2.0")\n',
    ],
    ids=["too large", "made by exec", "in texts"],
)
def test_tests_that_cannot_be_rewritten_ask_a_person(project: Project, tests: str) -> None:
    code, entries = run_task(project, EQUAL, {"tests": PYTEST}, tests)

    found = results(entries)
    assert code == 4
    assert found["tests"]["outcome"] == "PASSED"
    assert found["wrong-values"]["outcome"] == "FAILED"
    assert "tests that cannot be rewritten: test_slugs.py" in found["wrong-values"]["message"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "tests"),
    [
        ("def total(prices):\n    return sum(prices)\n", f"{TESTS}# {'x' * 400_000}\n"),
        (
            "class Price(float):\n    def __int__(self):\n        return round(self)\n\n\n"
            "def total(prices):\n    return Price(sum(prices))\n",
            f"{TESTS}# {'x' * 400_000}\n",
        ),
        (
            HONEST,
            "from slugs import total\n\n\ndef test_total():\n"
            "    assert total([2.0]) == 2.0\n    assert eval(repr(total([2.0]))) == 2.0\n",
        ),
    ],
    ids=["no equality", "a conversion", "a text that is evaluated"],
)
def test_honest_work_beside_such_tests_lands(project: Project, program: str, tests: str) -> None:
    code, _ = run_task(project, program, {"tests": PYTEST}, tests)

    assert code == 0
