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

from yaoki.adapters.store.tables.rows import Fields
from yaoki.adapters.store.write_buffer import Fold, as_they_are
from yaoki.errors import StoreError

Result = TypeVar("Result")
P = ParamSpec("P")
Params = Mapping[str, Any]


class Away(StoreError):
    """The connection broke while something was read; nothing was changed, so it is repeated."""


class Link(Protocol):
    """An open transaction, for reading or writing.  Statements name their parameters `:so`."""

    @property
    def kept(self) -> MutableMapping[str, Fields]:
        """Rows of tasks that were fetched for us, and that nobody has changed since."""

    @property
    def keeping(self) -> str:
        """Ends a SELECT whose rows nobody else may change until we commit."""

    @property
    def skipping(self) -> str:
        """The same, passing over rows that somebody else keeps."""

    @property
    def shard(self) -> str:
        """Ends the name of a total, so that not everybody waits for the same row."""

    def rows(self, sql: str, params: Params | None = None) -> Sequence[Fields]: ...
    def row(self, sql: str, params: Params | None = None) -> Fields | None: ...

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute; returns how many rows changed."""

    def many(self, sql: str, params: Sequence[Params]) -> None: ...

    def put(self, sql: str, params: Params, lane: str = "", fold: Fold = as_they_are) -> None:
        """Write, some time before the next thing is read or the commit.  Writes to one table keep
        their order; a `lane` of its own says that the order does not matter.
        """

    def flush(self) -> None:
        """Send what was put."""

    def keep(self, sql: str, params: Params | None = None) -> None:
        """Keep the rows of a SELECT, in its order, where writers work side by side."""

    def hold(self, name: str) -> None:
        """One transaction at a time among those that name the same."""

    def alone(self, table: str) -> None:
        """Nobody else writes to the table until we commit, and all who did have."""


class Database(Protocol):
    """Opened once per process; every method may be called from any thread."""

    @property
    def where(self) -> str:
        """What a message calls it; never with a password."""

    @property
    def commits(self) -> int: ...

    @property
    def waiting(self) -> int:
        """How many transactions wait for their turn."""

    def write(self, work: Callable[[Link], Result], wanted: Collection[str] = ()) -> Result:
        """Run `work` in a transaction, durable when this returns.  It may be run more than once;
        what counts is the last time.

        `wanted` are the tasks that it will look at: they are fetched together with those that its
        neighbours want, and all are committed at once.
        """

    def read(self) -> AbstractContextManager[Link]:
        """A consistent view; never waits for writers."""

    def patiently(self, look: Callable[[], Result]) -> Result:
        """Repeat a look that `Away` cut off, within a bound."""

    def version(self) -> int:
        """Changes whenever somebody commits."""

    def settle(self) -> None:
        """Lines of the journal are numbered when written and seen when committed: wait, within a
        bound, until no line can come to stand before one that is seen.
        """

    def offset(self) -> timedelta:
        """How far the store's clock is ahead of the one we were given."""

    def present(self) -> None:
        """Raise when what we write to is no longer what people see."""

    def hurry(self) -> None:
        """Whoever waits for a server that is away gives up; what can be done at once is done."""

    def close(self) -> None: ...


class Holds(Protocol):
    _db: Database


Self = TypeVar("Self", bound=Holds)


def patient(
    read: Callable[Concatenate[Self, P], Result],
) -> Callable[Concatenate[Self, P], Result]:
    """A method that only reads: it is repeated when the connection breaks under it."""

    @wraps(read)
    def repeated(self: Self, /, *args: P.args, **named: P.kwargs) -> Result:
        return self._db.patiently(lambda: read(self, *args, **named))

    return repeated
