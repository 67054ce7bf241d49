"""A store on a PostgreSQL server: transactions side by side, repeated when they must be.

Each transaction has a connection of its own; the server writes the commits of all of them to disk
together.  A broken connection, a restart or a failover costs time and nothing else: see
docs/decisions/postgres.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import count
from typing import Any

import psycopg
from psycopg import errors

from yaoki.adapters.store.database import ConnectionBroken, Params, ResultT, Transaction
from yaoki.adapters.store.group_commit import GroupCommit, WriteRequest, requested_task_ids
from yaoki.adapters.store.migrations import migrate, read_version
from yaoki.adapters.store.postgres.connection import (
    RetryAllowance,
    ServerAddress,
    connect,
    explain_error,
    is_connection_lost,
    translate_postgres_errors,
)
from yaoki.adapters.store.postgres.listener import CommitListener
from yaoki.adapters.store.postgres.pool import ConnectionPool
from yaoki.adapters.store.postgres.preflight import BareDatabase, refuse_unfit_server
from yaoki.adapters.store.postgres.transaction import Connection, ReadTransaction, WriteTransaction
from yaoki.adapters.store.postgres.writer import (
    COMMIT_COUNT,
    LAST_SEQ,
    PENDING_WRITERS,
    WriterConnection,
    application_name,
    read_server_ms,
)
from yaoki.adapters.store.rows import from_ms
from yaoki.errors import StoreError
from yaoki.ports import Clock

WRITERS_MAX = 4
READERS_MAX = 2
OUTAGE = timedelta(minutes=5)
AT_START = timedelta(seconds=1)
# When nothing was heard, every so many looks ask the server all the same.
LOOKS = 5
SETTLE_STEP_S, SETTLE_STEPS = 0.005, 1000
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class _Failed(Exception):
    """A transaction that left nothing; `lost` says that its connection did not survive it."""

    def __init__(self, error: psycopg.Error, *, lost: bool) -> None:
        self.error, self.lost = error, lost


class _Unanswered(Exception):
    """A commit whose answer never came: the session's own count knows."""

    def __init__(self, error: psycopg.Error, name: str, number: int, result: object) -> None:
        self.error, self.name, self.number, self.result = error, name, number, result


class _Apart(Exception):
    """One of a batch failed; they are tried one by one."""


def _together(link: WriteTransaction, batch: Sequence[WriteRequest[Any]]) -> None:
    """A dead connection is everybody's trouble; any other failure may be that of one."""
    try:
        link.prefetch(requested_task_ids(batch))
        for request in batch:
            request.result = request.work(link)
        link.flush()
    except psycopg.Error as error:
        if is_connection_lost(error, link.connection):
            raise
        raise _Apart from error
    except Exception as error:
        raise _Apart from error


