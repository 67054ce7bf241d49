"""Why a task stands where it stands: each decision with its rule, inputs and alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import State
from yaoki.ports import JournalEntry
from yaoki.views.entry_text import describe_entry, failure_words
from yaoki.views.outcomes import outcome_words
from yaoki.views.tasks import TaskView, describe_wait
from yaoki.views.warnings import collect_warnings

FAILED_SHOWN = 5
WARNINGS_SHOWN = 10
# What was decided, by the event that tells it.
DECISION_OF_EVENT: Mapping[str, str] = {
    "RETRY_DECISION": "RETRY",
    "ESCALATE_DECISION": "ESCALATE",
    "RERUN_HELD": "HOLD",
    "RERUN_GRANTED": "RERUN",
    "RECOVERY_START": "RECOVER",
    "TASK_BLAMED": "BLAME",
}
# The rules a decision can name, in one sentence each.
RULES: Mapping[str, str] = {
    "3.5": "a task that changed nothing is sent back once; then a person decides",
    "3.7": "an attempt that was cut off is lost, not failed: a fresh one begins anew",
    "4.1": "only kinds of failure with a retry rule are tried again",
    "4.2": "a permanent fault is not retried; its cause is mended first",
    "4.6": "the same failure with the same work changes the strategy, then ends the retries",
    "4.8": "a fault of our own repeats the stage and costs the agent no try",
    "5.1": "retry while the kind's count and the total are below their maximum",
    "6.5": "a check without an agent is not asked again about the same commit",
    "5.4": "a limit that lasts longer than rate_limit_wait_max parks the task until then",
    "8.3": "a group is recovered once; what fails again lands in part, or a person is asked",
    "8.4": "one re-run from the run branch's head, once per lineage, if others have landed",
    "10.4": "what a person took over is verified, not retried",
    "10.6": "past its budget no further agent is started",
    "5.7": "what was reported as not safe to retry is never retried by itself",
}


@dataclass(frozen=True, slots=True)
class ExplainedDecision:
    """A retry or an escalation, with the rule behind it."""

    at: datetime
    attempt: int
    decision: str
    failure: str
    reasoning: str
    rule: str
    inputs: Mapping[str, Any]
    alternatives: tuple[str, ...]

    @property
    def rule_words(self) -> str:
        return RULES.get(self.rule, "")


@dataclass(frozen=True, slots=True)
class AttemptSummary:
    """One attempt in a line or two, with what its agent told of itself."""

    attempt: int
    at: datetime
    agent: str
    checks: Mapping[str, str] = field(default_factory=dict)
    # The same with their numbers of tests, for people.
    check_words: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    session: str = ""
    cost: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything `yaoki why` shows of one task; the newest decision stands first."""

    view: TaskView
    headline: str
    wait_words: str
    decisions: tuple[ExplainedDecision, ...]
    attempts: tuple[AttemptSummary, ...]
    proof: Mapping[str, str] = field(default_factory=dict)
    # The same with their numbers of tests, for people.
    proof_words: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    # When it was cancelled or replaced.
    ended_at: datetime | None = None
    # What was noticed beside the work, such as refs that changed meanwhile; each once.
    warnings: tuple[str, ...] = ()


def explain(
    view: TaskView, entries: Sequence[JournalEntry], now: datetime, names: Mapping[str, str]
) -> Explanation:
    """`entries` are the task's journal, oldest first."""
    decisions = tuple(_decision(e) for e in reversed(entries) if e.event in DECISION_OF_EVENT)
    waits = describe_wait(view, now, names)
    if view.row.due_at is not None and view.row.due_at > now:
        waits += _declined(entries)
    done = view.row.state is State.DONE
    escalated = view.row.state is State.ESCALATED
    end = _end(view, entries)
    return Explanation(
        view,
        _ended(end) if end else _headline(view, waits, names),
        waits,
        decisions,
        _tries(entries),
        _proof(entries, view.row.landed_commit) if done else {},
        _proof_told(entries, view.row.landed_commit) if done else {},
        _last_message(entries) if escalated else "",
        end.at if end else None,
        tuple(one.words for one in collect_warnings(entries).by_text.values())[:WARNINGS_SHOWN],
    )


def _end(view: TaskView, entries: Sequence[JournalEntry]) -> JournalEntry | None:
    """What took it out of the run without landing."""
    if view.row.state not in {State.CANCELLED, State.REPLACED}:
        return None
    ends = {"TASK_CANCELLED", "TASK_REPLACED", "ESCALATION_ANSWERED"}
    return next((entry for entry in reversed(entries) if entry.event in ends), None)


def _ended(end: JournalEntry) -> str:
    if end.event == "TASK_REPLACED":
        return f"REPLACED by {end.data['by']}"
    if end.event == "ESCALATION_ANSWERED":
        return "CANCELLED: a person answered abort"
    why = end.data.get("why", "")
    by = why.removeprefix("cancelled by ")
    return f"CANCELLED by {by}" if by != why else f"CANCELLED: {why}" if why else "CANCELLED"


