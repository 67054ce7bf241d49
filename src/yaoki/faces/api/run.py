"""A run for Python callers: start it, wait for it, read its events, answer its questions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from yaoki.app import commands
from yaoki.app.run_view import view_run, with_landing_facts
from yaoki.core.model import Choice
from yaoki.core.run_status import RunStatus
from yaoki.errors import NotNow
from yaoki.faces.api.values import (
    OpenQuestion,
    RunEvent,
    TaskSummary,
    event_of,
    question_of,
    task_of,
)
from yaoki.views import RunView, status_document

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core import model
    from yaoki.engine.loop.pool import StopRequest

POLL = timedelta(milliseconds=100)
PAGE = 1000
CANCEL_WITHIN = timedelta(seconds=10)


class RunHandle:
    """A run of a `Repository`; users know it as `yaoki.Run`.  Each property reads the store."""

    def __init__(self, app: App, run: model.Run) -> None:
        self._app = app
        self.id: str = run.id
        self.goal = run.goal
        self.branch = run.branch
        self._carrier: threading.Thread | None = None
        self._stop: StopRequest | None = None
        self._failed: BaseException | None = None
        self._stopping = False

    # -------------------------------------------------------------- carrying

    def start(self, slots: int = 0) -> None:
        """Run it in the background of this process until it is finished or needs a person;
        idempotent.
        """
        if self._carrier is None or not self._carrier.is_alive():
            self._failed, self._stopping = None, False
            self._carrier = threading.Thread(target=self._carry, args=(slots,), name="yaoki")
            self._carrier.start()

    def stop(self) -> None:
        """Let the active agents finish and start no more tasks; `start` continues the run."""
        self._stopping = True
        if self._stop is not None:
            self._stop.drain = True

    def leave(self) -> None:
        """Stop, and return when no thread of this process runs it any more."""
        self.stop()
        if self._carrier is not None:
            self._carrier.join()

    def wait(self) -> str:
        """Wait until it is finished, needs a person, or stops; returns the status."""
        if self._carrier is not None:
            self._carrier.join()
            if self._failed is not None:
                raise self._failed
            return self.status
        while self.status == RunStatus.ACTIVE:
            self._app.clock.sleep(POLL)
        return self.status

    def _carry(self, slots: int) -> None:
        from yaoki.app.serve import serve_run

        try:
            serve_run(self._app, self._reload(), slots=slots, receive_stop=self._receive_stop)
            self._app.services.completion.complete(self._reload().id)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self._failed = error

    def _receive_stop(self, stop: StopRequest) -> None:
        self._stop = stop
        # The stop was requested before there was a pool to stop.
        stop.drain = self._stopping

    # -------------------------------------------------------------- looking

    @property
    def status(self) -> str:
        """ACTIVE, DONE, ESCALATED, PAUSED or CANCELLED."""
        return self._view().status.value

    @property
    def exit_code(self) -> int:
        """The exit code of `yaoki run` for its current state."""
        return self._view().exit_code

    def tasks(self) -> list[TaskSummary]:
        return [task_of(view) for view in self._view().tasks]

    def questions(self) -> list[OpenQuestion]:
        """The tasks that need a person, in the order of the plan."""
        return [question_of(view) for view in self._view().tasks_asking]

    def document(self) -> dict[str, Any]:
        """The document of `yaoki status --json`."""
        return status_document(with_landing_facts(self._app, self._view()))

    def report(self) -> dict[str, Any]:
        """The document of `yaoki report --format json`: what landed, with its proof."""
        from yaoki.app.report import make_report

        return make_report(self._app, self._reload())

    def events(self, after: int = 0, *, follow: bool = True) -> Iterator[RunEvent]:
        """Every journal entry after `after`; with `follow` also new ones, until the run is finished
        or needs a person.
        """
        while True:
            over = not follow or self._is_over()
            while page := self._app.reads.journal(run_id=self.id, after=after, limit=PAGE):
                after = page[-1].seq
                yield from map(event_of, page)
            if over:
                return
            self._app.clock.sleep(POLL)

    def _is_over(self) -> bool:
        """Checked before the last page is read, so that no earlier entry is missed."""
        if self._carrier is not None:
            return not self._carrier.is_alive()
        return self.status != RunStatus.ACTIVE

    # -------------------------------------------------------------- asking

    def answer(self, task: str, choice: str, words: str = "", *, check: str = "") -> None:
        """`retry`, `done`, `waive` or `abort`; `words` go to the agent of the next attempt."""
        if choice not in {one.value for one in Choice}:
            known = ", ".join(one.value for one in Choice)
            raise NotNow(f"{choice!r} is not a possible answer", hint=f"answer one of: {known}")
        task_id = self._app.lookup.find_task(task, self.id)
        commands.answer_task(self._app, task_id, Choice(choice), words, check, how="python")

    def go(self, words: str = "") -> None:
        """Let a paused run continue."""
        commands.continue_run(self._app, self._reload(), words, how="python")

    def cancel(self, task: str = "") -> None:
        """Cancel the run, or one of its tasks; landed work stays landed."""
        task_id = self._app.lookup.find_task(task, self.id) if task else ""
        commands.cancel_work(self._app, self._reload(), task_id, timeout=CANCEL_WITHIN)

    # -------------------------------------------------------------- inside

    def _reload(self) -> model.Run:
        return self._app.lookup.find_run(self.id)

    def _view(self) -> RunView:
        return view_run(self._app, self._reload())

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.status})"
