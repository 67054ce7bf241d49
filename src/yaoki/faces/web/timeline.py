"""A task's life as stretches of time: its attempts with their stages, and its waits with causes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from yaoki.core.display import one_line
from yaoki.faces.web.stoppages import Stop
from yaoki.faces.web.time_spans import SHORTEST, WORDS_MAX, Span, Stretch, Wait, Worked, parts
from yaoki.ports import Entry
from yaoki.views import failure_words

Document = dict[str, Any]


@dataclass(slots=True)
class Life:
    """Folded from the task's own journal, oldest entry first."""

    ready_at: datetime | None = None
    needs: str = ""
    attempts: list[Stretch] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    stage: str = "PREPARE"
    working: Worked | None = None
    waiting: Wait | None = None

    def add(self, entry: Entry) -> None:
        act = ACTS.get(entry.event)
        if act is not None:
            act(self, entry)

    # -------------------------------------------------------------- steps

    def wait(self, at: datetime, cause: str, words: str = "", due: datetime | None = None) -> None:
        self.rest(at)
        begins = self.stage == "PREPARE"
        self.waiting = Wait(at, None, cause, one_line(words, WORDS_MAX), due, begins)
        self.waits.append(self.waiting)

    def rest(self, at: datetime) -> None:
        """Whatever went on ends now."""
        if self.working is not None:
            self.working.until, self.working = at, None
        if self.waiting is not None:
            self._close_wait(self.waiting, at)
            self.waiting = None

    def _close_wait(self, wait: Wait, at: datetime) -> None:
        """Once its date or its needs were there it only waited for somebody to take it."""
        turn = self.ready_at if wait.cause == "NEEDS" else wait.due
        if turn is None or not wait.start < turn < at:
            wait.until = at
            return
        wait.until = turn
        self.waits.append(Wait(turn, at, "SLOT", begins=wait.begins))

    def work(self, at: datetime, stage: str) -> None:
        self.rest(at)
        self.stage = stage
        self.working = Worked(at, None, stage)
        self.attempts[-1].stages.append(self.working)

    def end(self, at: datetime, how: str, failure: str = "") -> None:
        self.rest(at)
        if self.attempts and self.attempts[-1].until is None:
            last = self.attempts[-1]
            last.until, last.ended, last.failure = at, how, failure

    def now(self, moment: datetime) -> None:
        """A wait that goes on is split at its turn as well."""
        wait = self.waiting
        turn = (self.ready_at if wait.cause == "NEEDS" else wait.due) if wait else None
        if wait and turn is not None and wait.start < turn < moment:
            wait.until = turn
            self.waits.append(Wait(turn, None, "SLOT", begins=wait.begins))

    def explain(self, pauses: Sequence[Stop], limits: Sequence[Stop], now: datetime) -> None:
        """Nobody took it: because the run was paused, its account limited, or no worker free."""
        for cause, stops, begins in (("PAUSED", pauses, False), ("LIMIT", limits, True)):
            self.waits = [
                part
                for wait in self.waits
                for part in (
                    parts(wait, cause, stops, now)
                    if wait.cause == "SLOT" and (wait.begins or not begins)
                    else [wait]
                )
            ]


def _submitted(life: Life, entry: Entry) -> None:
    if life.needs:
        life.wait(entry.at, "NEEDS", life.needs)
    else:
        life.wait(entry.at, "SLOT")


def _claimed(life: Life, entry: Entry) -> None:
    """At PREPARE another attempt begins; else the same one goes on."""
    life.rest(entry.at)
    if life.stage == "PREPARE" or not life.attempts:
        life.attempts.append(Stretch(entry.at))
    else:
        last = life.attempts[-1]
        last.until, last.ended, last.failure = None, "", ""
    life.work(entry.at, life.stage)


def _started(life: Life, entry: Entry) -> None:
    if not life.attempts or life.attempts[-1].number:
        life.end(entry.at, "")
        life.attempts.append(Stretch(entry.at))
    last = life.attempts[-1]
    last.number, last.agent = entry.data["attempt"], entry.data["agent"]
    life.work(entry.at, "WORK" if last.agent else "VERIFY")


