"""JSON values with their line numbers, parsed value by value."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_BLANKS = " \t\r\n"
_DECODER = json.JSONDecoder()


class NotJson(Exception):
    """The text is not valid JSON."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.reason = line, why


@dataclass(frozen=True, slots=True)
class LocatedValue:
    """A value in a text, and its offset."""

    text: str
    offset: int
    data: Any

    @property
    def line(self) -> int:
        return bisect_left(_breaks(self.text), self.offset) + 1

    def elements(self) -> Iterator[LocatedValue]:
        """The values of a list; nothing for any other value."""
        if isinstance(self.data, list) and self.data:
            at = self.offset + 1
            for _ in self.data:
                at = _skip(self.text, at, _BLANKS + ",")
                data, end = _DECODER.raw_decode(self.text, at)
                yield LocatedValue(self.text, at, data)
                at = end

    def get(self, key: str) -> LocatedValue | None:
        """A member of an object; the last of several with the same name, as in JSON."""
        member = None
        for name, value in self.members():
            if name == key:
                member = value
        return member

    def members(self) -> Iterator[tuple[str, LocatedValue]]:
        if not isinstance(self.data, dict) or not self.data:
            return
        at = _skip(self.text, self.offset + 1, _BLANKS)
        while self.text[at] != "}":
            name, at = _DECODER.raw_decode(self.text, at)
            at = _skip(self.text, at, _BLANKS + ":")
            data, end = _DECODER.raw_decode(self.text, at)
            yield name, LocatedValue(self.text, at, data)
            at = _skip(self.text, end, _BLANKS + ",")


def parse_json(text: str) -> LocatedValue:
    """The whole text as one value; raises `NotJson`."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotJson(error.lineno, f"this is not valid JSON: {error.msg.lower()}") from error
    except (ValueError, RecursionError) as error:
        raise NotJson(1, "nested too deep, or with a number that is too long") from error
    return LocatedValue(text, _skip(text, 0, _BLANKS), data)


@lru_cache(maxsize=2)
def _breaks(text: str) -> list[int]:
    """The line ends, cached: counting them for each of ten thousand values takes minutes."""
    return [at for at, letter in enumerate(text) if letter == "\n"]


def _skip(text: str, at: int, over: str) -> int:
    while at < len(text) and text[at] in over:
        at += 1
    return at
