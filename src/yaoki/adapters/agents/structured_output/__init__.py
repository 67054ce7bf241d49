"""The end of known agents, read from their structured output."""

from __future__ import annotations

from yaoki.adapters.agents.structured_output.call_record import (
    CallRecord,
    identify_agent,
    read_call_record,
    record_agent_name,
    validate_session,
    write_call_record,
)
from yaoki.adapters.agents.structured_output.reader import (
    find_output_preset,
    read_announced_wait,
    read_summary,
)
from yaoki.adapters.agents.structured_output.summary import OutputSummary

__all__ = [
    "CallRecord",
    "OutputSummary",
    "find_output_preset",
    "identify_agent",
    "read_announced_wait",
    "read_call_record",
    "read_summary",
    "record_agent_name",
    "validate_session",
    "write_call_record",
]
