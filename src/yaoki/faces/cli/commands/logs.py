"""`yaoki logs`: the output of an agent or a check, with secrets masked."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.model import State
from yaoki.core.text import format_bytes, format_count
from yaoki.errors import Unknown
from yaoki.faces.cli.context import json_option, open_app, repo_option, run_option
from yaoki.faces.text.render import clean_text, print_document, print_line
from yaoki.views import SCHEMA
from yaoki.views.agent_output import format_agent_output

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Task

POLL = timedelta(milliseconds=200)
ERROR_LINES_SHOWN = 20


@click.command()
@click.argument("task")
@click.option("--attempt", type=click.IntRange(1), help="The attempt; by default the newest.")
@click.option("--err", is_flag=True, help="Show standard error.")
@click.option("--prompt", is_flag=True, help="Show the prompt of the agent.")
@click.option("--check", metavar="NAME", default="", help="Show the output of this check.")
@click.option("--raw", is_flag=True, help="Show the file unchanged, also JSON lines.")
@click.option("-f", "--follow", is_flag=True, help="Follow until the attempt ends.")
@run_option
@json_option
@repo_option
def logs(
    task: str,
    attempt: int | None,
    err: bool,
    prompt: bool,
    check: str,
    raw: bool,
    follow: bool,
    run_name: str,
    as_json: bool,
    repo: Path,
) -> int:
    """Show the output or the prompt of TASK's agent, or the output of a check."""
    from yaoki.app.attempt_files import BYTES_SHOWN, find_log_file, read_log_tail
    from yaoki.faces.cli.person_only import refuse_hidden_output

    with open_app(repo, read_only=True) as app:
        found = app.reads.task(app.lookup.find_task(task, run_name))
        number = attempt or found.attempt
        if attempt and attempt > found.attempt:
            raise _missing_attempt_error(found, attempt)
        if check:
            refuse_hidden_output(app, found, check)
        name = "prompt" if prompt else "err" if err else "out"
        file = find_log_file(app, found, number, name, check)
        text, size = read_log_tail(file, 0)
        if as_json:
            document = {"task": found.id, "attempt": number, "file": str(file)}
            print_document({"schema": SCHEMA, **document, "text": clean_text(text), "bytes": size})
            return 0
        if size > BYTES_SHOWN:
            print_line(
                f"[the last {format_bytes(BYTES_SHOWN)} of {format_bytes(size)}; all of it: {file}]"
            )
        read = unchanged_text if raw or check or name != "out" else format_agent_output
        _print_output(read(text))
        if follow:
            _follow(app, found, number, file, size, read)
        elif not size:
            # On standard error, because the log may go into a file.
            click.echo(_empty_log_words(app, found, number, name, check), err=True)
            click.echo(f"next: {_next_command(app, found, number, check)}", err=True)
        elif check and (lines := _error_lines(app, found, number, name, check)):
            click.echo("\n".join(lines), err=True)
    return 0


def _next_command(app: App, task: Task, attempt: int, check: str) -> str:
    """After the empty log of an agent that of its first check, if it ran."""
    from yaoki.app.attempt_files import find_log_file

    for one in () if check else task.spec.checks:
        try:
            find_log_file(app, task, attempt, "out", one.name)
        except Unknown:
            continue
        return f"yaoki logs {task.id} --attempt {attempt} --check {shlex.quote(one.name)}"
    return f"yaoki why {task.id}"


def _empty_log_words(app: App, task: Task, attempt: int, name: str, check: str) -> str:
    """Some agents and most shells write to standard error only, so its end follows."""
    subject = f"check {check} in attempt {attempt}" if check else f"attempt {attempt}"
    runs = task.state is State.ACTIVE and attempt == task.attempt
    words = f"{subject} of {task.id} {'has written nothing yet' if runs else 'wrote nothing'}"
    head, *lines = _error_lines(app, task, attempt, name, check) or [""]
    return "\n".join((f"{words} on standard output; {head}", *lines)) if head else words


def _error_lines(app: App, task: Task, attempt: int, name: str, check: str) -> list[str]:
    """The end of standard error below the command that shows all of it; empty if there is none."""
    from yaoki.app.attempt_files import find_log_file, read_log_tail

    if name != "out":
        return []
    try:
        errors, _ = read_log_tail(find_log_file(app, task, attempt, "err", check), 0)
    except Unknown:
        return []
    lines = clean_text(errors).rstrip().splitlines()
    if not lines:
        return []
    options = f"{f' --check {shlex.quote(check)}' if check else ''} --attempt {attempt} --err"
    counted = f"{format_count(len(lines), 'line')} on standard error"
    return [f"{counted}: yaoki logs {task.id}{options}", *lines[-ERROR_LINES_SHOWN:]]


def _missing_attempt_error(task: Task, attempt: int) -> Unknown:
    """The attempt does not exist, and so neither does its log."""
    if not task.attempt:
        words = f"{task.id} has had no attempt yet"
        return Unknown(words, hint=f"yaoki why {task.id}")
    words = f"{task.id} has no attempt {attempt}; its newest is {task.attempt}"
    return Unknown(words, hint=f"yaoki logs {task.id} --attempt {task.attempt}")


def unchanged_text(text: str) -> str:
    return text


def _print_output(text: str) -> None:
    if text:
        print_line(clean_text(text).rstrip("\n"))


def _follow(
    app: App, task: Task, attempt: int, file: Path, size: int, read: Callable[[str], str]
) -> None:
    """Whole lines as they come; the last read follows the end of the attempt."""
    from yaoki.app.attempt_files import read_log_tail

    while True:
        now = app.reads.task(task.id)
        over = now.attempt != attempt or now.lease is None or now.stage.value != "WORK"
        text, end = read_log_tail(file, size)
        whole = text if over else text[: text.rfind("\n") + 1]
        _print_output(read(whole))
        size = end if over else size + len(whole.encode("utf-8", errors="replace"))
        if over:
            return
        app.clock.sleep(POLL)
