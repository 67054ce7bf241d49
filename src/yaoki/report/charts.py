"""Charts of the page as numbers: attempts along the time of the run, and counts as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.model import FINAL_CHECK_NAME
from yaoki.core.text import format_count, format_duration
from yaoki.report.wording import one_line_text
from yaoki.views.plain_words import describe_end

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


def task_title(task: Data) -> str:
    """The name of a task; the final check of the whole run is in no plan."""
    whole = task["kind"] == "check" and task["name"].startswith(FINAL_CHECK_NAME)
    return "the whole run, verified again" if whole else one_line_text(task["name"], 80)


def timeline_chart(report: Data) -> Data | None:
    """One row per task, in the order of the first attempts."""
    started = sorted(
        (t for t in report["tasks"] if t["attempts"]), key=lambda t: t["attempts"][0]["at"]
    )
    wall = report["time"]["wall_s"]
    if not started or wall <= 0:
        return None
    start = datetime.fromisoformat(report["run"]["created_at"])
    rows = [_row(task, start, wall) for task in started[:ROWS_MAX]]
    tones = {bar["tone"] for row in rows for bar in row["bars"]}
    return {
        "units": UNITS,
        "rows": rows,
        "ticks": [format_duration(wall * part / 4) if part else "0" for part in range(5)],
        "keys": [
            {"tone": tone, "words": words, "is_question": tone == ASKS}
            for tone, words in KEYS
            if tone in tones
        ],
        "left_out": max(0, len(started) - ROWS_MAX),
    }


def _row(task: Data, start: datetime, wall: float) -> Data:
    title, tries = task_title(task), task["attempts"]
    bars = [_bar(one, piece, wall) for one in tries for piece in _pieces(one, start, wall)]
    label = f"{format_count(len(tries), 'attempt')} of {title}"
    return {"title": title, "label": label, "bars": bars}


def _pieces(one: Data, start: datetime, wall: float) -> list[ChartBar]:
    """The parts of an attempt: work, and waits for a person."""
    at, end = _seconds(one["at"], start), one["until"]
    right = _seconds(end, start) if end else wall
    pieces: list[ChartBar] = []
    for wait in one["asked"]:
        since = _seconds(wait["at"], start)
        # The attempt ended without an answer.
        open_until = right if right > since else wall
        until = _seconds(wait["until"], start) if wait["until"] else open_until
        pieces += [(_tone(one), at, since), (ASKS, since, until)]
        at = until
    return [*pieces, (_tone(one), at, right)] if right > at or not pieces else pieces


def _bar(one: Data, piece: ChartBar, wall: float) -> Data:
    """At least as wide as can be seen, and never past the edge."""
    tone, left, right = piece
    width = max(THINNEST, min(UNITS, UNITS * (right - left) / wall))
    x = max(0.0, min(UNITS - width, UNITS * left / wall))
    is_question = tone == ASKS
    how = "waiting for a person" if is_question else describe_end(one) or "not ended yet"
    took = format_duration(max(0.0, right - left))
    words = f"attempt {one['attempt']}, {took}: {one_line_text(how, 200)}"
    place = {"x": f"{x:.1f}", "width": f"{width:.1f}"}
    return {"tone": tone, "is_question": is_question, "words": words, **place}


def _tone(one: Data) -> str:
    return "good" if one["landed"] else "bad" if one["until"] else ""


def _seconds(instant: str, start: datetime) -> float:
    return (datetime.fromisoformat(instant) - start).total_seconds()


def bar_lengths(counted: Sequence[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Each name and count with the length of its bar; the largest count has the longest."""
    most = max(FEW, *(number for _, number in counted)) if counted else FEW
    return [(name, number, round(UNITS * number / most)) for name, number in counted]
