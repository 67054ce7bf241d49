"""Whose landing turned a line red: bisection, and the fewest earlier landings that it takes.

The looking is handed in; every look costs a run of a check, so there are few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

PARTNERS_MAX = 2


def first_red(landings: int, red: Callable[[int], bool]) -> int:
    """The number (1 is the first) of the landing that turned it red; the last one is known red.

    `red(n)` looks at the line after its first n landings.  A line that was red, then green, then
    red again gives one of the places where it turned.
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
    """The earlier landings without which the culprit would not be red, latest first.

    `red(chosen)` looks at the culprit together with the chosen earlier landings; None when they
    cannot be put together.  Each search finds one landing that it takes; alone red: none.
    """
    found: list[int] = []
    while len(found) <= PARTNERS_MAX and red(sorted(found)) is False:
        if len(found) == PARTNERS_MAX:
            break
        last = min(found, default=culprit) - 1
        one = _last_needed(last, found, red)
        if one == 0:
            break
        found.append(one)
    return tuple(found)


def _last_needed(
    last: int, found: Sequence[int], red: Callable[[Sequence[int]], bool | None]
) -> int:
    """The smallest n for which landings 1 to n, with what was found, are red; 0 when unknown."""
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        seen = red(sorted({*range(1, middle + 1), *found}))
        if seen is None:
            return 0
        if seen:
            high = middle
        else:
            low = middle
    return high
