"""Parts that several sections of the page share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.core.model import DONE_WHEN
from yaoki.report.markup import Html, tag
from yaoki.report.words import text

SMALL_MAX = 50
Data = Mapping[str, Any]


def called(task: Data) -> str:
    """The proof of the whole run is no task of anybody's plan."""
    whole = task["kind"] == "check" and task["name"].startswith(DONE_WHEN)
    return "the whole, proven once more" if whole else text(task["name"], 80)


def names(report: Data) -> Mapping[str, str]:
    """What each task is called everywhere on the page, by its id."""
    return {task["id"]: called(task) for task in report["tasks"]}


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
