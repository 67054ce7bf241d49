"""A playbook's text as plain data, with a position for every path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yaoki.formats.plan.defects import Defects, KeyPath
from yaoki.formats.playbook.block import read_block
from yaoki.formats.playbook.items import (
    ItemList,
    ListKey,
    PlaybookItem,
    parse_names,
    parse_number,
    parse_text,
)
from yaoki.formats.playbook.lines import MarkdownLine, MarkdownSection, split_lines, split_sections

SECTIONS = ("meta", "context", "goal", "phases", "final_tasks")
PHASES_MAX = 200
BOXES_MAX = 2_000

JsonObject = dict[str, Any]
KeyReaders = Mapping[str, Callable[[str], Any]]

PHASE_KEYS: KeyReaders = {
    "goal": parse_text,
    "depends_on": parse_names,
    "status": parse_text,
    "max_iterations": parse_number,
}
BOX_KEYS: KeyReaders = {
    "executor": parse_text,
    "validations": parse_text,
    "test_command": parse_text,
    "depends_on": parse_names,
    "status": parse_text,
    "validated": parse_text,
    "note": parse_text,
}
FINAL_KEYS: KeyReaders = {**BOX_KEYS, "command": parse_text}


def read_markdown(text_: str, name: str) -> tuple[JsonObject | None, Defects]:
    """Plain data and the defects so far; None when nothing could be read."""
    defects = Defects(name)
    defects.positions[()] = (1, 1)
    lines = split_lines(text_, defects)
    if lines is None:
        return None, defects
    return PlaybookReader(defects).read(lines), defects


class PlaybookReader:
    """Section by section."""

    def __init__(self, defects: Defects) -> None:
        self._defects = defects
        self._boxes = 0

    def read(self, lines: Sequence[MarkdownLine]) -> JsonObject:
        before, found = split_sections(lines, 2)
        held: JsonObject = {}
        self._no_boxes(before)
        for section in found:
            name = section.name.lower()
            if name in held:
                self._at((name,), "this section stands here a second time", section.head)
            elif name in SECTIONS:
                held[name] = self._section(name, section)
            else:
                self._for_people(section)
        return held

    def _at(self, path: KeyPath, reason: str, line: MarkdownLine) -> None:
        self._defects.add(path, reason, at=(line.number, line.column))

    def _section(self, name: str, section: MarkdownSection) -> Any:
        match name:
            case "context":
                return self._context(section)
            case "phases":
                return self._phases(section)
            case "final_tasks":
                return self._final(section)
            case _:
                held = read_block(section, (name,), self._defects)
                return {} if held is None else held

    def _for_people(self, section: MarkdownSection) -> None:
        """A section of another name, unless it was meant to be one of ours or holds work."""
        near = self._defects.closest_name(section.name.lower(), SECTIONS)
        if near:
            reason = f"unknown section {section.name[:80]!r}; did you mean {near!r}?"
            self._at((), reason, section.head)
            self._defects.broken_paths.add((near,))
        else:
            self._no_boxes(section.lines)

    def _no_boxes(self, lines: Sequence[MarkdownLine]) -> None:
        """Work outside of the phases would be forgotten."""
        listing = ItemList((), Defects(self._defects.name)).read(lines)
        for item in listing.items[:1]:
            reason = f"box {item.id[:80]!r} stands outside of phases and final_tasks"
            self._defects.add((), reason, at=item.at)

    def _context(self, section: MarkdownSection) -> str:
        """Free prose: nothing of it is read, all of it is told to the agents."""
        self._defects.positions[("context",)] = (section.head.number, 1)
        told = (line for line in section.lines if line.fence == "code" or not line.is_decoration)
        return "\n".join(line.text for line in told if line.fence != "mark").strip()

    # -------------------------------------------------------------- phases

    def _phases(self, section: MarkdownSection) -> list[JsonObject]:
        self._defects.positions[("phases",)] = (section.head.number, 1)
        before, found = split_sections(section.lines, 3)
        for line in before:
            if not line.is_decoration:
                self._at(("phases",), "stands before the first phase (### p1: title)", line)
                break
        if len(found) > PHASES_MAX:
            reason = f"{len(found)} phases are over the limit of {PHASES_MAX}"
            self._at(("phases",), reason, found[PHASES_MAX].head)
        return [self._phase(n, one) for n, one in enumerate(found[:PHASES_MAX])]

    def _phase(self, n: int, section: MarkdownSection) -> JsonObject:
        path: KeyPath = ("phases", n)
        self._defects.positions[path] = (section.head.number, 1)
        name, _, title = section.name.replace("：", ":").partition(":")
        listing = ItemList(path, self._defects).read(section.lines)
        held: JsonObject = {
            "id": name.strip(),
            "title": title.strip(),
            "prose": _joined(listing.prose),
        }
        self._keys(held, listing.keys, path, PHASE_KEYS)
        held["subtasks"] = self._items(listing.items, (*path, "subtasks"), BOX_KEYS)
        return held

    def _final(self, section: MarkdownSection) -> list[JsonObject]:
        path: KeyPath = ("final_tasks",)
        self._defects.positions[path] = (section.head.number, 1)
        listing = ItemList(path, self._defects).read(section.lines)
        for key in listing.keys:
            self._unknown(path, key, ())
        return self._items(listing.items, path, FINAL_KEYS)

    # -------------------------------------------------------------- boxes

    def _items(
        self, items: Sequence[PlaybookItem], path: KeyPath, known: KeyReaders
    ) -> list[JsonObject]:
        room = max(0, BOXES_MAX - self._boxes)
        self._boxes += len(items)
        if len(items) > room:
            reason = f"more boxes than the limit of {BOXES_MAX}"
            self._defects.add(path, reason, at=items[room].at)
        return [self._item(item, (*path, n), known) for n, item in enumerate(items[:room])]

    def _item(self, item: PlaybookItem, path: KeyPath, known: KeyReaders) -> JsonObject:
        self._defects.positions[path] = item.at
        prose = _joined(item.prose)
        held: JsonObject = {
            "id": item.id,
            "says": parse_text(item.statement),
            "done": item.done,
            "prose": prose,
        }
        # What was noted when a box was ticked is a record, in whatever words.
        below = [node for node in item.keys if not item.done or node.key in known]
        self._keys(held, below, path, known)
        return held

    def _keys(
        self, held: JsonObject, nodes: Sequence[ListKey], path: KeyPath, known: KeyReaders
    ) -> None:
        for node in nodes:
            at = (*path, node.key)
            if node.key not in known:
                self._unknown(path, node, known)
            elif node.key in held:
                self._defects.add(at, "this key stands here a second time", at=node.at)
            else:
                self._defects.positions[at] = self._defects.keys[at] = node.at
                held[node.key] = self._value(node, at, known[node.key])

    def _unknown(self, path: KeyPath, node: ListKey, known: KeyReaders | tuple[()]) -> None:
        at = (*path, node.key)
        self._defects.keys[at] = node.at
        self._defects.add_unknown_key(at, known)

    def _value(self, node: ListKey, path: KeyPath, read: Callable[[str], Any]) -> Any:
        if not node.children:
            return read(node.value)
        held: JsonObject = {"says": parse_text(node.value)} if node.value else {}
        for child in node.children:
            at = (*path, child.key)
            if child.key in held:
                self._defects.add(at, "this key stands here a second time", at=child.at)
                continue
            self._defects.positions[at] = self._defects.keys[at] = child.at
            held[child.key] = self._value(child, at, parse_text)
        return held


def _joined(prose: Sequence[str]) -> str:
    return "\n".join(prose).strip()
