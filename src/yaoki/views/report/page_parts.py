"""Parts that several sections of the page share."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.views.report.markup import Html, tag

SMALL_MAX = 50


def table(heads: Sequence[tuple[str, str]], rows: Sequence[Html]) -> Html:
    titles = [tag("th", name, scope="col", class_=kind or None) for name, kind in heads]
    # A narrow screen shows each row as a card, with the column's name before each value.
    whole = tag("table", tag("thead", tag("tr", titles)), tag("tbody", rows))
    return tag("div", whole, class_="wide")


def listed(lines: Sequence[object]) -> Html | None:
    return tag("ul", [tag("li", line) for line in lines], class_="plain") if lines else None


def left(number: int, shown: int, where: str) -> Html | None:
    """A list that is cut says by how much."""
    return tag("p", f"… {number - shown:,} more {where}", class_="more") if number > shown else None
