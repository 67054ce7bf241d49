"""What a reader makes of an output: a pattern, and one entry for each thing that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.tally import SuiteTally
from yaoki.core.text import one_line

TEST_FAILED, TYPE_ERROR, LINT_ERROR, FORMAT_ERROR = (
    "test-failed",
    "type-error",
    "lint-error",
    "format-error",
)
GIT_DIRTY, FILE_MISSING = "git-dirty", "file-not-exists"
ENTRIES_MAX = 2_000
FAULT_CHARS_MAX = 200


class ReportUnreadable(Exception):
    """Why a report cannot be read, as the end of a sentence about it."""


@dataclass(frozen=True, slots=True)
class OutputEntry:
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
    is_warning: bool = False
    trace: str = ""
    is_load_error: bool = False


@dataclass(frozen=True, slots=True)
class ParsedOutput:
    """`more` counts what is wrong beyond the entries; `tally` is of a report of tests."""

    pattern: str
    entries: tuple[OutputEntry, ...] = ()
    unlisted_count: int = 0
    tally: SuiteTally | None = None
    diff: str = ""


# None: this is not the reader's format.
OutputReader = Callable[[OutputLines], ParsedOutput | None]


def try_reader(reader: OutputReader, output: OutputLines, faults: list[str]) -> ParsedOutput | None:
    """A reader that falls is our fault: it has understood nothing, and that is written down."""
    try:
        return reader(output)
    except Exception as error:  # noqa: BLE001 - foreign text, whatever it does to a reader
        faults.append(f"reader {getattr(reader, '__name__', '?')} failed: {describe_error(error)}")
        return None


def describe_error(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}", FAULT_CHARS_MAX)


def collect_entries(
    pattern: str, entries: Iterable[OutputEntry], **rest: Any
) -> ParsedOutput | None:
    """The entries up to the bound; nothing found is nothing understood."""
    found = list(entries)
    if not found:
        return None
    return ParsedOutput(
        pattern, tuple(found[:ENTRIES_MAX]), max(0, len(found) - ENTRIES_MAX), **rest
    )


def text_or_empty(value: object) -> str:
    """A string of a foreign document, or nothing."""
    return value if isinstance(value, str) else ""


def number_or_none(value: object) -> int | None:
    """A count or position of a foreign document; bool is no number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if usable and isinstance(value, int) else None


def table_or_empty(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def tables_in(value: object) -> list[dict[str, Any]]:
    """The objects of a list, and nothing else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
