"""A task's life as stretches of time: its attempts with their stages, and its waits with causes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from yaoki.core.text import one_line
from yaoki.faces.web.stoppages import Stoppage
from yaoki.faces.web.time_spans import (
    SHORTEST,
    WORDS_MAX,
    AttemptSpan,
    StageSpan,
    TimeSpan,
    WaitSpan,
    split_wait,
)
from yaoki.ports import JournalEntry
from yaoki.views import failure_words

Document = dict[str, Any]


@dataclass(slots=True)
class TaskTimeline:
    """Folded from the task's own journal, oldest entry first."""

    ready_at: datetime | None = None
    needs: str = ""
    attempts: list[AttemptSpan] = field(default_factory=list)
    waits: list[WaitSpan] = field(default_factory=list)
    stage: str = "PREPARE"
    current_stage_span: StageSpan | None = None
    current_wait: WaitSpan | None = None

    def add(self, entry: JournalEntry) -> None:
        act = APPLY_EVENT.get(entry.event)
        if act is not None:
            act(self, entry)

    # -------------------------------------------------------------- steps

    def begin_wait(
        self, at: datetime, cause: str, words: str = "", due: datetime | None = None
    ) -> None:
        self.end_current(at)
        begins = self.stage == "PREPARE"
        self.current_wait = WaitSpan(at, None, cause, one_line(words, WORDS_MAX), due, begins)
        self.waits.append(self.current_wait)

    def end_current(self, at: datetime) -> None:
        """Whatever went on ends now."""
        if self.current_stage_span is not None:
            self.current_stage_span.until, self.current_stage_span = at, None
        if self.current_wait is not None:
            self._close_wait(self.current_wait, at)
            self.current_wait = None

    def _close_wait(self, wait: WaitSpan, at: datetime) -> None:
        """Once its date or its needs were there it only waited for somebody to take it."""
        turn = self.ready_at if wait.cause == "NEEDS" else wait.due_at
        if turn is None or not wait.start < turn < at:
            wait.until = at
            return
        wait.until = turn
        self.waits.append(WaitSpan(turn, at, "SLOT", starts_attempt=wait.starts_attempt))

    def begin_stage(self, at: datetime, stage: str) -> None:
        self.end_current(at)
        self.stage = stage
        self.current_stage_span = StageSpan(at, None, stage)
        self.attempts[-1].stages.append(self.current_stage_span)

    def end_attempt(self, at: datetime, how: str, failure: str = "") -> None:
        self.end_current(at)
        if self.attempts and self.attempts[-1].until is None:
            last = self.attempts[-1]
            last.until, last.ended, last.failure = at, how, failure

    def split_open_wait(self, moment: datetime) -> None:
        """A wait that goes on is split at its turn as well."""
        wait = self.current_wait
        turn = (self.ready_at if wait.cause == "NEEDS" else wait.due_at) if wait else None
        if wait and turn is not None and wait.start < turn < moment:
            wait.until = turn
            self.waits.append(WaitSpan(turn, None, "SLOT", starts_attempt=wait.starts_attempt))

    def explain_waits(
        self, pauses: Sequence[Stoppage], limits: Sequence[Stoppage], now: datetime
    ) -> None:
        """Nobody took it: because the run was paused, its account limited, or no worker free."""
        for cause, stops, begins in (("PAUSED", pauses, False), ("LIMIT", limits, True)):
            self.waits = [
                part
                for wait in self.waits
                for part in (
                    split_wait(wait, cause, stops, now)
                    if wait.cause == "SLOT" and (wait.starts_attempt or not begins)
                    else [wait]
                )
            ]


def _submitted(life: TaskTimeline, entry: JournalEntry) -> None:
    if life.needs:
        life.begin_wait(entry.at, "NEEDS", life.needs)
    else:
        life.begin_wait(entry.at, "SLOT")


def _claimed(life: TaskTimeline, entry: JournalEntry) -> None:
    """At PREPARE another attempt begins; else the same one goes on."""
    life.end_current(entry.at)
    if life.stage == "PREPARE" or not life.attempts:
        life.attempts.append(AttemptSpan(entry.at))
    else:
        last = life.attempts[-1]
        last.until, last.ended, last.failure = None, "", ""
    life.begin_stage(entry.at, life.stage)


def _started(life: TaskTimeline, entry: JournalEntry) -> None:
    if not life.attempts or life.attempts[-1].number:
        life.end_attempt(entry.at, "")
        life.attempts.append(AttemptSpan(entry.at))
    last = life.attempts[-1]
    last.number, last.agent = entry.data["attempt"], entry.data["agent"]
    life.begin_stage(entry.at, "WORK" if last.agent else "VERIFY")


def _finished(life: TaskTimeline, entry: JournalEntry) -> None:
    if life.attempts:
        life.begin_stage(entry.at, "VERIFY")


def _checked(life: TaskTimeline, entry: JournalEntry) -> None:
    if life.attempts:
        told = {key: entry.data[key] for key in ("check", "outcome", "seconds")}
        life.attempts[-1].checks.append({**told, "until": entry.at.isoformat()})


def _judged(life: TaskTimeline, entry: JournalEntry) -> None:
    if life.attempts and entry.data["passed"]:
        life.begin_stage(entry.at, "LAND")


