"""`yaoki logs`: the output of an agent or a check, with secrets masked."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.model import CheckRunPurpose, State
from yaoki.core.text import format_bytes, format_count
from yaoki.errors import Unknown
from yaoki.faces.cli.context import json_option, open_app, repo_option, run_option
from yaoki.faces.text.render import clean_text, print_document, print_line
from yaoki.views import SCHEMA
from yaoki.views.agent_output import format_agent_output

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Task
    from yaoki.views.check_executions import CheckExecution

POLL = timedelta(milliseconds=200)
ERROR_LINES_SHOWN = 20
EXECUTIONS_SHOWN = 12


@click.command()
@click.argument("task")
@click.option("--attempt", type=click.IntRange(1), help="The attempt; by default the newest.")
@click.option("--err", is_flag=True, help="Show standard error.")
@click.option("--prompt", is_flag=True, help="Show the prompt of the agent.")
@click.option("--check", metavar="NAME", default="", help="Show the output of this check.")
@click.option("--execution", metavar="NAME", default="", help="Show this execution of the check.")
@click.option("--raw", is_flag=True, help="Show the file unchanged, including JSON lines.")
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
    execution: str,
    raw: bool,
    follow: bool,
    run_name: str,
    as_json: bool,
    repo: Path,
) -> int:
    """Show the output or the prompt of TASK's agent, or the output of a check."""
    from yaoki.app.attempt_files import BYTES_SHOWN, find_log_file, read_log_tail
    from yaoki.faces.cli.person_only import refuse_hidden_output

    if execution and not check:
        raise click.UsageError("--execution needs --check NAME")
    with open_app(repo, read_only=True) as app:
        found = app.reads.task(app.lookup.find_task(task, run_name))
        number = attempt or found.attempt
        if attempt and attempt > found.attempt:
            raise _missing_attempt_error(found, attempt)
        if check:
            refuse_hidden_output(app, found, check)
        name = "prompt" if prompt else "err" if err else "out"
        source = _LogSource(app, found, number, check, execution)
        file = find_log_file(app, found, number, name, source.chosen)
        text, size = read_log_tail(file, 0)
        if as_json:
            document = {"task": found.id, "attempt": number, "file": str(file)}
            document |= {"text": clean_text(text), "bytes": size}
            print_document({"schema": SCHEMA, **document, "executions": source.documents()})
            return 0
        if size > BYTES_SHOWN:
            print_line(
                f"[the last {format_bytes(BYTES_SHOWN)} of {format_bytes(size)}; all of it: {file}]"
            )
        read = unchanged_text if raw or check or name != "out" else format_agent_output
        _print_output(read(text))
        if follow:
            _follow(app, found, number, file, size, read)
            return 0
        # On standard error, because the log may go into a file.
        if not size:
            click.echo(source.empty_log_words(name), err=True)
        elif check and (lines := source.error_lines(name)):
            click.echo("\n".join(lines), err=True)
        others = list(source.other_lines()) if name == "out" else []
        for line in others:
            click.echo(line, err=True)
        if others or not size:
            click.echo(f"next: {source.next_command()}", err=True)
    return 0


class _LogSource:
    """An attempt's agent, or one execution of one of its checks."""

    def __init__(self, app: App, task: Task, attempt: int, check: str, execution: str) -> None:
        from yaoki.app.attempt_files import list_check_executions, select_execution

        self._app, self._task, self._attempt, self._check = app, task, attempt, check
        self._executions = list_check_executions(app, task, attempt) if check else []
        self.chosen = (
            select_execution(self._executions, task, attempt, check, execution) if check else None
        )
        self._asked = execution

    def documents(self) -> list[dict[str, Any]]:
        """The executions of the check; empty for the agent."""
        return [
            {
                "execution": one.name,
                "purpose": one.purpose.value,
                "is_verdict": one.is_verdict,
                "is_shown": one is self.chosen,
            }
            for one in self._executions
            if one.check == self._check
        ]

    def other_lines(self) -> Iterator[str]:
        """The shown execution, unless the verdict is based on it, and the others of the check."""
        if self.chosen is None:
            return
        if not self.chosen.is_verdict:
            yield f"shown: {self.chosen.name}, {self.chosen.words or 'not yet judged'}"
        others = self._others
        if others:
            yield f"other executions of check {self._check}, with --execution:"
        listed = [one for one in others if one.purpose is not CheckRunPurpose.MUTANT]
        for one in listed[:EXECUTIONS_SHOWN]:
            words = "the verdict is based on it" if one.is_verdict else one.words
            yield f"  {one.name}: {words or 'not yet judged'}"
        rest = len(others) - len(listed[:EXECUTIONS_SHOWN])
        if rest:
            yield f"  {rest:,} more: {self._command(self._check)} --json"

    @property
    def _others(self) -> list[CheckExecution]:
        ran = (one for one in self._executions if one.check == self._check)
        return [one for one in ran if one is not self.chosen]

    def next_command(self) -> str:
        """After the log of an agent: the command for the log of its first check, if that ran."""
        from yaoki.app.attempt_files import list_check_executions

        # A run on the base says nothing of this attempt.
        others = [one for one in self._others if one.purpose is not CheckRunPurpose.BASE]
        if others:
            verdict = next((one for one in others if one.is_verdict), None)
            name = "" if verdict else f" --execution {shlex.quote(others[0].name)}"
            return f"{self._command(self._check)}{name}"
        if not self._check:
            executions = list_check_executions(self._app, self._task, self._attempt)
            ran = {one.check for one in executions}
            for one in self._task.spec.checks:
                if one.name in ran:
                    return self._command(one.name)
        return f"yaoki why {self._task.id}"

    def _command(self, check: str) -> str:
        check_option = f" --check {shlex.quote(check)}" if check else ""
        return f"yaoki logs {self._task.id}{check_option} --attempt {self._attempt}"

    def empty_log_words(self, name: str) -> str:
        """Some agents and most shells write to standard error only, so its end follows."""
        task, attempt = self._task, self._attempt
        subject = (
            f"check {self._check} in attempt {attempt}" if self._check else f"attempt {attempt}"
        )
        runs = task.state is State.ACTIVE and attempt == task.attempt
        words = f"{subject} of {task.id} {'has written nothing yet' if runs else 'wrote nothing'}"
        head, *lines = self.error_lines(name) or [""]
        return "\n".join((f"{words} on standard output; {head}", *lines)) if head else words

    def error_lines(self, name: str) -> list[str]:
        """The end of standard error below the command that shows all of it; empty if there is
        none.
        """
        from yaoki.app.attempt_files import find_log_file, read_log_tail

        if name != "out":
            return []
        try:
            file = find_log_file(self._app, self._task, self._attempt, "err", self.chosen)
        except Unknown:
            return []
        lines = clean_text(read_log_tail(file, 0)[0]).rstrip().splitlines()
        if not lines:
            return []
        counted = f"{format_count(len(lines), 'line')} on standard error"
        way = f"{self._command(self._check)}{self._execution_option} --err"
        return [f"{counted}: {way}", *lines[-ERROR_LINES_SHOWN:]]

    @property
    def _execution_option(self) -> str:
        return f" --execution {shlex.quote(self._asked)}" if self._asked else ""


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
