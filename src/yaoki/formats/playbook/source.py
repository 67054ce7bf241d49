"""Reads the text of a playbook as plain data, with a position for every path."""

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
    """Reads a playbook section by section."""

    def __init__(self, defects: Defects) -> None:
        self._defects = defects
        self._boxes = 0

    def read(self, lines: Sequence[MarkdownLine]) -> JsonObject:
        before, sections = split_sections(lines, 2)
        data: JsonObject = {}
        self._refuse_boxes(before)
        for section in sections:
            name = section.name.lower()
            if name in data:
                self._at((name,), "this section appears a second time", section.head)
            elif name in SECTIONS:
                data[name] = self._section(name, section)
            else:
                self._skip_section(section)
        return data

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
                block = read_block(section, (name,), self._defects)
                return {} if block is None else block

    def _skip_section(self, section: MarkdownSection) -> None:
        """Skip an unknown section, unless its name is a misspelling or it contains boxes."""
        near = self._defects.closest_name(section.name.lower(), SECTIONS)
        if near:
            reason = f"unknown section {section.name[:80]!r}; did you mean {near!r}?"
            self._at((), reason, section.head)
            self._defects.broken_paths.add((near,))
        else:
            self._refuse_boxes(section.lines)

    def _refuse_boxes(self, lines: Sequence[MarkdownLine]) -> None:
        """A box outside of the phases would be ignored."""
        listing = ItemList((), Defects(self._defects.name)).read(lines)
        for item in listing.items[:1]:
            reason = f"box {item.id[:80]!r} is outside of phases and final_tasks"
            self._defects.add((), reason, at=item.at)

    def _context(self, section: MarkdownSection) -> str:
        """Free prose: it is not parsed, and all of it goes into the prompts."""
        self._defects.positions[("context",)] = (section.head.number, 1)
        lines = (line for line in section.lines if line.fence == "code" or not line.is_decoration)
        return "\n".join(line.text for line in lines if line.fence != "mark").strip()

    # -------------------------------------------------------------- phases

    def _phases(self, section: MarkdownSection) -> list[JsonObject]:
        self._defects.positions[("phases",)] = (section.head.number, 1)
        before, phases = split_sections(section.lines, 3)
        for line in before:
            if not line.is_decoration:
                self._at(("phases",), "is before the first phase (### p1: title)", line)
                break
        if len(phases) > PHASES_MAX:
            reason = f"{len(phases)} phases are over the limit of {PHASES_MAX}"
            self._at(("phases",), reason, phases[PHASES_MAX].head)
        return [self._phase(n, one) for n, one in enumerate(phases[:PHASES_MAX])]

    def _phase(self, n: int, section: MarkdownSection) -> JsonObject:
        path: KeyPath = ("phases", n)
        self._defects.positions[path] = (section.head.number, 1)
        name, _, title = section.name.replace("：", ":").partition(":")
        listing = ItemList(path, self._defects).read(section.lines)
        data: JsonObject = {
            "id": name.strip(),
            "title": title.strip(),
            "prose": _join(listing.prose),
        }
        self._keys(data, listing.keys, path, PHASE_KEYS)
        data["subtasks"] = self._items(listing.items, (*path, "subtasks"), BOX_KEYS)
        return data

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
        prose = _join(item.prose)
        data: JsonObject = {
            "id": item.id,
            "says": parse_text(item.statement),
            "done": item.done,
            "prose": prose,
        }
        # The unknown keys of a ticked box are notes about the past.
        below = [node for node in item.keys if not item.done or node.key in known]
        self._keys(data, below, path, known)
        return data

    def _keys(
        self, data: JsonObject, nodes: Sequence[ListKey], path: KeyPath, known: KeyReaders
    ) -> None:
        for node in nodes:
            at = (*path, node.key)
            if node.key not in known:
                self._unknown(path, node, known)
            elif node.key in data:
                self._defects.add(at, "this key appears a second time", at=node.at)
            else:
                self._defects.positions[at] = self._defects.keys[at] = node.at
                data[node.key] = self._value(node, at, known[node.key])

    def _unknown(self, path: KeyPath, node: ListKey, known: KeyReaders | tuple[()]) -> None:
        at = (*path, node.key)
        self._defects.keys[at] = node.at
        self._defects.add_unknown_key(at, known)

    def _value(self, node: ListKey, path: KeyPath, read: Callable[[str], Any]) -> Any:
        if not node.children:
            return read(node.value)
        data: JsonObject = {"says": parse_text(node.value)} if node.value else {}
        for child in node.children:
            at = (*path, child.key)
            if child.key in data:
                self._defects.add(at, "this key appears a second time", at=child.at)
                continue
            self._defects.positions[at] = self._defects.keys[at] = child.at
            data[child.key] = self._value(child, at, parse_text)
        return data


def _join(prose: Sequence[str]) -> str:
    return "\n".join(prose).strip()
