"""Reads the list of a phase: boxes, the keys below each, and the prose between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.plan.defects import Defects, KeyPath, Position
from yaoki.formats.playbook.lines import MarkdownLine

DEPTH_MAX = 4

_BOX = lazy_compile(r"[ \t]*[-*+][ \t]*\[([^\]]?)\](?!\()[ \t]*(.*)")
_NAMED = lazy_compile(r"(?:\*\*)?([^\s*:：]{1,200})(?:\*\*)?[ \t]*[:：](?:\*\*)?[ \t]*(.*)")
_BULLET = lazy_compile(r"[ \t]*[-*+][ \t]+(.*)")
_KEY = lazy_compile(r"(?:\*\*)?([A-Za-z_][A-Za-z0-9_]{0,63})(?:\*\*)?:(?:[ \t]+(.*))?")
_BOLD = lazy_compile(r"\*\*([A-Za-z_][A-Za-z0-9_]{0,63})(?:\*\*[ \t]*[:：]|[:：]\*\*)[ \t]*(.*)")
_LIST = lazy_compile(r"\[([^\[\]]*)\][ \t]*(?:#.*)?")
_FORM = "write - [ ] **p1.1**: what must hold"


@dataclass(slots=True)
class ListKey:
    """A key of a list, its values, and the keys below it."""

    key: str
    values: list[str]
    at: Position
    indent: int
    children: list[ListKey] = field(default_factory=list)

    @property
    def value(self) -> str:
        return "\n".join(filter(None, self.values))


@dataclass(slots=True)
class PlaybookItem:
    """A box of the playbook.  `prose` is the text below it without a key."""

    id: str
    statement: str
    done: bool
    at: Position
    indent: int
    keys: list[ListKey] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    open_keys: list[ListKey] = field(default_factory=list)


@dataclass(slots=True)
class ItemList:
    """The list of a phase or of the final tasks, read line by line."""

    path: KeyPath
    defects: Defects
    items: list[PlaybookItem] = field(default_factory=list)
    keys: list[ListKey] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    current_item: PlaybookItem | None = None

    def read(self, lines: Sequence[MarkdownLine]) -> ItemList:
        for line in lines:
            self._read_line(line)
        return self

    def _read_line(self, line: MarkdownLine) -> None:
        if line.is_decoration and line.indent == 0 and line.text.strip():
            self.current_item = None
        if line.is_decoration or (line.heading[0] and line.heading[1].lower() == "subtasks"):
            return
        if line.fence:
            self._add_prose(line)
        elif box := _BOX.fullmatch(line.text):
            self._box(line, box[1], box[2])
        elif bold := _BOLD.fullmatch(line.text):
            self.current_item = None
            self.keys.append(ListKey(bold[1], [bold[2]], (line.number, line.column), 0))
        elif self.current_item and line.indent > self.current_item.indent:
            self._below(self.current_item, line)
        else:
            self.current_item = None
            self._add_prose(line)

    def _add_prose(self, line: MarkdownLine) -> None:
        inside = self.current_item and (
            line.indent > self.current_item.indent or line.fence == "code"
        )
        prose = self.current_item.prose if self.current_item and inside else self.prose
        prose.append(line.text.strip() if not line.fence else line.text)

    # -------------------------------------------------------------- boxes

    def _box(self, line: MarkdownLine, mark: str, words: str) -> None:
        at, named = (line.number, line.column), _NAMED.fullmatch(words)
        reason = ""
        if self.current_item and line.indent >= self.current_item.indent + 2:
            reason = "a box inside a box; give it its own id on the outer level"
        elif mark not in (" ", "x", "X"):
            reason = f"a box is [ ] or [x], not [{mark}]"
        elif not named:
            reason = f"this box has no id; {_FORM}"
        name, sentence = (named[1], named[2]) if named else ("", "")
        self.current_item = PlaybookItem(name, sentence, mark != " ", at, line.indent)
        if reason:
            # The lines below belong to this box, and not to the one before.
            self.defects.add(self.path, reason, at=at)
        else:
            self.items.append(self.current_item)

    def _below(self, item: PlaybookItem, line: MarkdownLine) -> None:
        """A key, more text of the key before, or prose."""
        while item.open_keys and item.open_keys[-1].indent >= line.indent:
            item.open_keys.pop()
        bullet = _BULLET.fullmatch(line.text)
        key = _KEY.fullmatch(bullet[1]) if bullet else None
        if key is None and item.open_keys:
            # A separate line below a key continues its value.
            item.open_keys[-1].values.append(line.text.strip())
        elif key is None:
            item.prose.append(line.text.strip())
        elif len(item.open_keys) == DEPTH_MAX:
            at = (line.number, line.column)
            self.defects.add(self.path, f"a list deeper than {DEPTH_MAX} levels", at=at)
        else:
            values = [(key[2] or "").strip()]
            node = ListKey(key[1], values, (line.number, line.column), line.indent)
            (item.open_keys[-1].children if item.open_keys else item.keys).append(node)
            item.open_keys.append(node)


# ------------------------------------------------------------------ values


def parse_text(value: str) -> str:
    """The text without the quotes around it, and without the marker of a YAML block."""
    plain = value.strip()
    head, _, rest = plain.partition("\n")
    if head in ("|", ">", "|-", ">-"):
        plain = rest
    for quote in ('"', "'"):
        if len(plain) > 1 and plain[0] == plain[-1] == quote and quote not in plain[1:-1]:
            return plain[1:-1].strip()
    if len(plain) > 1 and plain[0] == plain[-1] == '"' and not re.search(r'(?<!\\)"', plain[1:-1]):
        return plain[1:-1].replace('\\"', '"').strip()
    return plain


def _uncommented(value: str) -> str:
    return value.partition(" #")[0].strip()


def parse_number(value: str) -> Any:
    plain = _uncommented(value)
    return int(plain) if re.fullmatch(r"[0-9]{1,9}", plain) else plain


def parse_names(value: str) -> list[str]:
    """`[p1, p2]`, or one name."""
    match = _LIST.fullmatch(value.strip())
    if match is None:
        bare = _uncommented(value)
        return [bare] if bare else []
    return [one.strip().strip("\"'") for one in match[1].split(",") if one.strip()]
