"""`yaoki dead`: tasks whose workers died too often, and the way to start them again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.model import Choice
from yaoki.errors import NotNow
from yaoki.faces.cli.context import json_option, load_run_view, open_app, repo_option, run_option
from yaoki.faces.cli.person_only import answer_channel, refuse_agents
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.adapters.store.tables.dead_letters import DeadLetter
    from yaoki.app.build import App
    from yaoki.core.model import TaskId


@click.group(invoke_without_command=True)
@json_option
@repo_option
@click.pass_context
def dead(ctx: click.Context, as_json: bool, repo: Path) -> int:
    """List the dead letters of all runs: tasks whose workers died too often."""
    ctx.obj = str(repo)
    if ctx.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError("--json goes after revive", ctx)
        return 0
    with open_app(repo) as app:
        found = _letters(app)
        if as_json:
            print_document({"schema": SCHEMA, "dead": [_document(letter) for letter in found]})
        else:
            _show(found)
    return 0


@dead.command()
@click.argument("task")
@click.argument("words", nargs=-1)
@run_option
@json_option
@repo_option
def revive(task: str, words: tuple[str, ...], run_name: str, as_json: bool, repo: Path) -> int:
    """Let workers claim TASK again.

    TASK is a dead letter.  Its retry limits are reset, and WORDS go to its agent.
    """
    with open_app(repo) as app:
        refuse_agents(app)
        task_id = app.lookup.find_task(task, run_name)
        _refuse_unless_dead(app, task_id)
        revived = app.control.answer(task_id, Choice.RETRY, " ".join(words), how=answer_channel())
        after = load_run_view(app, app.reads.run(revived.run_id)).next_command
        if as_json:
            document = {"task": revived.id, "state": revived.state.value, "next": after}
            print_document({"schema": SCHEMA, **document})
            return 0
        print_wrapped(
            f"{clean_line(revived.spec.name, 60)} ({revived.id}): waiting for a worker again"
        )
        print_next_command(after)
    return 0


def _letters(app: App) -> list[DeadLetter]:
    from yaoki.adapters.store.tables.dead_letters import find_dead_letters

    return find_dead_letters(app.store.database)


def _refuse_unless_dead(app: App, task_id: TaskId) -> None:
    if all(letter.task_id != task_id for letter in _letters(app)):
        state = app.reads.task(task_id).state.value
        raise NotNow(f"{task_id} is not a dead letter: it is {state}", hint=f"yaoki why {task_id}")


def _show(found: list[DeadLetter]) -> None:
    if not found:
        print_wrapped("there are no dead letters: no task lost too many workers")
        print_next_command("yaoki status")
        return
    for letter in found:
        when = letter.at.astimezone().strftime("%Y-%m-%d %H:%M")
        print_wrapped(
            f"{clean_line(letter.name, 60)} ({letter.task_id}) {when}  {clean_line(letter.reason)}"
        )
        for given in letter.deliveries:
            at = given.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
            print_wrapped(
                f"  {at}  {clean_line(given.holder, 80)}  {clean_line(given.reason, 120)}"
            )
    print_next_command(f"yaoki dead revive {found[-1].task_id}")


def _document(letter: DeadLetter) -> dict[str, Any]:
    return {
        "task": letter.task_id,
        "run": letter.run_id,
        "name": letter.name,
        "at": letter.at.isoformat(),
        "why": letter.reason,
        "deliveries": [
            {"at": given.at.isoformat(), "holder": given.holder, "why": given.reason}
            for given in letter.deliveries
        ],
    }
