"""What known agents say of their own end, read from their structured output."""

from __future__ import annotations

from yaoki.agents.structured.reading import agent_of, keep_name, read_told, waiting
from yaoki.agents.structured.told import Told

__all__ = ["Told", "agent_of", "keep_name", "read_told", "waiting"]
