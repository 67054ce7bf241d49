"""Events of pi, GitHub Copilot CLI, Continue and OpenHands."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.views.agent_output.pieces import (
    Data,
    Form,
    clip_words,
    joined_text,
    note,
    part_at,
    silent,
    text_at,
    tool_call,
    tool_output,
)

# ------------------------------------------------------------------ pi


def _pi_message(event: Data) -> list[str] | None:
    message = part_at(event, "message")
    if not isinstance(message, Mapping):
        return None
    if text_at(message, "role") != "assistant":
        return []
    error = text_at(message, "errorMessage")
    return [
        clip_words(joined_text(part_at(message, "content"))),
        *([note("error:", error)] if error else []),
    ]


def _pi_tool_start(event: Data) -> list[str]:
    return [tool_call(text_at(event, "toolName"), part_at(event, "args"))]


def _pi_tool_end(event: Data) -> list[str]:
    output = joined_text(part_at(event, "result", "content"))
    return [tool_output(output, failed=event.get("isError") is True)]


def _pi_retry(event: Data) -> list[str]:
    return [note("retry:", text_at(event, "errorMessage"))]


# ------------------------------------------------------------------ Copilot


def _copilot_message(event: Data) -> list[str] | None:
    content = part_at(event, "data", "content")
    return [clip_words(content)] if isinstance(content, str) else None


def _copilot_tool_start(event: Data) -> list[str]:
    return [tool_call(text_at(event, "data", "toolName"), part_at(event, "data", "arguments"))]


def _copilot_tool_end(event: Data) -> list[str]:
    output = text_at(event, "data", "result", "content") or text_at(event, "data", "error")
    return [tool_output(output, failed=part_at(event, "data", "success") is False)]


def _copilot_error(event: Data) -> list[str]:
    return [note("error:", text_at(event, "data", "message"))]


def _copilot_retry(event: Data) -> list[str]:
    return [note("retry:", text_at(event, "data", "reason"))]


# ------------------------------------------------------------------ Continue and OpenHands


def read_continue(event: Data) -> list[str] | None:
    """Its only line: an object with the whole answer, or with the error."""
    status, answer = text_at(event, "status"), part_at(event, "response")
    if status == "error":
        return [note("error:", text_at(event, "message"))]
    return [clip_words(answer), note("ended:", status)] if isinstance(answer, str) else None


def _openhands_message(event: Data) -> list[str]:
    content = part_at(event, "llm_message", "content")
    return [clip_words(joined_text(content))] if event.get("source") == "agent" else []


def _openhands_action(event: Data) -> list[str]:
    arguments = part_at(event, "action") or text_at(event, "tool_call", "arguments")
    thought = joined_text(part_at(event, "thought"))
    return [clip_words(thought), tool_call(text_at(event, "tool_name"), arguments)]


def _openhands_observation(event: Data) -> list[str]:
    content = part_at(event, "observation", "content")
    failed = part_at(event, "observation", "is_error") is True
    return [tool_output(joined_text(content) or content, failed=failed)]


def _openhands_error(event: Data) -> list[str]:
    words = text_at(event, "detail") or text_at(event, "error")
    return [note("error:", text_at(event, "code"), words)]


FORMS: Mapping[str, Form] = {
    "session": lambda event: [note("session", text_at(event, "id"))],
    "agent_start": silent,
    "agent_end": lambda _: [note("ended")],
    "agent_settled": silent,
    "turn_start": silent,
    "turn_end": silent,
    "message_start": silent,
    "message_update": silent,
    "message_end": _pi_message,
    "tool_execution_start": _pi_tool_start,
    "tool_execution_update": silent,
    "tool_execution_end": _pi_tool_end,
    "auto_retry_start": _pi_retry,
    "auto_retry_end": silent,
    "assistant.message": _copilot_message,
    "assistant.turn_retry": _copilot_retry,
    "tool.execution_start": _copilot_tool_start,
    "tool.execution_complete": _copilot_tool_end,
    "session.error": _copilot_error,
}
# Copilot prints many more events; those of these groups say nothing to a person.
SILENT_GROUPS = ("session.", "assistant.", "tool.", "model.", "user.", "subagent.", "hook.")
# Events of OpenHands have a kind and no type.
KINDS: Mapping[str, Form] = {
    "MessageEvent": _openhands_message,
    "ActionEvent": _openhands_action,
    "ObservationEvent": _openhands_observation,
    "AgentErrorEvent": _openhands_error,
    "ConversationErrorEvent": _openhands_error,
    "SystemPromptEvent": silent,
    "ConversationStateUpdateEvent": silent,
}
