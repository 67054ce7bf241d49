"""Counters folded from the journal, line by line; they can be kept and gone on with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from yaoki.adapters.telemetry.families import (
    COUNTER,
    HISTOGRAM,
    METRIC_FAMILIES,
    Labels,
    Sample,
)
from yaoki.core.model import Choice, FailureKind, Outcome, Reason
from yaoki.core.settings.settings import PATTERNS
from yaoki.ports import JournalEntry

# Whatever a plan calls its things, no metric gets more than so many series.
SERIES_MAX = 200
OTHER = "OTHER"


class Counters:
    """What has happened since the journal began, or since this was kept last."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, Labels], float] = {}
        self._series: dict[str, int] = {}
        # Since when which task asks a person.
        self._asked: dict[str, datetime] = {}

    def count_entry(self, entry: JournalEntry) -> None:
        count = _COUNTS.get(entry.event)
        if count is not None:
            count(self, entry)

    def increment(self, name: str, by: float = 1.0, **labels: str) -> None:
        self._raise(name, tuple(sorted(labels.items())), by, name)

    def observe(self, name: str, seconds: float) -> None:
        """One observation; the series of the buckets are added up when they are shown."""
        buckets = METRIC_FAMILIES[name].buckets
        at = bisect_left(buckets, seconds)
        edge = f"{buckets[at]:g}" if at < len(buckets) else "+Inf"
        self._raise(f"{name}_bucket", (("le", edge),), 1.0, name)
        self._raise(f"{name}_sum", (), max(0.0, seconds), name)
        self._raise(f"{name}_count", (), 1.0, name)

    def _raise(self, name: str, labels: Labels, by: float, family: str) -> None:
        key = name, labels
        if key not in self._values and labels:
            if self._series.get(family, 0) >= SERIES_MAX:
                key = name, tuple((label, OTHER) for label, _ in labels)
            self._series[family] = self._series.get(family, 0) + 1
        self._values[key] = round(self._values.get(key, 0.0) + by, 6)

    # -------------------------------------------------------------- persons

    def start_person_wait(self, entry: JournalEntry) -> None:
        self._asked[entry.task_id] = entry.at

    def end_person_wait(self, entry: JournalEntry) -> None:
        since = self._asked.pop(entry.task_id, None)
        if since is not None:
            seconds = max(0.0, (entry.at - since).total_seconds())
            self.increment("yaoki_wait_seconds_total", seconds, cause="PERSON")

    # -------------------------------------------------------------- shown and kept

    def samples(self) -> Iterator[Sample]:
        """Counters without labels are shown from the beginning, so that a rise is seen."""
        bare = {name for name, family in METRIC_FAMILIES.items() if family.type == COUNTER}
        for name in sorted(bare):
            if not METRIC_FAMILIES[name].labels and (name, ()) not in self._values:
                yield Sample(name, name, (), 0.0)
        for (name, labels), value in sorted(self._values.items()):
            if name in bare:
                yield Sample(name, name, labels, value)
        for name, family in METRIC_FAMILIES.items():
            if family.type == HISTOGRAM:
                yield from self._histogram(name)

    def _histogram(self, name: str) -> Iterator[Sample]:
        total = 0.0
        for edge in (*(f"{bucket:g}" for bucket in METRIC_FAMILIES[name].buckets), "+Inf"):
            labels = (("le", edge),)
            total += self._values.get((f"{name}_bucket", labels), 0.0)
            yield Sample(name, f"{name}_bucket", labels, total)
        for end in ("_sum", "_count"):
            yield Sample(name, name + end, (), self._values.get((name + end, ()), 0.0))

    def to_data(self) -> dict[str, Any]:
        return {
            "values": [[name, dict(labels), value] for (name, labels), value in self._items()],
            "asked": {task: at.isoformat() for task, at in self._asked.items()},
        }

    def _items(self) -> list[tuple[tuple[str, Labels], float]]:
        return sorted(self._values.items())

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Counters:
        """Raises one of LookupError, TypeError, ValueError, AttributeError for what is none."""
        made = cls()
        for name, labels, value in data["values"]:
            family = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
            held = tuple(sorted((str(k), str(v)) for k, v in labels.items()))
            made._raise(name, held, float(value), name if name in METRIC_FAMILIES else family)
        asked = data["asked"].items()
        made._asked = {str(task): datetime.fromisoformat(at) for task, at in asked}
        return made


# ------------------------------------------------------------------ events


def _known(value: object, known: frozenset[str]) -> str:
    return str(value) if value in known else OTHER


KINDS, REASONS = frozenset(FailureKind), frozenset(Reason)
OUTCOMES, CHOICES = frozenset(Outcome), frozenset(Choice)
NAMED_PATTERNS = frozenset({*PATTERNS, ""})


