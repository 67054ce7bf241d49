"""A connection to the server: how it is opened, and what its errors mean."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import unquote

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from psycopg.types.numeric import Int8Dumper

from yaoki.adapters.store.postgres.connection_errors import find_refusal, strip_driver_prefix
from yaoki.adapters.store.postgres.transaction import Connection
from yaoki.core.redact import MARK
from yaoki.errors import StoreCorrupt, StoreError, StoreFull, StoreUnreachable

CONNECT_TIMEOUT_S = 10
PREPARED_STATEMENTS_MAX = 300
# No wait is unbounded: neither for a lock, nor for a client that is silent in a transaction.
SESSION = """
SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s';
SET client_encoding = 'UTF8'; SET default_transaction_isolation = 'read committed';
"""
# A weaker setting of the server is raised; a stronger one, such as remote_apply, stays.
DURABLE = """
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'
"""
# Worth a retry on the same server: another transaction went first.
CONFLICTS = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    # The schema was migrated after this connection prepared its statements.
    errors.FeatureNotSupported,
)
# The connection is gone, or its server does not accept writes, now or any more.
CONNECTION_LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
    errors.ReadOnlySqlTransaction,
    errors.TooManyConnections,
)


class ServerAddress:
    """The URL of the store, and how messages may show it."""

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._parts = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # The driver's message repeats the URL, and with it the password.
            raise StoreError(
                "the URL of the store cannot be read",
                hint="write it as postgresql://user@host:5432/database under [store] url in "
                "yaoki.toml",
            ) from None

    def __str__(self) -> str:
        parts = self._parts
        user = f"{parts['user']}@" if parts.get("user") else ""
        host = f"[{parts['host']}]" if ":" in str(parts.get("host")) else parts.get("host", "")
        port = f":{parts['port']}" if parts.get("port") else ""
        return f"postgresql://{user}{host}{port}/{parts.get('dbname', '')}"

    def mask(self, message: object) -> str:
        """The server's message on one line, without secrets."""
        masked = " ".join(str(message).split())
        for secret in (self._url, self._parts.get("password"), self._parts.get("sslpassword")):
            for shape in {str(secret), unquote(str(secret))} if secret else ():
                masked = masked.replace(shape, MARK)
        return masked

    def fill_in(self, template: str, message: str) -> str:
        """A sentence about this store and its user; `message` is masked already."""
        user = self._parts.get("user") or os.environ.get("PGUSER") or "this machine's user"
        database = self._parts.get("dbname") or os.environ.get("PGDATABASE") or user
        values = {
            "where": str(self),
            "user": user,
            "database": database,
            "message": strip_driver_prefix(message),
        }
        return template.format_map(values)

    def connection_string(self, name: str) -> str:
        """After a failover the first host may be read-only."""
        defaults: dict[str, str | int] = {
            "connect_timeout": CONNECT_TIMEOUT_S,
            "target_session_attrs": "read-write",
        }
        keepalives = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
        parts = {key: str(value) for key, value in self._parts.items() if value is not None}
        return make_conninfo("", **{**defaults, **keepalives, **parts, "application_name": name})


def connect(address: ServerAddress, name: str, *, durable: bool) -> Connection:
    """Autocommit: yaoki begins and ends every transaction by its own statement."""
    connection: Connection = psycopg.connect(
        address.connection_string(name), autocommit=True, row_factory=dict_row, prepare_threshold=0
    )
    try:
        connection.prepared_max = PREPARED_STATEMENTS_MAX
        # All numbers have one type: a statement is prepared once, and products do not overflow.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.execute(SESSION, prepare=False)
        connection.execute(DURABLE if durable else "SET synchronous_commit = off", prepare=False)
    except BaseException:
        connection.close()
        raise
    return connection


def is_connection_lost(error: psycopg.Error, connection: Connection | None) -> bool:
    """Did the connection break, so that another one may work?"""
    if isinstance(error, CONNECTION_LOST):
        return True
    # A client that was accepted before and is refused now waits as well, and reports why: an
    # operator may be at work.  The first connection does not wait long.
    return connection is None or connection.closed or connection.broken


def explain_error(error: psycopg.Error, address: ServerAddress) -> StoreError:
    """The server's error as one of yaoki's."""
    message = address.mask(error)
    if isinstance(error, psycopg.IntegrityError):
        return StoreError(f"the store refuses the change: {message}", hint="yaoki doctor")
    if isinstance(error, errors.DiskFull):
        hint = "free some space on the server, then: yaoki resume"
        return StoreFull(f"the store could not be written: {message}", hint=hint)
    if isinstance(error, (errors.UndefinedTable, errors.UndefinedColumn)):
        hint = "name another database under [store] url in yaoki.toml"
        return StoreCorrupt(f"{address} is damaged or not a yaoki store: {message}", hint=hint)
    if refusal := find_refusal(error):
        kind = StoreUnreachable if refusal.transient else StoreError
        hint = address.fill_in(refusal.hint, message)
        return kind(address.fill_in(refusal.sentence, message), hint=hint)
    if isinstance(error, psycopg.OperationalError):
        hint = f"check that the server runs and this machine can reach it: psql {address}"
        return StoreUnreachable(f"the store {address} cannot be reached: {message}", hint=hint)
    return StoreError(f"the store {address} failed: {message}", hint="yaoki doctor")


@contextmanager
def translate_postgres_errors(address: ServerAddress) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise explain_error(error, address) from None


class RetryAllowance:
    """The allowance of one call for retries: a number of conflicts, and a length of outage."""

    CONFLICTS_MAX = 30
    DELAY_FIRST_S, DELAY_MAX_S = 0.02, 2.0

    def __init__(
        self,
        closing: threading.Event,
        outage: timedelta,
        on_outage: Callable[[psycopg.Error], None] = lambda _: None,
    ) -> None:
        """`on_outage` is called for an outage that lasts longer than a few seconds."""
        self._closing, self._on_outage = closing, on_outage
        self._outage_left_s = outage.total_seconds()
        self._delay_s = self.DELAY_FIRST_S
        self._conflicts = 0

    def wait_to_retry(self, error: psycopg.Error, *, lost: bool) -> bool:
        """Wait and return True, or return False when the allowance is used up."""
        if lost:
            if self._delay_s >= self.DELAY_MAX_S:
                self._on_outage(error)
            return self._wait_for_server(isinstance(error, errors.ConnectionTimeout))
        if not isinstance(error, CONFLICTS):
            return False
        self._conflicts += 1
        return self._conflicts <= self.CONFLICTS_MAX and not self._closing.is_set()

    def _wait_for_server(self, timed_out: bool) -> bool:
        if self._outage_left_s <= 0 or self._closing.wait(self._delay_s):
            return False
        self._outage_left_s -= self._delay_s + (CONNECT_TIMEOUT_S if timed_out else 0)
        self._delay_s = min(2 * self._delay_s, self.DELAY_MAX_S)
        return True
