"""Muted tests are found, and unclear changes are undecided (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.muted_tests import DOUBTS, MUTES

pytestmark = pytest.mark.spec("16.7", "6.6")


@pytest.mark.parametrize("case", MUTES.values(), ids=MUTES)
def test_a_test_that_no_longer_asserts_is_weakened(case: Case) -> None:
    found = review_case(case)

    assert case.where in {item.where for item in found.weakened}


@pytest.mark.parametrize("case", DOUBTS.values(), ids=DOUBTS)
def test_an_unclear_change_is_undecided(case: Case) -> None:
    found = review_case(case)

    assert found.weakened == ()
    assert found.undecided == (case.where,)
