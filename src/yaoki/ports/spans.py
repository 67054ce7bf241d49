"""Spans of a trace.  Ids are derived from the run, so a restart continues the same trace."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from yaoki.core.lazy_dataclass import dataclass

# The name of this program in everything that it sends.
SERVICE = "yaoki"
AttributeValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Span:
    """`error` is empty for a span without an error."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    start: datetime
    end: datetime
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    error: str = ""


def derive_trace_id(run_id: str) -> bytes:
    return _digest("run", run_id)[:16]


def derive_span_id(run_id: str, *parts: object) -> bytes:
    """The id of the run, or of a part of it."""
    return _digest("span", run_id, *(str(part) for part in parts))[:8]


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(("yaoki", *parts)).encode()).digest()
