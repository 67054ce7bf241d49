"""A cached run: after any event its next view equals one that is read anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from tests.acceptance.project import Project
from tests.adapters.store.store_actions import escalate, finish, lease_of
from tests.builders import RUN_ID, a_run, a_spec
from tests.faces.web.browser.large_runs import specs
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.tables import run_changes
from yaoki.app.build import App
from yaoki.app.run_view import view_run
from yaoki.app.run_watch import RunWatch
from yaoki.core.machine.request_events import Answered, UndoRequested
from yaoki.core.model import Choice, RunId, State, Task, TaskId
from yaoki.faces.cli.live.task_table import TaskTable
from yaoki.ports import Claimant, TaskRow
from yaoki.views import RunView

RUN = RunId(RUN_ID)
LEASE = timedelta(hours=1)
STEPS = 60


@contextmanager
def an_app(project: Project, count: int = 24, wide: int = 6) -> Iterator[App]:
    app = App(project.repo, create=True)
    try:
        run = a_run(RUN_ID, created_at=app.clock.now(), repo=str(project.repo))
        app.store.submit(run, specs(count, wide), {"argv": ["run", "plan.yaml"]})
        yield app
    finally:
        app.close()


def plain(view: RunView) -> RunView:
    """The view without git's facts, which are refreshed less often."""
    return replace(view, tasks=tuple(replace(task, on_branch=None) for task in view.tasks))


# ------------------------------------------------------------------ what may happen


def some(store: SqlStore, dice: Random, *states: State) -> Task | None:
    ids = [row.id for row in store.rows(RUN) if row.state in states]
    return store.task(dice.choice(ids)) if ids else None


def claim(store: SqlStore, dice: Random) -> None:
    store.claim(Claimant("elsewhere:1:1:a", LEASE), dice.randint(1, 3))


def land(store: SqlStore, dice: Random) -> None:
    if task := some(store, dice, State.ACTIVE):
        finish(store, task)


def ask(store: SqlStore, dice: Random) -> None:
    if task := some(store, dice, State.ACTIVE):
        escalate(store, task)


def answer(store: SqlStore, dice: Random) -> None:
    if task := some(store, dice, State.ESCALATED):
        choice = dice.choice([Choice.RETRY, Choice.ABORT])
        store.amend(task.id, lambda now: (Answered(choice, "", "", now.counts),))


def beat(store: SqlStore, dice: Random) -> None:
    if task := some(store, dice, State.ACTIVE):
        store.heartbeat([lease_of(task)], dice.randint(2, 9) * LEASE)


def die(store: SqlStore, _: Random) -> None:
    store.expire_claims(lambda _: True, counted=True)


def cancel(store: SqlStore, dice: Random) -> None:
    if task := some(store, dice, State.WAITING, State.ACTIVE):
        store.cancel_task(task.id, "no longer wanted")


def take_back(store: SqlStore, dice: Random) -> None:
    if task := some(store, dice, State.DONE):
        store.amend(task.id, lambda now: (UndoRequested(now.landed_commit),))


def grow(store: SqlStore, dice: Random) -> None:
    rows = store.rows(RUN)
    need = dice.choice(rows).name
    store.add_tasks(RUN, [a_spec(f"more-{len(rows)}", needs=(need,))], event="PLAN_EXTENDED")


def take_over(store: SqlStore, dice: Random) -> None:
    if task := some(store, dice, State.ESCALATED):
        name = f"heir-{len(store.rows(RUN))}"
        store.add_tasks(RUN, [a_spec(name)], replaces={name: task.id}, event="PLAN_EXTENDED")


ACTS: Mapping[Callable[[SqlStore, Random], None], int] = {
    claim: 6,
    land: 6,
    ask: 2,
    answer: 1,
    beat: 2,
    die: 1,
    cancel: 1,
    take_back: 1,
    grow: 1,
    take_over: 1,
}


