"""One transaction on a SQLite connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from yaoki.store.database import Params


class SqliteLink:
    """An open connection, inside a transaction or for reading.  One writes at a time: no locks."""

    keeping = skipping = shard = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, params: Params | None = None) -> list[sqlite3.Row]:
        return self._connection.execute(sql, params or {}).fetchall()

    def row(self, sql: str, params: Params | None = None) -> sqlite3.Row | None:
        found: sqlite3.Row | None = self._connection.execute(sql, params or {}).fetchone()
        return found

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute; returns how many rows changed."""
        return self._connection.execute(sql, params or {}).rowcount

    def many(self, sql: str, params: Sequence[Params]) -> None:
        self._connection.executemany(sql, params)

    def keep(self, sql: str, params: Params | None = None) -> None:
        pass

    def hold(self, name: str) -> None:
        pass

    def alone(self, table: str) -> None:
        pass
