"""The table that `python3 dev.py real` prints: what each real agent program was seen to do.

A test records a cell as a property of its report; what is not recorded was not tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.scripted_model.programs import LEFT_OUT, PROGRAMS, missing_reason, version

PROPERTY = "agent"
SEEN, FAILED, UNTRIED = "✓", "✗", "–"
PARTIAL = "INCOMPLETE ¹"
OUTSIDE = "outside ²"
# The cells that no test can make right, and why.
KNOWN_CELLS = {("codex-acp", "sandbox"): OUTSIDE}
NOTES = {
    PARTIAL: "¹ it takes the part of the answer that it got for the whole; the task is tried again",
    OUTSIDE: "² its own sandbox cannot start inside another one",
}
COLUMNS = (
    *("lie, fix", "happy", "two tasks", "429, ok", "wrong key", "429", "overloaded"),
    *("429 for 90 min", "cut off", "hang", "sandbox", "conv.", "told", "words"),
)


def cell(program: str, column: str, value: str = "") -> tuple[str, str]:
    """A property for a test report; without a value, the outcome of the test is the value."""
    assert column in COLUMNS, column
    return PROPERTY, f"{program}|{column}|{value}"


def collect(reports: Iterable[Any]) -> dict[tuple[str, str], str]:
    """The cells of all reports; a failure in any of them stays."""
    found: dict[tuple[str, str], str] = {}
    for report in reports:
        for name, words in getattr(report, "user_properties", ()):
            if name != PROPERTY or getattr(report, "when", "") != "call":
                continue
            program, column, value = str(words).split("|")
            value = value or (SEEN if report.outcome == "passed" else FAILED)
            if found.get((program, column)) != FAILED:
                found[program, column] = value
    return found


def lines(cells: Mapping[tuple[str, str], str]) -> list[str]:
    """The table as Markdown, its notes, and the programs that are missing, with the reason."""
    known = {**KNOWN_CELLS, **cells}
    rows = [("program", "version", *COLUMNS), ("---",) * (len(COLUMNS) + 2)]
    for name in PROGRAMS:
        seen = [known.get((name, column), UNTRIED) for column in COLUMNS]
        if not missing_reason(name):
            rows.append((name, version(name), *seen))
    table = [f"| {' | '.join(row)} |" for row in rows]
    notes = [words for value, words in NOTES.items() if value in known.values()]
    absent = [(name, why) for name in PROGRAMS if (why := missing_reason(name))]
    missing = [
        f"{'not tried' if why == LEFT_OUT else 'not installed'}: {name} {version(name)}: {why}"
        for name, why in absent
    ]
    return [*table, "", *notes, *missing]
