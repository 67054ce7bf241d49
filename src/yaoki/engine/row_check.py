"""Rows are not trusted: one that cannot be read, or claims more than is proven, is a question.

Whoever can write files can edit the database.  The journal file holds every line once more, and git
holds the commits; what a row says beyond both is refused, and a person is asked about that task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from yaoki.core.counting import count
from yaoki.core.decide.rules import row_refused
from yaoki.core.evidence import (
    EVENTS,
    SHORT,
    Evidence,
    Mismatch,
    expected,
    gather,
    is_judged,
    unproven,
)
from yaoki.core.model import Run, RunId, Task, TaskId
from yaoki.engine.clock_and_chance import moment
from yaoki.errors import RowIllegal, Unknown
from yaoki.ports import Clock, Entry, Row, Store, Workspace

# How the reason of such a pause begins.
STORE = "store: "
ROWS_MAX = 100
PAGE = 2000
Result = TypeVar("Result")


class RowGuard:
    """Turns a row that is not as yaoki wrote it into a question about its task."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def guarded(self, act: Callable[[], Result]) -> Result:
        """Repeat `act` as long as it meets such rows, each of which is refused, within a bound."""
        for _ in range(ROWS_MAX):
            try:
                return act()
            except RowIllegal as illegal:
                self.refuse(TaskId(illegal.task_id), illegal.sentence)
        return act()

    def refuse(self, task_id: TaskId, words: str) -> None:
        """Ask about the task; where its journal cannot be read either, about the whole run."""
        try:
            self._store.refuse_row(task_id, lambda t: row_refused(t, words, moment(self._clock)))
        except (RowIllegal, Unknown):
            self.pause(RunId(task_id.rpartition("-")[0]), words)

    def refuse_unjudged(self, task: Task, confirm: Callable[[], None]) -> None:
        """`RowIllegal` unless the journal holds a passed judgment of what the row wants to land.

        Whoever lost the task meanwhile reads what its new holder wrote: `confirm` tells them so.
        """
        lines = (line for line in self._lines(task.id) if line.event in EVENTS)
        if not is_judged(gather(lines).tasks.get(task.id), task.work.proven):
            confirm()
            words = f"it wants to land {task.work.proven[:SHORT] or 'nothing'}"
            raise RowIllegal(task.id, f"{words}, and no judgment of it passed")

    def _lines(self, task_id: TaskId) -> Iterator[Entry]:
        after = 0
        while page := self._store.journal(task_id=task_id, after=after, limit=PAGE):
            yield from page
            after = page[-1].seq

    def pause(self, run_id: RunId, words: str) -> None:
        self._store.pause(run_id, f"{STORE}{words}; look: yaoki verify {run_id}")


class DoneCheck:
    """Every task that claims to be done, against the journal file and git."""

    def __init__(self, store: Store, workspace: Workspace, guard: RowGuard) -> None:
        self._store, self._workspace, self._guard = store, workspace, guard

    def refuse_unproven(self, run: Run) -> bool:
        """True when something was asked: then the run is not done."""
        rows = self._store.rows(run.id)
        try:
            found = self._unproven(run, rows)
        except OSError as error:
            self._guard.pause(run.id, f"{self._store.witness} cannot be read: {error.strerror}")
            return True
        if not found:
            return False
        known = {row.id for row in rows}
        # What the database proves and its journal file does not is no matter of one task.
        only_there = {one.task_id for one in found} - {one.task_id for one in self._stored(rows)}
        apart = [one for one in found if one.task_id in only_there or one.task_id not in known]
        if apart:
            self._guard.pause(run.id, _words(apart))
        else:
            for one in found:
                self._guard.refuse(TaskId(one.task_id), one.words)
        return True

    def _unproven(self, run: Run, rows: Sequence[Row]) -> list[Mismatch]:
        evidence = gather(self._store.witnessed(run.id, EVENTS))
        lacking = self._lacking(run, evidence, rows)
        return unproven(evidence, rows, source=self._store.witness, lacking=lacking)

    def _lacking(self, run: Run, evidence: Evidence, rows: Sequence[Row]) -> Sequence[str]:
        """The branch of a run that is merged belongs to its user, who may delete it."""
        commits = expected(evidence, rows)
        return self._workspace.lacks(run, commits) if commits and not run.merged else ()

    def _stored(self, rows: Sequence[Row]) -> list[Mismatch]:
        """The same by the lines of the database alone."""
        return unproven(gather(self._lines(rows[0].run_id)), rows) if rows else []

    def _lines(self, run_id: RunId) -> list[Entry]:
        found: list[Entry] = []
        after = 0
        while entries := self._store.journal(run_id=run_id, after=after, limit=PAGE):
            found += (entry for entry in entries if entry.event in EVENTS)
            after = entries[-1].seq
        return found


def _words(found: Sequence[Mismatch]) -> str:
    more = f" (and {count(len(found) - 1, 'more task')})" if len(found) > 1 else ""
    return f"{found[0].words}{more}"
