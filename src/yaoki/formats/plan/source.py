"""Reads the text of a plan as plain data, with a position for every path.

YAML 1.2 core types from PyYAML's events; the same code reads JSON.  Events instead of nodes: the
composer of the C library recurses without a limit, and a deeply nested file would kill the process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.plan.defects import Defects, KeyPath, Position

BYTES_MAX = 8 << 20
VALUES_MAX = 500_000
DEPTH_MAX = 64
NUMBER_MAX = 40

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = lazy_compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = lazy_compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_ENDLESS = lazy_compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FORBIDDEN = lazy_compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_TEXT = lazy_compile("[\0\ud800-\udfff]")
# JSON writes characters above U+FFFF as two escapes, which YAML does not support.
_PAIR = lazy_compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB]\w\w)\\u([dD][c-fC-F]\w\w)")


class UnreadablePlan(Exception):
    """The text cannot be read as a document."""

    def __init__(self, at: Position, reason: str, path: KeyPath = ()) -> None:
        super().__init__(reason)
        self.at, self.reason, self.path = at, reason, path


def read_plan_data(text: str, name: str) -> tuple[Any, Defects]:
    """Plain data and the defects so far; None when nothing could be read."""
    defects = Defects(name)
    try:
        return _read(text, defects), defects
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        at = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        defects.add_at((), f"cannot be read: {getattr(fault, 'problem', None) or fault}", at)
    except UnreadablePlan as fault:
        defects.add_at(fault.path, fault.reason, fault.at)
    return None, defects


def _read(text: str, defects: Defects) -> Any:
    size = len(text.encode(errors="replace"))
    if size > BYTES_MAX:
        raise UnreadablePlan((1, 1), f"{size} bytes are over the limit of {BYTES_MAX}")
    if odd := _FORBIDDEN.search(text):
        before = text[: odd.start()]
        at = (before.count("\n") + 1, odd.start() - before.rfind("\n"))
        raise UnreadablePlan(at, f"character U+{ord(odd[0]):04X} is not allowed")
    if text.lstrip().startswith("{"):
        text = _PAIR.sub(_one_letter, text)
    return YamlReader(yaml.parse(text, Loader=LOADER), defects).document()


def _one_letter(pair: re.Match[str]) -> str:
    high, low = int(pair[2], 16), int(pair[3], 16)
    return f"{pair[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def _where(event: Any) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1


@dataclass(frozen=True, slots=True)
class YamlReader:
    """Builds plain data from events, one value at a time."""

    events: Iterator[Any]
    defects: Defects

    def document(self) -> Any:
        """The only document of the file."""
        next(self.events)
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise UnreadablePlan((1, 1), "the file is empty")
        value = self.value(next(self.events), (), 0)
        next(self.events)
        after = next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise UnreadablePlan(_where(after), "a second document begins; a plan is one document")
        return value

    def value(self, event: Any, path: KeyPath, depth: int) -> Any:
        self.defects.positions[path] = _where(event)
        if depth > DEPTH_MAX:
            raise UnreadablePlan(_where(event), f"nested deeper than {DEPTH_MAX} levels", path[:3])
        if len(self.defects.positions) > VALUES_MAX:
            raise UnreadablePlan(_where(event), f"more values than the limit of {VALUES_MAX}", path)
        self.refuse_magic(event, path)
        match event:
            case yaml.MappingStartEvent():
                return self.mapping(path, depth)
            case yaml.SequenceStartEvent():
                return self.sequence(path, depth)
            case yaml.ScalarEvent():
                return self.scalar(event, path)
            case _:
                return None

    def refuse_magic(self, event: Any, path: KeyPath) -> None:
        """No tags, anchors or aliases: every value of a plan is written where it is used."""
        if isinstance(event, yaml.AliasEvent):
            self.defects.add_misshapen(
                path, f"alias *{event.anchor} is not supported; write the value out"
            )
        elif event.anchor is not None:
            self.defects.add(path, f"anchor &{event.anchor} is not supported; write each value out")
        if getattr(event, "tag", None) is not None:
            self.defects.add_misshapen(
                path, f"tag {event.tag} is not supported; a plan has plain values"
            )

    def mapping(self, path: KeyPath, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, at = self.key(event, path, depth), _where(event)
            if key is None or key in mapping:
                self.skip_value(path, key, at, depth)
                continue
            self.defects.keys[(*path, key)] = at
            mapping[key] = self.value(next(self.events), (*path, key), depth + 1)
        return mapping

    def key(self, event: Any, path: KeyPath, depth: int) -> str | None:
        reader = YamlReader(self.events, Defects(self.defects.name))
        key = reader.value(event, path, depth + 1)
        if isinstance(key, str) and not reader.defects.entries:
            return key
        scalar = isinstance(event, yaml.ScalarEvent) and not isinstance(key, str)
        shown = f"key {event.value!r}" if scalar else "this key"
        self.defects.add(path, f"{shown} is not plain text; put it in quotes", at=_where(event))
        return None

    def skip_value(self, path: KeyPath, key: str | None, at: Position, depth: int) -> None:
        """Read and drop a value.  Of two equal keys the first one counts."""
        if key is not None:
            self.defects.add((*path, key), "this key appears a second time", at=at)
        reader = YamlReader(self.events, Defects(self.defects.name))
        reader.value(next(self.events), path, depth + 1)

    def sequence(self, path: KeyPath, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.value(event, (*path, len(items)), depth + 1))
        return items

    def scalar(self, event: Any, path: KeyPath) -> Any:
        text: str = event.value
        if _NO_TEXT.search(text):
            self.defects.add_misshapen(path, "contains a character that is not allowed in text")
            return ""
        return self.parse_scalar(text, path) if event.implicit[0] and event.tag is None else text

    def parse_scalar(self, text: str, path: KeyPath) -> Any:
        """The YAML 1.2 core types: `no`, `on` and 12:30 are text."""
        if text in _WORDS:
            return _WORDS[text]
        if not (_INTEGER.fullmatch(text) or _FLOAT.fullmatch(text) or _ENDLESS.fullmatch(text)):
            return text
        value = _number(text)
        if value is None:
            self.defects.add_misshapen(path, "is not a finite number of reasonable length")
        return value


def _number(text: str) -> int | float | None:
    if len(text) > NUMBER_MAX or _ENDLESS.fullmatch(text):
        return None
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
    value = float(text)
    return value if math.isfinite(value) else None
