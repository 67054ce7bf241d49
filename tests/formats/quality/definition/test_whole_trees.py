"""Weakened tests are found in whole trees as well (6.6, 16.7)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.formats.quality.definition.cases import Case, review_case
from tests.formats.quality.test_integrity import SAME, WEAKER
from yaoki.core.model.change import Change

pytestmark = pytest.mark.spec("6.6", "16.7")


def a_case(changes: Sequence[Change]) -> Case:
    base = {one.path: one.before for one in changes if one.before is not None}
    return Case("sh check.sh && python3 -m pytest", base, {one.path: one.after for one in changes})


@pytest.mark.parametrize("changes", WEAKER.values(), ids=WEAKER)
def test_weakened_tests_are_found_in_the_whole_tree(changes: Sequence[Change]) -> None:
    found = review_case(a_case(changes))

    assert {item.where for item in found.weakened} <= {one.path for one in changes}
    assert found.weakened


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_equally_strong_tests_are_no_finding_in_the_whole_tree(
    changes: Sequence[Change],
) -> None:
    assert review_case(a_case(changes)).weakened == ()
