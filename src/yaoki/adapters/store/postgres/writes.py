"""Writing transactions, repeated after conflicts and outages until each is stored exactly once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import psycopg
from psycopg import errors

from yaoki.adapters.store.database import ResultT, Transaction
from yaoki.adapters.store.group_commit import GroupCommit, WriteRequest, requested_task_ids
from yaoki.adapters.store.postgres.connection import (
    RetryAllowance,
    ServerAddress,
    explain_error,
    is_connection_lost,
)
from yaoki.adapters.store.postgres.pool import ConnectionPool
from yaoki.adapters.store.postgres.transaction import Connection, WriteTransaction
from yaoki.adapters.store.postgres.writer import WriterConnection, application_name
from yaoki.errors import StoreError

WRITERS_MAX = 4
# The rows of older connections are deleted by age.
REMEMBERED_NAMES_MAX = 1000


class _Failed(Exception):
    """A transaction that stored nothing; `lost` says that its connection broke."""

    def __init__(self, error: psycopg.Error, *, lost: bool) -> None:
        self.error, self.lost = error, lost


class _Unanswered(Exception):
    """A commit whose answer never came; the commit count of its connection decides."""

    def __init__(self, error: psycopg.Error, name: str, number: int, result: object) -> None:
        self.error, self.name, self.number, self.result = error, name, number, result


class _BatchFailed(Exception):
    """A request of a batch failed; they are tried one by one."""


class OutageWarning:
    """Reports an outage once, by the first call that meets it, and once that it is over."""

    def __init__(self, address: ServerAddress, warn: Callable[[str], None]) -> None:
        self._address, self._warn = address, warn
        self._away = False

    def on_outage(self, error: psycopg.Error) -> None:
        if not self._away:
            self._away = True
            self._warn(f"{explain_error(error, self._address).sentence}; waiting for it")

    def on_success(self) -> None:
        if self._away:
            self._away = False
            self._warn(f"the store {self._address} answers again")


class RetriedWrites:
    """Each transaction has its own connection, from a small pool.

    `on_begin` gets the server's clock in milliseconds, `on_commit` the connection of a commit.
    """

    def __init__(
        self,
        address: ServerAddress,
        connect: Callable[[str], Connection],
        closing: threading.Event,
        *,
        outage: timedelta,
        warning: OutageWarning,
        on_begin: Callable[[int], None],
        on_commit: Callable[[Connection], None],
    ) -> None:
        self._address, self._connect, self._closing = address, connect, closing
        self._outage, self._warning = outage, warning
        self._on_begin, self._on_commit = on_begin, on_commit
        self._connections = ConnectionPool(self._open_connection, WRITERS_MAX)
        self._names: deque[str] = deque(maxlen=REMEMBERED_NAMES_MAX)
        self._batches = GroupCommit(self._write_batch)
        self._thread = threading.local()
        self._count = count(1)
        self.commit_count = 0

    @property
    def waiting_count(self) -> int:
        return self._connections.waiting_count + self._batches.waiting_count

    @property
    def is_writing_here(self) -> bool:
        """Is this thread inside a writing transaction?"""
        return getattr(self._thread, "writing", False)

    def write(
        self, work: Callable[[Transaction], ResultT], task_ids: Collection[str] = ()
    ) -> ResultT:
        """Transactions that name tasks are committed together, others each by itself."""
        return self._batches.write(work, task_ids) if task_ids else self._write_one(work)

    def close(self) -> None:
        if self._names:
            with suppress(psycopg.Error), self._connections.borrow() as connection:
                connection.forget_connections(list(self._names))
        self._connections.close()

    def _open_connection(self) -> WriterConnection:
        name = WriterConnection.new_name()
        connection = WriterConnection(self._connect(application_name(name)), name)
        self._names.append(name)
        return connection

    def _write_batch(self, batch: list[WriteRequest[Any]]) -> None:
        """All requests in one transaction; if one of them fails, each in its own."""
        if len(batch) > 1:
            with suppress(_BatchFailed):
                self._write_one(lambda tx: _run_batch(tx, batch))
                return
        for request in batch:
            try:
                request.result = self._write_one(request.work)
            except BaseException as error:  # noqa: BLE001 - raised again by its caller
                request.error = error

    def _write_one(self, work: Callable[[WriteTransaction], ResultT]) -> ResultT:
        """Repeat after a conflict or an outage, until it is certain that it was stored once."""
        allowance = RetryAllowance(self._closing, self._outage, self._warning.on_outage)
        while True:
            try:
                with self._connections.borrow() as connection:
                    return self._transaction(connection, work)
            except _Failed as failed:
                error, lost = failed.error, failed.lost
            except _Unanswered as unanswered:
                if self._was_stored(unanswered, allowance):
                    return unanswered.result  # type: ignore[return-value]  # of this very work
                continue
            except psycopg.Error as refused:
                error, lost = refused, is_connection_lost(refused, None)
            if not allowance.wait_to_retry(error, lost=lost):
                raise explain_error(error, self._address) from None

    def _transaction(
        self, connection: WriterConnection, work: Callable[[WriteTransaction], ResultT]
    ) -> ResultT:
        self._thread.writing = True
        try:
            tx, now_ms = connection.begin()
            self._on_begin(now_ms)
            result = work(tx)
            tx.flush()
        except psycopg.Error as error:
            lost = is_connection_lost(error, connection.connection)
            if lost or isinstance(error, errors.FeatureNotSupported):
                connection.close()
            else:
                connection.roll_back()
            raise _Failed(error, lost=lost) from None
        except BaseException:
            connection.roll_back()
            raise
        finally:
            self._thread.writing = False
        if tx.has_changes or connection.has_failed:
            self._commit(connection, result)
        else:
            # A commit would count as a change, after which every waiting worker claims.
            connection.roll_back()
            self._warning.on_success()
        return result

    def _commit(self, connection: WriterConnection, result: object) -> None:
        try:
            connection.commit()
        except psycopg.Error as error:
            connection.close()
            number = connection.commit_count + 1
            raise _Unanswered(error, connection.name, number, result) from None
        self.commit_count = next(self._count)
        self._warning.on_success()
        self._on_commit(connection.connection)

    def _was_stored(self, unanswered: _Unanswered, allowance: RetryAllowance) -> bool:
        """Look the commit up when the server is back."""
        error = unanswered.error
        while allowance.wait_to_retry(error, lost=True):
            try:
                with self._connections.borrow() as connection:
                    return connection.read_commit_count(unanswered.name) >= unanswered.number
            except psycopg.Error as another:
                error = another
        raise StoreError(
            f"the store {self._address} became unreachable during a commit, and it is unknown "
            f"whether it was stored: {self._address.mask(error)}",
            hint="when the server is back: yaoki status; nothing is done twice",
        )


def _run_batch(tx: WriteTransaction, batch: Sequence[WriteRequest[Any]]) -> None:
    """A broken connection concerns every request; any other failure may be that of one."""
    try:
        tx.prefetch(requested_task_ids(batch))
        for request in batch:
            request.result = request.work(tx)
        tx.flush()
    except psycopg.Error as error:
        if is_connection_lost(error, tx.connection):
            raise
        raise _BatchFailed from error
    except Exception as error:
        raise _BatchFailed from error
