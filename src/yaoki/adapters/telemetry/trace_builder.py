"""Builds spans from the journal: an entry that ends something produces a span with recorded times.

Only finished spans are sent, so a crash leaves no partial span: reading on from the same journal
entry produces the same spans.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from yaoki.adapters.telemetry import attribute_names
from yaoki.adapters.telemetry.spans import AttributeValue, Span, derive_span_id, derive_trace_id
from yaoki.adapters.telemetry.task_trace import WORDS_MAX, OpenInterval, TaskTrace
from yaoki.core.text import one_line
from yaoki.ports import JournalEntry

TASK_TRACES_MAX = 10_000


Spans = Iterable[Span]


class TraceBuilder:
    """Keeps the open intervals of recent tasks; others are rebuilt from their journal."""

    def __init__(self, journal: Callable[[str, int], Iterable[JournalEntry]]) -> None:
        self._journal = journal
        self._traces: OrderedDict[str, TaskTrace] = OrderedDict()

    def add(self, entry: JournalEntry) -> list[Span]:
        """The spans that this entry ends."""
        if not entry.task_id:
            return list(_build_run_spans(entry))
        apply = _BY_EVENT.get(entry.event)
        return list(apply(self._find_trace(entry), entry)) if apply else []

    def _find_trace(self, entry: JournalEntry) -> TaskTrace:
        trace_ = self._traces.get(entry.task_id)
        if trace_ is None:
            trace_ = TaskTrace(entry.run_id, entry.task_id)
            if entry.event != "TASK_SUBMITTED":
                self._replay(trace_, entry)
            self._traces[entry.task_id] = trace_
            if len(self._traces) > TASK_TRACES_MAX:
                self._traces.popitem(last=False)
        self._traces.move_to_end(entry.task_id)
        return trace_

    def _replay(self, trace: TaskTrace, before: JournalEntry) -> None:
        for entry in self._journal(trace.task_id, before.seq):
            apply = _BY_EVENT.get(entry.event)
            if apply is not None:
                list(apply(trace, entry))


# ------------------------------------------------------------------ of a run


def _build_run_spans(entry: JournalEntry) -> Iterator[Span]:
    """The root span ends with the submission, so a trace is complete while the run continues."""
    run, data = entry.run_id, entry.data
    trace_id, root = derive_trace_id(run), derive_span_id(run)
    if entry.event == "PLAN_SUBMITTED":
        started_at = datetime.fromisoformat(data["run"]["created_at"])
        attributes: dict[str, AttributeValue] = {
            attribute_names.OPERATION: attribute_names.WORKFLOW,
            attribute_names.RUN: run,
            attribute_names.GOAL: one_line(str(data["goal"]), WORDS_MAX),
            attribute_names.TASKS: int(data["tasks"]),
        }
        yield Span(trace_id, root, b"", "run", started_at, max(started_at, entry.at), attributes)
    elif entry.event == "FINAL_SUMMARY":
        status = str(data.get("status", ""))
        attributes = {attribute_names.RUN: run, attribute_names.STATUS: status}
        error = "" if status == "DONE" else status
        span_id = derive_span_id(run, "summary", entry.seq)
        yield Span(trace_id, span_id, root, "summary", entry.at, entry.at, attributes, error)


# ------------------------------------------------------------------ of a task


def _on_submitted(trace: TaskTrace, entry: JournalEntry) -> Spans:
    spec = entry.data["spec"]
    trace.name = one_line(str(spec["name"]), WORDS_MAX)
    return trace.begin_wait(entry, "NEEDS" if spec.get("needs") else "SLOT")


def _on_claimed(trace: TaskTrace, entry: JournalEntry) -> Spans:
    yield from trace.end_wait(entry.at)
    yield from trace.end_stage(entry.at)
    trace.open_claim = OpenInterval(entry.at, entry.seq, "attempt")
    if trace.stage == "PREPARE":
        yield from trace.end_attempt(entry.at, "")
    elif trace.open_attempt is None:
        trace.open_attempt, trace.is_continued = trace.open_claim, True
    trace.begin_stage(entry, trace.stage)


def _on_attempt_started(trace: TaskTrace, entry: JournalEntry) -> Spans:
    """The attempt began with the claim, but its number is known only now."""
    claim = trace.open_claim or OpenInterval(entry.at, entry.seq, "attempt")
    trace.open_attempt, trace.is_continued = claim, False
    trace.attempt_number = int(entry.data["attempt"])
    trace.agent = str(entry.data["agent"])
    yield from trace.end_stage(entry.at)
    trace.begin_stage(entry, "WORK" if trace.agent else "VERIFY")


def _on_agent_finished(trace: TaskTrace, entry: JournalEntry) -> Spans:
    exit_ = entry.data["exit"]
    attributes: dict[str, AttributeValue] = {
        name: value
        for name, value in (
            (attribute_names.AGENT, trace.agent),
            (attribute_names.EXIT_CODE, exit_.get("code")),
            (attribute_names.ENDED_BY, exit_.get("ended_by")),
            (attribute_names.COST, exit_.get("cost")),
            (attribute_names.TOKENS, exit_.get("tokens")),
        )
        if value is not None
    }
    yield from trace.end_stage(entry.at, attributes=attributes)
    trace.begin_stage(entry, "VERIFY")


def _on_judgment(trace: TaskTrace, entry: JournalEntry) -> Spans:
    if entry.data["passed"]:
        yield from trace.end_stage(entry.at)
        trace.begin_stage(entry, "LAND")


def _on_land_refused(trace: TaskTrace, entry: JournalEntry) -> Spans:
    yield from trace.end_stage(entry.at, "the run branch had moved")
    trace.begin_stage(entry, "VERIFY")


def _on_failure(outcome: str, cause: str) -> Callable[[TaskTrace, JournalEntry], Spans]:
    def handle_failure(trace: TaskTrace, entry: JournalEntry) -> Spans:
        failure = entry.data["failure"]
        kind = str(failure["kind"])
        attributes = {
            attribute_names.KIND: kind,
            attribute_names.PATTERN: str(failure.get("pattern", "")),
        }
        message = one_line(f"{kind}: {failure.get('message', '')}", WORDS_MAX)
        yield from trace.end_attempt(entry.at, outcome, message, attributes)
        trace.stage = str(entry.data.get("stage", "PREPARE"))
        is_limited = kind == "RATE_LIMIT" and cause == "BACKOFF"
        yield from trace.begin_wait(entry, "LIMIT" if is_limited else cause)

    return handle_failure


def _on_answered(trace: TaskTrace, entry: JournalEntry) -> Spans:
    choice = entry.data["choice"]
    if choice == "abort":
        return trace.end_wait(entry.at)
    if choice in {"done", "waive"}:
        trace.stage = "VERIFY"
    return trace.begin_wait(entry, "SLOT")


def _on_lease_end(cause: str) -> Callable[[TaskTrace, JournalEntry], Spans]:
    """The attempt continues with the next claim; one that had not started is no attempt."""

    def handle_lease_end(trace: TaskTrace, entry: JournalEntry) -> Spans:
        reason = one_line(str(entry.data.get("why", "")), WORDS_MAX)
        yield from trace.end_stage(entry.at, reason if cause == "LEASE" else "")
        yield from trace.begin_wait(entry, cause)

    return handle_lease_end


def _on_landed(trace: TaskTrace, entry: JournalEntry) -> Spans:
    commit = str(entry.data.get("commit", ""))
    yield from trace.end_attempt(entry.at, "LANDED", attributes={attribute_names.COMMIT: commit})
    yield from trace.end_wait(entry.at)
    trace.stage = "PREPARE"


def _on_final(outcome: str) -> Callable[[TaskTrace, JournalEntry], Spans]:
    def handle_final(trace: TaskTrace, entry: JournalEntry) -> Spans:
        yield from trace.end_attempt(entry.at, outcome)
        yield from trace.end_wait(entry.at)
        trace.stage = "PREPARE"

    return handle_final


def _on_repeat(trace: TaskTrace, entry: JournalEntry) -> Spans:
    yield from trace.end_attempt(entry.at, "RECALLED")
    trace.stage = "PREPARE"
    yield from trace.begin_wait(entry, "SLOT")


_BY_EVENT: Mapping[str, Callable[[TaskTrace, JournalEntry], Spans]] = {
    "TASK_SUBMITTED": _on_submitted,
    "TASK_CLAIMED": _on_claimed,
    "ATTEMPT_STARTED": _on_attempt_started,
    "AGENT_FINISHED": _on_agent_finished,
    "CHECK_FINISHED": lambda trace, entry: trace.record_check(entry),
    "QUALITY_JUDGMENT": _on_judgment,
    "LAND_REFUSED": _on_land_refused,
    "TASK_LANDED": _on_landed,
    "TASKS_PLANNED": _on_landed,
    "RETRY_DECISION": _on_failure("RETRY", "BACKOFF"),
    "ESCALATE_DECISION": _on_failure("ESCALATED", "PERSON"),
    "RERUN_HELD": _on_failure("HELD", "HELD"),
    "RERUN_GRANTED": _on_repeat,
    "ESCALATION_ANSWERED": _on_answered,
    "LEASE_EXPIRED": _on_lease_end("LEASE"),
    "LEASE_RELEASED": _on_lease_end("SLOT"),
    "TASK_UNLANDED": _on_repeat,
    "TASK_RECALLED": _on_repeat,
    "TASK_CANCELLED": _on_final("CANCELLED"),
    "TASK_REPLACED": _on_final("REPLACED"),
}
