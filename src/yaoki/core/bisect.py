"""Bisection: which landing broke a branch, together with which earlier landings.

The caller passes the function that checks a commit; each call runs a check, so calls are few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

PARTNERS_MAX = 2


def first_red(landings: int, red: Callable[[int], bool]) -> int:
    """The number (from 1) of the landing that broke the branch; the last one is known to fail.

    `red(n)` checks the branch after its first n landings.  If the branch failed, passed and failed
    again, the result is one of the landings that broke it.
    """
    green, known_red = 0, landings
    while known_red - green > 1:
        middle = (green + known_red) // 2
        if red(middle):
            known_red = middle
        else:
            green = middle
    return known_red


def find_partners(culprit: int, red: Callable[[Sequence[int]], bool | None]) -> tuple[int, ...]:
    """The earlier landings without which the culprit would not fail, latest first.

    `red(chosen)` checks the culprit together with the chosen earlier landings; None when they
    conflict.  Each search finds one landing; a culprit that fails alone has none.
    """
    partners: list[int] = []
    while len(partners) <= PARTNERS_MAX and red(sorted(partners)) is False:
        if len(partners) == PARTNERS_MAX:
            break
        last = min(partners, default=culprit) - 1
        partner = _last_needed(last, partners, red)
        if partner == 0:
            break
        partners.append(partner)
    return tuple(partners)


def _last_needed(
    last: int, partners: Sequence[int], red: Callable[[Sequence[int]], bool | None]
) -> int:
    """The smallest n for which landings 1 to n, with those found, fail; 0 when unknown."""
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        is_red = red(sorted({*range(1, middle + 1), *partners}))
        if is_red is None:
            return 0
        if is_red:
            high = middle
        else:
            low = middle
    return high
