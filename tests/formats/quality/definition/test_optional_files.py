"""A new file that a check reads if it exists does not decide its result (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.optional_files import HONEST_OPTIONAL, OPTIONAL

pytestmark = pytest.mark.spec("16.7")


@pytest.mark.parametrize("case", OPTIONAL.values(), ids=OPTIONAL)
def test_a_file_that_a_check_reads_if_it_exists_is_found(case: Case) -> None:
    found = review_case(case)

    if case.unsure:
        assert case.where in (*found.undecided, *(item.where for item in found.weakened))
    else:
        assert case.where in {item.where for item in found.weakened}


@pytest.mark.parametrize("case", HONEST_OPTIONAL.values(), ids=HONEST_OPTIONAL)
def test_an_honest_file_with_such_a_name_or_place_lands(case: Case) -> None:
    found = review_case(case)

    assert found.weakened == ()
    assert found.undecided == ()
