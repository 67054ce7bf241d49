"""Documents without secrets, whoever shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.core.redact import mask


def mask_document(value: Any, secrets: Sequence[str] = ()) -> Any:
    """The same data without known secrets, nor anything shaped like one, in any of its texts."""
    return _masked(value, secrets, {})


def _masked(value: Any, secrets: Sequence[str], seen: dict[str, str]) -> Any:
    """Big documents say the same few words again and again: each is looked at once."""
    if isinstance(value, str):
        clean = seen.get(value)
        if clean is None:
            clean = seen[value] = mask(value, secrets)
        return clean
    if isinstance(value, Mapping):
        return {key: _masked(held, secrets, seen) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(held, secrets, seen) for held in value]
    return value
