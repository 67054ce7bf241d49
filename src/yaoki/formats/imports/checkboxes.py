"""Reads the checkboxes of a Markdown text: `- [ ] text`, their nesting, and the text below."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.imports.model import ImportedList
from yaoki.formats.plan.defects import Defects
from yaoki.formats.playbook.lines import MarkdownLine, split_lines

DEPTH_MAX = 12

_BOX = lazy_compile(r"[ \t]*(?:[-*+]|\d{1,6}[.)])[ \t]+\[(.)\](?:[ \t]+(.*))?")
_ALMOST = lazy_compile(r"[ \t]*(?:[-*+]|\d{1,6}[.)])[ \t]*\[(?:[ \txX]{0,3})\](?!\()[^\n]*")


@dataclass(slots=True)
class Checkbox:
    """A box, with the lines that belong to it and the headings above it."""

    words: str
    done: bool
    line: int
    indent: int
    headings: tuple[tuple[int, str], ...]
    lines_below: list[str] = field(default_factory=list)
    children: list[Checkbox] = field(default_factory=list)

    @property
    def details(self) -> str:
        return "\n".join(self.lines_below).strip()


@dataclass(slots=True)
class ChecklistDocument:
    """A Markdown text: its title, its boxes in order, the prose under each heading."""

    title: str = ""
    boxes: list[Checkbox] = field(default_factory=list)
    prose: dict[tuple[tuple[int, str], ...], list[MarkdownLine]] = field(default_factory=dict)


def read_checkboxes(text: str, result: ImportedList) -> ChecklistDocument | None:
    """Every box of the text; a line that only looks like one is reported."""
    defects = Defects(result.name)
    lines = split_lines(text, defects)
    if lines is None:
        for at, words in defects.entries:
            result.add_unreadable(at[0], words.removeprefix(f"{result.name}:{at[0]}:{at[1]}: "))
        return None
    return _ChecklistReader(result).read(lines)


class _ChecklistReader:
    """Reads the lines once."""

    def __init__(self, result: ImportedList) -> None:
        self._result, self._document = result, ChecklistDocument()
        self._headings: tuple[tuple[int, str], ...] = ()
        self._open: list[Checkbox] = []

    def read(self, lines: Sequence[MarkdownLine]) -> ChecklistDocument:
        for line in lines:
            level, words = line.heading
            if level:
                self._heading(level, words)
            elif not line.fence and (match := _BOX.fullmatch(line.text)):
                self._box(match, line)
            else:
                self._other(line)
        return self._document

    def _heading(self, level: int, words: str) -> None:
        self._open = []
        self._headings = (*(head for head in self._headings if head[0] < level), (level, words))
        if not self._document.title and level == 1:
            self._document.title = words

    def _box(self, match: re.Match[str], line: MarkdownLine) -> None:
        mark, words = match[1], (match[2] or "").strip()
        if mark not in " \txX":
            self._result.add_unreadable(
                line.number, f"[{mark}] is neither open nor done: {words[:80]}"
            )
        elif not words:
            self._result.add_unreadable(line.number, "a checkbox without text")
        else:
            self._add(Checkbox(words, mark in "xX", line.number, line.indent, self._headings))

    def _add(self, box: Checkbox) -> None:
        while self._open and self._open[-1].indent >= box.indent:
            self._open.pop()
        if len(self._open) >= DEPTH_MAX:
            self._result.add_unreadable(
                box.line, f"a checkbox more than {DEPTH_MAX} levels deep: {box.words[:80]}"
            )
            return
        siblings = self._open[-1].children if self._open else self._document.boxes
        siblings.append(box)
        self._open.append(box)

    def _other(self, line: MarkdownLine) -> None:
        if not line.fence and _ALMOST.fullmatch(line.text):
            words = f"not a valid checkbox: {line.text.strip()[:80]}"
            self._result.add_unreadable(line.number, words)
        elif self._belongs(line):
            below = self._open[-1].lines_below
            below.append(line.text.strip() if not line.fence else line.text)
        elif not line.is_decoration:
            # Prose on the left margin ends the list.
            self._open = []
            self._document.prose.setdefault(self._headings, []).append(line)

    def _belongs(self, line: MarkdownLine) -> bool:
        """Indented below the newest box, or a blank line in between."""
        if not self._open:
            return False
        while len(self._open) > 1 and line.text.strip() and line.indent <= self._open[-1].indent:
            self._open.pop()
        return bool(line.fence) or not line.text.strip() or line.indent > self._open[-1].indent


def flatten(boxes: Sequence[Checkbox]) -> list[Checkbox]:
    """All boxes, the outer ones before the inner ones."""
    return [one for box in boxes for one in (box, *flatten(box.children))]
