"""The calling attempt, named by the agent's environment, and whether it is still current."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.machine.events import AttemptStarted, Claimed, Event
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model import Stage, State, Task, TaskId
from yaoki.core.text import one_line
from yaoki.errors import Refused, Unknown

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.ports import JournalEntry

TASK_ID = lazy_compile(r"[a-z0-9]{8}-[0-9]{1,9}")
NUMBER = lazy_compile(r"[0-9]{1,9}")
PAGE = 1000
ENTRIES_MAX = 50_000
RESULT_REFUSED = "RESULT_REFUSED"
STOP_HINT = "stop working: this attempt no longer counts"


class CallRefusal(IntEnum):
    """Why a call is refused; the value is its exit code, all in the 6x family."""

    STALE = 61
    UNKNOWN = 62
    REPLACED = 63
    CANCELLED = 64
    LATE = 65
    DUPLICATE = 66


def call_refused(name: CallRefusal, sentence: str, *, hint: str) -> Refused:
    """A `Refused` error with the exit code of this refusal."""
    error = Refused(sentence, hint=hint)
    error.exit_code = name.value
    return error


@dataclass(frozen=True, slots=True)
class CallingAttempt:
    """One attempt, and the claim that started it."""

    task_id: TaskId
    run_id: str
    attempt: int
    epoch: int


def calling_attempt(environ: Mapping[str, str]) -> CallingAttempt | None:
    """None where no task is named: a person's own session.  An incomplete identity is refused."""
    task_id = environ.get("YAOKI_TASK", "")
    if not task_id:
        return None
    for name in ("YAOKI_ATTEMPT", "YAOKI_EPOCH"):
        if not NUMBER.fullmatch(environ.get(name, "")):
            raise Refused(
                f"{name} does not identify the caller: {one_line(environ.get(name, ''), 40)!r}",
                hint="call with the environment that yaoki gave the agent",
            )
    if not TASK_ID.fullmatch(task_id):
        raise _unknown(task_id)
    run_id = environ.get("YAOKI_RUN", "") or task_id.partition("-")[0]
    numbers = int(environ["YAOKI_ATTEMPT"]), int(environ["YAOKI_EPOCH"])
    return CallingAttempt(TaskId(task_id), run_id, *numbers)


def repository_from_environment(environ: Mapping[str, str]) -> Path | None:
    """The repository of the run.  An agent works in a worktree, which has no store."""
    if place := environ.get("YAOKI_REPO", ""):
        return Path(place)
    home = Path(environ.get("YAOKI_RESULT", "")).parents
    if len(home) < 7 or (home[5].name, home[4].name) != (".yaoki", "runs"):
        return None
    return home[6]


# ------------------------------------------------------------------ the rule


def claim_epochs(entries: Iterable[JournalEntry], attempt: int) -> range:
    """The claims of an attempt, from the one that started it to the newest.

    An agent outlives its worker: the worker that adopts it has a newer claim on the same process.
    """
    first = newest = 0
    for entry in entries:
        if entry.event == Claimed.NAME:
            newest = int(entry.data["epoch"])
        elif entry.event == AttemptStarted.NAME and entry.data["attempt"] == attempt:
            first = newest
    return range(first, newest + 1) if first else range(0)


def refusal_of(caller: CallingAttempt, task: Task, claims: range) -> Refused | None:
    """Why the caller is no longer current, or None."""
    if task.state is State.REPLACED:
        words = f"{task.id} was replaced by another task"
        return call_refused(CallRefusal.REPLACED, words, hint=STOP_HINT)
    if task.state is State.CANCELLED or task.cancel_requested:
        return call_refused(CallRefusal.CANCELLED, f"{task.id} was cancelled", hint=STOP_HINT)
    if caller.attempt != task.attempt or caller.epoch not in claims:
        words = (
            f"claim {caller.epoch} of {task.id}, attempt {caller.attempt}, is stale: "
            f"the task is at claim {task.epoch}, attempt {task.attempt}"
        )
        return call_refused(CallRefusal.STALE, words, hint=STOP_HINT)
    if task.stage is not Stage.WORK or task.state not in {State.ACTIVE, State.WAITING}:
        words = f"attempt {task.attempt} of {task.id} has ended: the task is {task.state.value}"
        return call_refused(CallRefusal.LATE, words, hint=f"yaoki why {task.id}")
    return None