def _declined(entries: Sequence[JournalEntry]) -> str:
    """A worker gave it back because something was not free: that is what it waits for."""
    last = next((e for e in reversed(entries) if e.event in (*END_EVENTS, "LEASE_RELEASED")), None)
    told_ = last.data.get("why", "") if last and last.event == "LEASE_RELEASED" else ""
    return f": {told_}" if told_ else ""


def _headline(view: TaskView, waits: str, names: Mapping[str, str]) -> str:
    row = view.row
    match row.state:
        case State.DONE:
            ended = f"; its agent: {row.agent_exit}" if row.agent_exit else ""
            return (
                f"DONE: landed as {row.landed_commit[:10]}{ended}" if row.landed_commit else "DONE"
            )
        case State.ESCALATED:
            return f"ESCALATED: {view.reason}; a person must answer"
        case State.WAITING if view.blocked:
            cause = names.get(view.blocked_by, view.blocked_by)
            return f"WAITING: {view.reason}; {cause} ({view.blocked_by}) did not land"
        case State.WAITING:
            return f"WAITING: {waits}"
        case State.ACTIVE:
            ending = ", being cancelled" if row.cancel_requested else ""
            return f"ACTIVE: {row.stage}, attempt {row.attempt}{ending}"
        case State.CANCELLED | State.REPLACED:
            return row.state.value


def _decision(entry: JournalEntry) -> ExplainedDecision:
    data, why = entry.data, entry.data.get("why", {})
    failure = data.get("failure")
    return ExplainedDecision(
        entry.at,
        entry.attempt,
        DECISION_OF_EVENT[entry.event],
        failure_words(failure) if failure else _cause(entry),
        _reasoning(entry),
        why.get("rule", ""),
        why.get("inputs", {}),
        tuple(why.get("otherwise", ())),
    )


def _cause(entry: JournalEntry) -> str:
    """A group has no failure of its own: it was decided because of others'."""
    if entry.event != "RECOVERY_START":
        return ""
    failed = entry.data.get("failed_subtasks", ())
    more = f" and {len(failed) - FAILED_SHOWN} more" if len(failed) > FAILED_SHOWN else ""
    return f"{', '.join(failed[:FAILED_SHOWN])}{more} failed" if failed else ""


def _reasoning(entry: JournalEntry) -> str:
    data = entry.data
    match entry.event:
        case "RETRY_DECISION":
            return str(data["reasoning"])
        case "ESCALATE_DECISION":
            return str(data["reason"]["description"])
        case "RERUN_HELD":
            return str(data.get("why", {}).get("inputs", {}).get("reasoning", ""))
        case "RECOVERY_START":
            why = data.get("why", {}).get("inputs", {}).get("reason", "")
            return f"{data['strategy']}: {why}" if why else describe_entry(entry)
        case _:
            return describe_entry(entry)


END_EVENTS = ("RETRY_DECISION", "ESCALATE_DECISION", "RERUN_HELD", "TASK_LANDED", "TASK_CANCELLED")


def _tries(entries: Sequence[JournalEntry]) -> tuple[AttemptSummary, ...]:
    tries: dict[int, AttemptSummary] = {}
    base = ""
    for entry in entries:
        if entry.event == "ATTEMPT_STARTED":
            base = entry.data.get("base", "")
            tries[entry.attempt] = AttemptSummary(entry.attempt, entry.at, entry.data["agent"])
        known = tries.get(entry.attempt)
        if known is None:
            continue
        if entry.event == "CHECK_FINISHED":
            checks = {**known.checks, entry.data["check"]: entry.data["outcome"]}
            words = {**known.check_words, entry.data["check"]: outcome_words(entry.data)}
            tries[entry.attempt] = replace(known, checks=checks, check_words=words)
        elif entry.event == "AGENT_FINISHED":
            tries[entry.attempt] = _used(known, entry.data["exit"])
        elif entry.event in END_EVENTS:
            nothing = bool(base) and entry.data.get("kept") == base
            ended = "cancelled; it had changed nothing" if nothing else describe_entry(entry)
            tries[entry.attempt] = replace(known, ended=ended)
    return tuple(tries.values())


def _used(one: AttemptSummary, exit_: Mapping[str, Any]) -> AttemptSummary:
    """What the agent told of itself; an unknown cost stays unknown."""
    session = exit_.get("session", "")
    return replace(one, session=session, cost=exit_.get("cost"), tokens=exit_.get("tokens"))


def _proof(entries: Sequence[JournalEntry], landed: str) -> Mapping[str, str]:
    """What the checks said of exactly the commit that landed."""
    judged = [e.data for e in entries if e.event == "QUALITY_JUDGMENT" and e.data["passed"]]
    held = next((data for data in reversed(judged) if data["commit"] == landed), None)
    return held.get("checks", {}) if held else {}


def _proof_told(entries: Sequence[JournalEntry], landed: str) -> Mapping[str, str]:
    seen = {
        e.data["check"]: outcome_words(e.data)
        for e in entries
        if e.event == "CHECK_FINISHED" and e.data["commit"] == landed
    }
    return {name: seen.get(name, outcome) for name, outcome in _proof(entries, landed).items()}


def _last_message(entries: Sequence[JournalEntry]) -> str:
    told_ = [e.data["user_message"] for e in entries if e.event == "ESCALATE_EXECUTED"]
    return str(told_[-1]) if told_ else ""