def _finished(life: Life, entry: Entry) -> None:
    if life.attempts:
        life.work(entry.at, "VERIFY")


def _checked(life: Life, entry: Entry) -> None:
    if life.attempts:
        told = {key: entry.data[key] for key in ("check", "outcome", "seconds")}
        life.attempts[-1].checks.append({**told, "until": entry.at.isoformat()})


def _judged(life: Life, entry: Entry) -> None:
    if life.attempts and entry.data["passed"]:
        life.work(entry.at, "LAND")


def _retried(life: Life, entry: Entry) -> None:
    data = entry.data
    kind = data["failure"]["kind"]
    life.end(entry.at, "LOST" if kind == "LOST" else "RETRY", failure_words(data["failure"]))
    life.stage = data.get("stage", "PREPARE")
    due = datetime.fromisoformat(data["due_at"]) if data.get("due_at") else None
    words = f"retry in {data['delay_ms'] / 1000:g} s"
    life.wait(entry.at, "LIMIT" if kind == "RATE_LIMIT" else "BACKOFF", words, due)


def _escalated(life: Life, entry: Entry) -> None:
    life.end(entry.at, "ESCALATED", failure_words(entry.data["failure"]))
    life.stage = entry.data.get("stage", "PREPARE")
    life.wait(entry.at, "PERSON", str(entry.data["blocked"]))


def _held(life: Life, entry: Entry) -> None:
    life.end(entry.at, "HELD", failure_words(entry.data["failure"]))
    life.stage = "PREPARE"
    life.wait(entry.at, "HELD", "waits for its one re-run")


def _answered(life: Life, entry: Entry) -> None:
    choice = entry.data["choice"]
    if choice == "abort":
        life.end(entry.at, "CANCELLED")
        return
    if choice in {"done", "waive"}:
        life.stage = "VERIFY"
    life.wait(entry.at, "SLOT")


def _expired(life: Life, entry: Entry) -> None:
    life.end(entry.at, "LOST", str(entry.data.get("why") or "the lease ran out"))
    life.wait(entry.at, "LEASE", str(entry.data.get("why") or "its worker was gone"))


def _released(life: Life, entry: Entry) -> None:
    due = entry.data.get("due_at")
    life.end(entry.at, "RELEASED", str(entry.data.get("why", "")))
    until = datetime.fromisoformat(due) if due else None
    life.wait(entry.at, "LIMIT" if due else "SLOT", str(entry.data.get("why", "")), until)


def _again(life: Life, entry: Entry) -> None:
    life.end(entry.at, "")
    life.stage = "PREPARE"
    life.wait(entry.at, "SLOT")


def _undone(life: Life, entry: Entry) -> None:
    life.stage = "PREPARE"
    life.wait(entry.at, "PERSON", "MANUAL")


def _over(how: str) -> Callable[[Life, Entry], None]:
    return lambda life, entry: life.end(entry.at, how)


def _refused(life: Life, entry: Entry) -> None:
    if life.attempts:
        life.work(entry.at, "VERIFY")


ACTS: Mapping[str, Callable[[Life, Entry], None]] = {
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


def life_of(
    entries: Iterable[Entry], now: datetime, *, needs: str = "", ready_at: datetime | None = None
) -> Life:
    life = Life(ready_at, needs)
    for entry in entries:
        life.add(entry)
    life.now(now)
    return life


def life_document(life: Life) -> Document:
    waits = [w for w in life.waits if w.until is None or w.until - w.start >= SHORTEST]
    return {
        "attempts": [_attempt(one) for one in life.attempts],
        "waits": [
            {**_span(w), "cause": w.cause, "words": w.words}
            for w in sorted(waits, key=lambda wait: wait.start)
        ],
    }


def _attempt(one: Stretch) -> Document:
    return {
        "attempt": one.number,
        "agent": one.agent or None,
        **_span(one),
        "ended": one.ended or None,
        "failure": one.failure or None,
        "stages": [{"stage": held.stage, **_span(held)} for held in one.stages],
        "checks": one.checks,
    }


def _span(held: Span) -> Document:
    return {
        "from": held.start.isoformat(),
        "until": held.until.isoformat() if held.until else None,
    }
