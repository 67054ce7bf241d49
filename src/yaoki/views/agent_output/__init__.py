"""The JSON lines of an agent as text for people: messages, tool calls, the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from yaoki.views.agent_output import acp, common_agents, further_agents
from yaoki.views.agent_output.pieces import GLANCE_CHARS, WORDS_CHARS, Form, silent

__all__ = ["GLANCE_CHARS", "WORDS_CHARS", "format_agent_output"]

_FORMS = {**common_agents.FORMS, **further_agents.FORMS, **acp.FORMS}


def format_agent_output(text: str) -> str:
    """The log as text for people.  A line that is no event of a known form is left unchanged."""
    return "".join(f"{words}\n" for line in text.splitlines() for words in _lines(line))


def _lines(line: str) -> Iterator[str]:
    try:
        text = _event_lines(line)
    except (ValueError, RecursionError):
        text = None
    if text is None:
        yield line
        return
    yield from (words for words in text if words)


def _event_lines(line: str) -> list[str] | None:
    event: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
    read = _find_form(event)
    return read(event) if read else None


def _find_form(event: dict[str, Any]) -> Form | None:
    match event:
        case {"type": str(name)} if name in _FORMS:
            return _FORMS[name]
        case {"type": str(name), "data": dict()} if name.startswith(further_agents.SILENT_GROUPS):
            return silent
        case {"kind": str(name), "source": str()}:
            return further_agents.KINDS.get(name)
        case {"status": str()} if "type" not in event:
            return further_agents.read_continue
        case _:
            return None
