"""The values that an assertion of node compared, for the one line that a person reads first.

node writes `3 !== 4`, or a difference below the legend `+ actual - expected`.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.lazy_pattern import lazy_compile

_LEGEND = "+ actual - expected"
_UNEQUAL = " !== "
_ONE_LINE = lazy_compile(r"(.*Expected values to be strictly equal:)\s*(.+)")


def name_compared_values(lines: Sequence[str]) -> str:
    """`…: actual 3, expected 4`; empty for any other message."""
    if len(lines) > 2 and lines[1].startswith(_LEGEND):
        actual, expected = (_side(lines[2:], mark) for mark in "+-")
        return f"{lines[0]} actual {actual}, expected {expected}"
    match = _ONE_LINE.fullmatch(" ".join(lines[:2]))
    if match is None or match[2].count(_UNEQUAL) != 1:
        return ""
    actual, _, expected = match[2].partition(_UNEQUAL)
    return f"{match[1]} actual {actual}, expected {expected}"


def _side(lines: Sequence[str], mark: str) -> str:
    side = (line[1:].strip() for line in lines if line.startswith(mark))
    return " ".join(side) or "nothing"
