"""The fold of one task's journal.  Only this module maps journal events to the task's history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model import Choice, FailureKind, Stage
from yaoki.ports import JournalEntry
from yaoki.views.decisions import DECISION_OF_EVENT, ExplainedDecision, read_decision
from yaoki.views.entry_text import describe_entry, failure_words
from yaoki.views.history.values import (
    Attempt,
    AttemptEnd,
    CheckResult,
    Judgment,
    PersonWait,
    RecordedAnswer,
    Removal,
    SentPrompt,
    StageSpan,
    Wait,
    WaitCause,
    read_agent_run,
    read_check_result,
)


@dataclass(slots=True)
class TaskHistory:
    """Everything that happened to one task so far."""

    attempts: list[Attempt] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    decisions: list[ExplainedDecision] = field(default_factory=list)
    answers: list[RecordedAnswer] = field(default_factory=list)
    person_waits: list[PersonWait] = field(default_factory=list)
    judgments: list[Judgment] = field(default_factory=list)
    removal: Removal | None = None
    replaced_by: str = ""
    # The last question as a person read it.
    question: str = ""
    last_at: datetime | None = None
    _stage: str = Stage.PREPARE
    _waits_now: bool = False
    _commit: str = ""
    _commit_checks: dict[str, CheckResult] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> None:
        self.last_at = entry.at
        if entry.event in DECISION_OF_EVENT:
            self.decisions.append(read_decision(entry))
        apply = _APPLY.get(entry.event)
        if apply is not None:
            apply(self, entry)

    @property
    def numbered_attempts(self) -> dict[int, Attempt]:
        """The attempts that got a worktree, by number."""
        return {attempt.number: attempt for attempt in self.attempts if attempt.number}

    @property
    def current_wait(self) -> Wait | None:
        return self.waits[-1] if self._waits_now else None

    @property
    def return_reason(self) -> str:
        """Why a worker gave the task back, while it waits because of that."""
        wait = self.current_wait
        if wait is None or wait.after_failure or wait.cause not in _RETURN_CAUSES:
            return ""
        return wait.words

    @property
    def asked_at(self) -> datetime | None:
        """When the last wait for a person began."""
        starts = [wait.start for wait in self.waits if wait.cause is WaitCause.PERSON]
        return starts[-1] if starts else None

    # -------------------------------------------------------------- changes

    def _change_attempt(self, **changes: Any) -> None:
        if self.attempts:
            self.attempts[-1] = replace(self.attempts[-1], **changes)

    def _begin_wait(self, at: datetime, cause: WaitCause, **more: Any) -> None:
        self._end_current(at)
        begins = self._stage == Stage.PREPARE
        self.waits.append(Wait(at, cause, starts_attempt=begins, **more))
        self._waits_now = True

    def _begin_stage(self, at: datetime, stage: str, **changes: Any) -> None:
        """Begin a stage of the current attempt; `changes` are further fields of the attempt."""
        self._end_wait(at)
        self._stage = stage
        stages = (*self._ended_stages(at), StageSpan(at, stage))
        self._change_attempt(stages=stages, **changes)

    def _end_current(self, at: datetime) -> None:
        """End the open stage and the open wait."""
        self._end_wait(at)
        stages = self._ended_stages(at)
        if stages and stages is not self.attempts[-1].stages:
            self._change_attempt(stages=stages)

    def _end_wait(self, at: datetime) -> None:
        if self._waits_now:
            self.waits[-1] = replace(self.waits[-1], until=at)
            self._waits_now = False

    def _ended_stages(self, at: datetime) -> tuple[StageSpan, ...]:
        """The stages of the current attempt, the open one ended."""
        stages = self.attempts[-1].stages if self.attempts else ()
        if not stages or stages[-1].until is not None:
            return stages
        return (*stages[:-1], StageSpan(stages[-1].start, stages[-1].stage, at))

    def _end_attempt(
        self,
        entry: JournalEntry,
        end: AttemptEnd,
        failure: str = "",
        words: str = "",
        *,
        landed: bool = False,
    ) -> None:
        if not self.attempts or self.attempts[-1].until is not None:
            self._end_current(entry.at)
            return
        self._end_wait(entry.at)
        self._change_attempt(
            stages=self._ended_stages(entry.at),
            until=entry.at,
            end=end,
            failure=failure,
            end_words=words or failure or describe_entry(entry),
            landed=landed,
        )


_RETURN_CAUSES = frozenset({WaitCause.SLOT, WaitCause.LIMIT})
Apply = Callable[[TaskHistory, JournalEntry], None]


def _submit(history: TaskHistory, entry: JournalEntry) -> None:
    needs = (entry.data.get("spec") or {}).get("needs")
    history._begin_wait(entry.at, WaitCause.NEEDS if needs else WaitCause.SLOT)


def _claim(history: TaskHistory, entry: JournalEntry) -> None:
    """A claim at PREPARE begins an attempt; at a later stage the same attempt continues."""
    if history._stage == Stage.PREPARE or not history.attempts:
        history._end_current(entry.at)
        history.attempts.append(Attempt(entry.at, stages=(StageSpan(entry.at, history._stage),)))
    else:
        reopened = {"until": None, "end": AttemptEnd.OTHER, "failure": "", "end_words": ""}
        history._begin_stage(entry.at, history._stage, **reopened)


def _start(history: TaskHistory, entry: JournalEntry) -> None:
    if not history.attempts or history.attempts[-1].number:
        history._end_attempt(entry, AttemptEnd.OTHER)
        history.attempts.append(Attempt(entry.at))
    data = entry.data
    agent = str(data.get("agent", ""))
    history._begin_stage(
        entry.at,
        Stage.WORK if agent else Stage.VERIFY,
        number=int(data.get("attempt", entry.attempt)),
        started_at=entry.at,
        agent=agent,
        base=str(data.get("base", "")),
    )


def _send_prompt(history: TaskHistory, entry: JournalEntry) -> None:
    words = (str(entry.data.get(key) or "") for key in ("kind", "pattern", "path"))
    history._change_attempt(prompt=SentPrompt(*words))


def _finish_agent(history: TaskHistory, entry: JournalEntry) -> None:
    if not history.attempts:
        return
    runs = (*history.attempts[-1].agent_runs, read_agent_run(entry))
    history._begin_stage(entry.at, Stage.VERIFY, agent_runs=runs)


def _finish_check(history: TaskHistory, entry: JournalEntry) -> None:
    result = read_check_result(entry)
    if result.commit != history._commit:
        history._commit, history._commit_checks = result.commit, {}
    history._commit_checks[result.check] = result
    if history.attempts:
        history._change_attempt(checks=(*history.attempts[-1].checks, result))


def _judge(history: TaskHistory, entry: JournalEntry) -> None:
    data = entry.data
    if not data["passed"]:
        return
    commit = data.get("commit", "")
    checks = history._commit_checks.values() if commit == history._commit else ()
    outcomes = data.get("checks", {})
    history.judgments.append(
        Judgment(
            commit, data.get("onto", ""), data.get("unchanged", False), outcomes, tuple(checks)
        )
    )
    if history.attempts:
        history._begin_stage(entry.at, Stage.LAND)


def _refuse_landing(history: TaskHistory, entry: JournalEntry) -> None:
    if history.attempts:
        history._begin_stage(entry.at, Stage.VERIFY)


def _land(history: TaskHistory, entry: JournalEntry) -> None:
    history._end_attempt(entry, AttemptEnd.LANDED, landed=True)
    last = history.attempts[-1] if history.attempts else None
    if last and last.end is AttemptEnd.LANDED and not last.landed:
        # A planning task ends when its tasks are planned; the words are those of the landing.
        history._change_attempt(end_words=describe_entry(entry), landed=True)


def _retry(history: TaskHistory, entry: JournalEntry) -> None:
    data = entry.data
    kind = data["failure"]["kind"]
    end = AttemptEnd.LOST if kind == FailureKind.LOST else AttemptEnd.RETRY
    history._end_attempt(entry, end, failure_words(data["failure"]), describe_entry(entry))
    history._stage = data.get("stage", Stage.PREPARE)
    history._begin_wait(
        entry.at,
        WaitCause.LIMIT if kind == FailureKind.RATE_LIMIT else WaitCause.BACKOFF,
        words=f"retry in {data.get('delay_ms', 0) / 1000:g} s",
        due_at=_instant(data.get("due_at")),
        after_failure=True,
    )


def _escalate(history: TaskHistory, entry: JournalEntry) -> None:
    words = failure_words(entry.data["failure"])
    history._end_attempt(entry, AttemptEnd.ESCALATED, words, describe_entry(entry))
    history.person_waits.append(PersonWait(entry.at, entry.attempt, words))
    history._stage = entry.data.get("stage", Stage.PREPARE)
    history._begin_wait(entry.at, WaitCause.PERSON, words=str(entry.data.get("blocked", "")))


def _tell_person(history: TaskHistory, entry: JournalEntry) -> None:
    history.question = str(entry.data["user_message"])


def _hold(history: TaskHistory, entry: JournalEntry) -> None:
    words = failure_words(entry.data["failure"])
    history._end_attempt(entry, AttemptEnd.HELD, words, describe_entry(entry))
    history._stage = Stage.PREPARE
    history._begin_wait(
        entry.at, WaitCause.HELD, words="waits for its one re-run", after_failure=True
    )


def _answer(history: TaskHistory, entry: JournalEntry) -> None:
    data = entry.data
    choice = str(data["choice"])
    texts = (str(data.get(key) or "") for key in ("check", "words", "how"))
    history.answers.append(RecordedAnswer(entry.at, entry.task_id, entry.attempt, choice, *texts))
    waits = history.person_waits
    if waits and waits[-1].until is None:
        waits[-1] = replace(waits[-1], until=entry.at, choice=choice)
    if choice == Choice.ABORT:
        history._end_attempt(entry, AttemptEnd.CANCELLED)
        history.removal = Removal(entry.at, entry.event, "CANCELLED: a person answered abort")
        return
    if choice in {Choice.DONE, Choice.WAIVE}:
        history._stage = Stage.VERIFY
    history._begin_wait(entry.at, WaitCause.SLOT)


def _expire(history: TaskHistory, entry: JournalEntry) -> None:
    why = str(entry.data.get("why") or "")
    history._end_attempt(entry, AttemptEnd.EXPIRED, why or "the lease ran out")
    history._begin_wait(entry.at, WaitCause.LEASE, words=why or "its worker was gone")


def _release(history: TaskHistory, entry: JournalEntry) -> None:
    why, due = str(entry.data.get("why", "")), _instant(entry.data.get("due_at"))
    history._end_attempt(entry, AttemptEnd.RELEASED, why)
    cause = WaitCause.LIMIT if due else WaitCause.SLOT
    history._begin_wait(entry.at, cause, words=why, due_at=due)


def _restart(history: TaskHistory, entry: JournalEntry) -> None:
    history._end_attempt(entry, AttemptEnd.OTHER)
    history._stage = Stage.PREPARE
    history._begin_wait(entry.at, WaitCause.SLOT)


def _undo(history: TaskHistory, entry: JournalEntry) -> None:
    history._stage = Stage.PREPARE
    history._begin_wait(entry.at, WaitCause.PERSON, words="MANUAL")


def _cancel(history: TaskHistory, entry: JournalEntry) -> None:
    base = history.attempts[-1].base if history.attempts else ""
    unchanged = bool(base) and entry.data.get("kept") == base
    words = "cancelled; it had changed nothing" if unchanged else ""
    history._end_attempt(entry, AttemptEnd.CANCELLED, words=words)
    why = str(entry.data.get("why", ""))
    by = why.removeprefix("cancelled by ")
    ending = f"CANCELLED by {by}" if by != why else f"CANCELLED: {why}" if why else "CANCELLED"
    history.removal = Removal(entry.at, entry.event, ending)


def _replace(history: TaskHistory, entry: JournalEntry) -> None:
    history._end_attempt(entry, AttemptEnd.REPLACED)
    history.replaced_by = str(entry.data.get("by", ""))
    history.removal = Removal(entry.at, entry.event, f"REPLACED by {history.replaced_by}")


def _instant(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


_APPLY: Mapping[str, Apply] = {
    "TASK_SUBMITTED": _submit,
    "TASK_CLAIMED": _claim,
    "ATTEMPT_STARTED": _start,
    "PROMPT_SENT": _send_prompt,
    "AGENT_FINISHED": _finish_agent,
    "CHECK_FINISHED": _finish_check,
    "QUALITY_JUDGMENT": _judge,
    "LAND_REFUSED": _refuse_landing,
    "TASK_LANDED": _land,
    "TASKS_PLANNED": lambda history, entry: history._end_attempt(entry, AttemptEnd.LANDED),
    "RETRY_DECISION": _retry,
    "ESCALATE_DECISION": _escalate,
    "ESCALATE_EXECUTED": _tell_person,
    "RERUN_HELD": _hold,
    "RERUN_GRANTED": _restart,
    "ESCALATION_ANSWERED": _answer,
    "LEASE_EXPIRED": _expire,
    "LEASE_RELEASED": _release,
    "TASK_UNLANDED": _restart,
    "TASK_RECALLED": _restart,
    "TASK_UNDONE": _undo,
    "TASK_CANCELLED": _cancel,
    "TASK_REPLACED": _replace,
}


def build_history(entries: Iterable[JournalEntry]) -> TaskHistory:
    """`entries` are the journal of one task, oldest first."""
    history = TaskHistory()
    for entry in entries:
        history.add(entry)
    return history
