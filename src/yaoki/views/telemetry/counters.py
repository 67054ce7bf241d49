"""Counters derived from the journal entry by entry; they can be stored and continued.

They count entries, and keep nothing of a task but since when it waits for a person: histories of
all tasks of all runs would neither fit into memory nor into the file of the counters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from yaoki.core.model import Choice, FailureKind, Outcome, Reason
from yaoki.core.model.patterns import PATTERNS
from yaoki.ports import JournalEntry
from yaoki.ports.metric_families import (
    COUNTER,
    HISTOGRAM,
    METRIC_FAMILIES,
    Labels,
    Sample,
)
from yaoki.views.history.entry_values import read_agent_run, read_failure

# The most series of a metric, whatever names a plan uses.
SERIES_MAX = 200
OTHER = "OTHER"


class Counters:
    """Totals since the journal began."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, Labels], float] = {}
        self._series: dict[str, int] = {}
        # Since when each task waits for a person.
        self._waiting_since: dict[str, datetime] = {}

    def count_entry(self, entry: JournalEntry) -> None:
        count = _COUNT_BY_EVENT.get(entry.event)
        if count is not None:
            count(self, entry)

    def increment(self, name: str, by: float = 1.0, **labels: str) -> None:
        self._add(name, tuple(sorted(labels.items())), by, name)

    def observe(self, name: str, seconds: float) -> None:
        """Counts one observation in its bucket; `samples` adds up the buckets."""
        buckets = METRIC_FAMILIES[name].buckets
        at = bisect_left(buckets, seconds)
        upper_bound = f"{buckets[at]:g}" if at < len(buckets) else "+Inf"
        self._add(f"{name}_bucket", (("le", upper_bound),), 1.0, name)
        self._add(f"{name}_sum", (), max(0.0, seconds), name)
        self._add(f"{name}_count", (), 1.0, name)

    def _add(self, name: str, labels: Labels, by: float, family: str) -> None:
        key = name, labels
        if key not in self._values and labels:
            if self._series.get(family, 0) >= SERIES_MAX:
                key = name, tuple((label, OTHER) for label, _ in labels)
            self._series[family] = self._series.get(family, 0) + 1
        self._values[key] = round(self._values.get(key, 0.0) + by, 6)

    # -------------------------------------------------------------- waits for persons

    def start_person_wait(self, entry: JournalEntry) -> None:
        self._waiting_since[entry.task_id] = entry.at

    def end_person_wait(self, entry: JournalEntry) -> None:
        since = self._waiting_since.pop(entry.task_id, None)
        if since is not None:
            seconds = max(0.0, (entry.at - since).total_seconds())
            self.increment("yaoki_wait_seconds_total", seconds, cause="PERSON")

    # -------------------------------------------------------------- samples and storage

    def samples(self) -> Iterator[Sample]:
        """Counters without labels start at 0, so that their first increase is visible."""
        counter_names = {name for name, family in METRIC_FAMILIES.items() if family.type == COUNTER}
        for name in sorted(counter_names):
            if not METRIC_FAMILIES[name].labels and (name, ()) not in self._values:
                yield Sample(name, name, (), 0.0)
        for (name, labels), value in sorted(self._values.items()):
            if name in counter_names:
                yield Sample(name, name, labels, value)
        for name, family in METRIC_FAMILIES.items():
            if family.type == HISTOGRAM:
                yield from self._histogram(name)

    def _histogram(self, name: str) -> Iterator[Sample]:
        total = 0.0
        for upper_bound in (*(f"{bucket:g}" for bucket in METRIC_FAMILIES[name].buckets), "+Inf"):
            labels = (("le", upper_bound),)
            total += self._values.get((f"{name}_bucket", labels), 0.0)
            yield Sample(name, f"{name}_bucket", labels, total)
        for end in ("_sum", "_count"):
            yield Sample(name, name + end, (), self._values.get((name + end, ()), 0.0))

    def to_data(self) -> dict[str, Any]:
        return {
            "values": [
                [name, dict(labels), value] for (name, labels), value in self._sorted_values()
            ],
            "asked": {task: at.isoformat() for task, at in self._waiting_since.items()},
        }

    def _sorted_values(self) -> list[tuple[tuple[str, Labels], float]]:
        return sorted(self._values.items())

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Counters:
        """Raises LookupError, TypeError, ValueError or AttributeError for invalid data."""
        counters = cls()
        for name, labels, value in data["values"]:
            family = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
            label_pairs = tuple(sorted((str(k), str(v)) for k, v in labels.items()))
            counters._add(
                name, label_pairs, float(value), name if name in METRIC_FAMILIES else family
            )
        waiting = data["asked"].items()
        counters._waiting_since = {str(task): datetime.fromisoformat(at) for task, at in waiting}
        return counters


# ------------------------------------------------------------------ events


def _known_or_other(value: object, known: frozenset[str]) -> str:
    return str(value) if value in known else OTHER


KINDS, REASONS = frozenset(FailureKind), frozenset(Reason)
OUTCOMES, CHOICES = frozenset(Outcome), frozenset(Choice)
NAMED_PATTERNS = frozenset({*PATTERNS, ""})


def _increment(name: str) -> Callable[[Counters, JournalEntry], None]:
    return lambda counters, _: counters.increment(name)


