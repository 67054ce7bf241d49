"""Indirect rewrites of a check are found (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.indirect_rewrites import ROADS

pytestmark = pytest.mark.spec("16.7")


@pytest.mark.parametrize("case", ROADS.values(), ids=ROADS)
def test_an_indirect_rewrite_of_a_check_is_found(case: Case) -> None:
    found = review_case(case)

    if case.unsure:
        assert case.where in (*found.undecided, *(item.where for item in found.weakened))
    else:
        assert case.where in {item.where for item in found.weakened}
    assert all(item.name and item.message and item.where for item in found.weakened)
