"""Stored names in plain words, for readers who know only the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.core.model.patterns import PATTERNS

KINDS: Mapping[str, str] = {
    "INCOMPLETE": "not finished",
    "QUALITY_FAILURE": "not good enough",
    "TIMEOUT": "took too long",
    "TRANSIENT_ERROR": "a temporary error",
    "RATE_LIMIT": "its service asked to wait",
    "CONFLICT": "in conflict with other work",
    "LOST": "interrupted, and started again",
    "FATAL_ERROR": "could not continue by itself",
    "ESCALATE_REQUIRED": "asked a person",
    "RESOURCE_EXHAUSTED": "its budget was used up",
}
REASONS: Mapping[str, str] = {
    "MAX_RETRIES": "out of retries",
    "MAX_RETRIES_INTEGRATION": "out of retries, including the one from the newest work",
    "CONFLICT": "in conflict with other work",
    "SYSTEM_ERROR_TRANSIENT": "a temporary error persists",
    "SYSTEM_ERROR_PERMANENT": "something is missing or forbidden",
    "MANUAL": "a person stepped in",
    "DEPENDENCY_FAILED": "cannot start",
    "NEEDS_HUMAN": "it has a question",
    "RESOURCE_EXHAUSTED": "its budget is used up",
    "UNKNOWN": "for an unknown reason",
}

# How an agent ended abnormally.
ENDS: Mapping[str, str] = {
    "hang": "its agent hung and was stopped",
    "deadline": "its agent took too long and was stopped",
    "output": "its agent wrote far too much and was stopped",
    "lease": "its agent was interrupted with its worker",
    "cancel": "its agent was stopped on request",
    "stop": "its agent was stopped on request",
}
# What a person answered.
CHOICES: Mapping[str, str] = {
    "retry": "a person asked for a retry",
    "done": "a person took it over",
    "waive": "a person waived it",
    "abort": "a person gave it up",
}


def describe_cause(kind: str, pattern: str | None) -> str:
    """The pattern of a failure in words, or its kind; a user's own pattern keeps its name."""
    if not pattern:
        return KINDS.get(kind, kind)
    if pattern in PATTERNS:
        return PATTERNS[pattern].plain_words
    return f"{KINDS.get(kind, kind)}: {pattern}"


def describe_reason(name: str | None) -> str:
    return REASONS.get(name or "UNKNOWN", str(name))


def describe_agent_end(name: str) -> str:
    """`hang` or `signal 11` in words."""
    what, _, number = name.partition(" ")
    died = {
        "signal": f"its agent crashed (signal {number})",
        "code": f"its agent ended with exit code {number}",
    }
    return ENDS.get(name) or died.get(what, f"its agent was stopped ({name})")


def describe_choice(choice: str) -> str:
    return CHOICES.get(choice, "a person answered")


def describe_failure(failure: Mapping[str, Any]) -> str:
    """A failure of the report document: its cause in words, and what failed first."""
    return f"{describe_cause(failure['kind'], failure['pattern'])}: {failure['subject']}"


def describe_end(attempt: Mapping[str, Any]) -> str:
    """How an attempt of the report document ended; empty while it has not."""
    return describe_failure(attempt["failure"]) if attempt["failure"] else attempt["ended"] or ""
