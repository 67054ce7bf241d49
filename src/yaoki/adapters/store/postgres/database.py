"""A store on a PostgreSQL server.

The server writes the commits of all connections to disk together.  A broken connection, a restart
or a failover costs time and nothing else: see docs/decisions/postgres.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
from psycopg import errors

from yaoki.adapters.store.database import ConnectionBroken, ResultT, Transaction
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
from yaoki.adapters.store.postgres.transaction import Connection, ReadTransaction
from yaoki.adapters.store.postgres.writer import (
    COMMIT_COUNT,
    LAST_SEQ,
    PENDING_WRITERS,
    read_server_ms,
)
from yaoki.adapters.store.postgres.writes import OutageWarning, RetriedWrites
from yaoki.adapters.store.rows import from_ms
from yaoki.adapters.store.write_buffer import Params
from yaoki.errors import StoreError
from yaoki.ports import Clock

READERS_MAX = 2
APPLICATION = "yaoki"
OUTAGE = timedelta(minutes=5)
OUTAGE_AT_START = timedelta(seconds=1)
# Without a notification, one poll of this many asks the server.
POLLS_MAX = 25
SETTLE_STEP_S, SETTLE_STEPS = 0.005, 1000
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


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
        polls_max: int = POLLS_MAX,
        outage: timedelta = OUTAGE,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._address = ServerAddress(url)
        self._clock, self._durable, self._server_clock = clock, durable, server_clock
        self._polls_max, self._outage = polls_max, outage
        self._offset = timedelta(0)
        self._closing = threading.Event()
        self._warning = OutageWarning(self._address, warn)
        self._listener = CommitListener(lambda: self._connect(APPLICATION))
        self._writes = RetriedWrites(
            self._address,
            self._connect,
            self._closing,
            outage=outage,
            warning=self._warning,
            on_begin=self._set_offset,
            on_commit=self._listener.notify,
        )
        self._readers = ConnectionPool(lambda: self._connect(APPLICATION), READERS_MAX)
        self._version_lock = threading.Lock()
        # The version as last read, what was known then, and how often it was polled since.
        self._version, self._known_commits, self._polls = 0, (-1, -1), 0
        try:
            self._open(create)
        except BaseException:
            self.close()
            raise

    # -------------------------------------------------------------- opening

    def _open(self, create: bool) -> None:
        """The first connection: is the server fit, and is there a store?"""
        connection = self._begin_read(OUTAGE_AT_START, "SELECT 1")
        try:
            refuse_unfit_server(connection)
            bare = BareDatabase(connection, self._address)
            if not create and bare.write(lambda tx: read_version(tx, bare)) == 0:
                raise StoreError("there is no store here yet", hint="yaoki run PLAN")
            migrate(bare)
            self._set_offset(bare.write(read_server_ms))
        finally:
            self._readers.release(connection)

    @staticmethod
    def has_store(url: str) -> bool:
        """Is there a store in this database?"""
        address = ServerAddress(url)
        with (
            translate_postgres_errors(address),
            connect(address, APPLICATION, durable=True) as connection,
        ):
            bare = BareDatabase(connection, address)
            return bare.write(lambda tx: read_version(tx, bare)) > 0

    def _connect(self, name: str) -> Connection:
        return connect(self._address, name, durable=self._durable)

    def _set_offset(self, server_ms: int) -> None:
        if self._server_clock:
            self._offset = from_ms(server_ms) - self._clock.now()

    @property
    def location(self) -> str:
        return str(self._address)

    def clock_offset(self) -> timedelta:
        return self._offset

    def refuse_if_replaced(self) -> None:
        """A server has no file that could be replaced."""

    # -------------------------------------------------------------- writing

    def write(
        self, work: Callable[[Transaction], ResultT], task_ids: Collection[str] = ()
    ) -> ResultT:
        return self._writes.write(work, task_ids)

    @property
    def commit_count(self) -> int:
        return self._writes.commit_count

    @property
    def waiting_count(self) -> int:
        return self._writes.waiting_count

    # -------------------------------------------------------------- reading

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        connection = self._begin_read(self._outage, READ)
        try:
            yield ReadTransaction(connection)
            connection.execute("COMMIT", prepare=False)
        except psycopg.Error as error:
            # After a migration by a newer yaoki, a new connection has no outdated statements.
            lost = is_connection_lost(error, connection) or isinstance(
                error, errors.FeatureNotSupported
            )
            connection.close()
            raise self._read_error(error, lost=lost) from None
        except BaseException:
            connection.close()
            raise
        finally:
            self._readers.release(connection)

    def _read_error(self, error: psycopg.Error, *, lost: bool) -> StoreError:
        explained = explain_error(error, self._address)
        if lost and not isinstance(error, errors.ReadOnlySqlTransaction):
            return ConnectionBroken(explained.sentence, hint=explained.hint)
        return explained

    def _begin_read(self, outage: timedelta, begin: str) -> Connection:
        """A connection on which `begin` succeeded; a broken one is replaced."""
        allowance = RetryAllowance(self._closing, outage)
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
                if not allowance.wait_to_retry(error, lost=lost):
                    raise explain_error(error, self._address) from None

    def retry_read(self, read: Callable[[], ResultT]) -> ResultT:
        allowance = RetryAllowance(self._closing, self._outage, self._warning.on_outage)
        while True:
            try:
                return read()
            except ConnectionBroken:
                if not allowance.wait_to_retry(psycopg.OperationalError(), lost=True):
                    raise

    def _read_number(self, statement: str, params: Params | None = None) -> int:
        def read() -> int:
            with self.read() as tx:
                row = tx.row(statement, params)
                return int(row["n"] or 0) if row else 0

        return self.retry_read(read)

    # -------------------------------------------------------------- changes

    def version(self) -> int:
        """The number of all commits; read at once after a notification or a commit of our own."""
        with self._version_lock:
            self._listener.start()
            commits = (self._listener.heard_count, self.commit_count)
            self._polls += 1
            if (
                commits != self._known_commits
                or self._polls >= self._polls_max
                or not self._listener.listening
            ):
                self._version = self._read_number(COMMIT_COUNT)
                self._known_commits, self._polls = commits, 0
            return self._version

    def watch_commits(self, callback: Callable[[], None]) -> None:
        self._listener.on_heard = callback

    def wait_for_pending_entries(self) -> None:
        if self._writes.is_writing_here:
            return  # it would wait for itself
        target = self._read_number(LAST_SEQ)
        for _ in range(SETTLE_STEPS):
            if self._read_number(PENDING_WRITERS, {"target": target}) == 0:
                return
            if self._closing.wait(SETTLE_STEP_S):
                return

    # -------------------------------------------------------------- the end

    def stop_waiting(self) -> None:
        self._closing.set()

    def close(self) -> None:
        self._closing.set()
        self._listener.close()
        self._writes.close()
        self._readers.close()
