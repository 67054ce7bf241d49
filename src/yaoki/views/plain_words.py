"""Stored names in plain words, for lines of a run, for `why` and for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.core.model.enums import Reason, State
from yaoki.core.model.outcome import END_WORDS
from yaoki.core.model.patterns import PATTERNS
from yaoki.core.model.race import RaceCriterion

KINDS: Mapping[str, str] = {
    "INCOMPLETE": "not finished",
    "QUALITY_FAILURE": "not good enough",
    "TIMEOUT": "took too long or hung",
    "TRANSIENT_ERROR": "a temporary error",
    "RATE_LIMIT": "rate limited by its service",
    "CONFLICT": "in conflict with other work",
    "LOST": "interrupted",
    "FATAL_ERROR": "could not continue without a person",
    "ESCALATE_REQUIRED": "asked a person",
    "RESOURCE_EXHAUSTED": "its budget was used up",
}
REASONS: Mapping[str, str] = {
    "MAX_RETRIES": "out of retries",
    "MAX_RETRIES_INTEGRATION": "out of retries, including the re-run",
    "CONFLICT": "in conflict with other work",
    "SYSTEM_ERROR_TRANSIENT": "a temporary error persists",
    "SYSTEM_ERROR_PERMANENT": "something is missing or forbidden",
    "MANUAL": "a person undid its landing",
    "DEPENDENCY_FAILED": "cannot start",
    "NEEDS_HUMAN": "a person must decide",
    "RESOURCE_EXHAUSTED": "its budget is used up",
    "UNKNOWN": "the reason is unknown",
}

# The pattern of a failed check whose failure has no pattern of its own.
UNRECOGNISED = "check-failed"
# A cancelled task whose landing a person had undone before.
UNDONE_AND_GIVEN_UP = "a person undid its landing and then gave it up"
# What a person answered.
CHOICES: Mapping[str, str] = {
    "retry": "a person asked for a retry",
    "done": "a person took it over",
    "waive": "a person waived it",
    "abort": "a person gave it up",
}

# Why verified work could not land and is verified again.
REFUSALS: Mapping[str, str] = {
    "moved": "other work landed first",
    "predecessor": "the work of another task, on top of which its checks had run, did not land",
    "waited": "it enters the merge queue behind tasks that have not landed yet",
    "companion": "a task whose work was checked together with its own was withdrawn",
    "answer": "a task that its answer names no longer exists",
    "unknown": "the branch did not accept its verified commit",
}


# Why a candidate won its race.
CRITERIA: Mapping[str, str] = {
    RaceCriterion.NONE: "no candidate passed its checks",
    RaceCriterion.FIRST: "it was the first that passed its checks",
    RaceCriterion.ONLY: "no other candidate passed its checks",
    RaceCriterion.HIDDEN_CHECKS: "it failed fewer hidden checks",
    RaceCriterion.MUTANTS: "fewer mutants survived its tests",
    RaceCriterion.JUDGE: "the judge chose it",
    RaceCriterion.DIFF: "its diff is smaller",
    RaceCriterion.COST: "it cost less",
    RaceCriterion.NUMBER: "the candidates do not differ; it has the lowest number",
}


def describe_criterion(name: str) -> str:
    return CRITERIA.get(name, name)


def read_refusal_cause(data: Mapping[str, Any]) -> str:
    """The cause in a LAND_REFUSED entry; older journals have `why` instead of `companion`."""
    return str(data.get("cause") or ("companion" if data.get("why") else "moved"))


def describe_pattern(pattern: str) -> str:
    """The pattern in words; a user's own pattern keeps its name."""
    if pattern == UNRECOGNISED:
        return "a check failed"
    return PATTERNS[pattern].plain_words if pattern in PATTERNS else pattern


def describe_cause(kind: str, pattern: str | None) -> str:
    """The pattern of a failure in words, or its kind."""
    if not pattern:
        return KINDS.get(kind, kind)
    known = describe_pattern(pattern)
    return known if pattern in PATTERNS else f"{KINDS.get(kind, kind)}: {known}"


def describe_reason(name: str | None) -> str:
    return REASONS.get(name or "UNKNOWN", str(name))


def describe_removal(state: str, reason: str | None) -> str:
    """Why a task is cancelled; empty if its state needs no further words.

    Only an undo sets this reason, and every answer but `abort` clears it.
    """
    undone = state == State.CANCELLED and reason == Reason.MANUAL
    return UNDONE_AND_GIVEN_UP if undone else ""


def describe_absence(state: str, reason: str | None) -> str:
    """Why work that others need is not on the run branch, to follow the name of its task."""
    return "was undone" if describe_removal(state, reason) else "did not land"


def describe_agent_end(name: str) -> str:
    """`hang` or `signal 11` in words, to follow "the agent"."""
    what, _, number = name.partition(" ")
    died = {"signal": f"crashed (signal {number})", "code": f"ended with exit code {number}"}
    return END_WORDS.get(name) or died.get(what, f"was stopped ({name})")


def describe_choice(choice: str) -> str:
    return CHOICES.get(choice, "a person answered")


def describe_failure(failure: Mapping[str, Any]) -> str:
    """A failure of the report document: its cause in words, and what failed first."""
    return f"{describe_cause(failure['kind'], failure['pattern'])}: {failure['subject']}"


def describe_end(attempt: Mapping[str, Any]) -> str:
    """How an attempt of the report document ended; empty while it has not."""
    return describe_failure(attempt["failure"]) if attempt["failure"] else attempt["ended"] or ""