@pytest.mark.quick_cases(2)
@pytest.mark.spec("12.5")
@pytest.mark.parametrize("seed", range(4))
def test_a_cached_run_equals_one_that_is_read_again(project: Project, seed: int) -> None:
    dice = Random(seed)
    with an_app(project) as app:
        watch = RunWatch(app, RUN)
        for _ in range(STEPS):
            act = dice.choices([*ACTS], [*ACTS.values()])[0]
            act(app.store, dice)
            if dice.random() < 0.6:
                assert plain(watch.refresh()) == plain(view_run(app, app.store.run(RUN))), (
                    act.__name__
                )
        assert plain(watch.refresh()) == plain(view_run(app, app.store.run(RUN)))


@pytest.mark.spec("12.4")
@pytest.mark.parametrize("seed", range(2))
def test_the_live_table_shows_the_current_rows(project: Project, seed: int) -> None:
    """Only the tasks that an entry named were read again: a task that waited for a landed one
    kept its old count of open needs, so the table never said why no worker takes it.
    """
    dice = Random(seed)
    with an_app(project) as app:
        board = TaskTable(app, app.store.run(RUN))
        for step in range(1, STEPS):
            seq = app.store.last_seq()
            act = dice.choices([*ACTS], [*ACTS.values()])[0]
            act(app.store, dice)
            board.add_entries(app.store.journal(run_id=RUN, after=seq))

            view = board.current_view(app.clock.now() + step * LEASE)

            now = {row.id: row for row in app.store.rows(RUN)}
            shown = {task.row.id: task.row for task in view.tasks}
            assert {key: _told(row) for key, row in shown.items()} == {
                key: _told(row) for key, row in now.items()
            }, act.__name__


def _told(row: TaskRow) -> tuple[object, ...]:
    """Heartbeats write no entry, so the table does not show leases."""
    return (
        row.state,
        row.stage,
        row.open_needs,
        row.awaiting_rerun,
        row.attempt,
        row.holder,
        row.reason,
    )


@pytest.mark.spec("12.5")
def test_only_changed_tasks_are_read_again(project: Project) -> None:
    """A landing changes one of two hundred tasks, and those that waited for it."""
    with an_app(project, 200, 10) as app:
        store, database = app.store, app.store.database
        (task,) = store.claim(Claimant("elsewhere:1:1:a", LEASE), 1)
        (other,) = store.claim(Claimant("elsewhere:1:1:a", LEASE), 1)
        before = store.last_seq()
        finish(store, task)

        found = run_changes.find_changed_tasks(database, RUN, before, 1000)
        rows = run_changes.reload_rows(database, RUN, found.ids)
        few = run_changes.find_changed_tasks(database, RUN, before, 2)
        store.add_tasks(RUN, [a_spec("more")], event="PLAN_EXTENDED")
        grown = run_changes.find_changed_tasks(database, RUN, found.seq, 1000)

        assert (found.ids, found.reload_all) == (frozenset({task.id}), False)
        assert {row.id for row in rows} == {task.id, other.id}, "whoever is at work has a lease"
        assert (few.reload_all, grown.reload_all) == (True, True)
        assert run_changes.find_changed_tasks(
            database, RUN, grown.seq, 1000
        ) == run_changes.ChangedTasks(seq=grown.seq)


@pytest.mark.spec("12.5")
def test_changes_are_found_through_indexes(project: Project) -> None:
    """With any length of the journal and any number of tasks."""
    with an_app(project) as app, app.store.database.read() as link:
        ids = {f"id{n}": TaskId(f"{RUN_ID}-{n}") for n in range(4)}
        given = {"run_id": RUN, "after": 3, "limit": 9, **ids}
        for statement in (run_changes.CHANGED, run_changes.ACTIVE, run_changes.select_by_ids(4)):
            plan = link.rows(f"EXPLAIN QUERY PLAN {statement}", given)
            steps = [row["detail"] for row in plan]
            assert all(step.startswith("SEARCH") for step in steps), steps
