"""A name that an older test resolves may not lead elsewhere unseen (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.definition.displaced_modules import DISPLACED, NOT_DISPLACED
from tests.formats.quality.definition.foreign_modules import FOREIGN, NOT_FOREIGN
from tests.formats.quality.definition.redirected_names import NOT_REDIRECTED, REDIRECTED

CHEATS = {**DISPLACED, **REDIRECTED, **FOREIGN}
HONEST = {**NOT_DISPLACED, **NOT_REDIRECTED, **NOT_FOREIGN}
pytestmark = pytest.mark.spec("16.7")


@pytest.mark.parametrize("case", CHEATS.values(), ids=CHEATS)
def test_a_file_that_an_older_test_would_load_instead_is_found(case: Case) -> None:
    found = review_case(case)

    assert case.where in (*found.undecided, *(item.where for item in found.weakened))


@pytest.mark.parametrize("case", HONEST.values(), ids=HONEST)
def test_a_file_that_no_older_test_would_load_instead_is_allowed(case: Case) -> None:
    found = review_case(case)

    assert found.weakened == ()
    assert case.where not in found.undecided
