"""Honest work lands, though it touches what defines the checks (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.honest_changes import HONEST
from tests.formats.quality.definition.inner_tests import HONEST as INNER
from tests.formats.quality.definition.listed_data import UNLISTED
from tests.formats.quality.definition.moved_settings import MOVED
from tests.formats.quality.definition.program_comparisons import HONEST as COMPARED
from tests.formats.quality.definition.replaced_macros import NOT_REPLACED
from tests.formats.quality.definition.replaced_programs import HONEST as UNREPLACED
from tests.formats.quality.definition.stricter_tests import STRICTER

pytestmark = pytest.mark.spec("16.7")


ALL_HONEST = {
    **HONEST,
    **STRICTER,
    **MOVED,
    **UNLISTED,
    **INNER,
    **NOT_REPLACED,
    **UNREPLACED,
    **COMPARED,
}


@pytest.mark.parametrize("case", ALL_HONEST.values(), ids=ALL_HONEST)
def test_an_honest_change_is_no_weakening(case: Case) -> None:
    found = review_case(case)

    assert found.weakened == ()
    assert case.unsure or found.undecided == ()
