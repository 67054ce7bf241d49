"""Checks the store's rows: an unreadable row, or one that claims more than is proven, is refused.

Anybody who can write files can edit the database.  The journal file repeats every line, and git has
the commits.  A row that claims more than both is refused, and a person is asked about its task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

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
from yaoki.core.model import Pause, PauseCause, Run, RunId, Task, TaskId
from yaoki.core.text import format_count
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.errors import RowInvalid, Unknown
from yaoki.ports import Clock, JournalEntry, JournalReads, RunStore, TaskRow, Workspace

ROWS_MAX = 100
PAGE = 2000
Result = TypeVar("Result")


class RowGuard:
    """Turns a row that yaoki did not write into a question about its task."""

    def __init__(self, store: RunStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def run_guarded(self, act: Callable[[], Result]) -> Result:
        """Call `act` until it meets no more invalid rows; each is refused, up to `ROWS_MAX`."""
        for _ in range(ROWS_MAX):
            try:
                return act()
            except RowInvalid as invalid:
                self.refuse_row(TaskId(invalid.task_id), invalid.sentence)
        return act()

    def refuse_row(self, task_id: TaskId, why: str) -> None:
        """Escalate the task; if its journal is unreadable too, pause the whole run."""
        try:
            self._store.amend_from_journal(
                task_id, lambda t: decide_row_refused(t, why, read_clock_and_chance(self._clock))
            )
        except (RowInvalid, Unknown):
            self.pause_run(RunId(task_id.rpartition("-")[0]), why)

    def refuse_unjudged(self, task: Task, confirm: Callable[[], None]) -> None:
        """Raise `RowInvalid` unless the journal has a passed verdict on the commit to land.

        A worker that lost its claim reads what the new holder wrote: `confirm` raises then.
        """
        lines = (line for line in self._lines(task.id) if line.event in EVIDENCE_EVENTS)
        if not may_land(fold_evidence(lines).tasks.get(task.id), task.work.verified_commit):
            confirm()
            commit = task.work.verified_commit[:SHA_CHARS] or "nothing"
            raise RowInvalid(task.id, f"it would land {commit}, for which no verdict passed")

    def _lines(self, task_id: TaskId) -> Iterator[JournalEntry]:
        after = 0
        while page := self._store.journal(task_id=task_id, after=after, limit=PAGE):
            yield from page
            after = page[-1].seq

    def pause_run(self, run_id: RunId, why: str) -> None:
        self._store.pause(run_id, Pause(PauseCause.STORE, f"{why}; see: yaoki verify {run_id}"))


class DoneCheck:
    """Compares every task that claims to be done with the journal file and git."""

    def __init__(self, store: JournalReads, workspace: Workspace, guard: RowGuard) -> None:
        self._store, self._workspace, self._guard = store, workspace, guard

    def refuse_unproven(self, run: Run) -> bool:
        """True when a person was asked: then the run is not done."""
        rows = self._store.rows(run.id)
        try:
            mismatches = self._unproven(run, rows)
        except OSError as error:
            self._guard.pause_run(
                run.id, f"{self._store.journal_source} cannot be read: {error.strerror}"
            )
            return True
        if not mismatches:
            return False
        known = {row.id for row in rows}
        # If the database proves a task and the journal file does not, the whole run is affected.
        in_database = {one.task_id for one in self._unproven_in_database(rows)}
        of_run = [
            one for one in mismatches if one.task_id not in in_database or one.task_id not in known
        ]
        if of_run:
            self._guard.pause_run(run.id, _describe(of_run))
        else:
            for one in mismatches:
                self._guard.refuse_row(TaskId(one.task_id), one.message)
        return True

    def _unproven(self, run: Run, rows: Sequence[TaskRow]) -> list[Mismatch]:
        evidence = fold_evidence(self._store.read_journal_source(run.id, EVIDENCE_EVENTS))
        missing = self._missing_commits(run, evidence, rows)
        return find_unproven(
            evidence, rows, source=self._store.journal_source, missing_commits=missing
        )

    def _missing_commits(
        self, run: Run, evidence: RunEvidence, rows: Sequence[TaskRow]
    ) -> Sequence[str]:
        """The expected commits that the run branch lacks.  A merged run is not asked: its branch
        belongs to the user, who may delete it.
        """
        commits = expected_commits(evidence, rows)
        return (
            self._workspace.branches.missing_commits(run, commits)
            if commits and not run.merged_commit
            else ()
        )

    def _unproven_in_database(self, rows: Sequence[TaskRow]) -> list[Mismatch]:
        """The tasks that the journal lines of the database alone do not prove."""
        return find_unproven(fold_evidence(self._lines(rows[0].run_id)), rows) if rows else []

    def _lines(self, run_id: RunId) -> list[JournalEntry]:
        lines: list[JournalEntry] = []
        after = 0
        while entries := self._store.journal(run_id=run_id, after=after, limit=PAGE):
            lines += (entry for entry in entries if entry.event in EVIDENCE_EVENTS)
            after = entries[-1].seq
        return lines


def _describe(mismatches: Sequence[Mismatch]) -> str:
    others = len(mismatches) - 1
    more = f" (and {format_count(others, 'more task')})" if others else ""
    return f"{mismatches[0].message}{more}"
