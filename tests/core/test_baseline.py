"""What a task is to mend is held against what failed at the base."""

from __future__ import annotations

import pytest

from tests.builders import a_finding
from yaoki.core.baseline import unmatched
from yaoki.core.model import Finding, Item, Outcome


def red(*names: str) -> Finding:
    return a_finding(Outcome.FAILED, items=tuple(Item(name) for name in names))


@pytest.mark.spec("6.4", "0.6")
@pytest.mark.parametrize(
    ("fixes", "bases", "lost"),
    [
        (("test_a",), (red("test_a"),), ()),
        (("test_*",), (red("lint"), red("test_a")), ()),
        (("nosuch*", "test_a"), (red("test_a"),), ("nosuch*",)),
        (("test_a",), (a_finding(Outcome.PASSED),), ("test_a",)),
        (("test_a",), (red("test_b", "and 7 more"),), ()),
        ((), (red("test_a"),), ()),
    ],
)
def test_a_name_that_no_failure_of_the_base_has_is_told(
    fixes: tuple[str, ...], bases: tuple[Finding, ...], lost: tuple[str, ...]
) -> None:
    assert unmatched(fixes, bases) == lost
