"""`yaoki cancel`: a request that cannot be withdrawn; the work done so far is saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.model import State, TaskId
from yaoki.core.text import format_count
from yaoki.faces.cli.commands.report import print_blocked_work
from yaoki.faces.cli.context import json_option, load_run_view, open_app, repo_option, run_option
from yaoki.faces.cli.lookup import RunOrTask, find_run_or_task
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
    task_names,
)

if TYPE_CHECKING:
    from yaoki.app.build import App


@click.command()
@click.argument("what", metavar="[RUN|TASK]", default="")
@run_option
@json_option
@repo_option
def cancel(what: str, run_name: str, as_json: bool, repo: Path) -> int:
    """End RUN or TASK; by default the newest run.  Landed work stays landed."""
    from yaoki.app import commands

    with open_app(repo) as app:
        refuse_agents(app)
        found = find_run_or_task(app, what, run_name)
        before = {row.id for row in app.reads.rows(found.run.id) if row.state is State.CANCELLED}
        left = commands.cancel_work(app, found.run, found.task)
        document = commands.cancel_document(app, found.run, found.task, left)
        if as_json:
            print_document(document)
        else:
            _print_result(app, found, document, before)
    return 0


def _print_result(
    app: App, found: RunOrTask, document: dict[str, Any], before: set[TaskId]
) -> None:
    from yaoki.app import commands

    run = app.reads.run(found.run.id)
    view = load_run_view(app, run)
    mine, left, saved = document["cancelled"], document["ending"], document["kept"]
    fresh = [one for one in mine if one not in before]
    what = found.task or f"run {run.id}"
    by_id = task_names(view)
    names = ", ".join(clean_line(by_id[one], 40) for one in fresh[:10])
    if fresh or left or not mine:
        print_wrapped(
            f"{what}: {format_count(len(fresh), 'task')} cancelled"
            + (f" ({names})" if names else "")
        )
    else:
        print_wrapped(f"{what}: cancelled already; nothing was changed")
    if left:
        number = format_count(len(left), "task is", "tasks are")
        print_wrapped(f"{number} still being stopped: yaoki watch {run.id}")
    if found.task:
        task = app.reads.task(TaskId(found.task))
        print_blocked_work(commands.list_blocked_with_work(app, task))
    if saved:
        print_wrapped(f"the work of {format_count(len(saved), 'task')} is saved")
        print_next_command(f"yaoki recover {found.task or run.id}")
    else:
        print_next_command(view.next_command)
