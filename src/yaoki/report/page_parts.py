"""Parts that several sections of the page share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.core.model import FINAL_CHECK_NAME
from yaoki.report.markup import Html, tag
from yaoki.report.wording import one_line_text

SMALL_MAX = 50
Data = Mapping[str, Any]


def task_title(task: Data) -> str:
    """The name of a task; the final check of the whole run is in no plan."""
    whole = task["kind"] == "check" and task["name"].startswith(FINAL_CHECK_NAME)
    return "the whole run, verified again" if whole else one_line_text(task["name"], 80)


def task_titles(report: Data) -> Mapping[str, str]:
    """The title of each task on the page, by its id."""
    return {task["id"]: task_title(task) for task in report["tasks"]}


def html_table(heads: Sequence[tuple[str, str]], rows: Sequence[Html]) -> Html:
    titles = [tag("th", name, scope="col", class_=kind or None) for name, kind in heads]
    # A narrow screen shows each row as a card, with the column's name before each value.
    whole = tag("table", tag("thead", tag("tr", titles)), tag("tbody", rows))
    return tag("div", whole, class_="wide")


def bullet_list(lines: Sequence[object]) -> Html | None:
    return tag("ul", [tag("li", line) for line in lines], class_="plain") if lines else None


def left_out_note(number: int, shown: int, where: str) -> Html | None:
    """The number of entries that a cut list leaves out."""
    return tag("p", f"… {number - shown:,} more {where}", class_="more") if number > shown else None
