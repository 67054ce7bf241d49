"""The question of trust, asked once at a terminal; a build server answers it with `--trust`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yaoki.errors import Untrusted
from yaoki.faces.text.render import clean_line

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.app.trust import TrustQuestion
    from yaoki.core.trust import FileCommands
    from yaoki.faces.cli.context import CommandFunction

LINE_CHARS_MAX = 600


def trust_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--trust",
        is_flag=True,
        help="Trust what this repository would run, and remember it; for build servers.",
    )(function)


def require_trust(app: App, *more: FileCommands, trust: bool = False, hint: str = "") -> None:
    """Return when everything is trusted or accepted, else raise `Untrusted`.  Call it before
    anything is started.
    """
    if (question := app.trust.find_question(*more)) is None:
        return
    if not trust and not _can_ask():
        _print_question(question)
        raise Untrusted(f"{question.sentence}; nothing was started", hint=hint or question.command)
    whole = app.trust.find_question(*more, look_into_store=True) or question
    if not trust and not _ask(whole):
        words = f"{question.repository_folder} is not trusted; nothing was started"
        raise Untrusted(words, hint=hint or question.command)
    app.trust.accept(whole)


def _can_ask() -> bool:
    """A person is at the terminal: no pipe, and no agent that got a terminal."""
    from yaoki.app.trust import is_called_by_attempt

    return sys.stdin.isatty() and sys.stderr.isatty() and not is_called_by_attempt()


def _ask(question: TrustQuestion) -> bool:
    _print_question(question)
    return click.confirm("Trust this repository?", default=False, err=True)


def _print_question(question: TrustQuestion) -> None:
    """Print every command: a person cannot trust commands that are only counted."""
    top = clean_line(question.repository_folder)
    first = f"{top} is not trusted yet. With your rights it would run:"
    changed = f"What {top} would run with your rights has changed since you trusted it:"
    click.echo(changed if question.is_repeated else first, err=True)
    print_trust_question(question, err=True)


def print_trust_question(question: TrustQuestion, *, err: bool = False) -> None:
    """The lines with their indentation; a line that is cut ends with its full length."""
    for text in question.shown_lines:
        indent = text[: len(text) - len(text.lstrip())]
        click.echo(f"{indent}{clean_line(text, LINE_CHARS_MAX)}", err=err)
