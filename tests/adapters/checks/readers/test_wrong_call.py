"""Lines of runners about a file or an option of the command that does not exist."""

from __future__ import annotations

import pytest

from yaoki.adapters.checks.readers.suite_stop import find_wrong_call

pytestmark = pytest.mark.spec("6.5")


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: file or directory not found: tests/test_x.py",
        "pytest: error: unrecognized arguments: --no-such-flag",
        "Could not find '/w/test/nope.test.js'",
        "No tests found, exiting with code 1",
        "No test files found, exiting with code 1",
    ],
)
def test_a_call_of_something_that_does_not_exist_is_found(line: str) -> None:
    assert find_wrong_call(("starting", line)) == line


@pytest.mark.parametrize("line", ["1 failed", "Could not find the user", "AssertionError: no test"])
def test_other_lines_are_about_the_work(line: str) -> None:
    assert find_wrong_call((line,)) == ""
