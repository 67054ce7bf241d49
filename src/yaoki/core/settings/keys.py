"""The declaration of a setting: its default, its bounds and its meaning, in one place."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from yaoki.core.lazy_dataclass import field

RETRIES_MAX = 100
SECONDS_MAX = 30 * 86_400
MILLISECONDS_MAX = SECONDS_MAX * 1_000
BYTES_MAX = 1 << 50


def setting(
    default: Any,
    doc: str,
    *,
    low: float = 0,
    high: float = 1_000_000,
    words: Iterable[str] = (),
    secret: bool = False,
) -> Any:
    """A setting with its meaning and bounds; its type is the type of its default.

    The bounds of a list apply to its length.  An error message does not repeat a `secret` value.
    """
    details = {"doc": doc, "low": low, "high": high, "words": tuple(words), "secret": secret}
    return field(default=default, metadata=MappingProxyType(details))


def seconds_setting(default: float, doc: str) -> Any:
    """A duration above zero; tests use very small ones."""
    return setting(default, doc, low=0.001, high=SECONDS_MAX)
