"""Lists of failures that were cut, and names that only read so."""

from __future__ import annotations

import pytest

from tests.builders import a_finding
from yaoki.core.decide.baseline import unmatched_fixes
from yaoki.core.model import FindingItem, Outcome


@pytest.mark.spec("6.4", "0.6")
def test_a_test_whose_name_reads_like_the_end_of_a_cut_list_is_a_name() -> None:
    """A failure called "and shows one more" made every guard undecidable."""
    base = a_finding(
        Outcome.FAILED, items=(FindingItem("test_b"), FindingItem("and shows one more"))
    )

    assert unmatched_fixes(("test_a",), (base,)) == ("test_a",)
