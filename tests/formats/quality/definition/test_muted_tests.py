"""Muted tests are found, and unclear changes are undecided (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.inner_tests import WEAKER as INNER
from tests.formats.quality.definition.listed_data import LISTED
from tests.formats.quality.definition.moved_settings import NOT_MOVED
from tests.formats.quality.definition.muted_tests import DOUBTS, GO, JS, MUTES, go, js, py
from tests.formats.quality.definition.program_comparisons import LOOSENED as COMPARED
from tests.formats.quality.definition.program_comparisons import UNCLEAR
from tests.formats.quality.definition.replaced_macros import REPLACED
from tests.formats.quality.definition.replaced_programs import LEADING, REPLACING
from tests.formats.quality.definition.stricter_tests import WEAKER as WEAKER_TESTS

pytestmark = pytest.mark.spec("16.7", "6.6")


ALL_MUTES = {**MUTES, **NOT_MOVED, **WEAKER_TESTS, **INNER, **REPLACED, **REPLACING, **COMPARED}


@pytest.mark.parametrize("case", ALL_MUTES.values(), ids=ALL_MUTES)
def test_a_test_that_no_longer_asserts_is_weakened(case: Case) -> None:
    found = review_case(case)

    assert case.where in {item.where for item in found.weakened}


PYTHON_TEST = "from app import f\n\n\ndef test_f():\n    assert f(1) == 2\n"
OTHER_VALUES = {
    "python": py(PYTHON_TEST, PYTHON_TEST.replace("== 2", "== 3")),
    "node": js(JS.replace("toBe(2)", "toBe(3)")),
    "go": go(GO.replace("!= 2", "!= 3")),
}
WEAKER = {
    "python, another input": py(PYTHON_TEST, PYTHON_TEST.replace("f(1) == 2", "f(2) == 3")),
    "python, any value": py(PYTHON_TEST, PYTHON_TEST.replace("== 2", "is not None")),
    "node, another input": js(JS.replace("f(1)).toBe(2)", "f(2)).toBe(3)")),
    "node, any value": js(JS.replace("toBe(2)", "toBeDefined()")),
    "go, another input": go(GO.replace("f(1) != 2", "f(2) != 3")),
}


@pytest.mark.parametrize("case", OTHER_VALUES.values(), ids=OTHER_VALUES)
def test_another_expected_value_is_called_changed(case: Case) -> None:
    (item,) = review_case(case).weakened

    assert item.message.startswith("an expected value was changed: ")


@pytest.mark.parametrize("case", WEAKER.values(), ids=WEAKER)
def test_an_assertion_of_something_else_is_called_removed(case: Case) -> None:
    (item,) = review_case(case).weakened

    assert item.message.startswith("an assertion was removed or loosened: ")


ALL_DOUBTS = {**DOUBTS, **LISTED, **LEADING, **UNCLEAR}


@pytest.mark.parametrize("case", ALL_DOUBTS.values(), ids=ALL_DOUBTS)
def test_an_unclear_change_is_undecided(case: Case) -> None:
    found = review_case(case)

    assert found.weakened == ()
    assert found.undecided == (case.where,)
