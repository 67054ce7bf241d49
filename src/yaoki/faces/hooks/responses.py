"""What a hook may answer, in the words that the agents take.  Nothing is imported here."""

from __future__ import annotations

HookResponse = dict[str, object]

# The one who does not end at `continue: false`, as measured.
AGENTS_IGNORING_STOP_REASON = ("qwen",)


def allow(message: str = "") -> HookResponse:
    """Go on as if there were no hook; the person may be told something."""
    return {"systemMessage": f"yaoki: {message}"} if message else {}


def refuse_stop(reason: str) -> HookResponse:
    """The stop is refused, and the agent is told why."""
    return {"decision": "block", "reason": reason}


def end_and_ask(agent: str, question: str) -> HookResponse:
    """The stop is let through, and the person is asked."""
    words = f"yaoki: {question}"
    if agent in AGENTS_IGNORING_STOP_REASON:
        return {"systemMessage": words}
    return {"continue": False, "stopReason": words, "systemMessage": words}


def add_context(event: str, context: str) -> HookResponse:
    """The prompt goes through, and the agent is told something beside it."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def consume_prompt(words: str) -> HookResponse:
    """The prompt was for yaoki and does not reach the agent."""
    return {"decision": "block", "reason": f"yaoki: {words}"}