# ------------------------------------------------------------------ against the store


def require_current(app: App, caller: CallingAttempt, call: str) -> None:
    """Refuse a caller that is no longer current, and record the refusal in the journal."""
    try:
        task = app.reads.task(caller.task_id)
    except Unknown:
        task = None
    if task is None or refusal_of(
        caller, task, claim_epochs(task_journal(app, caller), caller.attempt)
    ):
        amend_task(app, caller, call, lambda _: ())


def amend_task(
    app: App,
    caller: CallingAttempt,
    call: str,
    then: Callable[[Sequence[JournalEntry]], Sequence[Event]],
) -> Task:
    """Apply `then` to the caller's task, unless the caller is no longer current.

    The journal is read inside the transaction, while nothing else can write to it.
    """
    refused: list[Refused] = []

    def decide(task: Task) -> Sequence[Event]:
        entries = task_journal(app, caller)
        why = refusal_of(caller, task, claim_epochs(entries, caller.attempt))
        if why is None:
            return then(entries)
        refused.append(why)
        record = _refusal_record(caller, call, why, task)
        return () if _is_recorded(entries, record) else (JournalNote(RESULT_REFUSED, record),)

    try:
        task = app.store.amend(caller.task_id, decide)
    except Unknown:
        raise _unknown_here(app, caller, call) from None
    if refused:
        raise refused[-1]
    return task


def task_journal(app: App, caller: CallingAttempt) -> list[JournalEntry]:
    """All of a task's entries, oldest first."""
    entries: list[JournalEntry] = []
    while len(entries) < ENTRIES_MAX:
        after = entries[-1].seq if entries else 0
        page = app.reads.journal(task_id=caller.task_id, after=after, limit=PAGE)
        entries += page
        if len(page) < PAGE:
            break
    return entries


def _refusal_record(
    caller: CallingAttempt, call: str, why: Refused, task: Task | None
) -> dict[str, object]:
    return {
        "task": caller.task_id,
        "call": call,
        "refused": CallRefusal(why.exit_code).name,
        "attempt": caller.attempt,
        "current_epoch": task.epoch if task else 0,
        "state": task.state.value if task else "",
        # Last: the store finds a worker's own late result by an epoch that a field follows.
        "epoch": caller.epoch,
    }


def _is_recorded(entries: Iterable[JournalEntry], record: Mapping[str, object]) -> bool:
    """Is this refusal recorded?  Once per claim and kind of call is enough."""
    same = ("task", "call", "refused", "attempt", "epoch")
    return any(
        all(entry.data.get(key) == record[key] for key in same)
        for entry in entries
        if entry.event == RESULT_REFUSED
    )


def _unknown(task_id: str) -> Refused:
    words = f"there is no task {one_line(task_id, 40)!r} here"
    return call_refused(
        CallRefusal.UNKNOWN, words, hint="yaoki status; is this the right repository?"
    )


def _unknown_here(app: App, caller: CallingAttempt, call: str) -> Refused:
    """Recorded in the journal of the run, if at least the run is known."""
    why = _unknown(caller.task_id)
    record = _refusal_record(caller, call, why, None)
    for run in app.reads.runs():
        if run.id == caller.run_id and not _is_recorded(_of_the_run(app, run.id), record):
            app.store.note(run.id, RESULT_REFUSED, record)
    return why


def _of_the_run(app: App, run_id: str) -> list[JournalEntry]:
    return [e for e in app.reads.journal(run_id=run_id, limit=ENTRIES_MAX) if not e.task_id]
