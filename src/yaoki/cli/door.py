"""The door to a repository: which one, opened for how long, and what is read from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from yaoki.errors import Unknown

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Question, Run, TaskId
    from yaoki.ports import Row
    from yaoki.views import RunView

Function = TypeVar("Function", bound=Callable[..., Any])
QUESTIONS_MAX = 1000


def repo_option(function: Function) -> Function:
    """`--repo DIR`, here or before the command."""
    return click.option(
        "--repo",
        metavar="DIR",
        callback=lambda ctx, _, given: Path(given or ctx.obj or "."),
        help="The repository; where you stand unless named.",
    )(function)


def json_option(function: Function) -> Function:
    return click.option(
        "--json", "as_json", is_flag=True, help="One JSON document on standard output."
    )(function)


def run_option(function: Function) -> Function:
    return click.option(
        "--run", "run_name", metavar="RUN", default="", help="The run; the newest unless named."
    )(function)


@contextmanager
def opened(where: Path, *, create: bool = False, store: str = "") -> Iterator[App]:
    """The repository with its store; without `create` nothing is made where nothing was."""
    from yaoki.app import App

    app = App(where.absolute(), create=create, store=store)
    try:
        if not create and not app.has_store:
            raise Unknown("there is no run here yet", hint="yaoki run PLAN")
        yield app
    finally:
        app.close()


def look(app: App, run: Run) -> RunView:
    """The run as it stands now."""
    from yaoki.views import lacking, run_view

    rows = app.store.rows(run.id)
    live = app.workers()
    return run_view(
        run,
        rows,
        app.store.needs(run.id),
        resting=app.store.resting(run.id),
        questions=questions(app, rows),
        worker=at_work(rows) or any(run.id in (seen.worker.runs or (run.id,)) for seen in live),
        limits={account.name: account.until for account in app.store.accounts()},
        lacks=lambda row: lacking(row, live),
        spent=app.store.spent(run.id),
    )


def questions(app: App, rows: list[Row]) -> dict[TaskId, Question]:
    """What the escalated tasks ask; a screen never shows more than so many."""
    asking = [row.id for row in rows if row.question][:QUESTIONS_MAX]
    found = ((task_id, app.store.task(task_id).question) for task_id in asking)
    return {task_id: question for task_id, question in found if question is not None}


def at_work(rows: list[Row]) -> bool:
    """Does anybody who may be alive hold a task of these?"""
    from yaoki.system import holder_dead

    return any(row.holder and not holder_dead(row.holder) for row in rows)
