"""Changes one place of a JSON file; every other byte stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

# Some editors write a byte order mark; it is not part of the JSON, and stays.
BYTE_ORDER_MARK = "\ufeff"
_BLANK = lazy_compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonPart:
    """One member of an object (`key` is its name) or one element of an array (its index).

    `begin` is where its key or itself begins, `value` where its value does, `end` where it ends.
    """

    key: str | int
    begin: int
    value: int
    end: int


def list_parts(text: str, at: int) -> list[JsonPart]:
    """The members or elements of the container that begins at `at`; `text` is valid JSON."""
    return list(_parts(text, at))


def _parts(text: str, at: int) -> Iterator[JsonPart]:
    closing, named = {"{": ("}", True), "[": ("]", False)}[text[at]]
    at, place = _skip(text, at + 1), 0
    while text[at] != closing:
        begin, key = at, place
        if named:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield JsonPart(key, begin, at, end)
        at, place = _skip(text, end), place + 1
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None, "nothing at all is blank too"
    return found.end()


def json_body(text: str) -> str:
    """The JSON without a byte order mark; an empty file is an empty object."""
    return text.removeprefix(BYTE_ORDER_MARK).strip() or "{}"


def ensure_object(text: str) -> str:
    """The text with an object: an empty file gets an empty one."""
    return text if text.removeprefix(BYTE_ORDER_MARK).strip() else f"{text.rstrip()}{{}}\n"


def find_value(text: str, *path: str | int) -> int | None:
    """Where the value of this path begins."""
    at = _skip(text, len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)
    for step in path:
        if text[at] not in "{[":
            return None
        found = [part for part in list_parts(text, at) if part.key == step]
        if not found:
            return None
        at = found[0].value
    return at


def add_part(text: str, at: int, new: str) -> str:
    """The text with one more part at the end of the container at `at`, formatted alike."""
    parts = list_parts(text, at)
    outer = _indent(text, at)
    inner = _indent(text, parts[-1].begin) if parts else outer + _step(text)
    line = "\r\n" if "\r\n" in text else "\n"
    body = new.replace("\n", line + inner)
    if parts:
        one_line = "\n" not in text[at : parts[0].begin]
        lead = " " if one_line else line + inner
        return f"{text[: parts[-1].end]},{lead}{body}{text[parts[-1].end :]}"
    close = _skip(text, at + 1)
    return f"{text[: at + 1]}{line}{inner}{body}{line}{outer}{text[close:]}"


def remove_part(text: str, at: int, key: str | int) -> str:
    """The text without the part of this key or index, and without its comma."""
    parts = list_parts(text, at)
    n = next(i for i, part in enumerate(parts) if part.key == key)
    if n > 0:
        return text[: parts[n - 1].end] + text[parts[n].end :]
    if len(parts) > 1:
        return text[: parts[0].begin] + text[parts[1].begin :]
    close = _skip(text, parts[0].end)
    return text[: at + 1] + text[close:]


def _indent(text: str, at: int) -> str:
    """The indentation of the line that contains this position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str) -> str:
    """The indentation step of the file."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def format_value(value: Mapping[str, Any] | list[Any], text: str) -> str:
    """A value, formatted like this file."""
    step = _step(text)
    return json.dumps(
        value, indent="\t" if step.startswith("\t") else len(step), ensure_ascii=False
    )
