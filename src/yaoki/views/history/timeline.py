"""The attempts of a task and the waits between them, built entry by entry."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import Stage
from yaoki.ports import JournalEntry
from yaoki.views.entry_text import describe_entry, failure_words
from yaoki.views.history.entry_values import read_failure
from yaoki.views.history.values import (
    AgentRun,
    Attempt,
    AttemptEnd,
    AttemptSpan,
    CheckResult,
    EndedInterval,
    RecordedFailure,
    StageSpan,
    Wait,
    WaitCause,
)


@dataclass(slots=True)
class Timeline:
    """At any time a task is in a stage of its last attempt, or waits, or is over."""

    attempts: list[Attempt] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    # The stage at which the next claim continues.
    stage: str = Stage.PREPARE
    # The attempt that has started and is not concluded; a lost worker does not conclude it.
    open_attempt: AttemptSpan | None = None
    # The intervals that the last entry ended, in their order.
    ended: list[EndedInterval] = field(default_factory=list)
    _waits_now: bool = False

    @property
    def current_wait(self) -> Wait | None:
        return self.waits[-1] if self._waits_now else None

    @property
    def open_stage(self) -> StageSpan | None:
        stages = self.attempts[-1].stages if self.attempts else ()
        return stages[-1] if stages and stages[-1].until is None else None

    @property
    def is_idle(self) -> bool:
        """Is the task neither in a stage nor in a wait?"""
        return not self._waits_now and self.open_attempt is None and self.open_stage is None

    # -------------------------------------------------------------- claims and stages

    def claim(self, entry: JournalEntry) -> None:
        """A claim at PREPARE begins an attempt; at a later stage the same attempt continues."""
        begins = self.stage == Stage.PREPARE
        if begins or not self.attempts:
            self._end_current(entry.at)
            stages = (StageSpan(entry.at, self.stage, seq=entry.seq),)
            self.attempts.append(Attempt(entry.at, seq=entry.seq, stages=stages))
        else:
            self.begin_stage(entry, self.stage)
            self.change_attempt(
                until=None,
                end=AttemptEnd.OTHER,
                failure="",
                recorded_failure=None,
                end_words="",
            )
        if begins:
            self._conclude(entry.at, AttemptEnd.OTHER)
        elif self.open_attempt is None:
            last = self.attempts[-1]
            self.open_attempt = AttemptSpan(
                entry.at, entry.seq, last.number, last.agent, is_continued=True
            )

    def start_attempt(self, entry: JournalEntry) -> None:
        """The attempt began with the claim, but its number is known only now."""
        number = int(entry.data.get("attempt", entry.attempt))
        agent = str(entry.data.get("agent", ""))
        if not self.attempts or self.attempts[-1].number:
            self.end_attempt(entry, AttemptEnd.OTHER)
            self.attempts.append(Attempt(entry.at, seq=entry.seq))
        last = self.attempts[-1]
        self.open_attempt = AttemptSpan(last.start, last.seq, number, agent, is_continued=False)
        self.begin_stage(
            entry,
            Stage.WORK if agent else Stage.VERIFY,
            number=number,
            started_at=entry.at,
            started_seq=entry.seq,
            agent=agent,
            account=str(entry.data.get("account", "")),
            base=str(entry.data.get("base", "")),
        )

    def begin_stage(
        self,
        entry: JournalEntry,
        stage: str,
        *,
        error: str = "",
        agent_run: AgentRun | None = None,
        **changes: Any,
    ) -> None:
        """Begin a stage of the current attempt; `changes` are further fields of the attempt.

        `error` and `agent_run`: what ended the stage before.
        """
        self._end_wait(entry.at)
        self.stage = stage
        before = self._end_stage(entry.at, error, agent_run)
        stages = (*before, StageSpan(entry.at, stage, seq=entry.seq))
        self.change_attempt(stages=stages, **changes)

    def change_attempt(self, **changes: Any) -> None:
        if self.attempts:
            for name, value in changes.items():
                setattr(self.attempts[-1], name, value)

    def add_check(self, check: CheckResult) -> None:
        self.ended.append(EndedInterval(check, self.open_attempt, self.open_stage))
        if self.attempts:
            self.change_attempt(checks=(*self.attempts[-1].checks, check))

    # -------------------------------------------------------------- waits

    def begin_wait(self, entry: JournalEntry, cause: WaitCause, **more: Any) -> None:
        self._end_current(entry.at)
        begins = self.stage == Stage.PREPARE
        self.waits.append(Wait(entry.at, cause, starts_attempt=begins, seq=entry.seq, **more))
        self._waits_now = True

    # -------------------------------------------------------------- ends

    def fail_attempt(self, entry: JournalEntry, end: AttemptEnd) -> str:
        """End the last attempt with the failure of the entry; returns the failure in words."""
        words = failure_words(entry.data["failure"])
        self.end_attempt(
            entry, end, describe_entry(entry), failure_words=words, failure=read_failure(entry)
        )
        return words

    def end_attempt(
        self,
        entry: JournalEntry,
        end: AttemptEnd,
        words: str = "",
        *,
        failure_words: str = "",
        failure: RecordedFailure | None = None,
        error: str = "",
        landed_commit: str | None = None,
    ) -> None:
        """End the last attempt, or only the claim of it; one that had ended before stays so.

        `error`: why its stage ended.  `landed_commit` is None for an attempt that did not land.
        """
        if failure is not None:
            error = f"{failure.kind}: {failure.message}"
        if not self.attempts or self.attempts[-1].until is not None:
            self._end_current(entry.at, error)
        else:
            self._end_wait(entry.at)
            self.change_attempt(
                stages=self._end_stage(entry.at, error=error),
                until=entry.at,
                end=end,
                failure=failure_words,
                recorded_failure=failure,
                end_words=words or failure_words or describe_entry(entry),
                landed=landed_commit is not None,
            )
        if end not in {AttemptEnd.EXPIRED, AttemptEnd.RELEASED}:
            self._conclude(entry.at, end, failure, landed_commit or "")

    def _conclude(
        self,
        at: datetime,
        end: AttemptEnd,
        failure: RecordedFailure | None = None,
        landed_commit: str = "",
    ) -> None:
        attempt, self.open_attempt = self.open_attempt, None
        if attempt is not None:
            began = (attempt.start, attempt.seq, attempt.number, attempt.agent)
            span = AttemptSpan(*began, attempt.is_continued, at, end, failure, landed_commit)
            self.ended.append(EndedInterval(span))

    def _end_current(self, at: datetime, error: str = "") -> None:
        """End the open stage and the open wait."""
        self._end_wait(at)
        if self.open_stage is not None:
            self.change_attempt(stages=self._end_stage(at, error=error))

    def _end_wait(self, at: datetime) -> None:
        if self._waits_now:
            self.waits[-1].until = at
            self._waits_now = False
            self.ended.append(EndedInterval(self.waits[-1]))

    def _end_stage(
        self, at: datetime, error: str = "", agent_run: AgentRun | None = None
    ) -> tuple[StageSpan, ...]:
        """The stages of the current attempt, the open one ended."""
        stages = self.attempts[-1].stages if self.attempts else ()
        if not stages or stages[-1].until is not None:
            return stages
        last = StageSpan(stages[-1].start, stages[-1].stage, at, stages[-1].seq, error, agent_run)
        self.ended.append(EndedInterval(last, self.open_attempt))
        return (*stages[:-1], last)
