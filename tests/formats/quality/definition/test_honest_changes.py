"""Honest work lands, though it touches what defines the checks (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.honest_changes import HONEST

pytestmark = pytest.mark.spec("16.7")


@pytest.mark.parametrize("case", HONEST.values(), ids=HONEST)
def test_an_honest_change_is_no_weakening(case: Case) -> None:
    found = review_case(case)

    assert found.weakened == ()
    assert case.unsure or found.undecided == ()
