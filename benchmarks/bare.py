"""The limits of this machine: the rows that yaoki writes for a task, written bare and durably.

No rules, no JSON, no claims to win: each process has its share of the tasks.  Single means a commit
for the claim and one for the finish of each task; batches have the size that yaoki's commits had.
`python -m benchmarks.bare ADDRESS STAMPS_FOLDER FIRST COUNT BATCH` is one process.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks.noop import ENTRIES, stamping, wait_for_go

SCHEMA = (
    """CREATE TABLE tasks (id TEXT PRIMARY KEY, run_id TEXT, n INTEGER, name TEXT, state TEXT,
           epoch INTEGER, holder TEXT, rank INTEGER, landed TEXT, doc TEXT,
           UNIQUE (run_id, n), UNIQUE (run_id, name))""",
    "CREATE INDEX ready ON tasks (run_id, rank, n) WHERE state = 'WAITING'",
    "CREATE INDEX active ON tasks (run_id) WHERE state = 'ACTIVE'",
    """CREATE TABLE journal (seq {identity}, at BIGINT, run_id TEXT, task_id TEXT, event TEXT,
           data TEXT)""",
    "CREATE INDEX by_task ON journal (task_id, seq)",
    "CREATE INDEX by_run ON journal (run_id, seq)",
)
TASK = "INSERT INTO tasks VALUES (?, 'r', ?, ?, 'WAITING', 0, '', 0, '', ?)"
ENTRY = "INSERT INTO journal (at, run_id, task_id, event, data) VALUES (0, 'r', ?, 'E', ?)"
LOOK = "SELECT * FROM tasks WHERE id = ?"
CLAIM = "UPDATE tasks SET state = 'ACTIVE', epoch = 1, holder = 'h', doc = ? WHERE id = ?"
DONE = "UPDATE tasks SET state = 'DONE', holder = '', landed = ?, doc = ? WHERE id = ?"
DATA = '{"x":"' + "y" * 110 + '"}'
SINGLE = 1
Ids = Sequence[str]


class Bare(Protocol):
    """Durable transactions without anything above them."""

    def write(self, work: Callable[[Any], None]) -> None: ...
    def many(self, link: Any, sql: str, params: Iterable[tuple[Any, ...]]) -> None: ...
    def close(self) -> None: ...


class BareSqlite:
    identity = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, address: str) -> None:
        self._link = sqlite3.connect(address, isolation_level=None, timeout=30)
        self._link.execute("PRAGMA journal_mode = WAL")
        self._link.execute("PRAGMA synchronous = FULL")

    def write(self, work: Callable[[Any], None]) -> None:
        self._link.execute("BEGIN IMMEDIATE")
        work(self._link)
        self._link.execute("COMMIT")

    def many(self, link: Any, sql: str, params: Iterable[tuple[Any, ...]]) -> None:
        if sql.startswith("SELECT"):
            for each in params:
                link.execute(sql, each).fetchone()
        else:
            link.executemany(sql, params)

    def close(self) -> None:
        self._link.close()


class BarePostgres:
    """One pipeline a transaction: as few waits for the server as can be."""

    identity = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, address: str) -> None:
        import psycopg

        self._link = psycopg.connect(address, autocommit=True, prepare_threshold=0)

    def write(self, work: Callable[[Any], None]) -> None:
        with self._link.pipeline(), self._link.transaction(), self._link.cursor() as cursor:
            work(cursor)

    def many(self, link: Any, sql: str, params: Iterable[tuple[Any, ...]]) -> None:
        link.executemany(sql.replace("?", "%s").encode(), list(params))

    def close(self) -> None:
        self._link.close()


def connected(address: str) -> BareSqlite | BarePostgres:
    kind = BarePostgres if address.startswith("postgresql:") else BareSqlite
    return kind(address)


def filled(address: str, tasks: int) -> float:
    """The tables and a plan of so many tasks in one transaction; how long the plan took."""
    bare = connected(address)
    ids = [f"r-{n}" for n in range(tasks)]
    for statement in SCHEMA:
        words = statement.replace("{identity}", bare.identity)
        bare.write(lambda link, words=words: link.execute(words))  # type: ignore[misc]
    began = time.monotonic()

    def plan(link: Any) -> None:
        bare.many(link, TASK, ((id_, n, f"t{n}", DATA) for n, id_ in enumerate(ids)))
        bare.many(link, ENTRY, ((id_, DATA) for id_ in ids))

    bare.write(plan)
    took = time.monotonic() - began
    bare.close()
    return took


def work(bare: Bare, ids: Ids, batch: int, stamp: Callable[[], None]) -> None:
    for first in range(0, len(ids), batch):
        part = ids[first : first + batch]
        if batch == SINGLE:
            bare.write(lambda link, part=part: _claim(bare, link, part))  # type: ignore[misc]
            bare.write(lambda link, part=part: _finish(bare, link, part))  # type: ignore[misc]
        else:
            bare.write(lambda link, part=part: _both(bare, link, part))  # type: ignore[misc]
        for _ in part:
            stamp()


def _both(bare: Bare, link: Any, part: Ids) -> None:
    _claim(bare, link, part)
    _finish(bare, link, part)


def _claim(bare: Bare, link: Any, part: Ids) -> None:
    bare.many(link, CLAIM, ((DATA, id_) for id_ in part))
    bare.many(link, ENTRY, ((id_, DATA) for id_ in part))


def _finish(bare: Bare, link: Any, part: Ids) -> None:
    bare.many(link, LOOK, ((id_,) for id_ in part))
    bare.many(link, DONE, (("c" * 40, DATA, id_) for id_ in part))
    bare.many(link, ENTRY, ((id_, DATA) for id_ in part for _ in range(ENTRIES - 2)))


def main(address: str, folder: Path, first: int, count: int, batch: int) -> None:
    bare, stamp = connected(address), stamping(folder)
    wait_for_go(folder)
    work(bare, [f"r-{n}" for n in range(first, first + count)], batch, stamp)
    bare.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *(int(word) for word in sys.argv[3:6]))
