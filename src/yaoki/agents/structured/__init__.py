"""What known agents say of their own end, read from their structured output."""

from __future__ import annotations

from yaoki.agents.structured.called import Called, agent_of, call_of, fit, keep_call, keep_name
from yaoki.agents.structured.reading import read_told, waiting
from yaoki.agents.structured.told import Told

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
