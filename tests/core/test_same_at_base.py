"""Is a check known to pass without the work as well?"""

from __future__ import annotations

from typing import Any

import pytest

from yaoki.core.decide.same_at_base import passed_at_base
from yaoki.core.model import Finding, Outcome

pytestmark = pytest.mark.spec("17.1")


def a_pass(tests: int | None = None, *names: str, **params: Any) -> Finding:
    counted = {} if tests is None else {"testCount": tests, "passedCount": tests}
    return Finding("tests", Outcome.PASSED, params={**counted, **params}, passing_tests=names)


def test_a_check_that_passed_with_the_same_tests_is_the_same_at_the_base() -> None:
    assert passed_at_base(a_pass(), a_pass())
    assert passed_at_base(a_pass(2, "a", "b"), a_pass(2, "a", "b"))
    assert passed_at_base(a_pass(2), a_pass(2))


@pytest.mark.parametrize(
    ("now", "base"),
    [
        (a_pass(), None),
        (a_pass(), Finding("tests", Outcome.FAILED)),
        (Finding("tests", Outcome.FLAKY), a_pass()),
        (a_pass(3), a_pass(2)),
        (a_pass(2, "a", "c"), a_pass(2, "a", "b")),
        (a_pass(2), a_pass()),
        (a_pass(2, known=["b"]), a_pass(2)),
    ],
)
def test_otherwise_it_tells_the_work_from_the_base_or_nothing_is_known(
    now: Finding, base: Finding | None
) -> None:
    assert not passed_at_base(now, base)