def _plain(name: str) -> Callable[[Counters, JournalEntry], None]:
    return lambda counters, _: counters.increment(name)


def _ended(counters: Counters, outcome: str, kind: object = "") -> None:
    known = _known(kind, KINDS) if kind else ""
    counters.increment("yaoki_attempts_total", outcome=outcome, kind=known)


def _retried(counters: Counters, entry: JournalEntry) -> None:
    failure = entry.data["failure"]
    kind = _known(failure["kind"], KINDS)
    _ended(counters, "RETRY", kind)
    pattern = _known(failure.get("pattern", ""), NAMED_PATTERNS)
    counters.increment("yaoki_retries_total", kind=kind, pattern=pattern)
    cause = "LIMIT" if kind == FailureKind.RATE_LIMIT else "BACKOFF"
    counters.increment("yaoki_waits_total", cause=cause)
    counters.increment("yaoki_wait_seconds_total", entry.data["delay_ms"] / 1000, cause=cause)


def _escalated(counters: Counters, entry: JournalEntry) -> None:
    _ended(counters, "ESCALATED", entry.data["failure"]["kind"])
    reason = _known(entry.data["blocked"], REASONS)
    counters.increment("yaoki_escalations_total", reason=reason)
    counters.increment("yaoki_waits_total", cause="PERSON")
    counters.start_person_wait(entry)


def _held(counters: Counters, entry: JournalEntry) -> None:
    _ended(counters, "HELD", entry.data["failure"]["kind"])
    counters.increment("yaoki_waits_total", cause="HELD")


def _undone(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_waits_total", cause="PERSON")
    counters.start_person_wait(entry)


def _answered(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_answers_total", choice=_known(entry.data["choice"], CHOICES))
    counters.end_person_wait(entry)


def _landed(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_landings_total")
    if entry.attempt:
        _ended(counters, "LANDED")


def _cancelled(counters: Counters, entry: JournalEntry) -> None:
    counters.end_person_wait(entry)
    if entry.attempt:
        _ended(counters, "CANCELLED")


def _checked(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_checks_total", outcome=_known(entry.data["outcome"], OUTCOMES))
    counters.observe("yaoki_check_seconds", float(entry.data["seconds"]))


def _finished(counters: Counters, entry: JournalEntry) -> None:
    exit_ = entry.data["exit"]
    by = exit_.get("ended_by") or ("signal" if exit_.get("signal") else "itself")
    counters.increment("yaoki_agent_runs_total", ended_by=str(by)[:40])
    counters.observe("yaoki_agent_seconds", float(exit_.get("seconds", 0.0)))
    for name, told in (("cost", exit_.get("cost")), ("tokens", exit_.get("tokens"))):
        unit = "cost_usd" if name == "cost" else name
        if told is None:
            counters.increment(f"yaoki_{name}_unknown_total")
        else:
            counters.increment(f"yaoki_{unit}_total", max(0.0, float(told)))


def _refused(counters: Counters, entry: JournalEntry) -> None:
    counters.increment(
        "yaoki_results_refused_total", why=str(entry.data.get("refused") or "STALE")[:40]
    )


def _reconciled(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_reconciled_total", mismatch=str(entry.data.get("mismatch", ""))[:40])


def _summed(counters: Counters, entry: JournalEntry) -> None:
    counters.increment("yaoki_runs_finished_total", status=str(entry.data.get("status", ""))[:40])


_COUNTS: Mapping[str, Callable[[Counters, JournalEntry], None]] = {
    "PLAN_SUBMITTED": _plain("yaoki_runs_submitted_total"),
    "TASK_SUBMITTED": _plain("yaoki_tasks_submitted_total"),
    "TASK_CLAIMED": _plain("yaoki_claims_total"),
    "LEASE_EXPIRED": _plain("yaoki_leases_expired_total"),
    "LEASE_RELEASED": _plain("yaoki_leases_released_total"),
    "RESULT_REFUSED": _refused,
    "DEAD_LETTERED": _plain("yaoki_dead_letters_total"),
    "ATTEMPT_STARTED": _plain("yaoki_attempts_started_total"),
    "AGENT_FINISHED": _finished,
    "CHECK_FINISHED": _checked,
    "RETRY_DECISION": _retried,
    "ESCALATE_DECISION": _escalated,
    "RERUN_HELD": _held,
    "TASK_UNDONE": _undone,
    "ESCALATION_ANSWERED": _answered,
    "TASK_LANDED": _landed,
    "LAND_REFUSED": _plain("yaoki_landings_refused_total"),
    "TASK_CANCELLED": _cancelled,
    "RECONCILED": _reconciled,
    "FINAL_SUMMARY": _summed,
}
COUNTED_EVENTS: tuple[str, ...] = tuple(_COUNTS)
