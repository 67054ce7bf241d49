"""Does a check tell the work from its base?  Not if it passed there too, with the same tests."""

from __future__ import annotations

from yaoki.core.decide.baseline import KNOWN_FAILURES
from yaoki.core.decide.integrity import count_passed_tests, has_test_count
from yaoki.core.model import Finding, Outcome

# The param of a finding: the check is known to have passed at the base as well, with these tests.
SAME_AT_BASE = "sameAtBase"


def passed_at_base(now: Finding, base: Finding | None) -> bool:
    """False where it is not known.  A test that the work adds tells it from the base."""
    if base is None or KNOWN_FAILURES in now.params:
        return False
    if now.outcome is not Outcome.PASSED or base.outcome is not Outcome.PASSED:
        return False
    if has_test_count(now) != has_test_count(base):
        return False
    if has_test_count(now) and count_passed_tests(now) > count_passed_tests(base):
        return False
    return not now.passing_tests or set(now.passing_tests) <= set(base.passing_tests)
