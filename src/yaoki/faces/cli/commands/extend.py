"""`yaoki plan submit | extend | add-retry-task | complete`: the planner's commands, for all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.counting import count
from yaoki.core.redact import mask_values
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.context import Function, json_option, look, opened, repo_option
from yaoki.faces.cli.person_only import calling_agent
from yaoki.faces.cli.text.render import document, line, next_command, prose
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run
    from yaoki.engine.commands.extend import Made
    from yaoki.ports import PlanAnswer

FILE = click.Path(path_type=Path)


def run_option(function: Function) -> Function:
    return click.option(
        "--run",
        "run_name",
        metavar="RUN",
        default="",
        envvar="YAOKI_RUN",
        help="The run; the newest unless named.",
    )(function)


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--phase", metavar="PHASE", default="", help="The deferred phase that FILE fills.")
@run_option
@json_option
@repo_option
def submit(file: Path, phase: str, run_name: str, as_json: bool, repo: Path) -> int:
    """Submit a plan as a new run without carrying it; with --phase, fill a phase of a run."""
    if not phase:
        return _submit_run(file, repo, as_json=as_json)
    with opened(repo) as app:
        run = app.naming.run(run_name)
        app.closing.expire(run.id)
        answer = _answer(app, run, file)
        made = app.growth.fill(run, phase, answer.specs)
        return _told(app, run, made, f"phase {line(phase)} is filled", as_json=as_json)


def _submit_run(file: Path, repo: Path, *, as_json: bool) -> int:
    from yaoki.faces.cli.commands.plans import clear_plan, read_plan

    with opened(repo, create=True) as app:
        held = read_plan(app, file)
        clear_plan(app, str(file), held)
        run = app.submit(held)
        if as_json:
            document({"schema": SCHEMA, "run": run.id, "next": f"yaoki resume {run.id}"})
            return 0
        prose(f"run {run.id}: submitted, {line(run.goal, 120)}")
        next_command(f"yaoki resume {run.id}")
    return 0


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@run_option
@json_option
@repo_option
def extend(file: Path, run_name: str, as_json: bool, repo: Path) -> int:
    """Add the tasks of FILE to a run; some may replace failed ones."""
    with opened(repo) as app:
        run = app.naming.run(run_name)
        answer = _answer(app, run, file)
        made = app.growth.extend(
            run, answer.specs, answer.replaces, by_agent=calling_agent(app) is not None
        )
        words = f"revision {made.revision}, {count(len(made.tasks), 'task')} added"
        return _told(app, run, made, words, as_json=as_json)


@click.command("add-retry-task")
@click.option("--retry-of", metavar="TASK", required=True, help="The failed task.")
@click.argument("goal", nargs=-1)
@run_option
@json_option
@repo_option
def add_retry_task(
    retry_of: str, goal: tuple[str, ...], run_name: str, as_json: bool, repo: Path
) -> int:
    """Put another task in the place of a failed one; whoever waited for it is revived.

    GOAL are the words for the new one; without any it gets those of the failed one.
    """
    from yaoki.faces.mcp.secrets import confided

    with opened(repo) as app:
        task = app.store.task(app.naming.task(retry_of, run_name))
        run = app.store.run(task.run_id)
        told = mask_values(" ".join(goal), confided(app, os.environ))
        made = app.growth.add_retry(task, told, by_agent=calling_agent(app) is not None)
        words = f"{task.id} is replaced by {made.tasks[0]}"
        return _told(app, run, made, words, as_json=as_json)


@click.command()
@run_option
@json_option
@repo_option
def complete(run_name: str, as_json: bool, repo: Path) -> int:
    """Say that a run is complete; refused with the list while anything required is open."""
    with opened(repo) as app:
        run = app.naming.run(run_name)
        app.growth.complete(run)
        app.closing.rests(run.id)
        view = look(app, app.store.run(run.id))
        if as_json:
            told = {"run": run.id, "status": view.status.value, "next": view.next}
            document({"schema": SCHEMA, **told})
            return 0
        prose(f"run {run.id}: {view.status.value}")
        next_command(view.next)
    return 0


def _answer(app: App, run: Run, file: Path) -> PlanAnswer:
    """Tasks in a file, held against the run like a planner's answer."""
    from yaoki.faces.cli.commands.plans import text_given
    from yaoki.faces.mcp.secrets import confided, told_safely

    text, name = text_given(file)
    answer = app.tasks_of(run, text, name)
    if answer.defects:
        words = f"{name}: {count(len(answer.defects), 'defect')}, nothing was stored"
        raise PlanInvalid(words, hint=_mend(run), defects=answer.defects)
    return told_safely(answer, confided(app, os.environ))


def _mend(run: Run) -> str:
    return f"mend it and give it again; the tasks of the run: yaoki status {run.id}"


def _told(app: App, run: Run, made: Made, words: str, *, as_json: bool) -> int:
    view = look(app, app.store.run(run.id))
    if as_json:
        told = {"run": run.id, "revision": made.revision, "tasks": list(made.tasks)}
        document({"schema": SCHEMA, **told, "next": view.next})
        return 0
    prose(f"run {run.id}: {words}")
    next_command(view.next)
    return 0
