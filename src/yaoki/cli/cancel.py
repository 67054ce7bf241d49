"""`yaoki cancel`: a wish that cannot be taken back; the work done so far is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.cli.door import json_option, look, opened, repo_option, run_option
from yaoki.cli.named import Named, named
from yaoki.cli.render import document, line, next_command, say
from yaoki.core.model import State, TaskId
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

POLL = timedelta(milliseconds=100)
WITHIN = timedelta(seconds=10)


@click.command()
@click.argument("what", metavar="[RUN|TASK]", default="")
@run_option
@json_option
@repo_option
def cancel(what: str, run_name: str, as_json: bool, repo: Path) -> int:
    """End RUN or TASK; the newest run unless named.  What landed stays landed."""
    with opened(repo) as app:
        found = named(app, what, run_name)
        at_work = _wish(app, found)
        if at_work:
            app.end_cancelled(found.run)
        left = _ended(app, at_work)
        run = app.store.run(found.run.id)
        if not left:
            app.closing.rests(run.id)
        app.control.sweep(run)
        _tell(app, run, found, left, as_json=as_json)
    return 0


def _wish(app: App, found: Named) -> list[TaskId]:
    """Durable before anything acts on it.  Twice is once."""
    if not found.task:
        return app.control.cancel(found.run)
    if app.store.task(found.task).state is State.CANCELLED:
        return []
    return app.control.cancel_task(TaskId(found.task))


def _ended(app: App, at_work: Sequence[TaskId]) -> list[TaskId]:
    """Wait a bounded time for the workers that hold these tasks; returns who is still at it."""
    until = app.clock.now() + WITHIN
    left = list(at_work)
    while left:
        left = [task for task in left if not app.store.task(task).state.final]
        if not left or app.clock.now() >= until:
            break
        app.clock.sleep(POLL)
    return left


def _tell(app: App, run: Run, found: Named, left: list[TaskId], *, as_json: bool) -> None:
    view = look(app, run)
    over = [t.row for t in view.tasks if t.row.state is State.CANCELLED]
    mine = [row for row in over if not found.task or row.id == found.task]
    kept = {work.task_id for work in app.workspace.saved()} & {row.id for row in mine}
    if as_json:
        told = {"cancelled": [row.id for row in mine], "ending": left, "kept": sorted(kept)}
        document({"schema": SCHEMA, "run": run.id, "status": view.status.value, **told})
        return
    what = found.task or f"run {run.id}"
    names = ", ".join(line(row.name, 40) for row in mine[:10])
    say(f"{what}: {len(mine)} cancelled" + (f" ({names})" if names else ""))
    if left:
        say(f"{len(left)} still being ended by their worker: yaoki watch {run.id}")
    if kept:
        say(f"the work of {len(kept)} is kept")
        next_command(f"yaoki recover {found.task or run.id}")
    else:
        next_command(view.next)
