"""Names on the wire in words for people who read a report and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "INCOMPLETE": "not finished",
    "QUALITY_FAILURE": "not good enough",
    "TIMEOUT": "took too long",
    "TRANSIENT_ERROR": "a passing error",
    "RATE_LIMIT": "its service asked to wait",
    "CONFLICT": "in conflict with other work",
    "LOST": "cut off, and begun anew",
    "FATAL_ERROR": "could not go on by itself",
    "ESCALATE_REQUIRED": "asked a person",
    "RESOURCE_EXHAUSTED": "its budget was used up",
}
PATTERNS: Mapping[str, str] = {
    "git-dirty": "files were left uncommitted",
    "test-failed": "tests failed",
    "type-error": "types do not fit",
    "lint-error": "the linter complains",
    "format-error": "not formatted",
    "file-not-exists": "a file is missing",
    "merge-conflict": "in conflict with other work",
    "out-of-scope": "changed what was not its to change",
    "mass-deletion": "deleted far too much",
    "omission": "parts were left out",
    "todo-added": "work was put off in a comment",
    "syntax-error": "broken code",
    "no-change": "nothing was changed",
    "test-weakened": "tests were weakened",
    "branch-not-pushed": "its branch was not pushed",
    "agent-failed": "the agent says that it failed",
    "too-large": "larger than a change may be",
    "secret-added": "a secret stands in the change",
}
REASONS: Mapping[str, str] = {
    "MAX_RETRIES": "its tries are used up",
    "MAX_RETRIES_INTEGRATION": "its tries are used up, and so is the one from the newest work",
    "CONFLICT": "in conflict with other work",
    "SYSTEM_ERROR_TRANSIENT": "a passing error does not pass",
    "SYSTEM_ERROR_PERMANENT": "something is missing or forbidden",
    "MANUAL": "a person stepped in",
    "DEPENDENCY_FAILED": "cannot start",
    "NEEDS_HUMAN": "it has a question",
    "RESOURCE_EXHAUSTED": "its budget is used up",
    "UNKNOWN": "for a reason that was not told",
}

# How an agent ended that did not end well.
ENDS: Mapping[str, str] = {
    "hang": "its agent hung and was ended",
    "deadline": "its agent took too long and was ended",
    "output": "its agent wrote far too much and was ended",
    "lease": "its agent was cut off with its worker",
    "cancel": "its agent was ended on request",
    "stop": "its agent was ended on request",
}
# What a person answered.
CHOICES: Mapping[str, str] = {
    "retry": "a person had it tried again",
    "done": "a person took it over",
    "waive": "a person let it pass",
    "abort": "a person gave it up",
}


def describe_cause(kind: str, pattern: str | None) -> str:
    """What exactly failed where that is known; a pattern of the user's own has its own name."""
    if not pattern:
        return KINDS.get(kind, kind)
    return PATTERNS.get(pattern) or f"{KINDS.get(kind, kind)}: {pattern}"


def describe_reason(name: str | None) -> str:
    return REASONS.get(name or "UNKNOWN", str(name))


def describe_agent_end(name: str) -> str:
    """`hang` or `signal 11` in words."""
    what, _, number = name.partition(" ")
    died = {
        "signal": f"its agent crashed (signal {number})",
        "code": f"its agent ended with exit code {number}",
    }
    return ENDS.get(name) or died.get(what, f"its agent was ended ({name})")


def describe_choice(choice: str) -> str:
    return CHOICES.get(choice, "a person answered")


def describe_ending(told: str) -> str:
    """`INCOMPLETE omission: words.py:3` in words; anything else is told in words already."""
    head, colon, rest = told.partition(": ")
    kind, _, pattern = head.partition(" ")
    if kind not in KINDS or " " in pattern:
        return told
    return f"{describe_cause(kind, pattern)}{colon}{rest}"
