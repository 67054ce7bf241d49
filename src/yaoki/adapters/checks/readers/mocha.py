"""Text output of mocha: every reporter for people ends with the same list of failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.entries import (
    TEST_FAILED,
    OutputEntry,
    ParsedOutput,
    collect_entries,
)
from yaoki.core.lazy_pattern import lazy_compile

_FAILING = lazy_compile(r"  \d{1,9} failing$")
_TITLE = lazy_compile(r"  \d{1,9}\) (\S.{0,400})$")
# Groups and the test are indented further and further; the last one ends with a colon.
TITLE_LINES_MAX, BODY_LINES_MAX = 20, 60
_LEGEND = "+ expected - actual"


def mocha_text(output: OutputLines) -> ParsedOutput | None:
    """Below `2 failing`: `1) group`, deeper groups, `test:`, then the error and its frames."""
    lines = output.lines
    starts = [n for n, line in enumerate(lines) if _FAILING.match(line)]
    if not starts:
        return None
    return collect_entries(TEST_FAILED, _failures(lines[starts[-1] + 1 :]))


def _failures(lines: Sequence[str]) -> Iterator[OutputEntry]:
    starts = [n for n, line in enumerate(lines) if _TITLE.match(line)]
    for start, end in zip(starts, (*starts[1:], len(lines)), strict=True):
        yield _failure(lines[start:end])


def _failure(lines: Sequence[str]) -> OutputEntry:
    head, *rest = lines
    titles = [head.partition(") ")[2]]
    while rest and not titles[-1].endswith(":") and len(titles) < TITLE_LINES_MAX:
        titles.append(rest.pop(0).strip())
    name = " > ".join(title for title in titles if title).removesuffix(":")
    body = [line.strip() for line in rest[:BODY_LINES_MAX]]
    message = "\n".join(_error_lines([line for line in body if line]))
    frames = "\n".join(line for line in body if line.startswith("at "))
    return OutputEntry(name, message, trace=frames)


def _error_lines(lines: Sequence[str]) -> Sequence[str]:
    """The first line; below `Expected values to be strictly equal:` also what was compared."""
    if not lines or not lines[0].endswith("equal:"):
        return lines[:1]
    # Mocha repeats the difference with a legend of its own.
    ends = (n for n, line in enumerate(lines) if line == _LEGEND or line.startswith("at "))
    return lines[: next(ends, len(lines))]
