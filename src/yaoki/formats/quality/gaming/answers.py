"""Results that a program contains as literals: what it compares or looks up, and what it gives.

`python_answers` and `javascript_answers` beside it find them in a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.gaming.literals import Literal, leaves

# Functions of both languages that compare a part of a text.
PARTIAL_COMPARISONS = frozenset(
    {"startswith", "endswith", "startsWith", "endsWith", "includes", "count", "find"}
) | {*("index", "indexOf", "search", "match", "fullmatch", "test", "contains")}


class KeyUse(Enum):
    """How a key is compared with the input: the whole of it, a part, or its length.  ALWAYS: the
    result does not depend on the input.  ORDER: on the number of the call.  REST: no comparison
    before it holds.  FILLED: the input is not empty.
    """

    WHOLE = auto()
    PART = auto()
    ALWAYS = auto()
    ORDER = auto()
    REST = auto()
    FILLED = auto()


@dataclass(frozen=True, slots=True)
class Answer:
    """`table` is the table or function that contains it; its answers are judged together."""

    use: KeyUse
    keys: tuple[Literal, ...]
    value: Literal
    line: int
    table: int


def atoms(values: Sequence[Literal]) -> list[Literal]:
    return [leaf for value in values for leaf in leaves(value)]
