"""Builds spans from the history of tasks: what an entry ends becomes a span with recorded times.

Only finished spans are sent, so a crash leaves no partial span: reading on from the same journal
entry produces the same spans.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from yaoki.core.text import one_line
from yaoki.ports import JournalEntry
from yaoki.ports.spans import AttributeValue, Span, derive_span_id, derive_trace_id
from yaoki.views.history import (
    AttemptEnd,
    AttemptSpan,
    CheckResult,
    EndedInterval,
    StageSpan,
    TaskHistory,
    Wait,
)
from yaoki.views.history.task import TASK_EVENTS

TASKS_MAX = 10_000
WORDS_MAX = 300
WAIT_MIN = timedelta(milliseconds=1)
Attributes = Mapping[str, AttributeValue]


class SpanAttribute:
    """Names of span attributes on the wire, and their fixed values.

    The `gen_ai` names come from OpenTelemetry's semantic conventions for generative AI, which may
    still change; the `yaoki` attributes hold the same values and are stable.
    """

    RUN, GOAL, TASKS = "yaoki.run.id", "yaoki.run.goal", "yaoki.run.tasks"
    STATUS = "yaoki.run.status"
    TASK, TASK_NAME = "yaoki.task.id", "yaoki.task.name"
    ATTEMPT, CONTINUED = "yaoki.attempt", "yaoki.attempt.continued"
    OUTCOME, KIND, PATTERN = "yaoki.outcome", "yaoki.failure.kind", "yaoki.failure.pattern"
    STAGE, CHECK, CHECK_OUTCOME = "yaoki.stage", "yaoki.check.name", "yaoki.check.outcome"
    WAIT = "yaoki.wait.cause"
    COMMIT, COST, TOKENS = "yaoki.commit", "yaoki.cost.usd", "yaoki.tokens"
    ENDED_BY, EXIT_CODE = "yaoki.agent.ended_by", "process.exit.code"

    OPERATION, AGENT, TOOL = "gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.tool.name"
    WORKFLOW, INVOKE_AGENT, EXECUTE_TOOL = "invoke_workflow", "invoke_agent", "execute_tool"


class TraceBuilder:
    """Keeps the histories of recent open tasks; others are rebuilt from their journal."""

    def __init__(self, journal: Callable[[str, int], Iterable[JournalEntry]]) -> None:
        self._journal = journal
        self._histories: OrderedDict[str, TaskHistory] = OrderedDict()

    def add(self, entry: JournalEntry) -> list[Span]:
        """The spans that this entry ends."""
        if not entry.task_id:
            return list(_build_run_spans(entry))
        if entry.event not in TASK_EVENTS:
            return []
        history = self._find_history(entry)
        spans = [
            span
            for ended in history.add(entry)
            for span in _TaskSpans(entry, history.name).build(ended)
        ]
        if history.is_over:
            # Few tasks that are over continue: an undo or a revert reads their journal again.
            del self._histories[entry.task_id]
        return spans

    def _find_history(self, entry: JournalEntry) -> TaskHistory:
        history = self._histories.get(entry.task_id)
        if history is None:
            history = TaskHistory()
            if entry.event != "TASK_SUBMITTED":
                for earlier in self._journal(entry.task_id, entry.seq):
                    history.add(earlier)
            self._histories[entry.task_id] = history
            if len(self._histories) > TASKS_MAX:
                self._histories.popitem(last=False)
        self._histories.move_to_end(entry.task_id)
        return history


# ------------------------------------------------------------------ of a run


def _build_run_spans(entry: JournalEntry) -> Iterator[Span]:
    """The root span ends with the submission, so a trace is complete while the run continues."""
    run, data = entry.run_id, entry.data
    trace_id, root = derive_trace_id(run), derive_span_id(run)
    if entry.event == "PLAN_SUBMITTED":
        started_at = datetime.fromisoformat(data["run"]["created_at"])
        attributes: dict[str, AttributeValue] = {
            SpanAttribute.OPERATION: SpanAttribute.WORKFLOW,
            SpanAttribute.RUN: run,
            SpanAttribute.GOAL: one_line(str(data["goal"]), WORDS_MAX),
            SpanAttribute.TASKS: int(data["tasks"]),
        }
        yield Span(trace_id, root, b"", "run", started_at, max(started_at, entry.at), attributes)
    elif entry.event == "FINAL_SUMMARY":
        status = str(data.get("status", ""))
        attributes = {SpanAttribute.RUN: run, SpanAttribute.STATUS: status}
        error = "" if status == "DONE" else status
        span_id = derive_span_id(run, "summary", entry.seq)
        yield Span(trace_id, span_id, root, "summary", entry.at, entry.at, attributes, error)


# ------------------------------------------------------------------ of a task


class _TaskSpans:
    """The spans of the intervals that one entry of a task ended."""

    def __init__(self, entry: JournalEntry, name: str) -> None:
        self._run, self._task = entry.run_id, entry.task_id
        self._name = one_line(name, WORDS_MAX)

    def build(self, ended: EndedInterval) -> Iterator[Span]:
        match ended.interval:
            case Wait() as wait:
                if wait.until is not None and wait.until - wait.start >= WAIT_MIN:
                    yield self._wait(wait)
            case StageSpan() as stage:
                yield self._stage(stage, ended.attempt)
            case CheckResult() as check:
                yield self._check(check, ended)
            case AttemptSpan() as attempt:
                yield self._attempt(attempt)

    def _wait(self, wait: Wait) -> Span:
        name, attributes = f"wait {wait.cause}", {SpanAttribute.WAIT: wait.cause.value}
        ends = (wait.start, wait.until)
        return self._span(("wait", wait.seq), self._attempt_id(None), name, ends, attributes)

    def _stage(self, stage: StageSpan, attempt: AttemptSpan | None) -> Span:
        attributes: dict[str, AttributeValue] = {SpanAttribute.STAGE: stage.stage}
        if stage.agent_run is not None:
            run = stage.agent_run
            reported = (
                (SpanAttribute.AGENT, attempt.agent if attempt else None),
                (SpanAttribute.EXIT_CODE, run.code),
                (SpanAttribute.ENDED_BY, run.ended_by),
                (SpanAttribute.COST, run.cost),
                (SpanAttribute.TOKENS, run.tokens),
            )
            attributes |= {name: value for name, value in reported if value is not None}
        error = one_line(stage.error, WORDS_MAX)
        ids, ends = ("stage", stage.seq), (stage.start, stage.until)
        parent, name = self._attempt_id(attempt), stage.stage.lower()
        return self._span(ids, parent, name, ends, attributes, error)

    def _check(self, check: CheckResult, ended: EndedInterval) -> Span:
        parent = self._attempt_id(ended.attempt)
        if ended.stage is not None:
            parent = derive_span_id(self._run, self._task, "stage", ended.stage.seq)
        attributes = {
            SpanAttribute.OPERATION: SpanAttribute.EXECUTE_TOOL,
            SpanAttribute.TOOL: check.check,
            SpanAttribute.CHECK: check.check,
            SpanAttribute.CHECK_OUTCOME: check.outcome,
        }
        is_failure = check.outcome in {"FAILED", "BROKEN"}
        error = one_line(check.message or check.outcome, WORDS_MAX) if is_failure else ""
        ends = (check.at - timedelta(seconds=check.seconds), check.at)
        return self._span(("check", check.seq), parent, "check", ends, attributes, error)

    def _attempt(self, attempt: AttemptSpan) -> Span:
        # The kind of the failure tells a lost attempt from others.
        outcome = AttemptEnd.RETRY if attempt.end is AttemptEnd.LOST else attempt.end
        attributes: dict[str, AttributeValue] = {
            SpanAttribute.OPERATION: SpanAttribute.INVOKE_AGENT if attempt.agent else "",
            SpanAttribute.ATTEMPT: attempt.number,
            SpanAttribute.AGENT: attempt.agent,
            SpanAttribute.OUTCOME: outcome.value,
            SpanAttribute.COMMIT: attempt.landed_commit,
        }
        if attempt.is_continued:
            attributes[SpanAttribute.CONTINUED] = True
        error, failure = "", attempt.failure
        if failure is not None:
            attributes[SpanAttribute.KIND] = failure.kind
            attributes[SpanAttribute.PATTERN] = failure.pattern
            error = one_line(f"{failure.kind}: {failure.message}", WORDS_MAX)
        ends = (attempt.start, attempt.until)
        ids, parent = self._attempt_ids(attempt), self._attempt_id(None)
        return self._span(ids, parent, "attempt", ends, attributes, error)

    @staticmethod
    def _attempt_ids(attempt: AttemptSpan) -> tuple[object, ...]:
        suffix = (attempt.seq,) if attempt.is_continued else ()
        return ("attempt", attempt.number, *suffix)

    def _attempt_id(self, attempt: AttemptSpan | None) -> bytes:
        """The span of the attempt; without one, of the run."""
        if attempt is None:
            return derive_span_id(self._run)
        return derive_span_id(self._run, self._task, *self._attempt_ids(attempt))

    def _span(
        self,
        ids: tuple[object, ...],
        parent: bytes,
        name: str,
        ends: tuple[datetime, datetime | None],
        attributes: Attributes,
        error: str = "",
    ) -> Span:
        start, until = ends
        own: dict[str, AttributeValue] = {
            SpanAttribute.RUN: self._run,
            SpanAttribute.TASK: self._task,
            SpanAttribute.TASK_NAME: self._name,
        }
        not_empty = {key: value for key, value in attributes.items() if value != ""}
        span_ids = derive_trace_id(self._run), derive_span_id(self._run, self._task, *ids)
        end = max(until or start, start)
        return Span(*span_ids, parent, name, start, end, {**own, **not_empty}, error)
