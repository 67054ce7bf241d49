"""`yaoki cancel`: a wish that cannot be taken back; the work done so far is kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.cli.door import json_option, look, opened, repo_option, run_option
from yaoki.cli.named import Named, named
from yaoki.cli.persons import refuse_agents
from yaoki.cli.render import document, line, names_of, next_command, say

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

WITHIN = timedelta(seconds=10)


@click.command()
@click.argument("what", metavar="[RUN|TASK]", default="")
@run_option
@json_option
@repo_option
def cancel(what: str, run_name: str, as_json: bool, repo: Path) -> int:
    """End RUN or TASK; the newest run unless named.  What landed stays landed."""
    from yaoki.app import asking

    with opened(repo) as app:
        refuse_agents(app)
        found = named(app, what, run_name)
        left = asking.cancel(app, found.run, found.task, within=WITHIN)
        told = asking.cancelled(app, found.run, found.task, left)
        if as_json:
            document(told)
        else:
            _tell(app, app.store.run(found.run.id), found, told)
    return 0


def _tell(app: App, run: Run, found: Named, told: dict[str, Any]) -> None:
    view = look(app, run)
    mine, left, kept = told["cancelled"], told["ending"], told["kept"]
    what = found.task or f"run {run.id}"
    by_id = names_of(view)
    names = ", ".join(line(by_id[one], 40) for one in mine[:10])
    say(f"{what}: {len(mine)} cancelled" + (f" ({names})" if names else ""))
    if left:
        say(f"{len(left)} still being ended by their worker: yaoki watch {run.id}")
    if kept:
        say(f"the work of {len(kept)} is kept")
        next_command(f"yaoki recover {found.task or run.id}")
    else:
        next_command(view.next)
