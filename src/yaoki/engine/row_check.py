"""Rows are not trusted: one that cannot be read, or claims more than is proven, is a question.

Whoever can write files can edit the database.  The journal file holds every line once more, and git
holds the commits; what a row says beyond both is refused, and a person is asked about that task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from yaoki.core.counting import format_count
from yaoki.core.decide.rules import decide_row_refused
from yaoki.core.evidence import (
    EVIDENCE_EVENTS,
    SHA_CHARS,
    Mismatch,
    RunEvidence,
    expected_commits,
    find_unproven,
    fold_evidence,
    may_land,
)
from yaoki.core.model import Run, RunId, Task, TaskId
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.errors import RowInvalid, Unknown
from yaoki.ports import Clock, JournalEntry, Store, TaskRow, Workspace

# How the reason of such a pause begins.
STORE_PAUSE = "store: "
ROWS_MAX = 100
PAGE = 2000
Result = TypeVar("Result")


class RowGuard:
    """Turns a row that is not as yaoki wrote it into a question about its task."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def run_guarded(self, act: Callable[[], Result]) -> Result:
        """Repeat `act` as long as it meets such rows, each of which is refused, within a bound."""
        for _ in range(ROWS_MAX):
            try:
                return act()
            except RowInvalid as illegal:
                self.refuse_row(TaskId(illegal.task_id), illegal.sentence)
        return act()

    def refuse_row(self, task_id: TaskId, words: str) -> None:
        """Ask about the task; where its journal cannot be read either, about the whole run."""
        try:
            self._store.amend_from_journal(
                task_id, lambda t: decide_row_refused(t, words, read_clock_and_chance(self._clock))
            )
        except (RowInvalid, Unknown):
            self.pause_run(RunId(task_id.rpartition("-")[0]), words)

    def refuse_unjudged(self, task: Task, confirm: Callable[[], None]) -> None:
        """`RowInvalid` unless the journal holds a passed judgment of what the row wants to land.

        Whoever lost the task meanwhile reads what its new holder wrote: `confirm` tells them so.
        """
        lines = (line for line in self._lines(task.id) if line.event in EVIDENCE_EVENTS)
        if not may_land(fold_evidence(lines).tasks.get(task.id), task.work.verified_commit):
            confirm()
            words = f"it wants to land {task.work.verified_commit[:SHA_CHARS] or 'nothing'}"
            raise RowInvalid(task.id, f"{words}, and no judgment of it passed")

    def _lines(self, task_id: TaskId) -> Iterator[JournalEntry]:
        after = 0
        while page := self._store.journal(task_id=task_id, after=after, limit=PAGE):
            yield from page
            after = page[-1].seq

    def pause_run(self, run_id: RunId, words: str) -> None:
        self._store.pause(run_id, f"{STORE_PAUSE}{words}; look: yaoki verify {run_id}")


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
            self._guard.pause_run(
                run.id, f"{self._store.journal_source} cannot be read: {error.strerror}"
            )
            return True
        if not found:
            return False
        known = {row.id for row in rows}
        # What the database proves and its journal file does not is no matter of one task.
        only_there = {one.task_id for one in found} - {one.task_id for one in self._stored(rows)}
        apart = [one for one in found if one.task_id in only_there or one.task_id not in known]
        if apart:
            self._guard.pause_run(run.id, _words(apart))
        else:
            for one in found:
                self._guard.refuse_row(TaskId(one.task_id), one.message)
        return True

    def _unproven(self, run: Run, rows: Sequence[TaskRow]) -> list[Mismatch]:
        evidence = fold_evidence(self._store.read_journal_source(run.id, EVIDENCE_EVENTS))
        lacking = self._lacking(run, evidence, rows)
        return find_unproven(
            evidence, rows, source=self._store.journal_source, missing_commits=lacking
        )

    def _lacking(self, run: Run, evidence: RunEvidence, rows: Sequence[TaskRow]) -> Sequence[str]:
        """The branch of a run that is merged belongs to its user, who may delete it."""
        commits = expected_commits(evidence, rows)
        return (
            self._workspace.branches.missing_commits(run, commits)
            if commits and not run.merged_commit
            else ()
        )

    def _stored(self, rows: Sequence[TaskRow]) -> list[Mismatch]:
        """The same by the lines of the database alone."""
        return find_unproven(fold_evidence(self._lines(rows[0].run_id)), rows) if rows else []

    def _lines(self, run_id: RunId) -> list[JournalEntry]:
        found: list[JournalEntry] = []
        after = 0
        while entries := self._store.journal(run_id=run_id, after=after, limit=PAGE):
            found += (entry for entry in entries if entry.event in EVIDENCE_EVENTS)
            after = entries[-1].seq
        return found


def _words(found: Sequence[Mismatch]) -> str:
    more = f" (and {format_count(len(found) - 1, 'more task')})" if len(found) > 1 else ""
    return f"{found[0].message}{more}"
