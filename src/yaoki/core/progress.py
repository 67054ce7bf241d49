"""When to say that something is still running: soon, then in growing intervals."""

from __future__ import annotations

# Seconds after the start; later ones follow in steps of the last.
REPORT_AFTER_S = (5.0, 15.0, 30.0, 60.0, 120.0, 240.0, 480.0)


def next_report_after(seconds: float) -> float:
    """The time of the next report, in seconds after the start, when `seconds` have passed."""
    for due in REPORT_AFTER_S:
        if due > seconds:
            return due
    last = REPORT_AFTER_S[-1]
    return last * (seconds // last + 1)
