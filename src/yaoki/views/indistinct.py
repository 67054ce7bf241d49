"""Landed work that no check tells from its base, derived from the journal of its judgment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.model import BUILT_IN_CHECKS, RED_FIRST_CHECK, Outcome

INDISTINCT_WORDS = "no check tells this work from the base: all pass without it"


def is_indistinct(outcomes: Mapping[str, str], same_at_base: Sequence[str]) -> bool:
    """Are all checks of a judgment known to pass without the work?

    A test that fails without it (red first) shows the difference.
    """
    own = [name for name in outcomes if name not in BUILT_IN_CHECKS]
    red = outcomes.get(RED_FIRST_CHECK) == Outcome.PASSED
    return bool(own) and not red and set(own) <= set(same_at_base)
