"""Masks secrets in documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.core.redact import mask


def mask_document(value: Any, secrets: Sequence[str] = ()) -> Any:
    """The same data with known secrets, and texts shaped like one, masked."""
    return _mask(value, secrets, {})


def _mask(value: Any, secrets: Sequence[str], seen: dict[str, str]) -> Any:
    """Large documents repeat the same few texts; each is masked once."""
    if isinstance(value, str):
        clean = seen.get(value)
        if clean is None:
            clean = seen[value] = mask(value, secrets)
        return clean
    if isinstance(value, Mapping):
        return {key: _mask(item, secrets, seen) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mask(item, secrets, seen) for item in value]
    return value
