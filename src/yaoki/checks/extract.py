"""Readers of test results: one function each, nothing found when they understand nothing.

JUnit XML is read wherever its test cases stand, for dialects nest them differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from yaoki.checks.told import ITEMS_MAX, bounded
from yaoki.core.display import one_line, plain
from yaoki.core.model import Item

REPORT_BYTES_MAX = 32 << 20
MESSAGE_CHARS_MAX = 300
MESSAGE_LINES = 3
LINE_CHARS_MAX = 2000

_PYTEST = re.compile(
    r"^(?:FAILED|ERROR) (\S[^\n]*?(?:::|\.py)[^\n]*?)(?: - ([^\n]*))?$", re.MULTILINE
)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\w{1,200}) \(([\w.]{1,400})\)")
_RULE = re.compile(r"^(?:={70}|-{70})$")


@dataclass(frozen=True, slots=True)
class Tests:
    """What a report tells: how many cases, how many of them failed or were skipped."""

    cases: int = 0
    skipped: int = 0
    failures: int = 0
    items: tuple[Item, ...] = ()


def from_junit(file: Path) -> Tests | None:
    """None when there is no report that can be read."""
    if not file.is_file() or file.is_symlink() or file.stat().st_size > REPORT_BYTES_MAX:
        return None
    cases = skipped = failures = 0
    items: list[Item] = []
    try:
        for case in _cases(file):
            cases += 1
            tags = {_tag(part): part for part in case}
            skipped += "skipped" in tags
            fault = tags.get("failure", tags.get("error"))
            if fault is not None:
                failures += 1
                if len(items) < ITEMS_MAX:
                    items.append(_item(case, fault))
    except (ElementTree.ParseError, ValueError, LookupError):
        return None
    return Tests(cases, skipped, failures, bounded(items, failures))


def _cases(file: Path) -> Iterator[ElementTree.Element]:
    with file.open("rb") as stream:
        for _, element in ElementTree.iterparse(stream):
            if _tag(element) == "testcase":
                yield element
                element.clear()


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _item(case: ElementTree.Element, fault: ElementTree.Element) -> Item:
    names = (case.get("classname", ""), case.get("name", ""))
    where = ":".join(filter(None, (case.get("file", ""), case.get("line", ""))))
    return Item(
        one_line("::".join(filter(None, names)), MESSAGE_CHARS_MAX),
        _first_lines(fault.get("message") or fault.text or ""),
        one_line(where, MESSAGE_CHARS_MAX),
    )


def _first_lines(text: str) -> str:
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    return one_line(" ".join(lines[:MESSAGE_LINES]), MESSAGE_CHARS_MAX)


def from_text(text: str) -> Tests:
    """The first reader that understands a line of it."""
    short = "\n".join(line[:LINE_CHARS_MAX] for line in text.splitlines())
    for reader in (from_pytest, from_unittest):
        items = reader(short)
        if items:
            count = len(items)
            return Tests(count, 0, count, bounded(list(items), count))
    return Tests()


def from_pytest(text: str) -> tuple[Item, ...]:
    """The short summary: `FAILED path::test - message`."""
    return tuple(
        Item(hit[1].strip(), one_line(hit[2] or "", MESSAGE_CHARS_MAX), hit[1].partition("::")[0])
        for hit in _PYTEST.finditer(text)
    )


def from_unittest(text: str) -> tuple[Item, ...]:
    """`FAIL: test_x (module.Class.test_x)`, a traceback, and the next ruled line."""
    items: list[Item] = []
    name, last = "", ""
    for line in [*text.splitlines(), "=" * 70]:
        hit = _UNITTEST.match(line)
        if hit:
            name = hit[2] if hit[2].endswith(f".{hit[1]}") else f"{hit[2]}.{hit[1]}"
        elif not _RULE.match(line):
            last = line.strip() or last
        elif name and last:
            items.append(Item(name, one_line(last, MESSAGE_CHARS_MAX)))
            name = ""
        if hit or _RULE.match(line):
            last = ""
    return tuple(items)
