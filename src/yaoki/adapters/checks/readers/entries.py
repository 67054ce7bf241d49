"""What a reader makes of an output: a pattern, and one entry for each thing that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from yaoki.adapters.checks.readers.command_output import Output
from yaoki.adapters.checks.readers.tally import Tally
from yaoki.core.display import one_line

TEST, TYPE, LINT, FORMAT = "test-failed", "type-error", "lint-error", "format-error"
DIRTY, MISSING = "git-dirty", "file-not-exists"
ENTRIES_MAX = 2_000
FAULT_CHARS_MAX = 200


class Unreadable(Exception):
    """Why a report cannot be read, as the end of a sentence about it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One failing test, one diagnostic, one file.

    A warning counts only when the command failed and nothing worse was said.  `trace` is
    searched for a place when there is no file.  `load`: no test failed, a file of tests did not
    load.
    """

    name: str = ""
    message: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None
    code: str = ""
    warning: bool = False
    trace: str = ""
    load: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """`more` counts what is wrong beyond the entries; `tally` is of a report of tests."""

    pattern: str
    entries: tuple[Entry, ...] = ()
    more: int = 0
    tally: Tally | None = None
    diff: str = ""


# None: this is not the reader's format.
Reader = Callable[[Output], Parsed | None]


def looked(reader: Reader, output: Output, faults: list[str]) -> Parsed | None:
    """A reader that falls is our fault: it has understood nothing, and that is written down."""
    try:
        return reader(output)
    except Exception as error:  # noqa: BLE001 - foreign text, whatever it does to a reader
        faults.append(f"reader {getattr(reader, '__name__', '?')} failed: {named(error)}")
        return None


def named(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}", FAULT_CHARS_MAX)


def parsed(pattern: str, entries: Iterable[Entry], **rest: Any) -> Parsed | None:
    """The entries up to the bound; nothing found is nothing understood."""
    found = list(entries)
    if not found:
        return None
    return Parsed(pattern, tuple(found[:ENTRIES_MAX]), max(0, len(found) - ENTRIES_MAX), **rest)


def text(value: object) -> str:
    """A string of a foreign document, or nothing."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int | None:
    """A count or position of a foreign document; bool is no number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if usable and isinstance(value, int) else None


def table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[dict[str, Any]]:
    """The objects of a list, and nothing else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
