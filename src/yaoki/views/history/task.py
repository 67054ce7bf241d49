"""The fold of one task's journal.  Only this module maps journal events to the task's history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model import CheckRunPurpose, Choice, FailureKind, Stage, TaskKind
from yaoki.core.model.verdict_key import describe_difference
from yaoki.core.text import format_duration
from yaoki.ports import JournalEntry
from yaoki.views.decisions import DECISION_OF_EVENT, ExplainedDecision, read_decision
from yaoki.views.entry_text import describe_entry
from yaoki.views.history.check_runs import CheckRunLog, CheckRuns
from yaoki.views.history.entry_values import (
    read_agent_run,
    read_check_result,
    read_failure,
    read_instant,
    read_prompt,
)
from yaoki.views.history.race_entries import RACE_ENTRIES
from yaoki.views.history.races import RaceLog
from yaoki.views.history.timeline import Timeline
from yaoki.views.history.values import (
    Attempt,
    AttemptEnd,
    CheckResult,
    EndedInterval,
    Judgment,
    Landing,
    PersonWait,
    RecordedAnswer,
    Removal,
    Wait,
    WaitCause,
)
from yaoki.views.indistinct import is_indistinct
from yaoki.views.plain_words import (
    REFUSALS,
    UNDONE_AND_GIVEN_UP,
    describe_cause,
    read_refusal_cause,
)
from yaoki.views.wait_text import RERUN_FOLLOWS

# The decision of a person who undid a task; an answer has its choices.
UNDO = "undo"


@dataclass(slots=True)
class TaskHistory:
    """Everything that happened to one task so far."""

    timeline: Timeline = field(default_factory=Timeline)
    name: str = ""
    decisions: list[ExplainedDecision] = field(default_factory=list)
    answers: list[RecordedAnswer] = field(default_factory=list)
    person_waits: list[PersonWait] = field(default_factory=list)
    judgments: list[Judgment] = field(default_factory=list)
    landings: list[Landing] = field(default_factory=list)
    removal: Removal | None = None
    replaced_by: str = ""
    # The last question as a person read it.
    question: str = ""
    last_at: datetime | None = None
    # The revision of the plan that its checks are from; 0 for those it was submitted with.
    check_revision: int = 0
    check_run_log: CheckRunLog = field(default_factory=CheckRunLog)
    races: RaceLog = field(default_factory=RaceLog)
    # The task that a candidate races for.
    race_task: str = ""
    # The channel of the last request to undo it.
    _undo_channel: str = ""
    _commit: str = ""
    _commit_checks: dict[str, CheckResult] = field(default_factory=dict)
    # The parts of the key of each check that passed last.
    _keys: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> list[EndedInterval]:
        """Returns what the entry ended: waits, stages, checks and attempts."""
        self.last_at = entry.at
        self.timeline.ended = []
        if entry.event in DECISION_OF_EVENT:
            self.decisions.append(read_decision(entry))
        apply = _APPLY.get(entry.event)
        if apply is not None:
            apply(self, self.timeline, entry)
        return self.timeline.ended

    @property
    def attempts(self) -> list[Attempt]:
        return self.timeline.attempts

    @property
    def waits(self) -> list[Wait]:
        return self.timeline.waits

    @property
    def is_over(self) -> bool:
        """Has it landed, or was it taken out of the run, without being continued since?"""
        return self.timeline.is_idle and bool(self.attempts or self.removal)

    @property
    def numbered_attempts(self) -> dict[int, Attempt]:
        """The attempts that got a worktree, by number."""
        return {attempt.number: attempt for attempt in self.attempts if attempt.number}

    @property
    def check_runs(self) -> list[CheckRuns]:
        """All executions of checks; in the journal of an older yaoki those with a result."""
        if self.check_run_log.runs:
            return self.check_run_log.runs
        results = ((a.number, check) for a in self.attempts for check in a.checks)
        return [run for number, check in results for run in _runs_of_result(check, number)]

    @property
    def current_wait(self) -> Wait | None:
        return self.timeline.current_wait

    @property
    def return_reason(self) -> str:
        """The reason why a worker gave the task back, while the task waits because of it."""
        wait = self.current_wait
        if wait is None or wait.after_failure or wait.cause not in _RETURN_CAUSES:
            return ""
        return wait.words

    @property
    def return_cause(self) -> str:
        """The failure or the reason after which the task waits, in a few words."""
        wait = self.current_wait
        if wait is not None and wait.after_failure and self.decisions:
            last = self.decisions[-1]
            return describe_cause(last.failure_kind, last.pattern)
        return wait.words if wait is not None and wait.cause is not WaitCause.PERSON else ""

    @property
    def asked_at(self) -> datetime | None:
        """The start of the last wait for a person."""
        starts = [wait.start for wait in self.waits if wait.cause is WaitCause.PERSON]
        return starts[-1] if starts else None


def _runs_of_result(check: CheckResult, attempt: int) -> Iterator[CheckRuns]:
    again = check.rerun_seconds
    if check.seconds:
        yield CheckRuns(check.check, CheckRunPurpose.CANDIDATE, 1, check.seconds, attempt)
    if again:
        yield CheckRuns(check.check, CheckRunPurpose.AGAIN, len(again), sum(again), attempt)


_RETURN_CAUSES = frozenset({WaitCause.SLOT, WaitCause.BACKOFF})
Apply = Callable[[TaskHistory, Timeline, JournalEntry], None]


def _submit(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    spec = entry.data.get("spec") or {}
    history.name = str(spec.get("name", ""))
    history.race_task = str(entry.data.get("race_task", ""))
    is_judge = spec.get("kind") == TaskKind.JUDGE
    cause = WaitCause.RACE if history.race_task and not is_judge else WaitCause.SLOT
    timeline.begin_wait(entry, WaitCause.NEEDS if spec.get("needs") else cause)


def _claim(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    history.check_run_log.give_up()
    timeline.claim(entry)


def _start(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.start_attempt(entry)


def _send_prompt(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.change_attempt(prompt=read_prompt(entry))


def _finish_agent(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    if not timeline.attempts:
        return
    run = read_agent_run(entry)
    runs = (*timeline.attempts[-1].agent_runs, run)
    timeline.begin_stage(entry, Stage.VERIFY, agent_run=run, agent_runs=runs)
    if entry.data.get("person_file_count") == 0:
        # A person asked for another proof of the work as it is: nobody worked in this attempt.
        timeline.change_attempt(agent="")


def _lose_agent(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.change_attempt(lost_seconds=entry.data.get("seconds"))


def _count_check_runs(history: TaskHistory, _: Timeline, entry: JournalEntry) -> None:
    history.check_run_log.add(entry)


def _finish_check(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    result = _explain_repetition(history, read_check_result(entry))
    if result.commit != history._commit:
        history._commit, history._commit_checks = result.commit, {}
    history._commit_checks[result.check] = result
    timeline.add_check(result)


def _explain_repetition(history: TaskHistory, result: CheckResult) -> CheckResult:
    """A check that passed before for this task ran again: which part of its key differs?"""
    before = history._keys.get(result.check)
    history._keys[result.check] = result.key or before or {}
    if not (before and result.key) or result.reused:
        return result
    changed = describe_difference(before, result.key)
    return replace(result, words=f"{result.words}, run again: {changed}") if changed else result


def _judge(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    data = entry.data
    history.check_run_log.judge()
    commit = data.get("commit", "")
    checks = tuple(history._commit_checks.values()) if commit == history._commit else ()
    # Each judgment has its own results: an earlier one of the same commit may have more.
    history._commit, history._commit_checks = "", {}
    if not data["passed"]:
        return
    outcomes = data.get("checks", {})
    history.judgments.append(
        Judgment(
            commit,
            data.get("onto", ""),
            data.get("unchanged", False),
            outcomes,
            checks,
            history.check_revision,
        )
    )
    if timeline.attempts:
        same = is_indistinct(outcomes, data.get("same_at_base", ()))
        timeline.begin_stage(entry, Stage.LAND, is_indistinct=same)


def _revise_checks(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    history.check_revision = int(entry.data["revision"]["number"])
    history.races.reopen()
    if entry.data.get("proof_is_void"):
        timeline.stage = Stage.VERIFY
        timeline.begin_wait(entry, WaitCause.SLOT)


def _fail_jointly(history: TaskHistory, _: Timeline, __: JournalEntry) -> None:
    history.check_run_log.give_up()


def _refuse_landing(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    history.check_run_log.refuse()
    if timeline.attempts:
        timeline.begin_stage(entry, Stage.VERIFY, error=REFUSALS[read_refusal_cause(entry.data)])


def _land(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    commit = str(entry.data.get("commit", ""))
    history.landings.append(Landing(entry.at, commit))
    timeline.end_attempt(entry, AttemptEnd.LANDED, landed_commit=commit)
    last = timeline.attempts[-1] if timeline.attempts else None
    if last and last.end is AttemptEnd.LANDED and not last.landed:
        # A planning task ends when its tasks are planned; the words are those of the landing.
        timeline.change_attempt(end_words=describe_entry(entry), landed=True)


def _plan(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.end_attempt(entry, AttemptEnd.LANDED)


def _retry(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    data = entry.data
    kind = data["failure"]["kind"]
    timeline.fail_attempt(entry, AttemptEnd.LOST if kind == FailureKind.LOST else AttemptEnd.RETRY)
    timeline.stage = data.get("stage", Stage.PREPARE)
    timeline.begin_wait(
        entry,
        WaitCause.LIMIT if read_failure(entry).is_limit else WaitCause.BACKOFF,
        words=f"retry in {format_duration(data.get('delay_ms', 0) / 1000)}",
        due_at=read_instant(data.get("due_at")),
        after_failure=True,
    )


def _escalate(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    words = timeline.fail_attempt(entry, AttemptEnd.ESCALATED)
    history.person_waits.append(PersonWait(entry.at, entry.attempt, words, read_failure(entry)))
    timeline.stage = entry.data.get("stage", Stage.PREPARE)
    timeline.begin_wait(entry, WaitCause.PERSON, words=str(entry.data.get("blocked", "")))


def _tell_person(history: TaskHistory, _: Timeline, entry: JournalEntry) -> None:
    history.question = str(entry.data["user_message"])


def _hold(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.fail_attempt(entry, AttemptEnd.HELD)
    timeline.stage = Stage.PREPARE
    timeline.begin_wait(entry, WaitCause.HELD, words=RERUN_FOLLOWS, after_failure=True)


def _answer(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    data = entry.data
    choice = str(data["choice"])
    check, words, channel = (str(data.get(key) or "") for key in ("check", "words", "how"))
    undone = _is_undone(history)
    given = (entry.at, entry.task_id, entry.attempt, choice)
    history.answers.append(RecordedAnswer(*given, check, words, channel))
    waits = history.person_waits
    if waits and waits[-1].until is None:
        waits[-1] = replace(waits[-1], until=entry.at, choice=choice)
    if choice == Choice.ABORT:
        timeline.end_attempt(entry, AttemptEnd.CANCELLED)
        how = UNDONE_AND_GIVEN_UP if undone else "a person answered abort"
        history.removal = Removal(entry.at, entry.event, f"CANCELLED: {how}")
        return
    if choice == Choice.WAIVE:
        timeline.stage = Stage.VERIFY
    elif choice == Choice.DONE:
        timeline.stage = Stage.PREPARE
    timeline.begin_wait(entry, WaitCause.SLOT)


def _end_wait(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    """The person decided once, about the task that was named."""
    if not entry.data.get("retried_task"):
        words, channel = (str(entry.data.get(key) or "") for key in ("words", "how"))
        given = (entry.at, entry.task_id, entry.attempt, Choice.RETRY.value)
        history.answers.append(RecordedAnswer(*given, "", words, channel))
    timeline.begin_wait(entry, WaitCause.SLOT)


def _expire(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    why = str(entry.data.get("why") or "")
    words = why or "the lease ran out"
    timeline.end_attempt(entry, AttemptEnd.EXPIRED, failure_words=words, error=why)
    timeline.begin_wait(entry, WaitCause.LEASE, words=why or "its worker was gone")


def _release(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    """Given back until the missing resource may be there; at once where none is missing."""
    why, due = str(entry.data.get("why", "")), read_instant(entry.data.get("due_at"))
    timeline.end_attempt(entry, AttemptEnd.RELEASED, failure_words=why)
    cause = WaitCause.BACKOFF if due and due > entry.at else WaitCause.SLOT
    timeline.begin_wait(entry, cause, words=why, due_at=due)


def _restart(_: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.end_attempt(entry, AttemptEnd.RECALLED)
    timeline.stage = Stage.PREPARE
    timeline.begin_wait(entry, WaitCause.SLOT)


def _unland(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    _note_revert(timeline, str(entry.data.get("why", "")))
    _restart(history, timeline, entry)


def _note_revert(timeline: Timeline, why: str) -> None:
    """Without this, an attempt whose landing was reverted would look as if its work were there."""
    if timeline.attempts and timeline.attempts[-1].landed:
        words = f"{timeline.attempts[-1].end_words}; reverted since"
        timeline.change_attempt(end_words=f"{words}: {why}" if why else words)


def _request_undo(history: TaskHistory, _: Timeline, entry: JournalEntry) -> None:
    history._undo_channel = str(entry.data.get("how") or "")


def _undo(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    """Only a person undoes a task; a final check has it reverted."""
    channel = history._undo_channel
    history.answers.append(
        RecordedAnswer(entry.at, entry.task_id, entry.attempt, UNDO, "", "", channel)
    )
    _note_revert(timeline, "a person undid it")
    timeline.stage = Stage.PREPARE
    timeline.begin_wait(entry, WaitCause.PERSON, words="MANUAL")


def _cancel(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    base = timeline.attempts[-1].base if timeline.attempts else ""
    unchanged = bool(base) and entry.data.get("kept") == base
    words = "cancelled; it had changed nothing" if unchanged else ""
    timeline.end_attempt(entry, AttemptEnd.CANCELLED, words)
    why = str(entry.data.get("why", ""))
    by = why.removeprefix("cancelled by ")
    ending = f"CANCELLED by {by}" if by != why else f"CANCELLED: {why}" if why else "CANCELLED"
    undone = "; a person had undone its landing before" if _is_undone(history) else ""
    history.removal = Removal(entry.at, entry.event, ending + undone)


def _is_undone(history: TaskHistory) -> bool:
    """Is the undo of its landing the last that a person decided about the task?"""
    return bool(history.answers) and history.answers[-1].choice == UNDO


def _replace(history: TaskHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.end_attempt(entry, AttemptEnd.REPLACED)
    history.replaced_by = str(entry.data.get("by", ""))
    by, why = history.replaced_by, str(entry.data.get("why", ""))
    words = f"REPLACED by {by}" if by else f"REPLACED: {why}" if why else "REPLACED"
    history.removal = Removal(entry.at, entry.event, words)


_APPLY: Mapping[str, Apply] = {
    "TASK_SUBMITTED": _submit,
    "TASK_CLAIMED": _claim,
    "ATTEMPT_STARTED": _start,
    "PROMPT_SENT": _send_prompt,
    "AGENT_FINISHED": _finish_agent,
    "AGENT_RUN_LOST": _lose_agent,
    "CHECKS_RAN": _count_check_runs,
    "CHECK_FINISHED": _finish_check,
    "QUALITY_JUDGMENT": _judge,
    "CHECKS_REVISED": _revise_checks,
    "JOINT_PROOF_FAILED": _fail_jointly,
    "LAND_REFUSED": _refuse_landing,
    "TASK_LANDED": _land,
    "TASKS_PLANNED": _plan,
    "RETRY_DECISION": _retry,
    "ESCALATE_DECISION": _escalate,
    "ESCALATE_EXECUTED": _tell_person,
    "RERUN_HELD": _hold,
    "RERUN_GRANTED": _restart,
    "ESCALATION_ANSWERED": _answer,
    "WAIT_ENDED": _end_wait,
    "LEASE_EXPIRED": _expire,
    "LEASE_RELEASED": _release,
    "TASK_UNLANDED": _unland,
    "TASK_RECALLED": _restart,
    "UNDO_REQUESTED": _request_undo,
    "TASK_UNDONE": _undo,
    "TASK_CANCELLED": _cancel,
    "TASK_REPLACED": _replace,
    **RACE_ENTRIES,
}
# Other events say nothing about the history of a task.
TASK_EVENTS = frozenset(_APPLY)


def build_history(entries: Iterable[JournalEntry]) -> TaskHistory:
    """`entries` are the journal of one task, oldest first."""
    history = TaskHistory()
    for entry in entries:
        history.add(entry)
    return history
