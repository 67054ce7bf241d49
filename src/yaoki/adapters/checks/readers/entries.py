"""The result of a reader: a pattern, and one entry for each problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.tally import SuiteTally
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import one_line

TEST_FAILED, TYPE_ERROR, LINT_ERROR, FORMAT_ERROR = (
    "test-failed",
    "type-error",
    "lint-error",
    "format-error",
)
GIT_DIRTY, FILE_MISSING = "git-dirty", "file-not-exists"
# eslint fails for warnings only beyond `--max-warnings`, and then says so.
TOO_MANY_WARNINGS = "too many warnings"
ENTRIES_MAX = 2_000
FAULT_CHARS_MAX = 200


class ReportUnreadable(Exception):
    """The message is the end of a sentence about the report."""


@dataclass(frozen=True, slots=True)
class OutputEntry:
    """An entry of the output: a failing test, a diagnostic, a file.

    A warning counts only if the command failed and there are no errors.  Without a file, `trace`
    is searched for one.  `is_load_error`: a file of tests could not be loaded.
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
    """`tally` is present for a report of tests."""

    pattern: str
    entries: tuple[OutputEntry, ...] = ()
    unlisted_count: int = 0
    tally: SuiteTally | None = None
    diff: str = ""


# None: this is not the reader's format.
OutputReader = Callable[[OutputLines], ParsedOutput | None]


def try_reader(reader: OutputReader, output: OutputLines, faults: list[str]) -> ParsedOutput | None:
    """A reader that raises is a defect of yaoki: it is recorded, and the output not understood."""
    try:
        return reader(output)
    except Exception as error:  # noqa: BLE001 - foreign text may break a reader in any way
        faults.append(f"reader {getattr(reader, '__name__', '?')} failed: {describe_error(error)}")
        return None


def describe_error(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}", FAULT_CHARS_MAX)


def collect_entries(
    pattern: str, entries: Iterable[OutputEntry], **rest: Any
) -> ParsedOutput | None:
    """The entries up to the bound; None if there are none."""
    listed = list(entries)
    if not listed:
        return None
    return ParsedOutput(
        pattern, tuple(listed[:ENTRIES_MAX]), max(0, len(listed) - ENTRIES_MAX), **rest
    )


def text_or_empty(value: object) -> str:
    """The value if it is a string, otherwise empty."""
    return value if isinstance(value, str) else ""


def number_or_none(value: object) -> int | None:
    """The value if it is a count or position, otherwise None; bool is not a number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if usable and isinstance(value, int) else None


def table_or_empty(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def tables_in(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
