"""What `yaoki undo` says of the other tasks that it reverted."""

from __future__ import annotations

import pytest

from yaoki.faces.cli.commands.merge import describe_others


@pytest.mark.spec("10.3", "12.1")
@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({}, ""),
        ({"r-2": "needing"}, ", and the tasks that need it: needing"),
        ({"r-3": "asked"}, "; reverted as well, as asked before: asked"),
        (
            {"r-2": "needing", "r-3": "asked"},
            ", and the tasks that need it: needing; reverted as well, as asked before: asked",
        ),
    ],
)
def test_an_undo_that_had_waited_is_no_dependent_of_the_next_one(
    others: dict[str, str], said: str
) -> None:
    """The second undo named dependents that did not exist."""
    assert describe_others(others, ["r-2"]) == said
