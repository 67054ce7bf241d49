"""Formatters: the files that they would change, and the diff if they show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.entries import (
    FORMAT_ERROR,
    OutputEntry,
    ParsedOutput,
    collect_entries,
)
from yaoki.adapters.checks.readers.locations import parse_frame
from yaoki.core.lazy_pattern import lazy_compile

DIFF_LINES_MAX = 400
_CANNOT = lazy_compile(r"error: cannot (?:format|parse):? (\S[^:]{0,300}):(.{0,1000})$")
_PRETTIER_FAULT = lazy_compile(r"\[error\] (\S[^:]{0,300}): (\w{0,40}Error: .{0,1000})$")
_RUSTFMT = lazy_compile(r"Diff in (\S.{0,300}?)(?: at line \d{1,7}|:\d{1,7}):$")
_DENO = lazy_compile(r"from (\S.{0,300}):$")
_GO_DIFF = lazy_compile(r"diff (?:-u )?(\S{1,300}?)\.orig ")
_ISORT = lazy_compile(r"ERROR: (\S.{0,300}) Imports are incorrectly sorted")
_RUFF_FAULT = lazy_compile(r"error: Failed to (?:parse|format) (\S[^:]{0,300}):(.{0,1000})$")

_WRONG = "is not formatted"


def _make_result(entries: Iterable[OutputEntry], diff: Sequence[str] = ()) -> ParsedOutput | None:
    once = {entry.file: entry for entry in entries}
    return collect_entries(FORMAT_ERROR, once.values(), diff="\n".join(diff[:DIFF_LINES_MAX]))


def _lines_from(lines: Sequence[str], starts: Callable[[str], object]) -> Sequence[str]:
    first = next((at for at, line in enumerate(lines) if starts(line)), len(lines))
    return lines[first:]


def _unified_diff(output: OutputLines) -> Sequence[str]:
    return _lines_from(output.stdout_lines, lambda line: line.startswith("--- "))


def black_text(output: OutputLines) -> ParsedOutput | None:
    return _make_result(_black(output.lines), _unified_diff(output))


def _black(lines: Iterable[str]) -> Iterator[OutputEntry]:
    for line in lines:
        if line.startswith("would reformat "):
            yield OutputEntry("", _WRONG, line.removeprefix("would reformat ").strip())
        elif hit := _CANNOT.match(line):
            yield OutputEntry("", f"cannot be parsed: {hit[2].strip()}", hit[1])


def isort_text(output: OutputLines) -> ParsedOutput | None:
    hits = (_ISORT.match(line) for line in output.lines)
    entries = (OutputEntry("", "has imports out of order", hit[1]) for hit in hits if hit)
    return _make_result(entries, _unified_diff(output))


def ruff_format_text(output: OutputLines) -> ParsedOutput | None:
    """`Would reformat: path`, or since 0.15 a title with an arrow below; or only a diff."""
    entries = list(_ruff_format(output.lines))
    if not entries and any(" would be reformatted" in line for line in output.stderr_lines):
        entries = [
            OutputEntry("", _WRONG, line[4:].strip())
            for line in output.stdout_lines
            if line[:4] == "+++ "
        ]
    return _make_result(entries, _unified_diff(output) or output.stdout_lines if entries else ())


def _ruff_format(lines: Sequence[str]) -> Iterator[OutputEntry]:
    for line, below in pairwise((*lines, "")):
        if line.startswith("Would reformat: "):
            yield OutputEntry("", _WRONG, line.removeprefix("Would reformat: ").strip())
        elif hit := _RUFF_FAULT.match(line):
            yield OutputEntry("", f"cannot be parsed: {hit[2].strip()}", hit[1])
        elif below.strip().startswith("--> ") and line.startswith("unformatted: "):
            yield OutputEntry("", _WRONG, parse_frame(below.strip()[4:])[0])
        elif below.strip().startswith("--> ") and line.startswith("invalid-syntax: "):
            path, row = parse_frame(below.strip()[4:])
            yield OutputEntry("", f"cannot be parsed: {line.partition(': ')[2]}", path, row)


def prettier_text(output: OutputLines) -> ParsedOutput | None:
    return _make_result(_prettier(output.lines))


def _prettier(lines: Iterable[str]) -> Iterator[OutputEntry]:
    for line in lines:
        if hit := _PRETTIER_FAULT.match(line):
            yield OutputEntry("", hit[2], hit[1])
        elif line.startswith("[warn] ") and not line.startswith("[warn] Code style issues"):
            path = line.removeprefix("[warn] ").strip()
            if " " not in path or "." in path.rpartition(" ")[2]:
                yield OutputEntry("", _WRONG, path)


def list_text(output: OutputLines) -> ParsedOutput | None:
    """`gofmt -l`, `prettier -l`, `rustfmt -l` print only paths; any text could look like that."""
    diff = [hit for line in output.stdout_lines if (hit := _GO_DIFF.match(line))]
    if diff:
        return _make_result(
            (OutputEntry("", _WRONG, hit[1]) for hit in diff), _unified_diff(output)
        )
    paths = [line.strip() for line in output.stdout_lines if line.strip()]
    if not paths or any(": " in path or path.endswith(":") for path in paths):
        return None
    return _make_result(OutputEntry("", _WRONG, path) for path in paths)


def rustfmt_text(output: OutputLines) -> ParsedOutput | None:
    hits = [hit for line in output.stdout_lines if (hit := _RUSTFMT.match(line))]
    return _make_result(
        (OutputEntry("", _WRONG, hit[1]) for hit in hits),
        _lines_from(output.stdout_lines, _RUSTFMT.match),
    )


def deno_fmt_text(output: OutputLines) -> ParsedOutput | None:
    """The diff follows `from /path:`; the last line has the number of files."""
    if not any(line.startswith("error: Found ") and "formatted" in line for line in output.lines):
        return None
    hits = [hit for line in output.lines if (hit := _DENO.match(line))]
    return _make_result(
        (OutputEntry("", _WRONG, hit[1]) for hit in hits), _lines_from(output.lines, _DENO.match)
    )
