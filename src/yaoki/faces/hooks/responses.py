"""The answers of a hook in the form that agents accept.  Imports nothing."""

from __future__ import annotations

HookResponse = dict[str, object]

# The agent that does not end at `continue: false`, as measured.
AGENTS_IGNORING_STOP_REASON = ("qwen",)


def allow(message: str = "") -> HookResponse:
    """Continue as if there were no hook, with an optional message to the person."""
    return {"systemMessage": f"yaoki: {message}"} if message else {}


def refuse_stop(reason: str) -> HookResponse:
    """Refuse the stop; the agent gets the reason."""
    return {"decision": "block", "reason": reason}


def end_and_ask(agent: str, question: str) -> HookResponse:
    """Allow the stop and ask the person."""
    words = f"yaoki: {question}"
    if agent in AGENTS_IGNORING_STOP_REASON:
        return {"systemMessage": words}
    return {"continue": False, "stopReason": words, "systemMessage": words}


def add_context(event: str, context: str) -> HookResponse:
    """Pass the prompt on, with more context for the agent."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def consume_prompt(words: str) -> HookResponse:
    """The prompt was for yaoki and does not reach the agent."""
    return {"decision": "block", "reason": f"yaoki: {words}"}