def _retried(life: TaskTimeline, entry: JournalEntry) -> None:
    data = entry.data
    kind = data["failure"]["kind"]
    life.end_attempt(
        entry.at, "LOST" if kind == "LOST" else "RETRY", failure_words(data["failure"])
    )
    life.stage = data.get("stage", "PREPARE")
    due = datetime.fromisoformat(data["due_at"]) if data.get("due_at") else None
    words = f"retry in {data['delay_ms'] / 1000:g} s"
    life.begin_wait(entry.at, "LIMIT" if kind == "RATE_LIMIT" else "BACKOFF", words, due)


def _escalated(life: TaskTimeline, entry: JournalEntry) -> None:
    life.end_attempt(entry.at, "ESCALATED", failure_words(entry.data["failure"]))
    life.stage = entry.data.get("stage", "PREPARE")
    life.begin_wait(entry.at, "PERSON", str(entry.data["blocked"]))


def _held(life: TaskTimeline, entry: JournalEntry) -> None:
    life.end_attempt(entry.at, "HELD", failure_words(entry.data["failure"]))
    life.stage = "PREPARE"
    life.begin_wait(entry.at, "HELD", "waits for its one re-run")


def _answered(life: TaskTimeline, entry: JournalEntry) -> None:
    choice = entry.data["choice"]
    if choice == "abort":
        life.end_attempt(entry.at, "CANCELLED")
        return
    if choice in {"done", "waive"}:
        life.stage = "VERIFY"
    life.begin_wait(entry.at, "SLOT")


def _expired(life: TaskTimeline, entry: JournalEntry) -> None:
    life.end_attempt(entry.at, "LOST", str(entry.data.get("why") or "the lease ran out"))
    life.begin_wait(entry.at, "LEASE", str(entry.data.get("why") or "its worker was gone"))


def _released(life: TaskTimeline, entry: JournalEntry) -> None:
    due = entry.data.get("due_at")
    life.end_attempt(entry.at, "RELEASED", str(entry.data.get("why", "")))
    until = datetime.fromisoformat(due) if due else None
    life.begin_wait(entry.at, "LIMIT" if due else "SLOT", str(entry.data.get("why", "")), until)


def _again(life: TaskTimeline, entry: JournalEntry) -> None:
    life.end_attempt(entry.at, "")
    life.stage = "PREPARE"
    life.begin_wait(entry.at, "SLOT")


def _undone(life: TaskTimeline, entry: JournalEntry) -> None:
    life.stage = "PREPARE"
    life.begin_wait(entry.at, "PERSON", "MANUAL")


def _over(how: str) -> Callable[[TaskTimeline, JournalEntry], None]:
    return lambda life, entry: life.end_attempt(entry.at, how)


def _refused(life: TaskTimeline, entry: JournalEntry) -> None:
    if life.attempts:
        life.begin_stage(entry.at, "VERIFY")


APPLY_EVENT: Mapping[str, Callable[[TaskTimeline, JournalEntry], None]] = {
    "TASK_SUBMITTED": _submitted,
    "TASK_CLAIMED": _claimed,
    "ATTEMPT_STARTED": _started,
    "AGENT_FINISHED": _finished,
    "CHECK_FINISHED": _checked,
    "QUALITY_JUDGMENT": _judged,
    "LAND_REFUSED": _refused,
    "TASK_LANDED": _over("LANDED"),
    "TASKS_PLANNED": _over("LANDED"),
    "RETRY_DECISION": _retried,
    "ESCALATE_DECISION": _escalated,
    "RERUN_HELD": _held,
    "RERUN_GRANTED": _again,
    "ESCALATION_ANSWERED": _answered,
    "LEASE_EXPIRED": _expired,
    "LEASE_RELEASED": _released,
    "TASK_UNLANDED": _again,
    "TASK_RECALLED": _again,
    "TASK_UNDONE": _undone,
    "TASK_CANCELLED": _over("CANCELLED"),
    "TASK_REPLACED": _over("REPLACED"),
}


def build_timeline(
    entries: Iterable[JournalEntry],
    now: datetime,
    *,
    needs: str = "",
    ready_at: datetime | None = None,
) -> TaskTimeline:
    life = TaskTimeline(ready_at, needs)
    for entry in entries:
        life.add(entry)
    life.split_open_wait(now)
    return life


def timeline_document(life: TaskTimeline) -> Document:
    waits = [w for w in life.waits if w.until is None or w.until - w.start >= SHORTEST]
    return {
        "attempts": [_attempt(one) for one in life.attempts],
        "waits": [
            {**_span(w), "cause": w.cause, "words": w.words}
            for w in sorted(waits, key=lambda wait: wait.start)
        ],
    }


def _attempt(one: AttemptSpan) -> Document:
    return {
        "attempt": one.number,
        "agent": one.agent or None,
        **_span(one),
        "ended": one.ended or None,
        "failure": one.failure or None,
        "stages": [{"stage": held.stage, **_span(held)} for held in one.stages],
        "checks": one.checks,
    }


def _span(held: TimeSpan) -> Document:
    return {
        "from": held.start.isoformat(),
        "until": held.until.isoformat() if held.until else None,
    }
