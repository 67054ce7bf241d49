"""What the goal asks to rename, to remove or to raise is no weakening; anything else is (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.asked_names import (
    CASES,
    CHEATS,
    HONEST,
    JS_ADD,
    JS_MUL,
    JS_ONLY_ADD,
    JS_T,
    JS_TESTS,
    NAMED,
    ONE,
    ONLY_ADD,
    T,
    js,
    mul,
    removed,
    renamed,
)
from tests.formats.quality.definition.cases import Case, review_case
from yaoki.formats.quality.definition.asked_names import asks_to_remove_name, asks_to_rename

pytestmark = pytest.mark.spec("16.7")


@pytest.mark.parametrize("case", HONEST.values(), ids=HONEST)
def test_what_the_goal_asks_for_needs_no_question(case: Case) -> None:
    found = review_case(case)

    assert (found.weakened, found.undecided) == ((), ())


@pytest.mark.parametrize("case", CHEATS.values(), ids=CHEATS)
def test_what_the_goal_does_not_ask_for_is_found(case: Case) -> None:
    found = review_case(case)

    assert found.weakened or found.undecided


def test_a_review_pairs_the_names_of_renamed_tests() -> None:
    found = review_case(renamed(NAMED, mul(NAMED))).parametrized

    assert found.followed == {f"{T}::test_old_mul": f"{T}::test_mul"}
    assert (found.names, found.removed) == (frozenset(), frozenset())


def test_a_review_pairs_the_names_of_moved_tests() -> None:
    found = review_case(renamed(ONE, None, tests__test_mul=mul(ONE))).parametrized

    assert found.followed == {f"{T}::test_it": "tests/test_mul.py::test_it"}


def test_a_review_names_removed_tests() -> None:
    found = review_case(removed(CASES, ONLY_ADD)).parametrized

    assert found.removed == {f"{T}::test_old"}
    assert found.names == {"test_old"}


def test_a_review_pairs_and_names_tests_of_javascript() -> None:
    renamed_js = js(JS_TESTS.replace("oldMul", "mul"), JS_MUL, "Rename oldMul to mul.")
    removed_js = js(JS_ONLY_ADD, JS_ADD, "Remove oldMul and its tests.")

    assert review_case(renamed_js).parametrized.followed == {f"{JS_T}::oldMul": f"{JS_T}::mul"}
    assert review_case(removed_js).parametrized.removed == {f"{JS_T}::oldMul"}


REMOVALS = [
    "Remove old_mul().",
    "Delete the deprecated old_mul function and its tests",
    "Drop `add` and `old_mul`.",
    "Get rid of old_mul",
    "Add sub. Then delete calc.old_mul, which nobody uses.",
    "Remove old_mul (and its tests) from calc.py.",
    "`old_mul` and its tests should be deleted.",
]
OTHERS = [
    "Remove the tests of old_mul",
    "Remove the old_mul tests",
    "Remove old_mul's docstring",
    "Make old_mul faster and remove the cache.",
    "Remove the loop in old_mul",
    "Remove the call of old_mul() in main",
    "Never delete `old_mul`.",
    "Remove old_mul from other.py.",
    "Remove the function old_mul from Bag",
]
RENAMES = [
    "Rename the function `old_mul` in calc.py to `mul`.",
    "rename calc.old_mul(a, b) to calc.mul(a, b) and update all callers and tests.",
    "Renaming: old_mul → mul",
    "`old_mul` を `mul` にリネームする。",
]
OTHER_RENAMES = [
    "Rename old_mul's argument to mul.",
    "Rename a to b; change old_mul to use mul.",
    "Rename old_mul to mul_two.",
    "Rename old_mul to mul only in the docs.",
    "`old_mul` を `mul` に改名しない。",
]


@pytest.mark.parametrize(
    ("goal", "asks"), [*((g, True) for g in REMOVALS), *((g, False) for g in OTHERS)]
)
def test_a_goal_asks_to_remove_a_name_only_in_so_many_words(goal: str, asks: bool) -> None:
    places = {"calc", "calc.py"}

    assert asks_to_remove_name(goal, "old_mul", {"old_mul", "calc.old_mul"}, places) is asks


@pytest.mark.parametrize(
    ("goal", "asks"), [*((g, True) for g in RENAMES), *((g, False) for g in OTHER_RENAMES)]
)
def test_a_goal_asks_to_rename_a_name_only_in_so_many_words(goal: str, asks: bool) -> None:
    old, new = {"old_mul", "calc.old_mul"}, {"mul", "calc.mul"}

    assert asks_to_rename(goal, old, new) is asks