class PostgresDatabase:
    """Opened once per process.  `clock` is only compared with the server's, which counts."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        create: bool = True,
        durable: bool = True,
        server_clock: bool = True,
        looks: int = LOOKS,
        outage: timedelta = OUTAGE,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._address = ServerAddress(url)
        self._clock, self._durable, self._server_clock = clock, durable, server_clock
        self._looks, self._outage = looks, outage
        self._warn, self._away = warn, False
        self._offset = timedelta(0)
        self._closing = threading.Event()
        self._here = threading.local()
        self._names: list[str] = []
        self._writers = ConnectionPool(self._session, WRITERS_MAX)
        self._batches = GroupCommit(self._all)
        self._readers = ConnectionPool(lambda: self._connected("yaoki"), READERS_MAX)
        self._courier = CommitListener(lambda: self._connected("yaoki"))
        self._asking = threading.Lock()
        self._version, self._quiet, self._known = 0, 0, (-1, -1)
        self._count = count(1)
        self.commit_count = 0
        try:
            self._open(create)
        except BaseException:
            self.close()
            raise

    # -------------------------------------------------------------- opening

    def _open(self, create: bool) -> None:
        """The first connection: is it a server that we can work with, and is there a store?"""
        connection = self._begun(AT_START, "SELECT 1")
        try:
            refuse_unfit_server(connection)
            plain = BareDatabase(connection, self._address)
            if not create and plain.write(lambda link: read_version(link, plain)) == 0:
                raise StoreError("there is no store here yet", hint="yaoki run PLAN")
            migrate(plain)
            self._compare(plain.write(read_server_ms))
        finally:
            self._readers.release(connection)

    @staticmethod
    def has_store(url: str) -> bool:
        """Is there a store in this database?"""
        address = ServerAddress(url)
        with (
            translate_postgres_errors(address),
            connect(address, "yaoki", durable=True) as connection,
        ):
            plain = BareDatabase(connection, address)
            return plain.write(lambda link: read_version(link, plain)) > 0

    def _connected(self, name: str) -> Connection:
        return connect(self._address, name, durable=self._durable)

    def _session(self) -> WriterConnection:
        name = WriterConnection.new_name()
        session = WriterConnection(self._connected(application_name(name)), name)
        self._names.append(name)
        return session

    def _compare(self, now_ms: int) -> None:
        if self._server_clock:
            self._offset = from_ms(now_ms) - self._clock.now()

    @property
    def location(self) -> str:
        return str(self._address)

    @property
    def waiting_count(self) -> int:
        return self._writers.waiting_count + self._batches.waiting_count

    def clock_offset(self) -> timedelta:
        return self._offset

    def refuse_if_replaced(self) -> None:
        """A server has no file that could be exchanged under us."""

    # -------------------------------------------------------------- writing

    def write(
        self, work: Callable[[Transaction], ResultT], task_ids: Collection[str] = ()
    ) -> ResultT:
        """Those that say what they want are committed together, the others side by side."""
        return self._batches.write(work, task_ids) if task_ids else self._alone(work)

    def _all(self, batch: list[WriteRequest[Any]]) -> None:
        """As one; and when one of them fails, each alone."""
        if len(batch) > 1:
            with suppress(_Apart):
                self._alone(lambda link: _together(link, batch))
                return
        for request in batch:
            try:
                request.result = self._alone(request.work)
            except BaseException as error:  # noqa: BLE001 - raised again by its caller
                request.error = error

    def _alone(self, work: Callable[[WriteTransaction], ResultT]) -> ResultT:
        """Repeated after a conflict or an outage, until it is certain that it was stored once."""
        patience = RetryAllowance(self._closing, self._outage, self._gone)
        while True:
            try:
                with self._writers.borrow() as session:
                    return self._transaction(session, work)
            except _Failed as failed:
                error, lost = failed.error, failed.lost
            except _Unanswered as unanswered:
                if self._stored(unanswered, patience):
                    return unanswered.result  # type: ignore[return-value]  # of this very work
                continue
            except psycopg.Error as refused:
                error, lost = refused, is_connection_lost(refused, None)
            if not patience.wait_to_retry(error, lost=lost):
                raise explain_error(error, self._address) from None

    def _transaction(
        self, session: WriterConnection, work: Callable[[WriteTransaction], ResultT]
    ) -> ResultT:
        self._here.writing = True
        try:
            link, now_ms = session.begin()
            self._compare(now_ms)
            result = work(link)
            link.flush()
        except psycopg.Error as error:
            lost = is_connection_lost(error, session.connection)
            if lost or isinstance(error, errors.FeatureNotSupported):
                session.close()
            else:
                session.roll_back()
            raise _Failed(error, lost=lost) from None
        except BaseException:
            session.roll_back()
            raise
        finally:
            self._here.writing = False
        self._commit(session, result)
        return result

    def _commit(self, session: WriterConnection, result: object) -> None:
        try:
            session.commit()
        except psycopg.Error as error:
            session.close()
            raise _Unanswered(error, session.name, session.commit_count + 1, result) from None
        self.commit_count = next(self._count)
        if self._away:
            self._away = False
            self._warn(f"the store {self.location} answers again")
        self._courier.notify(session.connection)

    def _stored(self, unanswered: _Unanswered, patience: RetryAllowance) -> bool:
        """Look the commit up, when the server is back."""
        error = unanswered.error
        while patience.wait_to_retry(error, lost=True):
            try:
                with self._writers.borrow() as session:
                    return session.read_commit_count(unanswered.name) >= unanswered.number
            except psycopg.Error as again:
                error = again
        raise StoreError(
            f"the store {self.location} went away in the middle of a commit, and it is not known "
            f"whether it was stored: {self._address.mask(error)}",
            hint="yaoki status, when the server is back; nothing is done twice",
        )

    # -------------------------------------------------------------- reading

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        connection = self._begun(self._outage, READ)
        try:
            yield ReadTransaction(connection)
            connection.execute("COMMIT", prepare=False)
        except psycopg.Error as error:
            # After a migration by a newer yaoki another connection has nothing prepared yet.
            lost = is_connection_lost(error, connection) or isinstance(
                error, errors.FeatureNotSupported
            )
            connection.close()
            raise self._cut_off(error, lost=lost) from None
        except BaseException:
            connection.close()
            raise
        finally:
            self._readers.release(connection)

    def _cut_off(self, error: psycopg.Error, *, lost: bool) -> StoreError:
        said = explain_error(error, self._address)
        if lost and not isinstance(error, errors.ReadOnlySqlTransaction):
            return ConnectionBroken(said.sentence, hint=said.hint)
        return said

    def _begun(self, outage: timedelta, begin: str) -> Connection:
        """A connection on which this statement went well; one that broke meanwhile is made anew."""
        patience = RetryAllowance(self._closing, outage)
        while True:
            connection: Connection | None = None
            try:
                connection = self._readers.acquire()
                connection.execute(begin, prepare=False)
                return connection
            except psycopg.Error as error:
                lost = is_connection_lost(error, connection)
                if connection is not None:
                    connection.close()
                    self._readers.release(connection)
                if not patience.wait_to_retry(error, lost=lost):
                    raise explain_error(error, self._address) from None

    def retry_read(self, look: Callable[[], ResultT]) -> ResultT:
        patience = RetryAllowance(self._closing, self._outage, self._gone)
        while True:
            try:
                return look()
            except ConnectionBroken:
                if not patience.wait_to_retry(psycopg.OperationalError(), lost=True):
                    raise

    def _asked(self, statement: str, params: Params | None = None) -> int:
        """One number, of this instant."""

        def look() -> int:
            with self.read() as link:
                row = link.row(statement, params)
                return int(row["n"] or 0) if row else 0

        return self.retry_read(look)

    # -------------------------------------------------------------- what is new

    def version(self) -> int:
        """The number of all commits.  What was heard, or done by ourselves, is asked at once."""
        with self._asking:
            self._courier.start()
            known = (self._courier.heard_count, self.commit_count)
            self._quiet += 1
            if known != self._known or self._quiet >= self._looks or not self._courier.listening:
                self._version = self._asked(COMMIT_COUNT)
                self._known, self._quiet = known, 0
            return self._version

    def wait_for_pending_entries(self) -> None:
        if getattr(self._here, "writing", False):
            return  # we would wait for ourselves
        target = self._asked(LAST_SEQ)
        for _ in range(SETTLE_STEPS):
            if self._asked(PENDING_WRITERS, {"target": target}) == 0:
                return
            if self._closing.wait(SETTLE_STEP_S):
                return

    def _gone(self, error: psycopg.Error) -> None:
        """Said once for each outage, whoever meets it first."""
        if not self._away:
            self._away = True
            words = explain_error(error, self._address).sentence
            self._warn(f"{words}; waiting for it")

    # -------------------------------------------------------------- the end

    def stop_waiting(self) -> None:
        self._closing.set()

    def close(self) -> None:
        self._closing.set()
        self._courier.close()
        if self._names:
            with suppress(psycopg.Error), self._writers.borrow() as session:
                session.forget_connections(self._names)
        self._writers.close()
        self._readers.close()
