"""The open intervals of one task, each of which becomes a span when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from yaoki.adapters.telemetry import attribute_names
from yaoki.adapters.telemetry.spans import AttributeValue, Span, derive_span_id, derive_trace_id
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import one_line
from yaoki.ports import JournalEntry

WORDS_MAX = 300
WAIT_MIN = timedelta(milliseconds=1)
Attributes = Mapping[str, AttributeValue]
NO_ATTRIBUTES: Attributes = MappingProxyType({})


@dataclass(slots=True)
class OpenInterval:
    """An interval that has not ended; `seq` is the journal entry that started it."""

    at: datetime
    seq: int
    name: str


@dataclass(slots=True)
class TaskTrace:
    """The state of one task for tracing.  `stage` is where the next claim starts."""

    run_id: str
    task_id: str
    name: str = ""
    stage: str = "PREPARE"
    open_claim: OpenInterval | None = None
    open_attempt: OpenInterval | None = None
    attempt_number: int = 0
    agent: str = ""
    is_continued: bool = False
    open_stage: OpenInterval | None = None
    open_wait: OpenInterval | None = None

    # -------------------------------------------------------------- spans

    def _span(
        self,
        ids: tuple[object, ...],
        parent: bytes,
        interval: OpenInterval,
        end: datetime,
        attributes: Attributes,
        error: str = "",
    ) -> Span:
        own: dict[str, AttributeValue] = {
            attribute_names.RUN: self.run_id,
            attribute_names.TASK: self.task_id,
            attribute_names.TASK_NAME: self.name,
        }
        non_empty = {key: value for key, value in attributes.items() if value != ""}
        span_ids = derive_trace_id(self.run_id), derive_span_id(self.run_id, self.task_id, *ids)
        span_attributes = {**own, **non_empty}
        return Span(
            *span_ids,
            parent,
            interval.name,
            interval.at,
            max(end, interval.at),
            span_attributes,
            error,
        )

    @property
    def parent_span_id(self) -> bytes:
        """The open attempt; without one, the run."""
        if self.open_attempt is None:
            return derive_span_id(self.run_id)
        return derive_span_id(self.run_id, self.task_id, *self._attempt_ids)

    @property
    def _attempt_ids(self) -> tuple[object, ...]:
        assert self.open_attempt is not None, "only an attempt has an id"
        suffix = (self.open_attempt.seq,) if self.is_continued else ()
        return ("attempt", self.attempt_number, *suffix)

    def end_wait(self, at: datetime) -> Iterator[Span]:
        wait, self.open_wait = self.open_wait, None
        if wait is not None and at - wait.at >= WAIT_MIN:
            cause = {attribute_names.WAIT: wait.name.removeprefix("wait ")}
            yield self._span(("wait", wait.seq), derive_span_id(self.run_id), wait, at, cause)

    def begin_wait(self, entry: JournalEntry, cause: str) -> Iterator[Span]:
        yield from self.end_wait(entry.at)
        self.open_wait = OpenInterval(entry.at, entry.seq, f"wait {cause}")

    def end_stage(
        self, at: datetime, error: str = "", attributes: Attributes = NO_ATTRIBUTES
    ) -> Iterator[Span]:
        stage_interval, self.open_stage = self.open_stage, None
        if stage_interval is not None:
            span_attributes = {attribute_names.STAGE: stage_interval.name.upper(), **attributes}
            ids = ("stage", stage_interval.seq)
            yield self._span(ids, self.parent_span_id, stage_interval, at, span_attributes, error)

    def begin_stage(self, entry: JournalEntry, stage: str) -> None:
        self.stage = stage
        self.open_stage = OpenInterval(entry.at, entry.seq, stage.lower())

    def end_attempt(
        self, at: datetime, outcome: str, error: str = "", attributes: Attributes = NO_ATTRIBUTES
    ) -> Iterator[Span]:
        yield from self.end_stage(at, error)
        if self.open_attempt is not None:
            span_attributes = {
                attribute_names.OPERATION: attribute_names.INVOKE_AGENT if self.agent else "",
                attribute_names.ATTEMPT: self.attempt_number,
                attribute_names.AGENT: self.agent,
                attribute_names.OUTCOME: outcome,
                **({attribute_names.CONTINUED: True} if self.is_continued else {}),
                **attributes,
            }
            run = derive_span_id(self.run_id)
            ids = self._attempt_ids
            yield self._span(ids, run, self.open_attempt, at, span_attributes, error)
        self.open_attempt, self.is_continued = None, False

    def record_check(self, entry: JournalEntry) -> Iterator[Span]:
        data, stage_interval = entry.data, self.open_stage
        parent = (
            derive_span_id(self.run_id, self.task_id, "stage", stage_interval.seq)
            if stage_interval
            else self.parent_span_id
        )
        started_at = entry.at - timedelta(seconds=float(data["seconds"]))
        span_attributes = {
            attribute_names.OPERATION: attribute_names.EXECUTE_TOOL,
            attribute_names.TOOL: str(data["check"]),
            attribute_names.CHECK: str(data["check"]),
            attribute_names.CHECK_OUTCOME: str(data["outcome"]),
        }
        is_failure = data["outcome"] in {"FAILED", "BROKEN"}
        error = (
            one_line(str(data.get("message") or data["outcome"]), WORDS_MAX) if is_failure else ""
        )
        interval = OpenInterval(started_at, entry.seq, "check")
        ids = ("check", entry.seq)
        yield self._span(ids, parent, interval, entry.at, span_attributes, error)
