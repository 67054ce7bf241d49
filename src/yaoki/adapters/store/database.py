"""The database as the store sees it: transactions, row locks, a number that shows changes.

The statements are the same everywhere.  What differs is how writers exclude each other: in SQLite
they take turns, so every lock here is empty; in PostgreSQL they work at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, MutableMapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from yaoki.adapters.store.write_buffer import Coalesce, Params, keep_all
from yaoki.errors import StoreError

if TYPE_CHECKING:
    from yaoki.adapters.store.rows import SqlRow

ResultT = TypeVar("ResultT")
P = ParamSpec("P")


class ConnectionBroken(StoreError):
    """The connection broke during a read; nothing was changed, so the read is repeated."""


class Transaction(Protocol):
    """An open transaction, for reading or writing.  Statements have parameters like `:name`."""

    @property
    def prefetched_tasks(self) -> MutableMapping[str, SqlRow]:
        """Rows of tasks that were fetched in advance and have not changed since."""

    @property
    def for_update(self) -> str:
        """Ends a SELECT that locks its rows until the commit."""

    @property
    def for_update_skip_locked(self) -> str:
        """The clause that locks rows, and skips those that another transaction has locked."""

    @property
    def shard(self) -> str:
        """Ends the name of a total, so that not all writers wait for the same row."""

    def rows(self, sql: str, params: Params | None = None) -> Sequence[SqlRow]: ...
    def row(self, sql: str, params: Params | None = None) -> SqlRow | None: ...

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute; returns how many rows changed."""

    def many(self, sql: str, params: Sequence[Params]) -> None: ...

    def enqueue(
        self, sql: str, params: Params, order_key: str = "", coalesce: Coalesce = keep_all
    ) -> None:
        """Write before the next read or the commit.

        Writes to one table keep their order, unless `order_key` puts them into an order of their
        own.  `coalesce` may replace the rows of one statement by fewer rows of the same effect.
        """

    def flush(self) -> None:
        """Send all queued writes."""

    def lock_rows(self, sql: str, params: Params | None = None) -> None:
        """Lock the rows of a SELECT, in its order, where writers work at the same time."""

    def lock_by_name(self, name: str) -> None:
        """Take the lock of this name, which at most one transaction has at a time."""

    def lock_table(self, table: str) -> None:
        """No other transaction writes to the table until the commit; wait for those that do."""


class Database(Protocol):
    """Opened once per process; every method may be called from any thread."""

    @property
    def location(self) -> str:
        """The name of the database in messages; never with a password."""

    @property
    def commit_count(self) -> int: ...

    @property
    def waiting_count(self) -> int:
        """The number of transactions that wait to be written."""

    def write(
        self, work: Callable[[Transaction], ResultT], task_ids: Collection[str] = ()
    ) -> ResultT:
        """Run `work` in a transaction, durable when this returns.

        `work` may run more than once; only the last run counts.  `task_ids` are the tasks that it
        will read: transactions that name some are fetched and committed together.
        """

    def read(self) -> AbstractContextManager[Transaction]:
        """A consistent view; it never waits for writers."""

    def retry_read(self, read: Callable[[], ResultT]) -> ResultT:
        """Repeat a read that `ConnectionBroken` cut off, within a bound."""

    def version(self) -> int:
        """Changes with every commit of any process."""

    def watch_commits(self, callback: Callable[[], None]) -> None:
        """Call it soon after commits of any process; only a hint."""

    def wait_for_pending_entries(self) -> None:
        """Wait, within a bound, until no entry can appear before one that is visible.

        Journal entries are numbered when written and visible when committed.
        """

    def clock_offset(self) -> timedelta:
        """The lead of the store's clock over this machine's clock."""

    def refuse_if_replaced(self) -> None:
        """Raise when the open file is no longer the one at its path."""

    def stop_waiting(self) -> None:
        """Callers that wait for an unreachable server give up; others continue."""

    def close(self) -> None: ...


class HasDatabase(Protocol):
    _db: Database


SelfT = TypeVar("SelfT", bound=HasDatabase)


def retries_reads(
    read: Callable[Concatenate[SelfT, P], ResultT],
) -> Callable[Concatenate[SelfT, P], ResultT]:
    """Decorates a method that only reads: it is repeated when the connection breaks."""

    @wraps(read)
    def retried(self: SelfT, /, *args: P.args, **named: P.kwargs) -> ResultT:
        return self._db.retry_read(lambda: read(self, *args, **named))

    return retried
