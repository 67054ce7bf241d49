"""What known agents say of their own end, read from their structured output."""

from __future__ import annotations

from yaoki.adapters.agents.structured.call_record import (
    Called,
    agent_of,
    call_of,
    fit,
    keep_call,
    keep_name,
)
from yaoki.adapters.agents.structured.reader import read_told, waiting
from yaoki.adapters.agents.structured.summary import Told

__all__ = [
    "Called",
    "Told",
    "agent_of",
    "call_of",
    "fit",
    "keep_call",
    "keep_name",
    "read_told",
    "waiting",
]
