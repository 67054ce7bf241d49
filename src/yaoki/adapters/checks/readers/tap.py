"""The Test Anything Protocol: bats, prove, node's runner in a pipe, deno's `tap` reporter."""

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
from yaoki.core.lazy_dataclass import dataclass

DEPTH_MAX = 40
BLOCK_LINES_MAX = 60
_DIRECTIVE = re.compile(r" # (?:TODO|SKIP)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,9}")
_FIRST = ("TAP version", "1..", "ok ", "not ok")
_BLOCK_MARKS = ("|-", "|", ">-", ">")


@dataclass(frozen=True, slots=True)
class TapPoint:
    """One line `ok` or `not ok`; a `group` only sums up the points below it."""

    name: str
    passed: bool
    skipped: bool
    is_group: bool


def parse_tap_points(lines: Iterable[str]) -> Iterator[TapPoint]:
    """Every point with the path of its groups; what a directive excuses has not passed."""
    groups: dict[int, str] = {}
    above: list[int] = []
    for line in lines:
        depth, words = _depth(line), line.strip()
        if words.startswith("# Subtest: "):
            groups[depth] = words[11:]
        point = _point(words)
        if point is None:
            continue
        group = any(level > depth for level in above)
        above = [*(level for level in above if level <= depth), depth][-DEPTH_MAX:]
        name = " > ".join((*(groups[d] for d in range(depth) if d in groups), point[1]))
        excused = bool(_DIRECTIVE.search(f" {point[1]}"))
        yield TapPoint(name, words.startswith("ok") and not excused, excused, group)


def tap(output: OutputLines) -> ParsedOutput | None:
    """Only the innermost failure counts: a group fails because one of its points did."""
    if not any(line.startswith(_FIRST) for line in output.stdout_lines):
        return None
    return collect_entries(
        TEST_FAILED, (*_failures(output.stdout_lines), *_bails(output.stdout_lines))
    )


def _bails(lines: Iterable[str]) -> Iterator[OutputEntry]:
    for line in lines:
        if line.startswith("Bail out!"):
            yield OutputEntry("Bail out!", line[9:].strip())


def _failures(lines: Sequence[str]) -> Iterator[OutputEntry]:
    groups: dict[int, str] = {}
    failed_below: set[int] = set()
    for at, line in enumerate(lines):
        depth, words = _depth(line), line.strip()
        if words.startswith("# Subtest: "):
            groups[depth] = words[11:]
        point = _point(words)
        if point is None:
            continue
        group_of_failures = depth + 1 in failed_below
        failed_below = {level for level in failed_below if level <= depth}
        if point[0]:
            failed_below.add(depth)
            if not group_of_failures:
                path = [groups[level] for level in range(depth) if level in groups]
                yield _entry(" > ".join((*path, point[1])), lines[at + 1 : at + BLOCK_LINES_MAX])


def _depth(line: str) -> int:
    return min((len(line) - len(line.lstrip(" "))) // 4, DEPTH_MAX)


def _point(words: str) -> tuple[bool, str] | None:
    """Did it fail, and its name.  What is to do or skipped did not fail."""
    failed = words.startswith("not ok")
    rest = words.removeprefix("not ").removeprefix("ok")
    if not (failed or words.startswith("ok")) or rest[:1] not in ("", " "):
        return None
    rest = rest.strip()
    count = _NUMBER.match(rest)
    name = rest[count.end() :].strip().removeprefix("- ") if count else rest.removeprefix("- ")
    return failed and not _DIRECTIVE.search(f" {name}"), name.strip() or f"test {rest}"


def _entry(name: str, below: Sequence[str]) -> OutputEntry:
    """What the lines below tell until the next point: a YAML block, JSON, or comments."""
    block: list[str] = []
    for line in below:
        words = line.strip()
        if words == "..." or words.startswith("# Subtest: ") or _point(words) is not None:
            break
        block.append(words)
    if block[1:2] and block[1].startswith("{"):
        return _from_json(name, table_or_empty(parse_json_value(block[1])))
    if block[:1] == ["---"]:
        return _from_yaml(name, block[1:])
    comments = [words[2:] for words in block if words.startswith("# ")]
    return OutputEntry(name, "\n".join(comments))


def _from_json(name: str, block: dict[str, object]) -> OutputEntry:
    """deno writes its block as one line of JSON."""
    at = table_or_empty(block.get("at"))
    said = text_or_empty(block.get("message")).partition("\n")[0]
    return OutputEntry(name, said, text_or_empty(at.get("file")), number_or_none(at.get("line")))


def _from_yaml(name: str, block: Sequence[str]) -> OutputEntry:
    """`error:` or `message:`, and `location:`; enough of YAML for these and no more."""
    said: list[str] = []
    file, line, inside = "", None, False
    for words in block:
        key, colon, value = words.partition(":")
        if colon and key in ("error", "message"):
            inside = value.strip() in _BLOCK_MARKS
            said.append("" if inside else value.strip().strip("'\""))
        elif colon and key in ("location", "at"):
            file, line = _place(value.strip().strip("'\""))
        elif colon and key in ("code", "name", "expected", "stack", "failureType", "severity"):
            inside = False
        elif inside:
            said.append(words)
    return OutputEntry(name, "\n".join(said), file, line)


def _place(value: str) -> tuple[str, int | None]:
    """`file:line` or `file:line:column`."""
    parts = value.rsplit(":", 2)
    if len(parts) == 3 and number_or_none(parts[1]) is not None:
        return parts[0], number_or_none(parts[1])
    return value.rpartition(":")[0], number_or_none(value.rpartition(":")[2])
