"""Lines of the journal file made into rows again, by the code that wrote them first.

A line that cannot be applied, because one before it is lost, is kept as a note and never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import groupby
from typing import Any

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.journal_file.checksummed_line import NOT_REPLAYED
from yaoki.adapters.store.rows import dump_json, from_ms
from yaoki.adapters.store.sql import SqlStore
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.apply_events import MUTABLE_RUN_COLUMNS
from yaoki.adapters.store.tables.outbox import enqueue_notices
from yaoki.adapters.store.tables.retention import RUN_ARCHIVED, delete_run_rows
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.codec import event_from_data, from_data
from yaoki.core.machine.events import Submitted
from yaoki.core.model import Run
from yaoki.errors import RowInvalid, Unknown

JournalLine = Mapping[str, Any]
AT_ONCE = 2000
SUBMITTED = Submitted.NAME


@dataclass(slots=True)
class ReplayTotals:
    """What became of the lines: applied, kept as a note, or known to be missing."""

    lines: int = 0
    unapplied: list[str] = field(default_factory=list)
    missing: int = 0


class ReplayStore(SqlStore):
    """A store that is being made again."""

    def replay(self, lines: Iterable[JournalLine]) -> ReplayTotals:
        """All that follow what is stored; gaps in their numbers are lines that are lost."""
        done = ReplayTotals()
        last = self.last_seq()
        batch: list[list[JournalLine]] = []
        for group in _together(lines, last):
            done.missing += group[-1]["seq"] - last - len(group)
            last = group[-1]["seq"]
            batch.append(group)
            if len(batch) >= AT_ONCE:
                self._replay_all(batch, done)
                batch = []
        self._replay_all(batch, done)
        return done

    def _replay_all(self, batch: list[list[JournalLine]], done: ReplayTotals) -> None:
        def work(link: Transaction) -> None:
            for group in batch:
                self._replay_group(link, group, done)

        self._db.write(work)

    def _replay_group(
        self, link: Transaction, group: list[JournalLine], done: ReplayTotals
    ) -> None:
        done.lines += len(group)
        link.run("SAVEPOINT line")
        try:
            self._redo(link, group)
            link.flush()
            kept = group
        except (AssertionError, LookupError, TypeError, ValueError, Unknown, RowInvalid) as error:
            link.run("ROLLBACK TO line")
            done.unapplied += [f"line {line['seq']}: {error}" for line in group]
            kept = [_noted(line, error) for line in group]
        link.run("RELEASE line")
        link.many(sql.INSERT_NUMBERED_ENTRY, kept)
        enqueue_notices(link, kept, self._posting)

    def find_incomplete_runs(self) -> list[str]:
        """Runs whose plan is not here whole: to carry them on would call a part the whole."""
        with self._db.read() as link:
            return [row["run_id"] for row in link.rows(sql.INCOMPLETE_RUNS)]

    def _redo(self, link: Transaction, group: list[JournalLine]) -> None:
        """One way for each kind of line; whatever else a line says changes no row."""
        line, data = group[0], json.loads(group[0]["data"])
        now, run_id = from_ms(line["at_ms"]), line["run_id"]
        if line["event"] == "PLAN_SUBMITTED":
            self._insert_run(link, from_data(Run, data["run"]))
        elif line["event"] == SUBMITTED:
            self._insert_tasks(link, run_id, [self._submitted(link, each) for each in group], now)
        elif line["event"] == RUN_ARCHIVED:
            delete_run_rows(link, run_id)
        elif line["event"] == "NOTICE_SENT":
            link.run(sql.MARK_NOTICE_SENT, {**line, **data})
        elif line["task_id"]:
            event = event_from_data(line["event"], data, self._catalogue(link, run_id))
            self._apply(link, self._task(link, line["task_id"]), (event,), now)
        elif isinstance(data, dict) and MUTABLE_RUN_COLUMNS.issuperset(data.get("set", ())):
            self._update_run_columns(link, run_id, data.get("set", {}))

    def _submitted(self, link: Transaction, line: JournalLine) -> Submitted:
        catalogue = self._catalogue(link, line["run_id"])
        event = event_from_data(line["event"], json.loads(line["data"]), catalogue)
        assert isinstance(event, Submitted), line["event"]
        return event


def _together(lines: Iterable[JournalLine], last: int) -> Iterator[list[JournalLine]]:
    """Tasks that were submitted together may need each other, so they are placed together."""

    def ascending() -> Iterator[JournalLine]:
        before = last
        for line in lines:
            if line["seq"] > before:
                before = line["seq"]
                yield line

    def belongs(line: JournalLine) -> tuple[Any, ...]:
        if line["event"] == SUBMITTED:
            return (line["run_id"], line["at_ms"])
        return (line["seq"],)

    for _, group in groupby(ascending(), key=belongs):
        yield list(group)


def _noted(line: JournalLine, error: Exception) -> dict[str, Any]:
    told = {"event": line["event"], "data": json.loads(line["data"]), "why": str(error)}
    return {**line, "event": NOT_REPLAYED, "data": dump_json(told)}
