"""Pages of the journal for screens, in either direction and filtered by the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from yaoki.adapters.store.rows import entry_from_row
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import StoreCorrupt

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database
    from yaoki.adapters.store.rows import SqlRow
    from yaoki.ports import JournalEntry

DAMAGED_LINE = "DAMAGED_LINE"


def read_newest(
    database: Database,
    *,
    run_id: str = "",
    task_id: str = "",
    events: Sequence[str] = (),
    before: int = 0,
    after: int = 0,
    limit: int = 100,
    mark_damaged: bool = False,
) -> list[JournalEntry]:
    """The last entries before `before`, the newest first; 0 means the end of the journal.

    With `mark_damaged` a line that cannot be read is an entry named `DAMAGED_LINE`.
    """
    query = JournalQuery(run_id, task_id, tuple(events), after, before, limit, newest_first=True)
    return _page(database, query, mark_damaged=mark_damaged)


def read_forward(
    database: Database,
    *,
    run_id: str = "",
    task_id: str = "",
    events: Sequence[str] = (),
    after: int = 0,
    before: int = 0,
    limit: int = 1000,
    mark_damaged: bool = False,
) -> list[JournalEntry]:
    """The entries after `after`, the oldest first; up to `before` unless that is 0."""
    query = JournalQuery(run_id, task_id, tuple(events), after, before, limit)
    return _page(database, query, mark_damaged=mark_damaged)


def intact_entries(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """Without damaged lines, which `yaoki doctor` and `yaoki verify` report.

    For counts over all runs: one damaged line of an old run must not stop a command.
    """
    return (entry for entry in entries if entry.event != DAMAGED_LINE)


def read_entry(database: Database, seq: int) -> JournalEntry | None:
    page = _page(database, JournalQuery(after=seq - 1, before=seq + 1, limit=1))
    return page[0] if page else None


@dataclass(frozen=True, slots=True)
class JournalQuery:
    """A selection of entries.  Events have no index: a query for rare ones must bound its range."""

    run_id: str = ""
    task_id: str = ""
    events: tuple[str, ...] = ()
    after: int = 0
    before: int = 0
    limit: int = 1000
    newest_first: bool = False

    @property
    def statement(self) -> str:
        names = ", ".join(f":event{n}" for n in range(len(self.events)))
        conditions = (
            "seq > :after" if self.after else "",
            "seq < :before" if self.before else "",
            self._run_condition,
            "task_id = :task_id" if self.task_id else "",
            f"event IN ({names})" if names else "",
        )
        where = " AND ".join(filter(None, conditions)) or "1 = 1"
        order = "DESC" if self.newest_first else "ASC"
        return f"SELECT * FROM journal WHERE {where} ORDER BY seq {order} LIMIT :limit"

    @property
    def _run_condition(self) -> str:
        """A task has few entries: `|| ''` keeps the database off the index of the whole run."""
        if not self.run_id:
            return ""
        return "run_id || '' = :run_id" if self.task_id else "run_id = :run_id"

    @property
    def params(self) -> dict[str, object]:
        bounds = {"after": self.after, "before": self.before, "limit": self.limit}
        events = {f"event{n}": event for n, event in enumerate(self.events)}
        return {"run_id": self.run_id, "task_id": self.task_id, **bounds, **events}


def _page(
    database: Database, query: JournalQuery, *, mark_damaged: bool = False
) -> list[JournalEntry]:
    to_entry = _entry_or_mark if mark_damaged else entry_from_row

    def read() -> list[JournalEntry]:
        database.wait_for_pending_entries()
        with database.read() as tx:
            return [to_entry(row) for row in tx.rows(query.statement, query.params)]

    return database.retry_read(read)


def _entry_or_mark(row: SqlRow) -> JournalEntry:
    try:
        return entry_from_row(row)
    except StoreCorrupt:
        return entry_from_row({**row, "event": DAMAGED_LINE, "data": "{}"})
