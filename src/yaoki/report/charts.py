"""Charts in plain SVG: attempts along the time of the run, and counts as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.text import format_count
from yaoki.report.markup import Html, tag
from yaoki.report.page_parts import task_title
from yaoki.report.wording import format_duration, one_line_text

ROWS_MAX = 60
UNITS = 1000
# The smallest count of a full-length bar, so that a single failure does not look like many.
FEW = 5
THINNEST = 8
Data = Mapping[str, Any]
# A tone, and start and end in seconds since the run began.
ChartBar = tuple[str, float, float]
ASKS = "asks"
KEYS = (
    ("good", "an attempt that landed"),
    ("bad", "an attempt that did not land"),
    ("", "an attempt that has not ended"),
    (ASKS, "waiting for a person"),
)


def timeline_chart(report: Data) -> Html | None:
    """One row per task, in the order of the first attempts."""
    begun = sorted(
        (t for t in report["tasks"] if t["attempts"]), key=lambda t: t["attempts"][0]["at"]
    )
    wall = report["time"]["wall_s"]
    if not begun or wall <= 0:
        return None
    start = datetime.fromisoformat(report["run"]["created_at"])
    rows = [
        tag("div", tag("span", task_title(task)), _attempts(task, start, wall))
        for task in begun[:ROWS_MAX]
    ]
    ticks = [tag("span", format_duration(wall * part / 4) if part else "0") for part in range(5)]
    axis = tag("div", tag("span"), tag("p", ticks), class_="axis")
    tries = [one for task in begun[:ROWS_MAX] for one in task["attempts"]]
    drawn = {tone for one in tries for tone, _, _ in _pieces(one, start, wall)}
    keys = [tag("li", _key(tone), words) for tone, words in KEYS if tone in drawn]
    left = (
        f"… {format_count(len(begun) - ROWS_MAX, 'more task')}" if len(begun) > ROWS_MAX else None
    )
    return tag(
        "section",
        tag("h2", "Time", tag("small", "each attempt of each task")),
        tag("div", rows, axis, class_="time"),
        tag("ul", keys, class_="keys"),
        tag("p", left, class_="more") if left else None,
    )


def _key(tone: str) -> Html:
    place = {"y": 3, "height": 4} if tone == ASKS else {"height": 10}
    box = tag("rect", width=10, class_=f"bar {tone}".strip(), **place)
    return tag("svg", box, viewBox="0 0 10 10", aria_hidden="true")


def _attempts(task: Data, start: datetime, wall: float) -> Html:
    tries = task["attempts"]
    drawn = [_bar(one, piece, wall) for one in tries for piece in _pieces(one, start, wall)]
    words = f"{format_count(len(tries), 'attempt')} of {task_title(task)}"
    return tag(
        "svg",
        drawn,
        viewBox=f"0 0 {UNITS} 16",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )


def _pieces(one: Data, start: datetime, wall: float) -> list[ChartBar]:
    """The parts of an attempt: work, and waits for a person."""
    at, end = _seconds(one["at"], start), one["until"]
    right = _seconds(end, start) if end else wall
    found: list[ChartBar] = []
    for asked in one["asked"]:
        since = _seconds(asked["at"], start)
        # The attempt ended without an answer.
        open_until = right if right > since else wall
        until = _seconds(asked["until"], start) if asked["until"] else open_until
        found += [(_tone(one), at, since), (ASKS, since, until)]
        at = until
    return [*found, (_tone(one), at, right)] if right > at or not found else found


def _bar(one: Data, piece: ChartBar, wall: float) -> Html:
    """At least as wide as can be seen, and never past the edge."""
    tone, left, right = piece
    width = max(THINNEST, min(UNITS, UNITS * (right - left) / wall))
    x = max(0.0, min(UNITS - width, UNITS * left / wall))
    how = (
        "waiting for a person"
        if tone == ASKS
        else one_line_text(one["ended"] or "not ended yet", 200)
    )
    title = tag(
        "title", f"attempt {one['attempt']}, {format_duration(max(0.0, right - left))}: {how}"
    )
    high = {"y": 6, "height": 4} if tone == ASKS else {"y": 1, "height": 14, "rx": 2}
    place = {"x": f"{x:.1f}", "width": f"{width:.1f}", **high}
    return tag("rect", title, class_=f"bar {tone}".strip(), **place)


def _tone(one: Data) -> str:
    return "good" if one["landed"] else "bad" if one["until"] else ""


def _seconds(instant: str, start: datetime) -> float:
    return (datetime.fromisoformat(instant) - start).total_seconds()


def bar_chart(counted: Sequence[tuple[str, int]]) -> Html | None:
    """The largest count has the longest bar."""
    if not counted:
        return None
    most = max(FEW, *(number for _, number in counted))
    rows = [
        tag("div", tag("span", one_line_text(name, 80)), _length(n, most), tag("b", n))
        for name, n in counted
    ]
    return tag("div", rows, class_="bars")


def _length(n: int, most: int) -> Html:
    box = tag("rect", x=0, y=0, width=round(UNITS * n / most), height=10, class_="bar bad")
    view = f"0 0 {UNITS} 10"
    return tag("svg", box, viewBox=view, preserveAspectRatio="none", aria_hidden="true")
