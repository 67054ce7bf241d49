"""A connection to the server: how it is made, and what its errors mean to us."""

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
STATEMENTS_KEPT = 300
# Nobody waits for ever: neither for a lock, nor for a client that fell silent in a transaction.
SESSION = """
SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s';
SET client_encoding = 'UTF8'; SET default_transaction_isolation = 'read committed';
"""
# A weaker setting of the server is raised; a stronger one, such as remote_apply, is left.
DURABLE = """
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'
"""
# Worth another try on the same server: somebody else went first.
CONFLICTS = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    # The schema was migrated since this connection prepared its statements.
    errors.FeatureNotSupported,
)
# Our connection is gone, or leads to a server that no longer, or not yet, takes writes.
CONNECTION_LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
    errors.ReadOnlySqlTransaction,
    errors.TooManyConnections,
)


class ServerAddress:
    """A URL as it was given, and what of it may be said."""

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._parts = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # The driver's words repeat the URL, and with it the password.
            raise StoreError(
                "the URL of the store cannot be read",
                hint="postgresql://user@host:5432/database under [store] url in yaoki.toml",
            ) from None

    def __str__(self) -> str:
        part = self._parts
        host, port = part.get("host", ""), part.get("port", "")
        named = f"{part['user']}@" if part.get("user") else ""
        place = f"[{host}]" if ":" in str(host) else host
        return f"postgresql://{named}{place}{f':{port}' if port else ''}/{part.get('dbname', '')}"

    def mask(self, words: object) -> str:
        """The server's words on one line, without the secret."""
        said = " ".join(str(words).split())
        for secret in (self._url, self._parts.get("password"), self._parts.get("sslpassword")):
            for shape in {str(secret), unquote(str(secret))} if secret else ():
                said = said.replace(shape, MARK)
        return said

    def fill_in(self, words: str, said: str) -> str:
        """A sentence about this store and who uses it; `said` is masked already."""
        user = self._parts.get("user") or os.environ.get("PGUSER") or "this machine's user"
        database = self._parts.get("dbname") or os.environ.get("PGDATABASE") or user
        told = {
            "where": str(self),
            "user": user,
            "database": database,
            "said": strip_driver_prefix(said),
        }
        return words.format_map(told)

    def connection_string(self, name: str) -> str:
        """After a failover the first host may be one that only reads."""
        usual: dict[str, str | int] = {
            "connect_timeout": CONNECT_TIMEOUT_S,
            "target_session_attrs": "read-write",
        }
        quick = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
        given = {key: str(value) for key, value in self._parts.items() if value is not None}
        return make_conninfo("", **{**usual, **quick, **given, "application_name": name})


def connect(address: ServerAddress, name: str, *, durable: bool) -> Connection:
    """Autocommit: every transaction begins and ends by a statement of ours."""
    made: Connection = psycopg.connect(
        address.connection_string(name), autocommit=True, row_factory=dict_row, prepare_threshold=0
    )
    try:
        made.prepared_max = STATEMENTS_KEPT
        # One type for all numbers: a statement is prepared once, and products do not overflow.
        made.adapters.register_dumper(int, Int8Dumper)
        made.execute(SESSION, prepare=False)
        made.execute(DURABLE if durable else "SET synchronous_commit = off", prepare=False)
    except BaseException:
        made.close()
        raise
    return made


def is_connection_lost(error: psycopg.Error, connection: Connection | None) -> bool:
    """Did the connection break, so that another one may do better?"""
    if isinstance(error, CONNECTION_LOST):
        return True
    # Who was let in before and is refused now waits as well, and says why: an operator may be at
    # it.  At the beginning nobody waits for long.
    return connection is None or connection.closed or connection.broken


def explain_error(error: psycopg.Error, address: ServerAddress) -> StoreError:
    """The server's words in ours."""
    words = address.mask(error)
    if isinstance(error, psycopg.IntegrityError):
        return StoreError(f"the store refuses it: {words}", hint="yaoki doctor")
    if isinstance(error, errors.DiskFull):
        hint = "free some space on the server, then: yaoki resume"
        return StoreFull(f"the store could not be written: {words}", hint=hint)
    if isinstance(error, (errors.UndefinedTable, errors.UndefinedColumn)):
        hint = "name another database under [store] url in yaoki.toml"
        return StoreCorrupt(f"{address} is damaged or not a yaoki store: {words}", hint=hint)
    if why := find_refusal(error):
        kind = StoreUnreachable if why.transient else StoreError
        return kind(address.fill_in(why.sentence, words), hint=address.fill_in(why.hint, words))
    if isinstance(error, psycopg.OperationalError):
        hint = f"is the server up, and may this machine reach it? psql {address}"
        return StoreUnreachable(f"the store {address} cannot be reached: {words}", hint=hint)
    return StoreError(f"the store {address} failed: {words}", hint="yaoki doctor")


@contextmanager
def translate_postgres_errors(address: ServerAddress) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise explain_error(error, address) from None


class RetryAllowance:
    """How long one call bears with the server: so many conflicts, so long an outage."""

    CONFLICTS_MAX = 30
    FIRST_S, MOST_S = 0.02, 2.0

    def __init__(
        self,
        closing: threading.Event,
        outage: timedelta,
        on_outage: Callable[[psycopg.Error], None] = lambda _: None,
    ) -> None:
        """`translate_postgres_errors` hears of an outage that is no mere hiccup."""
        self._closing, self._told = closing, on_outage
        self._left_s = outage.total_seconds()
        self._wait_s = self.FIRST_S
        self._conflicts = 0

    def wait_to_retry(self, error: psycopg.Error, *, lost: bool) -> bool:
        """Wait a little and say yes, or say that it is enough."""
        if lost:
            if self._wait_s >= self.MOST_S:
                self._told(error)
            return self._waited(isinstance(error, errors.ConnectionTimeout))
        if not isinstance(error, CONFLICTS):
            return False
        self._conflicts += 1
        return self._conflicts <= self.CONFLICTS_MAX and not self._closing.is_set()

    def _waited(self, timed_out: bool) -> bool:
        if self._left_s <= 0 or self._closing.wait(self._wait_s):
            return False
        self._left_s -= self._wait_s + (CONNECT_TIMEOUT_S if timed_out else 0)
        self._wait_s = min(2 * self._wait_s, self.MOST_S)
        return True
