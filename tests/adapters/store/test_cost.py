"""The cost of a claim does not grow with the store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.adapters.store.store_actions import finish, lease_of, submit
from tests.builders import MINUTE, RUN_ID, SECOND, HandClock, a_retry, a_spec
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.sqlite.transaction import SqliteTransaction
from yaoki.adapters.store.tables import statements as sql
from yaoki.ports import Claimant

PARAMS = {"run_id": "r", "now": 0, "limit": 1, "id": "x", "after": 0, "task_id": "x", "place": ""}


def plan_of(store: SqlStore, statement: str) -> str:
    with store.database.read() as tx:
        return " | ".join(
            row["detail"] for row in tx.rows(f"EXPLAIN QUERY PLAN {statement}", PARAMS)
        )


INDEXED = {
    "READY": "tasks_ready",
    "UNFINISHED_WORK": "tasks_ready",
    "NEXT_DUE": "tasks_ready",
    "RUNS_WITH_READY_TASKS": "tasks_ready",
    "ACTIVE": "tasks_active",
    "EXPIRED_LEASES": "tasks_active",
    "ACTIVE_COUNTS": "tasks_active",
    "ACTIVE_TO_STOP": "tasks_active",
    "SPEC": "journal_by_task",
    "JOURNAL_OF_TASK": "journal_by_task",
    "DOWNSTREAM": "needs_by_need",
    "OPEN_DEPENDENTS": "needs_by_need",
}


@pytest.mark.sqlite
@pytest.mark.spec("11.6", "13.1")
@pytest.mark.parametrize(("name", "index"), INDEXED.items())
def test_a_statement_uses_its_index(store: SqlStore, name: str, index: str) -> None:
    statement = getattr(sql, name)
    for key, value in {":change": "1", ":ageing_ms": "1"}.items():
        statement = statement.replace(key, value)

    plan = plan_of(store, statement)

    assert index in plan
    assert "SCAN tasks" not in plan.replace(f"SCAN tasks USING INDEX {index}", "").replace(
        f"SCAN tasks USING COVERING INDEX {index}", ""
    )


@pytest.mark.sqlite
@pytest.mark.spec("11.6")
def test_ready_tasks_are_read_in_index_order(store: SqlStore) -> None:
    assert "TEMP B-TREE" not in plan_of(store, sql.READY)


class Steps:
    """How many steps SQLite's virtual machine takes, counted in tens."""

    def __init__(self, store: SqlStore) -> None:
        self.taken = 0
        store.database.write(self._count)

    def _count(self, tx: Transaction) -> None:
        assert isinstance(tx, SqliteTransaction)
        connection: sqlite3.Connection = tx._connection
        connection.set_progress_handler(self._tick, 10)

    def _tick(self) -> int:
        self.taken += 10
        return 0


def cost(store: SqlStore, tasks: int) -> float:
    """Steps for one claim and finish, in the middle of a run of this many tasks."""
    submit(store, *(a_spec(f"t{n}") for n in range(tasks)))
    for task in store.claim(Claimant("host:1", MINUTE), tasks // 2):
        finish(store, task)
    steps = Steps(store)
    for _ in range(20):
        for task in store.claim(Claimant("host:1", MINUTE), 1):
            finish(store, task)
    return steps.taken / 20


@pytest.mark.full
@pytest.mark.sqlite
@pytest.mark.spec("11.6", "13.1")
def test_a_claim_costs_the_same_in_a_large_store(tmp_path: Path, clock: HandClock) -> None:
    small = open_store(tmp_path / "small.db", clock, durable=False)
    large = open_store(tmp_path / "large.db", clock, durable=False)

    ratio = cost(large, 2_000) / cost(small, 100)

    assert ratio < 1.5
    small.close()
    large.close()


@pytest.mark.sqlite
@pytest.mark.spec("11.6", "5.4")
def test_tasks_that_wait_for_a_date_do_not_slow_down_claims(
    store: SqlStore, clock: HandClock
) -> None:
    """A thousand tasks wait for a rate limit to end; a claim of others must not read them."""
    submit(store, *(a_spec(f"t{n}") for n in range(1_100)))
    plain = cost_of_one(store)
    later = clock.now() + 60 * MINUTE
    for task in store.claim(Claimant("host:1", MINUTE), 1_000):
        store.record(lease_of(task), lambda _: (a_retry(due_at=later),))
    clock.advance(SECOND)

    assert cost_of_one(store) < 1.5 * plain


def cost_of_one(store: SqlStore) -> float:
    steps = Steps(store)
    for _ in range(10):
        for task in store.claim(Claimant("host:1", MINUTE), 1):
            finish(store, task)
    return steps.taken / 10


@pytest.mark.sqlite
@pytest.mark.spec("9.5", "0.4")
def test_cancelling_costs_the_same_for_each_task_of_a_chain(
    tmp_path: Path, clock: HandClock
) -> None:
    """Other writers wait meanwhile, and their leases go on."""
    short, long = (
        cancelled(open_store(tmp_path / f"{links}.db", clock, durable=False), links)
        for links in (100, 1_000)
    )

    assert long < 1.5 * short


def cancelled(store: SqlStore, links: int) -> float:
    """Steps for each task of a chain that is cancelled."""
    submit(store, *(a_spec(f"t{n}", needs=(f"t{n - 1}",) if n else ()) for n in range(links)))
    steps = Steps(store)
    store.cancel_run(RUN_ID, "enough")
    store.close()
    return steps.taken / links


@pytest.mark.spec("13.1")
def test_specifications_are_read_once(store: SqlStore) -> None:
    """A task's long goal is not parsed again at each of its stages."""
    (task_id,) = submit(store, a_spec("a", goal="g" * 60_000))
    with store.database.read() as tx:
        (doc,) = (row["doc"] for row in tx.rows("SELECT doc FROM tasks"))

    assert len(doc) < 100, "the row repeats nothing of the specification"
    assert store.task(task_id).spec is store.task(task_id).spec
    assert len(store.rows(RUN_ID)) == 1
