"""`yaoki cancel`: a wish that cannot be taken back; the work done so far is kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.model import State
from yaoki.faces.cli.context import json_option, look, opened, repo_option, run_option
from yaoki.faces.cli.lookup import Named, named
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.cli.text.render import document, line, names_of, next_command, prose

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import TaskId

WITHIN = timedelta(seconds=10)


@click.command()
@click.argument("what", metavar="[RUN|TASK]", default="")
@run_option
@json_option
@repo_option
def cancel(what: str, run_name: str, as_json: bool, repo: Path) -> int:
    """End RUN or TASK; the newest run unless named.  What landed stays landed."""
    from yaoki.app import commands

    with opened(repo) as app:
        refuse_agents(app)
        found = named(app, what, run_name)
        before = {row.id for row in app.store.rows(found.run.id) if row.state is State.CANCELLED}
        left = commands.cancel(app, found.run, found.task, within=WITHIN)
        told = commands.cancelled(app, found.run, found.task, left)
        if as_json:
            document(told)
        else:
            _tell(app, found, told, before)
    return 0


def _tell(app: App, found: Named, told: dict[str, Any], before: set[TaskId]) -> None:
    run = app.store.run(found.run.id)
    view = look(app, run)
    mine, left, kept = told["cancelled"], told["ending"], told["kept"]
    fresh = [one for one in mine if one not in before]
    what = found.task or f"run {run.id}"
    by_id = names_of(view)
    names = ", ".join(line(by_id[one], 40) for one in fresh[:10])
    if fresh or left or not mine:
        prose(f"{what}: {len(fresh)} cancelled" + (f" ({names})" if names else ""))
    else:
        prose(f"{what}: cancelled already; nothing was changed")
    if left:
        prose(f"{len(left)} still being ended by their worker: yaoki watch {run.id}")
    if kept:
        prose(f"the work of {len(kept)} is kept")
        next_command(f"yaoki recover {found.task or run.id}")
    else:
        next_command(view.next)
