"""Drawn in plain SVG: attempts along the time of the run, and counts as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.counting import count
from yaoki.views.report.markup import Html, tag
from yaoki.views.report.words import duration, text

ROWS_MAX = 60
UNITS = 1000
# A bar this long is a full one, so that a single fall does not look like a flood.
FEW = 5
THINNEST = 4
Data = Mapping[str, Any]
KEYS = (
    ("good", "an attempt that landed"),
    ("bad", "one that did not"),
    ("", "one without an end yet"),
)


def timeline(report: Data) -> Html | None:
    """A row for each task; the tasks in the order of their first attempt."""
    begun = sorted(
        (t for t in report["tasks"] if t["attempts"]), key=lambda t: t["attempts"][0]["at"]
    )
    wall = report["time"]["wall_s"]
    if not begun or wall <= 0:
        return None
    start = datetime.fromisoformat(report["run"]["created_at"])
    rows = [
        tag("div", tag("span", text(task["name"], 80)), _attempts(task, start, wall))
        for task in begun[:ROWS_MAX]
    ]
    ticks = [tag("span", duration(wall * part / 4) if part else "0") for part in range(5)]
    axis = tag("div", tag("span"), tag("p", ticks), class_="axis")
    drawn = {_tone(one) for task in begun[:ROWS_MAX] for one in task["attempts"]}
    keys = [tag("li", _key(tone), words) for tone, words in KEYS if tone in drawn]
    left = f"… {count(len(begun) - ROWS_MAX, 'more task')}" if len(begun) > ROWS_MAX else None
    return tag(
        "section",
        tag("h2", "Time", tag("small", "each attempt of each task")),
        tag("div", rows, axis, class_="time"),
        tag("ul", keys, class_="keys"),
        tag("p", left, class_="more") if left else None,
    )


def _key(tone: str) -> Html:
    box = tag("rect", width=10, height=10, class_=f"bar {tone}".strip())
    return tag("svg", box, viewBox="0 0 10 10", aria_hidden="true")


def _attempts(task: Data, start: datetime, wall: float) -> Html:
    drawn = [_bar(one, start, wall) for one in task["attempts"]]
    words = f"{count(len(drawn), 'attempt')} of {text(task['name'], 80)}"
    return tag(
        "svg",
        drawn,
        viewBox=f"0 0 {UNITS} 16",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )


def _bar(one: Data, start: datetime, wall: float) -> Html:
    """Never so thin that nobody sees it, and never past the edge."""
    left = _seconds(one["at"], start)
    right = _seconds(one["until"], start) if one["until"] else wall
    width = max(THINNEST, min(UNITS, UNITS * (right - left) / wall))
    x = max(0.0, min(UNITS - width, UNITS * left / wall))
    how = text(one["ended"] or "no end yet", 200)
    title = tag("title", f"attempt {one['attempt']}, {duration(max(0.0, right - left))}: {how}")
    place = {"x": f"{x:.1f}", "y": 1, "width": f"{width:.1f}", "height": 14, "rx": 2}
    return tag("rect", title, class_=f"bar {_tone(one)}".strip(), **place)


def _tone(one: Data) -> str:
    return "good" if one["landed"] else "bad" if one["until"] else ""


def _seconds(instant: str, start: datetime) -> float:
    return (datetime.fromisoformat(instant) - start).total_seconds()


def bars(counted: Sequence[tuple[str, int]]) -> Html | None:
    """The longest is the most."""
    if not counted:
        return None
    most = max(FEW, *(number for _, number in counted))
    rows = [
        tag("div", tag("span", text(name, 80)), _length(n, most), tag("b", n))
        for name, n in counted
    ]
    return tag("div", rows, class_="bars")


def _length(n: int, most: int) -> Html:
    box = tag("rect", x=0, y=0, width=round(UNITS * n / most), height=10, class_="bar bad")
    view = f"0 0 {UNITS} 10"
    return tag("svg", box, viewBox=view, preserveAspectRatio="none", aria_hidden="true")
