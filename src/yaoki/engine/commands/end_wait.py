"""`yaoki retry` for a task that waits: the person knows that its account can be used, or that the
time of the wait was read wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.core.decide.account import awaited_account
from yaoki.core.machine.events import Event
from yaoki.core.machine.request_events import WaitEnded
from yaoki.core.model import Run, Stage, State, Task, TaskId
from yaoki.engine.commands.extend import suggest_next
from yaoki.errors import NotNow
from yaoki.ports import AccountRow, Clock, CommandStore

if TYPE_CHECKING:
    from collections.abc import Callable

    Decide = Callable[[Task], Sequence[Event]]


class EndWaitCommand:
    """The tasks that a closed account delayed are due together, and the claim lets one of them
    try first.
    """

    def __init__(self, store: CommandStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def end(self, task_id: TaskId, words: str, how: str) -> Task:
        now, accounts = self._clock.now(), self._accounts()
        task = self._store.task(task_id)
        closed = accounts.get(awaited_account(task))
        if not _can_end(task, closed, now):
            if _takes_words(task) and not (closed is not None and closed.asking_task):
                return self._add_words(task_id, words, how)
            raise self._refusal(task, closed)
        account = closed.name if closed and closed.until > now else ""
        changes = [(task_id, _end_wait(WaitEnded(account, words, how)))]
        if account:
            others = WaitEnded(account, "", how, task_id)
            changes += [(one, _end_wait(others)) for one in self._delayed(account, task_id, now)]
        return self._store.amend_all(changes)[0]

    def end_all(self, run: Run, words: str, how: str) -> list[Task]:
        """The first task of each account ends the wait of the others."""
        ended = []
        for row in self._store.rows(run.id):
            if row.state is not State.WAITING:
                continue
            task = self._store.task(row.id)
            closed = self._accounts().get(awaited_account(task))
            if _can_end(task, closed, self._clock.now()):
                ended.append(self.end(row.id, words, how))
        if not ended:
            raise NotNow(
                f"run {run.id} cannot be retried: no task in it waits for an account or a delay",
                hint=f"yaoki status {run.id}",
            )
        return ended

    def _add_words(self, task_id: TaskId, words: str, how: str) -> Task:
        """Words that a person gives after the answer, until the next attempt starts."""

        def decide(task: Task) -> Sequence[Event]:
            if not words:
                raise NotNow(
                    f"{task.id} already waits for its next attempt",
                    hint=f'yaoki answer {task.id} retry "words for the agent"',
                )
            if words in task.answer_text.split("\n"):
                # The same answer twice, by a double click or from two places.
                raise NotNow(
                    f"{task.id} already has these words for its next attempt",
                    hint=f"yaoki why {task.id}",
                )
            if not _takes_words(task):
                state = task.state.value
                raise NotNow(
                    f"{task.id} no longer waits: it is {state}", hint=f"yaoki why {task.id}"
                )
            earlier = f"{task.answer_text}\n" if task.answer_text else ""
            return (WaitEnded("", f"{earlier}{words}", how),)

        return self._store.amend(task_id, decide)

    def _accounts(self) -> dict[str, AccountRow]:
        return {account.name: account for account in self._store.accounts()}

    def _delayed(self, account: str, but: TaskId, now: datetime) -> list[TaskId]:
        """The other tasks, of any run, that the account delays."""
        rows = [
            row
            for run in self._store.runs()
            if run.finished_at is None
            for row in self._store.rows(run.id)
            if row.id != but and row.state is State.WAITING and row.due_at and row.due_at > now
        ]
        return [row.id for row in rows if awaited_account(self._store.task(row.id)) == account]

    def _refusal(self, task: Task, closed: AccountRow | None) -> NotNow:
        if closed is not None and closed.asking_task:
            words = f"{task.id} waits for its account {closed.name}; another task asks you about it"
            return NotNow(words, hint=f"yaoki answer {closed.asking_task} retry")
        run = self._store.run(task.run_id)
        return NotNow(
            f"{task.id} has no open question: it is {task.state.value}",
            hint=suggest_next(task, run, self._store),
        )


def _can_end(task: Task, closed: AccountRow | None, now: datetime) -> bool:
    if task.state is not State.WAITING or task.awaiting_rerun or task.awaiting_race:
        return False
    if task.decision_due:
        return False
    if closed is not None and closed.asking_task:
        return False
    delayed = task.due_at is not None and task.due_at > now
    return delayed or (closed is not None and closed.until > now)


def _takes_words(task: Task) -> bool:
    """Does an agent begin another attempt as soon as a worker is free?"""
    is_ready = task.state is State.WAITING and task.stage is Stage.PREPARE
    is_postponed = task.awaiting_rerun or task.awaiting_race or task.decision_due or task.taken_over
    return is_ready and not is_postponed and bool(task.attempt and task.agent)


def _end_wait(event: WaitEnded) -> Decide:
    """A task that was claimed or cancelled meanwhile no longer waits."""

    def decide(task: Task) -> Sequence[Event]:
        return (event,) if task.state is State.WAITING else ()

    return decide
