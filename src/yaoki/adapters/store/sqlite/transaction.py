"""A transaction on a SQLite connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from yaoki.adapters.store.write_buffer import Coalesce, WriteBuffer, keep_all

if TYPE_CHECKING:
    from yaoki.adapters.store.rows import SqlRow
    from yaoki.adapters.store.write_buffer import Params

TASKS = "SELECT t.* FROM json_each(:ids) AS wanted JOIN tasks t ON t.id = wanted.value"


class SqliteTransaction:
    """A transaction, or a consistent view for reading.  Writers take turns, so locks are empty."""

    for_update = for_update_skip_locked = shard = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._writes = WriteBuffer()
        self.prefetched_tasks: dict[str, SqlRow] = {}

    def prefetch(self, ids: Iterable[str]) -> None:
        rows = self.rows(TASKS, {"ids": json.dumps(list(ids))})
        self.prefetched_tasks = {row["id"]: row for row in rows}

    def rows(self, sql: str, params: Params | None = None) -> list[sqlite3.Row]:
        return self._execute(sql, params).fetchall()

    def row(self, sql: str, params: Params | None = None) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._execute(sql, params).fetchone()
        return row

    def run(self, sql: str, params: Params | None = None) -> int:
        return self._execute(sql, params).rowcount

    def many(self, sql: str, params: Sequence[Params]) -> None:
        self.flush()
        self._connection.executemany(sql, params)

    def enqueue(
        self, sql: str, params: Params, order_key: str = "", coalesce: Coalesce = keep_all
    ) -> None:
        self._writes.add(sql, params, order_key, coalesce)

    def flush(self) -> None:
        if self._writes:
            for sql, params in self._writes.drain():
                self._connection.executemany(sql, params)

    def _execute(self, sql: str, params: Params | None) -> sqlite3.Cursor:
        self.flush()
        return self._connection.execute(sql, params or {})

    def lock_rows(self, sql: str, params: Params | None = None) -> None:
        pass

    def lock_by_name(self, name: str) -> None:
        pass

    def lock_table(self, table: str) -> None:
        pass
