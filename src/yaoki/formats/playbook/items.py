"""The list of a phase: boxes, the keys below each, and the prose between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from yaoki.formats.plan.defects import Defects, Path, Position
from yaoki.formats.playbook.lines import Line

DEPTH_MAX = 4

_BOX = re.compile(r"[ \t]*[-*+][ \t]*\[([^\]]?)\](?!\()[ \t]*(.*)")
_NAMED = re.compile(r"(?:\*\*)?([^\s*:：]{1,200})(?:\*\*)?[ \t]*[:：](?:\*\*)?[ \t]*(.*)")
_BULLET = re.compile(r"[ \t]*[-*+][ \t]+(.*)")
_KEY = re.compile(r"(?:\*\*)?([A-Za-z_][A-Za-z0-9_]{0,63})(?:\*\*)?:(?:[ \t]+(.*))?")
_BOLD = re.compile(r"\*\*([A-Za-z_][A-Za-z0-9_]{0,63})(?:\*\*[ \t]*[:：]|[:：]\*\*)[ \t]*(.*)")
_LIST = re.compile(r"\[([^\[\]]*)\][ \t]*(?:#.*)?")
_FORM = "write - [ ] **p1.1**: what must hold"


@dataclass(slots=True)
class Node:
    """A key of a list, what stands behind it, and the keys below it."""

    key: str
    said: list[str]
    at: Position
    indent: int
    below: list[Node] = field(default_factory=list)

    @property
    def value(self) -> str:
        return "\n".join(filter(None, self.said))


@dataclass(slots=True)
class Item:
    """One box.  `prose` is what stands below it without a key."""

    id: str
    says: str
    done: bool
    at: Position
    indent: int
    below: list[Node] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    open: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Listing:
    """What a phase or the final tasks hold, line by line."""

    path: Path
    defects: Defects
    items: list[Item] = field(default_factory=list)
    keys: list[Node] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    item: Item | None = None

    def read(self, lines: Sequence[Line]) -> Listing:
        for line in lines:
            self._line(line)
        return self

    def _line(self, line: Line) -> None:
        if line.mute and line.indent == 0 and line.text.strip():
            self.item = None
        if line.mute or (line.heading[0] and line.heading[1].lower() == "subtasks"):
            return
        if line.fence:
            self._told(line)
        elif box := _BOX.fullmatch(line.text):
            self._box(line, box[1], box[2])
        elif bold := _BOLD.fullmatch(line.text):
            self.item = None
            self.keys.append(Node(bold[1], [bold[2]], (line.number, line.column), 0))
        elif self.item and line.indent > self.item.indent:
            self._below(self.item, line)
        else:
            self.item = None
            self._told(line)

    def _told(self, line: Line) -> None:
        inside = self.item and (line.indent > self.item.indent or line.fence == "code")
        held = self.item.prose if self.item and inside else self.prose
        held.append(line.text.strip() if not line.fence else line.text)

    # -------------------------------------------------------------- boxes

    def _box(self, line: Line, mark: str, words: str) -> None:
        at, named = (line.number, line.column), _NAMED.fullmatch(words)
        reason = ""
        if self.item and line.indent >= self.item.indent + 2:
            reason = "a box inside a box; give it an id of its own beside it"
        elif mark not in (" ", "x", "X"):
            reason = f"a box is [ ] or [x], not [{mark}]"
        elif not named:
            reason = f"this box has no id; {_FORM}"
        name, says = (named[1], named[2]) if named else ("", "")
        self.item = Item(name, says, mark != " ", at, line.indent)
        if reason:
            # What stands below it belongs to it, and to no box before it.
            self.defects.add(self.path, reason, at=at)
        else:
            self.items.append(self.item)

    def _below(self, item: Item, line: Line) -> None:
        """A key, more words of the one before, or prose."""
        while item.open and item.open[-1].indent >= line.indent:
            item.open.pop()
        bullet = _BULLET.fullmatch(line.text)
        key = _KEY.fullmatch(bullet[1]) if bullet else None
        if key is None and item.open:
            # A line of its own below a key says more of it.
            item.open[-1].said.append(line.text.strip())
        elif key is None:
            item.prose.append(line.text.strip())
        elif len(item.open) == DEPTH_MAX:
            at = (line.number, line.column)
            self.defects.add(self.path, f"a list deeper than {DEPTH_MAX} levels", at=at)
        else:
            said = [(key[2] or "").strip()]
            node = Node(key[1], said, (line.number, line.column), line.indent)
            (item.open[-1].below if item.open else item.below).append(node)
            item.open.append(node)


# ------------------------------------------------------------------ values


def text(value: str) -> str:
    """Without the quotes around it, and without the sign of a block of lines."""
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


def number(value: str) -> Any:
    plain = _uncommented(value)
    return int(plain) if re.fullmatch(r"[0-9]{1,9}", plain) else plain


def names(value: str) -> list[str]:
    """`[p1, p2]`, or one name."""
    found = _LIST.fullmatch(value.strip())
    if found is None:
        bare = _uncommented(value)
        return [bare] if bare else []
    return [one.strip().strip("\"'") for one in found[1].split(",") if one.strip()]
