"""Follow a run by the journal's cursor, several times a second, until it is finished."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.core.run_status import RunStatus, derive_run_status
from yaoki.faces.cli.live.screens import Screen
from yaoki.ports import Clock, JournalEntry

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, RunId

POLL_S = 0.2
# Keys are read more often than the journal.
KEYS_PER_POLL = 4
PAGE = 1000
# How long an idle run may lack its summary; after this time no worker is running to write it.
SUMMED_WITHIN = timedelta(seconds=3)
ANSWER_AWAITED = "the run waits for your answer: Enter sends it, Escape discards it"


class RunFollower:
    """One reader of one run's journal."""

    def __init__(self, app: App, run: Run, screen: Screen, after: int) -> None:
        self._app = app
        self._run = run
        self._screen = screen
        self._after = after
        self._seen = -1
        self.note = ""
        # The reader was asked to leave: an open dialog no longer delays the end.
        self.stop_requested = False

    def follow_and_close(self, over: Callable[[], bool], wait: Callable[[float], object]) -> None:
        """The journal is read once more after the end, so that the last entries are shown."""
        try:
            self.follow(over, wait)
        finally:
            self.close()

    def follow(self, is_over: Callable[[], bool], wait: Callable[[float], object]) -> None:
        while not (self._has_ended(is_over()) or self._screen.reader_left):
            self._read_journal()
            self._rest(wait)
        self._read_journal()

    def _has_ended(self, over: bool) -> bool:
        """A person who is typing an answer is not cut off."""
        is_kept_open = over and self._screen.has_open_answer and not self.stop_requested
        if is_kept_open or self.note == ANSWER_AWAITED:
            self.note = ANSWER_AWAITED if is_kept_open else ""
        return over and not is_kept_open

    @property
    def answers_sent(self) -> int:
        return self._screen.answers_sent

    def close(self) -> None:
        """A closed terminal needs no reset."""
        try:
            self._screen.close()
        except OSError as error:
            if error.errno != errno.EIO:
                raise

    def _rest(self, wait: Callable[[float], object]) -> None:
        for _ in range(KEYS_PER_POLL):
            wait(POLL_S / KEYS_PER_POLL)
            if self._screen.read_keys():
                self._screen.draw(self.note)

    def _read_journal(self) -> None:
        """The journal is read only after a commit."""
        version = self._app.reads.version()
        if version != self._seen:
            self._seen = version
            while page := self._page():
                self._after = page[-1].seq
                self._screen.add_entries(page)
        self._screen.draw(self.note)

    def _page(self) -> list[JournalEntry]:
        return self._app.reads.journal(run_id=self._run.id, after=self._after, limit=PAGE)


@contextmanager
def follow_in_background(following: RunFollower, clock: Clock) -> Iterator[None]:
    """Follow in a thread while the caller runs the tasks; the screen stays open."""
    over = threading.Event()
    failed: list[BaseException] = []

    def wait(seconds: float) -> None:
        if over.is_set():
            clock.sleep(timedelta(seconds=seconds))
        over.wait(seconds)

    def follow() -> None:
        try:
            following.follow(over.is_set, wait)
        except OSError as error:
            # A closed terminal is no failure of the run; its signal comes as well.
            if error.errno != errno.EIO:
                failed.append(error)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=follow, name="screen")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failed:
        raise failed[0]


class RunEndDetector:
    """Has the run ended?  Its final check may be added a moment after the run becomes idle."""

    def __init__(self, app: App, run_id: RunId) -> None:
        self._app, self._run_id = app, run_id
        self._since: datetime | None = None

    def __call__(self) -> bool:
        store, now = self._app.store, self._app.clock.now()
        if not store.is_idle(self._run_id):
            self._since = None
            return False
        status = derive_run_status(store.count_by_state(self._run_id), idle=True)
        if status is RunStatus.ESCALATED or store.run(self._run_id).finished_at is not None:
            return True
        self._since = self._since or now
        return now - self._since > SUMMED_WITHIN
