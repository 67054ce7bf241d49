"""`yaoki status`: how a run stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.faces.cli.context import json_option, look, opened, repo_option
from yaoki.faces.cli.text.render import (
    QUESTION_CHARS,
    columns,
    document,
    foremost,
    line,
    names_of,
    next_command,
    paint,
    prose,
    task_lines,
    when,
)
from yaoki.views import RunView, runs_document, status_document, worker_lines, workers_document

if TYPE_CHECKING:
    from yaoki.app import App

RUNS_SHOWN = 50


@click.command()
@click.argument("run", default="")
@click.option("--all", "all_runs", is_flag=True, help="List every run instead.")
@click.option("--workers", "only_workers", is_flag=True, help="Show the workers instead.")
@click.option("--exit-code", is_flag=True, help="End with the run's exit code instead of 0.")
@json_option
@repo_option
def status(
    run: str, all_runs: bool, only_workers: bool, exit_code: bool, as_json: bool, repo: Path
) -> int:
    """Show how RUN stands; the newest unless named.  Without a name the workers are shown, too."""
    if only_workers:
        return _workers(repo, as_json=as_json)
    with opened(repo) as app:
        if all_runs:
            return _list(app, as_json=as_json)
        # A remote is not asked for what its workers tell anyway.
        near = not app.settings.workspace.remote
        view = look(app, app.naming.run(run), branch=near)
        if as_json:
            document(status_document(view))
        else:
            show(app, view, workers=not run)
        return view.exit_code if exit_code else 0


def show(app: App, view: RunView, *, workers: bool = False) -> None:
    """A head, the tasks, the workers if asked for, the next command."""
    run = view.run
    head(view)
    prose(f"branch {run.branch}, from {line(run.base_branch)} at {run.base[:10]}")
    if run.paused:
        prose(paint(f"paused: {line(run.paused, QUESTION_CHARS)}", "yellow"))
    if view.iterated:
        prose(line(view.iterated))
    shown = foremost(view)
    for text in task_lines(shown, app.clock.now(), names_of(view)):
        prose(f"  {text}")
    if len(shown) < len(view.tasks):
        prose(f"  … {len(view.tasks) - len(shown)} more: yaoki status {run.id} --json")
    for text in worker_lines(app.workers(), app.clock.now()) if workers else ():
        prose(text)
    if view.part:
        prose(paint(view.part, "yellow"))
    next_command(view.next)


def head(view: RunView) -> None:
    prose(f"run {view.run.id}: {view.status.value}  {line(view.run.goal, 120)}")


def _workers(repo: Path, *, as_json: bool) -> int:
    """Who serves the store; with no store there is nobody."""
    with opened(repo, create=True) as app:
        live = app.workers() if app.has_store else []
        if as_json:
            document(workers_document(live))
            return 0
        for text in worker_lines(live, app.clock.now()) or ["no worker serves this store"]:
            prose(text)
        next_command("yaoki status" if live else "yaoki up")
    return 0


def _list(app: App, *, as_json: bool) -> int:
    runs = [look(app, run) for run in app.store.runs()[-RUNS_SHOWN:]]
    if as_json:
        document(runs_document(runs))
        return 0
    rows = [
        (
            *(view.run.id, view.status.value, when(view.run.created_at)),
            *(_counted(view), line(view.run.goal, 80)),
        )
        for view in reversed(runs)
    ]
    for text in columns(rows) or ["no run yet"]:
        prose(text)
    next_command(f"yaoki status {runs[-1].run.id}" if runs else "yaoki run PLAN")
    return 0


def _counted(view: RunView) -> str:
    return f"{len(view.works_landed)}/{len(view.works)} landed"
