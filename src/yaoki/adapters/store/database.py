"""What the store asks of a database: transactions, locks on rows, a number that tells of changes.

The statements are the same everywhere.  What differs is how writers keep out of each other's way:
in SQLite they take turns, so every lock here is empty; in PostgreSQL they work side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from yaoki.adapters.store.rows import SqlRow
from yaoki.adapters.store.write_buffer import Coalesce, keep_all
from yaoki.errors import StoreError

ResultT = TypeVar("ResultT")
P = ParamSpec("P")
Params = Mapping[str, Any]


class ConnectionBroken(StoreError):
    """The connection broke while something was read; nothing was changed, so it is repeated."""


class Transaction(Protocol):
    """An open transaction, for reading or writing.  Statements name their parameters `:so`."""

    @property
    def prefetched_tasks(self) -> MutableMapping[str, SqlRow]:
        """Rows of tasks that were fetched for us, and that nobody has changed since."""

    @property
    def for_update(self) -> str:
        """Ends a SELECT whose rows nobody else may change until we commit."""

    @property
    def for_update_skip_locked(self) -> str:
        """The same, passing over rows that somebody else keeps."""

    @property
    def shard(self) -> str:
        """Ends the name of a total, so that not everybody waits for the same row."""

    def rows(self, sql: str, params: Params | None = None) -> Sequence[SqlRow]: ...
    def row(self, sql: str, params: Params | None = None) -> SqlRow | None: ...

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute; returns how many rows changed."""

    def many(self, sql: str, params: Sequence[Params]) -> None: ...

    def enqueue(
        self, sql: str, params: Params, order_key: str = "", coalesce: Coalesce = keep_all
    ) -> None:
        """Write, some time before the next thing is read or the commit.  Writes to one table keep
        their order; a `lane` of its own says that the order does not matter.
        """

    def flush(self) -> None:
        """Send what was put."""

    def lock_rows(self, sql: str, params: Params | None = None) -> None:
        """Keep the rows of a SELECT, in its order, where writers work side by side."""

    def lock_by_name(self, name: str) -> None:
        """One transaction at a time among those that name the same."""

    def lock_table(self, table: str) -> None:
        """Nobody else writes to the table until we commit, and all who did have."""


class Database(Protocol):
    """Opened once per process; every method may be called from any thread."""

    @property
    def location(self) -> str:
        """What a message calls it; never with a password."""

    @property
    def commit_count(self) -> int: ...

    @property
    def waiting_count(self) -> int:
        """How many transactions wait for their turn."""

    def write(
        self, work: Callable[[Transaction], ResultT], task_ids: Collection[str] = ()
    ) -> ResultT:
        """Run `work` in a transaction, durable when this returns.  It may be run more than once;
        what counts is the last time.

        `wanted` are the tasks that it will look at: they are fetched together with those that its
        neighbours want, and all are committed at once.
        """

    def read(self) -> AbstractContextManager[Transaction]:
        """A consistent view; never waits for writers."""

    def retry_read(self, look: Callable[[], ResultT]) -> ResultT:
        """Repeat a look that `ConnectionBroken` cut off, within a bound."""

    def version(self) -> int:
        """Changes whenever somebody commits."""

    def wait_for_pending_entries(self) -> None:
        """Lines of the journal are numbered when written and seen when committed: wait, within a
        bound, until no line can come to stand before one that is seen.
        """

    def clock_offset(self) -> timedelta:
        """How far the store's clock is ahead of the one we were given."""

    def refuse_if_replaced(self) -> None:
        """Raise when what we write to is no longer what people see."""

    def stop_waiting(self) -> None:
        """Whoever waits for a server that is away gives up; what can be done at once is done."""

    def close(self) -> None: ...


class HasDatabase(Protocol):
    _db: Database


SelfT = TypeVar("SelfT", bound=HasDatabase)


def retries_reads(
    read: Callable[Concatenate[SelfT, P], ResultT],
) -> Callable[Concatenate[SelfT, P], ResultT]:
    """A method that only reads: it is repeated when the connection breaks under it."""

    @wraps(read)
    def repeated(self: SelfT, /, *args: P.args, **named: P.kwargs) -> ResultT:
        return self._db.retry_read(lambda: read(self, *args, **named))

    return repeated