def _count_attempt(counters: Counters, outcome: str, kind: object = "") -> None:
    known = _known_or_other(kind, KINDS) if kind else ""
    counters.increment("yaoki_attempts_total", outcome=outcome, kind=known)


def _on_retry(counters: Counters, entry: JournalEntry) -> None:
    failure = read_failure(entry)
    kind = _known_or_other(failure.kind, KINDS)
    _count_attempt(counters, "RETRY", kind)
    pattern = _known_or_other(failure.pattern, NAMED_PATTERNS)
    counters.increment("yaoki_retries_total", kind=kind, pattern=pattern)
    cause = "LIMIT" if failure.is_limit else "BACKOFF"
    counters.increment("yaoki_waits_total", cause=cause)
    counters.increment("yaoki_wait_seconds_total", entry.data["delay_ms"] / 1000, cause=cause)


def _on_escalation(counters: Counters, entry: JournalEntry) -> None:
    _count_attempt(counters, "ESCALATED", read_failure(entry).kind)
    reason = _known_or_other(entry.data["blocked"], REASONS)
    counters.increment("yaoki_escalations_total", reason=reason)
    counters.increment("yaoki_waits_total", cause="PERSON")
    counters.start_person_wait(entry)


def _on_awaiting_rerun(counters: Counters, entry: JournalEntry) -> None:
    _count_attempt(counters, "HELD", read_failure(entry).kind)
    counters.increment("yaoki_waits_total", cause="HELD")


def _on_undone(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_waits_total", cause="PERSON")
    counters.start_person_wait(entry)


def _on_answered(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_answers_total", choice=_known_or_other(entry.data["choice"], CHOICES))
    counters.end_person_wait(entry)


def _on_landed(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_landings_total")
    if entry.attempt:
        _count_attempt(counters, "LANDED")


def _on_cancelled(counters: Counters, entry: JournalEntry) -> None:
    counters.end_person_wait(entry)
    if entry.attempt:
        _count_attempt(counters, "CANCELLED")


def _on_check(counters: Counters, entry: JournalEntry) -> None:
    counters.increment(
        "yaoki_checks_total", outcome=_known_or_other(entry.data["outcome"], OUTCOMES)
    )
    counters.observe("yaoki_check_seconds", float(entry.data["seconds"]))


def _on_agent_finished(counters: Counters, entry: JournalEntry) -> None:
    run = read_agent_run(entry)
    cause = run.ended_by or ("signal" if run.signal else "itself")
    counters.increment("yaoki_agent_runs_total", ended_by=cause[:40])
    counters.observe("yaoki_agent_seconds", float(run.seconds))
    for name, reported in (("cost", run.cost), ("tokens", run.tokens)):
        unit = "cost_usd" if name == "cost" else name
        if reported is None:
            counters.increment(f"yaoki_{name}_unknown_total")
        else:
            counters.increment(f"yaoki_{unit}_total", max(0.0, float(reported)))


def _on_agent_lost(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_agent_runs_total", ended_by="lost")
    if (seconds := entry.data.get("seconds")) is not None:
        counters.observe("yaoki_agent_seconds", float(seconds))
    for name in ("cost", "tokens"):
        counters.increment(f"yaoki_{name}_unknown_total")


def _on_refused(counters: Counters, entry: JournalEntry) -> None:
    counters.increment(
        "yaoki_results_refused_total", why=str(entry.data.get("refused") or "STALE")[:40]
    )


def _on_reconciled(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_reconciled_total", mismatch=str(entry.data.get("mismatch", ""))[:40])


def _on_summary(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_runs_finished_total", status=str(entry.data.get("status", ""))[:40])


_COUNT_BY_EVENT: Mapping[str, Callable[[Counters, JournalEntry], None]] = {
    "PLAN_SUBMITTED": _increment("yaoki_runs_submitted_total"),
    "TASK_SUBMITTED": _increment("yaoki_tasks_submitted_total"),
    "TASK_CLAIMED": _increment("yaoki_claims_total"),
    "LEASE_EXPIRED": _increment("yaoki_leases_expired_total"),
    "LEASE_RELEASED": _increment("yaoki_leases_released_total"),
    "RESULT_REFUSED": _on_refused,
    "DEAD_LETTERED": _increment("yaoki_dead_letters_total"),
    "ATTEMPT_STARTED": _increment("yaoki_attempts_started_total"),
    "AGENT_FINISHED": _on_agent_finished,
    "AGENT_RUN_LOST": _on_agent_lost,
    "CHECK_FINISHED": _on_check,
    "RETRY_DECISION": _on_retry,
    "ESCALATE_DECISION": _on_escalation,
    "RERUN_HELD": _on_awaiting_rerun,
    "TASK_UNDONE": _on_undone,
    "ESCALATION_ANSWERED": _on_answered,
    "TASK_LANDED": _on_landed,
    "LAND_REFUSED": _increment("yaoki_landings_refused_total"),
    "TASK_CANCELLED": _on_cancelled,
    "RECONCILED": _on_reconciled,
    "FINAL_SUMMARY": _on_summary,
}
COUNTED_EVENTS: tuple[str, ...] = tuple(_COUNT_BY_EVENT)
