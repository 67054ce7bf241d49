"""One transaction on a SQLite connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from yaoki.adapters.store.database import Params
from yaoki.adapters.store.tables.rows import Fields
from yaoki.adapters.store.write_buffer import Fold, Puts, as_they_are

TASKS = "SELECT t.* FROM json_each(:ids) AS wanted JOIN tasks t ON t.id = wanted.value"


class SqliteLink:
    """An open connection, inside a transaction or for reading.  One writes at a time: no locks."""

    keeping = skipping = shard = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._puts = Puts()
        self.kept: dict[str, Fields] = {}

    def fetch(self, ids: Iterable[str]) -> None:
        found = self.rows(TASKS, {"ids": json.dumps(list(ids))})
        self.kept = {row["id"]: row for row in found}

    def rows(self, sql: str, params: Params | None = None) -> list[sqlite3.Row]:
        return self._execute(sql, params).fetchall()

    def row(self, sql: str, params: Params | None = None) -> sqlite3.Row | None:
        found: sqlite3.Row | None = self._execute(sql, params).fetchone()
        return found

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute; returns how many rows changed."""
        return self._execute(sql, params).rowcount

    def many(self, sql: str, params: Sequence[Params]) -> None:
        self.flush()
        self._connection.executemany(sql, params)

    def put(self, sql: str, params: Params, lane: str = "", fold: Fold = as_they_are) -> None:
        self._puts.add(sql, params, lane, fold)

    def flush(self) -> None:
        if self._puts:
            for sql, params in self._puts.take():
                self._connection.executemany(sql, params)

    def _execute(self, sql: str, params: Params | None) -> sqlite3.Cursor:
        self.flush()
        return self._connection.execute(sql, params or {})

    def keep(self, sql: str, params: Params | None = None) -> None:
        pass

    def hold(self, name: str) -> None:
        pass

    def alone(self, table: str) -> None:
        pass
