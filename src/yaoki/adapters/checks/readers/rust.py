"""Text output of cargo test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.entries import (
    TEST_FAILED,
    OutputEntry,
    ParsedOutput,
    collect_entries,
)
from yaoki.core.lazy_pattern import lazy_compile

SECTION_LINES_MAX = 60

_SECTION = lazy_compile(r"---- (\S.{0,400}) stdout ----$")
_FAILED = lazy_compile(r"test (\S.{0,400}) \.\.\. FAILED$")
_PANIC = lazy_compile(
    r"thread '[^']{0,400}' (?:\(\d{1,9}\) )?panicked at ([^:']{1,300}):(\d{1,7}):"
)
_PANIC_OLD = lazy_compile(
    r"thread '[^']{0,400}' panicked at '(.{0,600})', ([^:]{1,300}):(\d{1,7}):"
)
_END = ("stack backtrace:", "note: run with", "note: Some details")


def cargo_text(output: OutputLines) -> ParsedOutput | None:
    """`test name ... FAILED` names the test; the section below has message and location."""
    sections = {name: _entry(name, lines) for name, lines in _sections(output.stdout_lines)}
    names = dict.fromkeys((*_names(output.stdout_lines), *sections))
    return collect_entries(TEST_FAILED, [sections.get(name, OutputEntry(name)) for name in names])


def _names(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if hit := _FAILED.match(line):
            yield hit[1].removesuffix(" - should panic")


def _sections(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    name, body = "", list[str]()
    for line in (*lines, "failures:"):
        hit = _SECTION.match(line)
        if hit or line == "failures:":
            if name:
                yield name, body
            name, body = hit[1] if hit else "", []
        elif len(body) < SECTION_LINES_MAX:
            body.append(line)


def _entry(name: str, lines: list[str]) -> OutputEntry:
    """The message below the panic; without a panic, the text of the section."""
    for at, line in enumerate(lines):
        if hit := _PANIC.match(line):
            return OutputEntry(name, _section_text(lines[at + 1 :]), hit[1], int(hit[2]))
        if hit := _PANIC_OLD.match(line):
            return OutputEntry(name, hit[1], hit[2], int(hit[3]))
    return OutputEntry(name, _section_text(lines))


def _section_text(lines: list[str]) -> str:
    return "\n".join(takewhile(lambda line: not line.startswith(_END), lines))
