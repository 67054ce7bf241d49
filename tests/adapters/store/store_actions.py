"""Actions that the store tests share."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.builders import MINUTE, RUN_ID, HandClock, a_run, a_spec, to_land
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.store.schema_files import load_migrations
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import Event
from yaoki.core.model import Lease, Task, TaskId, TaskSpec
from yaoki.core.model.stage_report import StageFaulted
from yaoki.errors import FatalCode
from yaoki.ports import Claimant, Clock

# A file, or the URL of a database on a server.
StoreLocation = Path | str


def open_test_store(
    store_location: StoreLocation, clock: Clock | None = None, **options: Any
) -> SqlStore:
    """Without syncs; the test's clock counts, and every poll reads the version."""
    defaults: dict[str, Any] = {"durable": False, "server_clock": False, "polls_max": 1}
    return open_store(store_location, clock or HandClock(), **{**defaults, **options})


def submit(store: SqlStore, *specs: TaskSpec, run: str = RUN_ID, **options: Any) -> list[TaskId]:
    return store.submit(a_run(run, **options), specs, {"argv": ["run", "plan.yaml"]})


def plan(**needs: Sequence[str]) -> list[TaskSpec]:
    return [a_spec(name, needs=tuple(need_names)) for name, need_names in needs.items()]


def claim_one(store: SqlStore, holder: str = "host:1", **options: Any) -> Task:
    """Claim exactly one."""
    (task,) = store.claim(Claimant(holder, MINUTE), 1, **options)
    return task


def names(tasks: Sequence[Task]) -> list[str]:
    return [task.spec.name for task in tasks]


def lease_of(task: Task) -> Lease:
    assert task.lease is not None
    return task.lease


def finish(store: SqlStore, task: Task, commit: str = "c0ffee") -> Task:
    """From prepare to done in one transaction."""
    return store.record(lease_of(task), lambda task_now: to_land(commit, task_now.attempt + 1))


def escalate(store: SqlStore, task: Task) -> Task:
    def give_up(task_now: Task) -> Sequence[Event]:
        report = StageFaulted("git is missing", transient=False, code=FatalCode.RESOURCE_NOT_FOUND)
        return decide(task_now, report, ClockAndChance(lease_of(task_now).expires_at, 0.5))

    return store.record(lease_of(task), give_up)


def events_of(store: SqlStore, task_id: str) -> list[str]:
    return [entry.event for entry in store.journal(task_id=task_id)]


def run_sql(store_location: StoreLocation, statement: str, *params: Any) -> list[Any]:
    """Read or change the database without the store."""
    if isinstance(store_location, Path):
        with closing(sqlite3.connect(store_location)) as connection, connection:
            return connection.execute(statement, params).fetchall()
    import psycopg

    with psycopg.connect(store_location) as server:
        cursor = server.execute(
            statement.replace("?", "%s") if params else statement, params or None
        )
        return cursor.fetchall() if cursor.description else []


_MADE = re.compile(
    r"^\s*CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)|^ALTER TABLE (\w+) ADD COLUMN (\w+)", re.M
)


def rewind_schema(store_location: StoreLocation, version: int) -> None:
    """Make the store one of this older version: drop what the later migrations made."""
    later = [text for number, text in load_migrations() if number > version]
    for text in reversed(later):
        for kind, name, table, column in reversed(_MADE.findall(text)):
            drop = (
                f"DROP {kind} IF EXISTS {name}"
                if kind
                else f"ALTER TABLE {table} DROP COLUMN {column}"
            )
            run_sql(store_location, drop)
    run_sql(store_location, f"DELETE FROM schema_version WHERE version > {version}")
