"""Pages of the journal for screens: newest first or onward, and sieved by the database."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.adapters.store.database import Database
from yaoki.adapters.store.rows import entry_from_row
from yaoki.core.lazy_dataclass import dataclass
from yaoki.ports import JournalEntry


def read_newest(
    database: Database,
    *,
    run_id: str = "",
    task_id: str = "",
    events: Sequence[str] = (),
    before: int = 0,
    after: int = 0,
    limit: int = 100,
) -> list[JournalEntry]:
    """The last lines before `before`, the newest first; all of them when it is zero."""
    return _page(
        database, JournalQuery(run_id, task_id, tuple(events), after, before, limit, "DESC")
    )


def read_forward(
    database: Database,
    *,
    run_id: str = "",
    task_id: str = "",
    events: Sequence[str] = (),
    after: int = 0,
    before: int = 0,
    limit: int = 1000,
) -> list[JournalEntry]:
    """The lines after `after`, the oldest first; up to `before` unless that is zero."""
    return _page(database, JournalQuery(run_id, task_id, tuple(events), after, before, limit))


def read_entry(database: Database, seq: int) -> JournalEntry | None:
    found = _page(database, JournalQuery(after=seq - 1, before=seq + 1, limit=1))
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class JournalQuery:
    """Which lines.  Events have no index: whoever asks for rare ones bounds how far is looked."""

    run_id: str = ""
    task_id: str = ""
    events: tuple[str, ...] = ()
    after: int = 0
    before: int = 0
    limit: int = 1000
    order: str = "ASC"

    @property
    def statement(self) -> str:
        names = ", ".join(f":event{n}" for n in range(len(self.events)))
        sieves = (
            "seq > :after" if self.after else "",
            "seq < :before" if self.before else "",
            self._of_run,
            "task_id = :task_id" if self.task_id else "",
            f"event IN ({names})" if names else "",
        )
        where = " AND ".join(filter(None, sieves)) or "1 = 1"
        return f"SELECT * FROM journal WHERE {where} ORDER BY seq {self.order} LIMIT :limit"

    @property
    def _of_run(self) -> str:
        """A task's lines are few: they must not be looked for among all lines of its run."""
        if not self.run_id:
            return ""
        return "run_id || '' = :run_id" if self.task_id else "run_id = :run_id"

    @property
    def params(self) -> dict[str, object]:
        ends = {"after": self.after, "before": self.before, "limit": self.limit}
        named = {f"event{n}": event for n, event in enumerate(self.events)}
        return {"run_id": self.run_id, "task_id": self.task_id, **ends, **named}


def _page(database: Database, asked: JournalQuery) -> list[JournalEntry]:
    def look() -> list[JournalEntry]:
        database.wait_for_pending_entries()
        with database.read() as link:
            return [entry_from_row(row) for row in link.rows(asked.statement, asked.params)]

    return database.retry_read(look)
