"""The table that `python3 dev.py real` prints: what each real agent program was seen to do.

A test records a cell as a property of its report; what is not recorded was not tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.scripted_model.programs import PROGRAMS, missing_reason, version

PROPERTY = "agent"
SEEN, FAILED, UNTRIED = "✓", "✗", "–"
COLUMNS = (
    *("lie, fix", "happy", "429, ok", "wrong key", "429", "overloaded", "cut off", "hang"),
    *("conv.", "told", "words"),
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
    """The table as Markdown, and the programs that are missing, with the reason."""
    rows = [("program", "version", *COLUMNS), ("---",) * (len(COLUMNS) + 2)]
    for name in PROGRAMS:
        seen = [cells.get((name, column), UNTRIED) for column in COLUMNS]
        if not missing_reason(name):
            rows.append((name, version(name), *seen))
    table = [f"| {' | '.join(row)} |" for row in rows]
    absent = [(name, why) for name in PROGRAMS if (why := missing_reason(name))]
    return [*table, *(f"not installed: {name} {version(name)}: {why}" for name, why in absent)]
