"""Large runs, written into the store of a project as workers leave them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import islice

from tests.acceptance.project import Project
from tests.adapters.store.store_actions import escalate, lease_of, open_test_store
from tests.builders import RUN_ID, a_run, a_spec, to_land
from yaoki.adapters.store import SqlStore
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.machine.events import AttemptStarted
from yaoki.core.model import TaskSpec
from yaoki.ports import Claimant

LEASE = timedelta(hours=1)
AT_ONCE = 64
WORDS = ("parse", "render", "store", "route", "check", "draw", "send", "read", "plan", "tidy")
PARTS = ("token", "page", "row", "index", "queue", "label", "limit", "invoice", "session")


def specs(count: int, wide: int) -> list[TaskSpec]:
    """Layers of `wide` tasks; each needs a few of the layer before, as plans of people do."""
    made: list[TaskSpec] = []
    for n in range(count):
        before = (n // wide - 1) * wide
        needs = {made[before + (n * step) % wide].name for step in (1, 7)} if before >= 0 else set()
        name = f"{WORDS[n % 10]}-{PARTS[n // 7 % 9]}-{n + 1}"
        made.append(a_spec(name, needs=tuple(sorted(needs if n % 3 else islice(needs, 1)))))
    return made


def store_large_run(
    project: Project, count: int, *, wide: int, done: int, active: int = 3, asks: int = 0
) -> str:
    """Store a run of `count` tasks in these states; returns its id."""
    clock = SystemClock()
    file = project.repo / ".yaoki" / "state.db"
    file.parent.mkdir(exist_ok=True)
    store = open_test_store(file, clock, limits={"pending_tasks_max": 1_000_000})
    try:
        run = a_run(
            RUN_ID, goal=f"{count} small changes", created_at=clock.now(), repo=str(project.repo)
        )
        store.submit(run, specs(count, wide), {"argv": ["run", "plan.yaml"]})
        _advance_tasks(store, done, active, asks)
    finally:
        store.close()
    return str(RUN_ID)


def _advance_tasks(store: SqlStore, done: int, active: int, asks: int) -> None:
    for holder, count in (("crowd:1:1:a", asks), ("crowd:2:2:b", active), ("crowd:3:3:c", done)):
        while count > 0:
            batch = store.claim(Claimant(holder, LEASE), min(count, AT_ONCE))
            assert batch, f"only so much is ready: {count} are left"
            count -= len(batch)
            for task in batch:
                if holder.startswith("crowd:1"):
                    escalate(store, task)
                elif holder.startswith("crowd:2"):
                    store.record(lease_of(task), lambda seen: _begun(seen.attempt + 1))
                else:
                    store.record(lease_of(task), lambda seen: to_land("c0ffee", seen.attempt + 1))


def _begun(attempt: int) -> Sequence[AttemptStarted]:
    return (AttemptStarted(attempt, "small", "ba5e", "/w/login", "host", True),)
