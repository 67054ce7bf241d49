"""Lines of the journal file turned into rows again, by the code that wrote them first.

A line that cannot be applied, because an earlier one is lost, becomes a note; nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.journal_file.checksummed_line import NOT_REPLAYED, RUN_ARCHIVED
from yaoki.adapters.store.rows import dump_json, from_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.apply_events import (
    MUTABLE_RUN_COLUMNS,
    EventApplier,
    insert_run,
    update_run_columns,
)
from yaoki.adapters.store.tables.outbox import enqueue_notices
from yaoki.adapters.store.tables.retention import delete_run_rows
from yaoki.adapters.store.tables.task_loader import TaskLoader
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.machine.codec import event_from_data, from_data
from yaoki.core.machine.events import Submitted
from yaoki.core.model import Run
from yaoki.errors import RowInvalid, Unknown

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database, Transaction
    from yaoki.adapters.store.sql import StoreLimits

JournalLine = Mapping[str, Any]
GROUPS_PER_COMMIT = 2000
SUBMITTED = Submitted.NAME
# Errors that applying a line may raise when a line before it is lost.
REPLAY_ERRORS = (AssertionError, LookupError, TypeError, ValueError, Unknown, RowInvalid)


@dataclass(slots=True)
class ReplayTotals:
    """The numbers of lines that were applied, kept as a note, or known to be missing."""

    lines: int = 0
    unapplied: list[str] = field(default_factory=list)
    missing: int = 0


class JournalReplay:
    """Rebuilds the rows of one database."""

    def __init__(self, database: Database, limits: StoreLimits) -> None:
        self._db, self._notices = database, limits.notices
        self._loader, self._applier = TaskLoader(), EventApplier(limits.ageing)

    def replay(self, lines: Iterable[JournalLine], after: int) -> ReplayTotals:
        """Apply all lines numbered above `after`; a gap in the numbers means lost lines."""
        totals = ReplayTotals()
        last = after
        batch: list[list[JournalLine]] = []
        for group in _group_submitted(lines, last):
            totals.missing += group[-1]["seq"] - last - len(group)
            last = group[-1]["seq"]
            batch.append(group)
            if len(batch) >= GROUPS_PER_COMMIT:
                self._replay_all(batch, totals)
                batch = []
        self._replay_all(batch, totals)
        return totals

    def find_incomplete_runs(self) -> list[str]:
        """Runs whose plan is incomplete: continuing one would pass a part off as the whole."""
        with self._db.read() as tx:
            return [row["run_id"] for row in tx.rows(sql.INCOMPLETE_RUNS)]

    def _replay_all(self, batch: list[list[JournalLine]], totals: ReplayTotals) -> None:
        def work(tx: Transaction) -> None:
            for group in batch:
                self._replay_group(tx, group, totals)

        self._db.write(work)

    def _replay_group(
        self, tx: Transaction, group: list[JournalLine], totals: ReplayTotals
    ) -> None:
        totals.lines += len(group)
        tx.run("SAVEPOINT line")
        try:
            self._apply(tx, group)
            tx.flush()
            entries = group
        except REPLAY_ERRORS as error:
            tx.run("ROLLBACK TO line")
            totals.unapplied += [f"line {line['seq']}: {error}" for line in group]
            entries = [_as_note(line, error) for line in group]
        tx.run("RELEASE line")
        tx.many(sql.INSERT_NUMBERED_ENTRY, entries)
        enqueue_notices(tx, entries, self._notices)

    def _apply(self, tx: Transaction, group: list[JournalLine]) -> None:
        """Apply a group of lines.  A kind of line that is not named here changes no row."""
        line, data = group[0], json.loads(group[0]["data"])
        now, run_id = from_ms(line["at_ms"]), line["run_id"]
        if line["event"] == "PLAN_SUBMITTED":
            insert_run(tx, from_data(Run, data["run"]))
        elif line["event"] == SUBMITTED:
            submitted = [self._submitted(tx, each) for each in group]
            self._applier.insert_tasks(tx, run_id, submitted, now)
        elif line["event"] == RUN_ARCHIVED:
            delete_run_rows(tx, run_id)
        elif line["event"] == "NOTICE_SENT":
            tx.run(sql.MARK_NOTICE_SENT, {**line, **data})
        elif line["task_id"]:
            event = event_from_data(line["event"], data, self._loader.catalogue(tx, run_id))
            self._applier.apply(tx, self._loader.task(tx, line["task_id"]), (event,), now)
        elif isinstance(data, dict) and MUTABLE_RUN_COLUMNS.issuperset(data.get("set", ())):
            update_run_columns(tx, run_id, data.get("set", {}))

    def _submitted(self, tx: Transaction, line: JournalLine) -> Submitted:
        catalogue = self._loader.catalogue(tx, line["run_id"])
        event = event_from_data(line["event"], json.loads(line["data"]), catalogue)
        assert isinstance(event, Submitted), line["event"]
        return event


def _group_submitted(lines: Iterable[JournalLine], last: int) -> Iterator[list[JournalLine]]:
    """Tasks that were submitted together may need each other, so they are inserted together."""

    def ascending() -> Iterator[JournalLine]:
        before = last
        for line in lines:
            if line["seq"] > before:
                before = line["seq"]
                yield line

    def group_key(line: JournalLine) -> tuple[Any, ...]:
        if line["event"] == SUBMITTED:
            return (line["run_id"], line["at_ms"])
        return (line["seq"],)

    for _, group in groupby(ascending(), key=group_key):
        yield list(group)


def _as_note(line: JournalLine, error: Exception) -> dict[str, Any]:
    data = {"event": line["event"], "data": json.loads(line["data"]), "why": str(error)}
    return {**line, "event": NOT_REPLAYED, "data": dump_json(data)}
