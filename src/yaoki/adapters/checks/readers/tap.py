"""The Test Anything Protocol: bats, prove, tape, node's runner in a pipe, deno's `tap` reporter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from yaoki.adapters.checks.readers.command_output import OutputLines, parse_json_value
from yaoki.adapters.checks.readers.entries import (
    TEST_FAILED,
    OutputEntry,
    ParsedOutput,
    collect_entries,
    number_or_none,
    table_or_empty,
    text_or_empty,
)
from yaoki.adapters.checks.readers.node_files import explain_failed_files
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile

DEPTH_MAX = 40
BLOCK_LINES_MAX = 60
_DIRECTIVE = lazy_compile(r" # (?:TODO|SKIP)\b", re.IGNORECASE)
_NUMBER = lazy_compile(r"\d{1,9}")
_FIRST = ("TAP version", "1..", "ok ", "not ok")
_BLOCK_MARKS = ("|-", "|", ">-", ">")
_QUOTATION_MARKS = ("'", '"', "`")
_ESCAPE = lazy_compile(r"\\([\\'\"`])")
_COMPARED = ("expected", "actual")
_TAPE_KEYS = (*_COMPARED, "operator", "at", "stack")


@dataclass(frozen=True, slots=True)
class TapPoint:
    """A line `ok` or `not ok`; a group only summarises the points below it."""

    name: str
    passed: bool
    skipped: bool
    is_group: bool


def parse_tap_points(lines: Iterable[str]) -> Iterator[TapPoint]:
    """Every point with the path of its groups; a point with a directive has not passed."""
    groups: dict[int, str] = {}
    above: list[int] = []
    for line in lines:
        depth, text = _depth(line), line.strip()
        if text.startswith("# Subtest: "):
            groups[depth] = text[11:]
        point = _parse_point(text)
        if point is None:
            continue
        group = any(level > depth for level in above)
        above = [*(level for level in above if level <= depth), depth][-DEPTH_MAX:]
        name = " > ".join((*(groups[d] for d in range(depth) if d in groups), point[1]))
        excused = bool(_DIRECTIVE.search(f" {point[1]}"))
        yield TapPoint(name, text.startswith("ok") and not excused, excused, group)


def tap(output: OutputLines) -> ParsedOutput | None:
    """Only the innermost failure counts: a group fails because one of its points fails."""
    if not any(line.startswith(_FIRST) for line in output.stdout_lines):
        return None
    lines = output.stdout_lines
    failures = explain_failed_files(_failures(lines), lines)
    return collect_entries(TEST_FAILED, (*failures, *_find_bailouts(lines)))


def _find_bailouts(lines: Iterable[str]) -> Iterator[OutputEntry]:
    for line in lines:
        if line.startswith("Bail out!"):
            yield OutputEntry("Bail out!", line[9:].strip())


def _failures(lines: Sequence[str]) -> Iterator[OutputEntry]:
    groups: dict[int, str] = {}
    failed_below: set[int] = set()
    title = ""
    for at, line in enumerate(lines):
        depth, text = _depth(line), line.strip()
        if text.startswith("# Subtest: "):
            groups[depth] = text[11:]
        elif line.startswith("# "):
            title = text[2:]
        point = _parse_point(text)
        if point is None:
            continue
        group_of_failures = depth + 1 in failed_below
        failed_below = {level for level in failed_below if level <= depth}
        if point[0]:
            failed_below.add(depth)
            if not group_of_failures:
                path = [groups[level] for level in range(depth) if level in groups]
                name = " > ".join((*path, point[1]))
                yield _entry(name, title, lines[at + 1 : at + BLOCK_LINES_MAX])


def _depth(line: str) -> int:
    return min((len(line) - len(line.lstrip(" "))) // 4, DEPTH_MAX)


def _parse_point(text: str) -> tuple[bool, str] | None:
    """Parse a point: did it fail, and its name; TODO and SKIP do not count as failed."""
    failed = text.startswith("not ok")
    rest = text.removeprefix("not ").removeprefix("ok")
    if not (failed or text.startswith("ok")) or rest[:1] not in ("", " "):
        return None
    rest = rest.strip()
    count = _NUMBER.match(rest)
    name = rest[count.end() :].strip().removeprefix("- ") if count else rest.removeprefix("- ")
    return failed and not _DIRECTIVE.search(f" {name}"), name.strip() or f"test {rest}"


def _entry(name: str, title: str, below: Sequence[str]) -> OutputEntry:
    """Reads the lines up to the next point: a YAML block, JSON, or comments."""
    block: list[str] = []
    for line in below:
        text = line.strip()
        if text == "..." or text.startswith("# Subtest: ") or _parse_point(text) is not None:
            break
        block.append(text)
    if block[1:2] and block[1].startswith("{"):
        return _from_json(name, table_or_empty(parse_json_value(block[1])))
    if block[:1] == ["---"]:
        entry = _from_yaml(name, block[1:])
        return entry if entry.message else replace(entry, message=_describe_tape(title, block))
    comments = [text[2:] for text in block if text.startswith("# ")]
    return OutputEntry(name, "\n".join(comments))


def _from_json(name: str, block: dict[str, object]) -> OutputEntry:
    """deno writes its block as one line of JSON."""
    at = table_or_empty(block.get("at"))
    message = text_or_empty(block.get("message")).partition("\n")[0]
    return OutputEntry(name, message, text_or_empty(at.get("file")), number_or_none(at.get("line")))


def _from_yaml(name: str, block: Sequence[str]) -> OutputEntry:
    """Reads only `error:` or `message:`, and `location:` of the YAML block."""
    lines: list[str] = []
    file, line, inside = "", None, False
    for text in block:
        key, colon, value = text.partition(":")
        if colon and key in ("error", "message"):
            inside = value.strip() in _BLOCK_MARKS
            lines.append("" if inside else _unquote(value.strip()))
        elif colon and key in ("location", "at"):
            file, line = _parse_location(_unquote(value.strip()))
        elif colon and key in ("code", "name", "expected", "stack", "failureType", "severity"):
            inside = False
        elif inside:
            lines.append(text)
    return OutputEntry(name, "\n".join(lines), file, line)


def _unquote(value: str) -> str:
    """The value without the quotation marks of YAML or JavaScript; those inside belong to it."""
    mark = value[:1]
    if len(value) < 2 or mark not in _QUOTATION_MARKS or not value.endswith(mark):
        return value
    inner = value[1:-1].replace("''", "'") if mark == "'" else value[1:-1]
    return _ESCAPE.sub(r"\1", inner)


def _describe_tape(title: str, block: Sequence[str]) -> str:
    """The title of the test and what was compared; empty if the block is not tape's.

    The title stays out of the name: any comment of a test looks like one and may change with each
    run, but two runs are compared by their names.
    """
    values: dict[str, list[str]] = {key: [] for key in _TAPE_KEYS}
    key = ""
    for text in block:
        name, colon, value = text.partition(":")
        if colon and name in values:
            key = name
            text = "" if value.strip() in _BLOCK_MARKS else value.strip()
        if key and text:
            values[key].append(text)
    if not values["operator"]:
        return ""
    compared = ", ".join(f"{key} {' '.join(values[key])}" for key in _COMPARED if values[key])
    return ": ".join(filter(None, (title, compared)))


def _parse_location(value: str) -> tuple[str, int | None]:
    """`file:line` or `file:line:column`, also as `function (file:line:column)`."""
    if value.endswith(")"):
        value = value[value.rfind("(") + 1 : -1]
    parts = value.rsplit(":", 2)
    if len(parts) == 3 and number_or_none(parts[1]) is not None:
        return parts[0], number_or_none(parts[1])
    return value.rpartition(":")[0], number_or_none(value.rpartition(":")[2])
