"""Decisions about a task as the journal records them, each with its rule in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.views.entry_text import describe_entry, failure_words

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry

FAILED_SHOWN = 5


class DecisionKind(StrEnum):
    """The kinds of decisions about a task."""

    RETRY = "RETRY"
    ESCALATE = "ESCALATE"
    HOLD = "HOLD"
    RERUN = "RERUN"
    RECOVER = "RECOVER"
    BLAME = "BLAME"
    RACE = "RACE"


DECISION_OF_EVENT: Mapping[str, DecisionKind] = {
    "RETRY_DECISION": DecisionKind.RETRY,
    "ESCALATE_DECISION": DecisionKind.ESCALATE,
    "RERUN_HELD": DecisionKind.HOLD,
    "RERUN_GRANTED": DecisionKind.RERUN,
    "RECOVERY_START": DecisionKind.RECOVER,
    "TASK_BLAMED": DecisionKind.BLAME,
    "RACE_DECIDED": DecisionKind.RACE,
}
# The rules a decision can name, in one sentence each.
RULES: Mapping[str, str] = {
    "3.5": "a task that changed nothing is sent back once; then a person decides",
    "3.7": "an interrupted attempt counts as lost, not as failed: a new attempt starts",
    "4.1": "only kinds of failure with a retry rule are tried again",
    "4.2": "a permanent fault is not retried; its cause is fixed first",
    "4.6": "the same failure with the same work changes the strategy, then ends the retries",
    "4.8": "a fault of yaoki's own infrastructure repeats the stage; it counts as no attempt",
    "5.1": "retry while the retries of this kind, and of all kinds, are below their limits",
    "6.5": "a check without an agent is not repeated on the same commit",
    "5.4": "if a limit lasts longer than rate_limit_wait_max, the task waits until it ends",
    "8.3": "a group is recovered once; if it fails again, it lands in part or a person is asked",
    "8.4": "each lineage gets one re-run from the run branch's head, if other tasks have landed",
    "10.4": "what a person took over is verified, not retried",
    "10.6": "after the budget is used up, no further agent is started",
    "18.1": "no person is asked while the chain has another agent that may succeed",
    "18.4": "the first difference between proven candidates decides: hidden checks, mutants, "
    "a blind judge, diff, cost",
    "18.5": "learn: choose draws agent and conversation by their past fixes of such failures",
    "18.6": "a limit, an outage or a refusal by its service closes an account: one task tries it "
    "again, and an attempt without an answer of the model uses no retry",
    "18.7": "a requested stop uses no retry; every started agent run counts in the budgets",
    "5.7": "a failure that was reported as not safe to retry is never retried automatically",
}


@dataclass(frozen=True, slots=True)
class ExplainedDecision:
    """One decision with its rule, its inputs and what would have changed it."""

    at: datetime
    attempt: int
    decision: DecisionKind
    failure: str
    failure_kind: str
    pattern: str
    reasoning: str
    rule: str
    inputs: Mapping[str, Any]
    alternatives: tuple[str, ...]
    # The draw that chose agent and conversation of the next attempt, if there was one.
    draw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rule_words(self) -> str:
        return RULES.get(self.rule, "")


def read_decision(entry: JournalEntry) -> ExplainedDecision:
    why = entry.data.get("why", {})
    failure = entry.data.get("failure") or {}
    return ExplainedDecision(
        entry.at,
        entry.attempt,
        DECISION_OF_EVENT[entry.event],
        failure_words(failure) if failure else _cause(entry),
        failure.get("kind", ""),
        failure.get("pattern", ""),
        _reasoning(entry),
        why.get("rule", ""),
        why.get("inputs", {}),
        tuple(why.get("otherwise", ())),
        entry.data.get("draw") or {},
    )


def _cause(entry: JournalEntry) -> str:
    """A group has no failure of its own; its recovery is decided because of its subtasks'."""
    if entry.event != "RECOVERY_START":
        return ""
    failed = entry.data.get("failed_subtasks", ())
    more = f" and {len(failed) - FAILED_SHOWN} more" if len(failed) > FAILED_SHOWN else ""
    return f"{', '.join(failed[:FAILED_SHOWN])}{more} failed" if failed else ""


def _reasoning(entry: JournalEntry) -> str:
    data = entry.data
    match entry.event:
        case "RETRY_DECISION":
            return str(data.get("reasoning", ""))
        case "ESCALATE_DECISION":
            return str((data.get("reason") or {}).get("description", ""))
        case "RERUN_HELD":
            return str(data.get("why", {}).get("inputs", {}).get("reasoning", ""))
        case "RECOVERY_START":
            why = data.get("why", {}).get("inputs", {}).get("reason", "")
            return f"{data['strategy']}: {why}" if why else describe_entry(entry)
        case _:
            return describe_entry(entry)
