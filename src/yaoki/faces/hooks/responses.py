"""What a hook may answer, in the words that the agents take.  Nothing is imported here."""

from __future__ import annotations

Answer = dict[str, object]

# The one who does not end at `continue: false`, as measured.
DEAF_TO_THE_END = ("qwen",)


def nothing(message: str = "") -> Answer:
    """Go on as if there were no hook; the person may be told something."""
    return {"systemMessage": f"yaoki: {message}"} if message else {}


def refused(reason: str) -> Answer:
    """The stop is refused, and the agent is told why."""
    return {"decision": "block", "reason": reason}


def ended(agent: str, question: str) -> Answer:
    """The stop is let through, and the person is asked."""
    words = f"yaoki: {question}"
    if agent in DEAF_TO_THE_END:
        return {"systemMessage": words}
    return {"continue": False, "stopReason": words, "systemMessage": words}


def told(event: str, context: str) -> Answer:
    """The prompt goes through, and the agent is told something beside it."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def taken(words: str) -> Answer:
    """The prompt was for yaoki and does not reach the agent."""
    return {"decision": "block", "reason": f"yaoki: {words}"}
