"""A new file by which a linter or type checker examines less does not decide its result (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.examined_less import AS_MUCH, LESS

pytestmark = pytest.mark.spec("16.7")


@pytest.mark.parametrize("case", LESS.values(), ids=LESS)
def test_a_file_by_which_a_check_examines_less_is_found(case: Case) -> None:
    found = review_case(case)

    assert case.where in (*found.undecided, *(item.where for item in found.weakened))


@pytest.mark.parametrize("case", AS_MUCH.values(), ids=AS_MUCH)
def test_a_file_that_leaves_nothing_out_lands(case: Case) -> None:
    found = review_case(case)

    assert found.weakened == ()
    assert found.undecided == ()
