"""Reads the YAML block of a section with the reader of plans."""

from __future__ import annotations

from typing import Any

import yaml

from yaoki.formats.plan.defects import Defects, KeyPath
from yaoki.formats.plan.source import LOADER, UnreadablePlan, YamlReader
from yaoki.formats.playbook.lines import MarkdownLine, MarkdownSection


def read_block(section: MarkdownSection, path: KeyPath, defects: Defects) -> Any:
    """The value of the section's only block; None when it cannot be read."""
    defects.positions[path] = (section.head.number, 1)
    marks = [line for line in section.lines if line.fence == "mark"]
    stray = next((line for line in section.lines if not (line.fence or line.is_decoration)), None)
    if stray is not None:
        reason = "is outside the YAML block; move it inside, or put > before it if it is a comment"
        defects.add(path, reason, at=(stray.number, stray.column))
    if len(marks) > 2:
        defects.add(path, "a second block; a section has one", at=(marks[2].number, 1))
    if len(marks) < 2:
        defects.add_misshapen(path, "has no block of YAML between ``` lines")
        return None
    return _read([line for line in section.lines if _between(line, marks)], path, defects)


def _between(line: MarkdownLine, marks: list[MarkdownLine]) -> bool:
    return marks[0].number < line.number < marks[1].number


def _read(lines: list[MarkdownLine], path: KeyPath, defects: Defects) -> Any:
    """Blank lines before the block give every value its line number in the file."""
    if not any(line.text.strip() for line in lines):
        defects.add_misshapen(path, "the block is empty")
        return None
    text = "\n" * (lines[0].number - 1) + "\n".join(line.text for line in lines) + "\n"
    try:
        return _value(YamlReader(yaml.parse(text, Loader=LOADER), defects), path)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        at = (mark.line + 1, mark.column + 1) if mark else (lines[0].number, 1)
        defects.add_at(path, f"cannot be read: {getattr(fault, 'problem', None) or fault}", at)
    except UnreadablePlan as fault:
        defects.add_at(fault.path, fault.reason, fault.at)
    defects.broken_paths.add(path)
    return None


def _value(reader: YamlReader, path: KeyPath) -> Any:
    """The only document of the block."""
    events = reader.events
    next(events)
    first = next(events)
    if isinstance(first, yaml.StreamEndEvent):
        raise UnreadablePlan(reader.defects.position_of(path), "the block is empty", path)
    value = reader.value(next(events), path, 0)
    next(events)
    after = next(events)
    if not isinstance(after, yaml.StreamEndEvent):
        at = (after.start_mark.line + 1, after.start_mark.column + 1)
        raise UnreadablePlan(at, "a second document begins; a block is one document", path)
    return value
