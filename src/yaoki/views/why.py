"""Why a task stands where it stands: each decision with its rule, inputs and alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from yaoki.core.model import State
from yaoki.ports import Entry
from yaoki.views.story import failure_words, told
from yaoki.views.tasks import TaskView, waiting_for

DECISIONS = ("RETRY_DECISION", "ESCALATE_DECISION")
# The rules a decision can name, in one sentence each.
RULES: Mapping[str, str] = {
    "4.1": "only kinds of failure with a retry rule are tried again",
    "4.2": "a permanent fault is not retried; its cause is mended first",
    "4.6": "the same failure with the same work changes the strategy, then ends the retries",
    "4.8": "a fault of our own repeats the stage and costs the agent no try",
    "5.1": "retry while the kind's count and the total are below their maximum",
    "5.7": "what was reported as not safe to retry is never retried by itself",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """A retry or an escalation, with the rule behind it."""

    at: datetime
    attempt: int
    verdict: str
    failure: str
    reasoning: str
    rule: str
    inputs: Mapping[str, Any]
    otherwise: tuple[str, ...]

    @property
    def rule_words(self) -> str:
        return RULES.get(self.rule, "")


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt in a line or two."""

    attempt: int
    at: datetime
    agent: str
    checks: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything `yaoki why` shows of one task; the newest decision stands first."""

    view: TaskView
    headline: str
    waits_for: str
    decisions: tuple[Decision, ...]
    tries: tuple[Try, ...]
    proven: Mapping[str, str] = field(default_factory=dict)
    message: str = ""


def explain(
    view: TaskView, entries: Sequence[Entry], now: datetime, names: Mapping[str, str]
) -> Explanation:
    """`entries` are the task's journal, oldest first."""
    decisions = tuple(_decision(e) for e in reversed(entries) if e.event in DECISIONS)
    waits = waiting_for(view, now, names)
    done = view.row.state is State.DONE
    escalated = view.row.state is State.ESCALATED
    return Explanation(
        view,
        _headline(view, waits, names),
        waits,
        decisions,
        _tries(entries),
        _proof(entries, view.row.landed) if done else {},
        _last_message(entries) if escalated else "",
    )


def _headline(view: TaskView, waits: str, names: Mapping[str, str]) -> str:
    row = view.row
    match row.state:
        case State.DONE:
            return f"DONE: landed as {row.landed[:10]}" if row.landed else "DONE"
        case State.ESCALATED:
            return f"ESCALATED: {view.reason}; a person must answer"
        case State.WAITING if view.blocked:
            cause = names.get(view.cause, view.cause)
            return f"WAITING: {view.reason}; {cause} ({view.cause}) did not land"
        case State.WAITING:
            return f"WAITING: {waits}"
        case State.ACTIVE:
            ending = ", being cancelled" if row.cancel_wanted else ""
            return f"ACTIVE: {row.stage}, attempt {row.attempt}{ending}"
        case State.CANCELLED | State.REPLACED:
            return row.state.value


def _decision(entry: Entry) -> Decision:
    data, why = entry.data, entry.data.get("why", {})
    escalated = entry.event == "ESCALATE_DECISION"
    reasoning = data["reason"]["description"] if escalated else data["reasoning"]
    return Decision(
        entry.at,
        entry.attempt,
        "ESCALATE" if escalated else "RETRY",
        failure_words(data["failure"]),
        reasoning,
        why.get("rule", ""),
        why.get("inputs", {}),
        tuple(why.get("otherwise", ())),
    )


ENDS = (*DECISIONS, "TASK_LANDED", "TASK_CANCELLED")


def _tries(entries: Sequence[Entry]) -> tuple[Try, ...]:
    tries: dict[int, Try] = {}
    for entry in entries:
        if entry.event == "ATTEMPT_STARTED":
            tries[entry.attempt] = Try(entry.attempt, entry.at, entry.data["agent"])
        known = tries.get(entry.attempt)
        if known is None:
            continue
        if entry.event == "CHECK_FINISHED":
            checks = {**known.checks, entry.data["check"]: entry.data["outcome"]}
            tries[entry.attempt] = replace(known, checks=checks)
        elif entry.event in ENDS:
            tries[entry.attempt] = replace(known, ended=told(entry))
    return tuple(tries.values())


def _proof(entries: Sequence[Entry], landed: str) -> Mapping[str, str]:
    """What the checks said of exactly the commit that landed."""
    judged = [e.data for e in entries if e.event == "QUALITY_JUDGMENT" and e.data["passed"]]
    held = next((data for data in reversed(judged) if data["commit"] == landed), None)
    return held.get("checks", {}) if held else {}


def _last_message(entries: Sequence[Entry]) -> str:
    told_ = [e.data["user_message"] for e in entries if e.event == "ESCALATE_EXECUTED"]
    return str(told_[-1]) if told_ else ""
