"""One fault as an edit of a text."""

from __future__ import annotations

from enum import IntEnum

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import one_line

CODE_CHARS_MAX = 60


class Rank(IntEnum):
    """The order of mutants on one line; later ranks are more often faults without an effect."""

    OPERATOR = 0
    STATEMENT = 1
    BOUNDARY = 2
    CONSTANT = 3


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` to `end`; `fault` says it in words."""

    line: int
    rank: Rank
    start: int
    end: int
    replacement: str
    fault: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]


def becomes(old: str, new: str) -> str:
    """Both in a few words that show the difference."""
    pairs = enumerate(zip(old, new, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))
    skip = max(0, same - CODE_CHARS_MAX // 2) if max(len(old), len(new)) > CODE_CHARS_MAX else 0
    before, after = (f"{'…' * bool(skip)}{code[skip:]}" for code in (old, new))
    return f"`{one_line(before, CODE_CHARS_MAX)}` becomes `{one_line(after, CODE_CHARS_MAX)}`"


def is_removed(code: str) -> str:
    return f"`{one_line(code, CODE_CHARS_MAX)}` is removed"
