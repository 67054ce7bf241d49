"""A connection that writes, and the row that counts its commits.

Every transaction of the connection changes the row.  So a commit whose answer was lost can be
looked up, and the sum of all rows changes with every commit of any process.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress

import psycopg
from psycopg.pq import TransactionStatus

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.postgres.transaction import Connection, WriteTransaction
from yaoki.errors import StoreError

NOW_MS = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
SHARDS = 64
# A lock of this class says from which journal number on its transaction writes.
LOCK_CLASS = 0x59414F
_SEQ_BITS = 40
LAST_SEQ = """
SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END AS n FROM journal_seq_seq
"""
# The number of open transactions that may still write an entry with a number up to this one.
PENDING_WRITERS = f"""
SELECT count(*) AS n FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1
  AND CAST(classid AS bigint) >> {_SEQ_BITS - 32} = {LOCK_CLASS}
  AND (CAST(classid AS bigint) << 32 | CAST(objid AS bigint)) & {(1 << _SEQ_BITS) - 1} < :target
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
EXTRA_SCHEMA: Sequence[str] = (
    """
CREATE TABLE IF NOT EXISTS connections (
    id TEXT COLLATE "C" PRIMARY KEY, commits BIGINT NOT NULL, at_ms BIGINT NOT NULL
) WITH (fillfactor = 40)
""",
    # Rows change all the time and few are live: dead ones must not pile up.
    "ALTER TABLE tasks SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)",
)
COMMIT_COUNT = "SELECT CAST(coalesce(sum(commits), 0) AS bigint) AS n FROM connections"
_COUNT = f"""
INSERT INTO connections (id, commits, at_ms) VALUES ('%s', %d, {NOW_MS})
ON CONFLICT (id) DO UPDATE SET commits = excluded.commits, at_ms = excluded.at_ms
"""
_BEGIN = f"""
BEGIN ISOLATION LEVEL READ COMMITTED; {_COUNT};
SELECT {NOW_MS} AS now_ms,
       pg_advisory_xact_lock_shared({LOCK_CLASS}::bigint << {_SEQ_BITS} | last.n)
FROM ({LAST_SEQ}) last
"""
_TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = %(name)s AND pid <> pg_backend_pid()
"""
_COMMITS_OF = "SELECT commits FROM connections WHERE id = %(id)s FOR UPDATE"
# The sum stays the same: deleted counts are added to the row without a name.
_FORGET = f"""
WITH gone AS (
    DELETE FROM connections
    WHERE id = ANY(%(ids)s) OR (id <> '' AND at_ms < {NOW_MS} - 86400000) RETURNING commits)
INSERT INTO connections (id, commits, at_ms)
SELECT '', coalesce(sum(commits), 0), {NOW_MS} FROM gone
ON CONFLICT (id) DO UPDATE SET commits = connections.commits + excluded.commits
"""


def application_name(name: str) -> str:
    return f"yaoki {name}"


def read_server_ms(link: Transaction) -> int:
    row = link.row(f"SELECT {NOW_MS} AS now_ms")
    assert row is not None, "the server returned no time"
    return int(row["now_ms"])


class WriterConnection:
    """Used by one thread at a time."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self.commit_count = 0
        self._shard = f"#{int(name, 16) % SHARDS}"
        # Inserted before the first transaction, so that a lookup of that one waits for its lock.
        self._execute_all(_COUNT % (name, 0))

    @staticmethod
    def new_name() -> str:
        return secrets.token_hex(16)

    @property
    def closed(self) -> bool:
        return self.connection.closed

    @property
    def has_failed(self) -> bool:
        """True after a statement that failed; a commit reports it, a rollback would not."""
        return self.connection.info.transaction_status is TransactionStatus.INERROR

    def begin(self) -> tuple[WriteTransaction, int]:
        """A transaction, and the server's clock in milliseconds."""
        now_ms = self._execute_all(_BEGIN % (self.name, self.commit_count + 1))
        return WriteTransaction(self.connection, self._shard), now_ms

    def _execute_all(self, statements: str) -> int:
        """Several statements in one message; they contain no foreign text."""
        cursor = self.connection.execute(statements, prepare=False)
        while cursor.nextset():
            pass
        row = cursor.fetchone() if cursor.description else None
        return int(row["now_ms"]) if row else 0

    def commit(self) -> None:
        status = self.connection.execute("COMMIT", prepare=False).statusmessage
        if status != "COMMIT":
            # The server answers ROLLBACK, without an error, when a failure inside was ignored.
            raise StoreError(
                f"a transaction ended with {status}; nothing of it was stored", hint="yaoki doctor"
            )
        self.commit_count += 1

    def roll_back(self) -> None:
        """A connection that cannot roll back is closed."""
        try:
            self.connection.execute("ROLLBACK", prepare=False)
        except psycopg.Error:
            self.close()

    def read_commit_count(self, name: str) -> int:
        """The commit count of another connection of this process; waits until none is running.

        The server may still run its last transaction, so it is terminated first.
        """
        self.connection.execute(_TERMINATE, {"name": application_name(name)}, prepare=False)
        row = self.connection.execute(_COMMITS_OF, {"id": name}, prepare=False).fetchone()
        return int(row["commits"]) if row else 0

    def forget_connections(self, names: list[str]) -> None:
        """Delete the rows of closed connections."""
        self.connection.execute("SET synchronous_commit = off", prepare=False)
        self.connection.execute(_FORGET, {"ids": names}, prepare=False)

    def close(self) -> None:
        with suppress(psycopg.Error):
            self.connection.close()
