"""One task on its way: what goes on of it now, and the span that each becomes when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from yaoki.adapters.telemetry import attribute_names
from yaoki.adapters.telemetry.spans import Span, Value, span_id, trace_id
from yaoki.core.display import one_line
from yaoki.ports import Entry

WORDS_MAX = 300
SHORTEST = timedelta(milliseconds=1)
Attributes = Mapping[str, Value]
NONE: Attributes = MappingProxyType({})


@dataclass(slots=True)
class Since:
    """Something that goes on; `seq` is the entry that began it."""

    at: datetime
    seq: int
    name: str


@dataclass(slots=True)
class Track:
    """Where one task stands, as far as spans care.  `stage` is the next one of a claim."""

    run_id: str
    task_id: str
    name: str = ""
    stage: str = "PREPARE"
    claimed: Since | None = None
    attempt: Since | None = None
    number: int = 0
    agent: str = ""
    continued: bool = False
    working: Since | None = None
    waiting: Since | None = None

    # -------------------------------------------------------------- spans

    def _span(
        self,
        ids: tuple[object, ...],
        parent: bytes,
        what: Since,
        end: datetime,
        attributes: Attributes,
        failed: str = "",
    ) -> Span:
        own: dict[str, Value] = {
            attribute_names.RUN: self.run_id,
            attribute_names.TASK: self.task_id,
            attribute_names.TASK_NAME: self.name,
        }
        given = {key: value for key, value in attributes.items() if value != ""}
        ids_ = trace_id(self.run_id), span_id(self.run_id, self.task_id, *ids)
        told = {**own, **given}
        return Span(*ids_, parent, what.name, what.at, max(end, what.at), told, failed)

    @property
    def parent(self) -> bytes:
        """The attempt at work, or the run while there is none."""
        if self.attempt is None:
            return span_id(self.run_id)
        return span_id(self.run_id, self.task_id, *self._attempt_ids)

    @property
    def _attempt_ids(self) -> tuple[object, ...]:
        assert self.attempt is not None, "only an attempt has an id"
        again = (self.attempt.seq,) if self.continued else ()
        return ("attempt", self.number, *again)

    def end_wait(self, at: datetime) -> Iterator[Span]:
        wait, self.waiting = self.waiting, None
        if wait is not None and at - wait.at >= SHORTEST:
            cause = {attribute_names.WAIT: wait.name.removeprefix("wait ")}
            yield self._span(("wait", wait.seq), span_id(self.run_id), wait, at, cause)

    def wait(self, entry: Entry, cause: str) -> Iterator[Span]:
        yield from self.end_wait(entry.at)
        self.waiting = Since(entry.at, entry.seq, f"wait {cause}")

    def end_stage(
        self, at: datetime, failed: str = "", attributes: Attributes = NONE
    ) -> Iterator[Span]:
        work, self.working = self.working, None
        if work is not None:
            told = {attribute_names.STAGE: work.name.upper(), **attributes}
            ids = ("stage", work.seq)
            yield self._span(ids, self.parent, work, at, told, failed)

    def work(self, entry: Entry, stage: str) -> None:
        self.stage = stage
        self.working = Since(entry.at, entry.seq, stage.lower())

    def end_attempt(
        self, at: datetime, outcome: str, failed: str = "", attributes: Attributes = NONE
    ) -> Iterator[Span]:
        yield from self.end_stage(at, failed)
        if self.attempt is not None:
            told = {
                attribute_names.OPERATION: attribute_names.INVOKE_AGENT if self.agent else "",
                attribute_names.ATTEMPT: self.number,
                attribute_names.AGENT: self.agent,
                attribute_names.OUTCOME: outcome,
                **({attribute_names.CONTINUED: True} if self.continued else {}),
                **attributes,
            }
            run = span_id(self.run_id)
            ids = self._attempt_ids
            yield self._span(ids, run, self.attempt, at, told, failed)
        self.attempt, self.continued = None, False

    def check(self, entry: Entry) -> Iterator[Span]:
        data, work = entry.data, self.working
        parent = span_id(self.run_id, self.task_id, "stage", work.seq) if work else self.parent
        began = entry.at - timedelta(seconds=float(data["seconds"]))
        told = {
            attribute_names.OPERATION: attribute_names.EXECUTE_TOOL,
            attribute_names.TOOL: str(data["check"]),
            attribute_names.CHECK: str(data["check"]),
            attribute_names.CHECK_OUTCOME: str(data["outcome"]),
        }
        bad = data["outcome"] in {"FAILED", "BROKEN"}
        failed = one_line(str(data.get("message") or data["outcome"]), WORDS_MAX) if bad else ""
        what = Since(began, entry.seq, "check")
        ids = ("check", entry.seq)
        yield self._span(ids, parent, what, entry.at, told, failed)
