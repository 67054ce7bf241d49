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

from yaoki.adapters.store.database import Away, Link, Params, Result
from yaoki.adapters.store.group_commit import Batches, Request, wanted_by
from yaoki.adapters.store.migrations import migrate, version_of
from yaoki.adapters.store.postgres.connection import (
    Address,
    Patience,
    connect,
    explained,
    gone,
    told,
)
from yaoki.adapters.store.postgres.link import Connection, ReadLink, WriteLink
from yaoki.adapters.store.postgres.listener import Courier
from yaoki.adapters.store.postgres.pool import Ring
from yaoki.adapters.store.postgres.preflight import Plain, refuse_unfit
from yaoki.adapters.store.postgres.writer import (
    AT_WORK,
    COMMITS,
    LAST_SEQ,
    Session,
    application,
    server_ms,
)
from yaoki.adapters.store.tables.rows import instant
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


def _together(link: WriteLink, batch: Sequence[Request[Any]]) -> None:
    """A dead connection is everybody's trouble; any other failure may be that of one."""
    try:
        link.fetch(wanted_by(batch))
        for request in batch:
            request.result = request.work(link)
        link.flush()
    except psycopg.Error as error:
        if gone(error, link.connection):
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
        self._address = Address(url)
        self._clock, self._durable, self._server_clock = clock, durable, server_clock
        self._looks, self._outage = looks, outage
        self._warn, self._away = warn, False
        self._offset = timedelta(0)
        self._closing = threading.Event()
        self._here = threading.local()
        self._names: list[str] = []
        self._writers = Ring(self._session, WRITERS_MAX)
        self._batches = Batches(self._all)
        self._readers = Ring(lambda: self._connected("yaoki"), READERS_MAX)
        self._courier = Courier(lambda: self._connected("yaoki"))
        self._asking = threading.Lock()
        self._version, self._quiet, self._known = 0, 0, (-1, -1)
        self._count = count(1)
        self.commits = 0
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
            refuse_unfit(connection)
            plain = Plain(connection, self._address)
            if not create and plain.write(lambda link: version_of(link, plain)) == 0:
                raise StoreError("there is no store here yet", hint="yaoki run PLAN")
            migrate(plain)
            self._compare(plain.write(server_ms))
        finally:
            self._readers.give(connection)

    @staticmethod
    def known(url: str) -> bool:
        """Is there a store in this database?"""
        address = Address(url)
        with told(address), connect(address, "yaoki", durable=True) as connection:
            plain = Plain(connection, address)
            return plain.write(lambda link: version_of(link, plain)) > 0

    def _connected(self, name: str) -> Connection:
        return connect(self._address, name, durable=self._durable)

    def _session(self) -> Session:
        name = Session.new_name()
        session = Session(self._connected(application(name)), name)
        self._names.append(name)
        return session

    def _compare(self, now_ms: int) -> None:
        if self._server_clock:
            self._offset = instant(now_ms) - self._clock.now()

    @property
    def where(self) -> str:
        return str(self._address)

    @property
    def waiting(self) -> int:
        return self._writers.waiting + self._batches.waiting

    def offset(self) -> timedelta:
        return self._offset

    def present(self) -> None:
        """A server has no file that could be exchanged under us."""

    # -------------------------------------------------------------- writing

    def write(self, work: Callable[[Link], Result], wanted: Collection[str] = ()) -> Result:
        """Those that say what they want are committed together, the others side by side."""
        return self._batches.write(work, wanted) if wanted else self._alone(work)

    def _all(self, batch: list[Request[Any]]) -> None:
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

    def _alone(self, work: Callable[[WriteLink], Result]) -> Result:
        """Repeated after a conflict or an outage, until it is certain that it was stored once."""
        patience = Patience(self._closing, self._outage, self._gone)
        while True:
            try:
                with self._writers.one() as session:
                    return self._transaction(session, work)
            except _Failed as failed:
                error, lost = failed.error, failed.lost
            except _Unanswered as unanswered:
                if self._stored(unanswered, patience):
                    return unanswered.result  # type: ignore[return-value]  # of this very work
                continue
            except psycopg.Error as refused:
                error, lost = refused, gone(refused, None)
            if not patience.bears(error, lost=lost):
                raise explained(error, self._address) from None

    def _transaction(self, session: Session, work: Callable[[WriteLink], Result]) -> Result:
        self._here.writing = True
        try:
            link, now_ms = session.begin()
            self._compare(now_ms)
            result = work(link)
            link.flush()
        except psycopg.Error as error:
            lost = gone(error, session.connection)
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

    def _commit(self, session: Session, result: object) -> None:
        try:
            session.commit()
        except psycopg.Error as error:
            session.close()
            raise _Unanswered(error, session.name, session.commits + 1, result) from None
        self.commits = next(self._count)
        if self._away:
            self._away = False
            self._warn(f"the store {self.where} answers again")
        self._courier.tell(session.connection)

    def _stored(self, unanswered: _Unanswered, patience: Patience) -> bool:
        """Look the commit up, when the server is back."""
        error = unanswered.error
        while patience.bears(error, lost=True):
            try:
                with self._writers.one() as session:
                    return session.committed(unanswered.name) >= unanswered.number
            except psycopg.Error as again:
                error = again
        raise StoreError(
            f"the store {self.where} went away in the middle of a commit, and it is not known "
            f"whether it was stored: {self._address.masked(error)}",
            hint="yaoki status, when the server is back; nothing is done twice",
        )

    # -------------------------------------------------------------- reading

    @contextmanager
    def read(self) -> Iterator[Link]:
        connection = self._begun(self._outage, READ)
        try:
            yield ReadLink(connection)
            connection.execute("COMMIT", prepare=False)
        except psycopg.Error as error:
            # After a migration by a newer yaoki another connection has nothing prepared yet.
            lost = gone(error, connection) or isinstance(error, errors.FeatureNotSupported)
            connection.close()
            raise self._cut_off(error, lost=lost) from None
        except BaseException:
            connection.close()
            raise
        finally:
            self._readers.give(connection)

    def _cut_off(self, error: psycopg.Error, *, lost: bool) -> StoreError:
        said = explained(error, self._address)
        if lost and not isinstance(error, errors.ReadOnlySqlTransaction):
            return Away(said.sentence, hint=said.hint)
        return said

    def _begun(self, outage: timedelta, begin: str) -> Connection:
        """A connection on which this statement went well; one that broke meanwhile is made anew."""
        patience = Patience(self._closing, outage)
        while True:
            connection: Connection | None = None
            try:
                connection = self._readers.take()
                connection.execute(begin, prepare=False)
                return connection
            except psycopg.Error as error:
                lost = gone(error, connection)
                if connection is not None:
                    connection.close()
                    self._readers.give(connection)
                if not patience.bears(error, lost=lost):
                    raise explained(error, self._address) from None

    def patiently(self, look: Callable[[], Result]) -> Result:
        patience = Patience(self._closing, self._outage, self._gone)
        while True:
            try:
                return look()
            except Away:
                if not patience.bears(psycopg.OperationalError(), lost=True):
                    raise

    def _asked(self, statement: str, params: Params | None = None) -> int:
        """One number, of this instant."""

        def look() -> int:
            with self.read() as link:
                row = link.row(statement, params)
                return int(row["n"] or 0) if row else 0

        return self.patiently(look)

    # -------------------------------------------------------------- what is new

    def version(self) -> int:
        """The number of all commits.  What was heard, or done by ourselves, is asked at once."""
        with self._asking:
            self._courier.start()
            known = (self._courier.heard, self.commits)
            self._quiet += 1
            if known != self._known or self._quiet >= self._looks or not self._courier.listening:
                self._version = self._asked(COMMITS)
                self._known, self._quiet = known, 0
            return self._version

    def settle(self) -> None:
        if getattr(self._here, "writing", False):
            return  # we would wait for ourselves
        target = self._asked(LAST_SEQ)
        for _ in range(SETTLE_STEPS):
            if self._asked(AT_WORK, {"target": target}) == 0:
                return
            if self._closing.wait(SETTLE_STEP_S):
                return

    def _gone(self, error: psycopg.Error) -> None:
        """Said once for each outage, whoever meets it first."""
        if not self._away:
            self._away = True
            words = explained(error, self._address).sentence
            self._warn(f"{words}; waiting for it")

    # -------------------------------------------------------------- the end

    def hurry(self) -> None:
        self._closing.set()

    def close(self) -> None:
        self._closing.set()
        self._courier.close()
        if self._names:
            with suppress(psycopg.Error), self._writers.one() as session:
                session.forget(self._names)
        self._writers.close()
        self._readers.close()
