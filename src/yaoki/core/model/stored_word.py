"""The word under which a field is stored, where it differs from the name of the field.

Journals and rows outlive names in the code: a field may get a better name, its stored word stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.core.lazy_dataclass import Field

_KEY = "stored_as"


def stored_as(word: str) -> Mapping[str, str]:
    """Metadata for `dataclasses.field`: the journal and the store know the field by this word."""
    return {_KEY: word}


def stored_word(field: Field[Any]) -> str:
    word: str = field.metadata.get(_KEY, field.name)
    return word
