"""The question of trust, asked at a terminal once; a build server answers it with `--trust`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yaoki.errors import Untrusted
from yaoki.faces.cli.text.render import line

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.app.trust import Question
    from yaoki.core.trust import Content
    from yaoki.faces.cli.context import Function

LINE_CHARS_MAX = 600


def trust_option(function: Function) -> Function:
    return click.option(
        "--trust",
        is_flag=True,
        help="Trust what this repository would run, and remember it; for build servers.",
    )(function)


def clear(app: App, *more: Content, trust: bool = False, hint: str = "") -> None:
    """Nothing to ask, or a yes; `Untrusted` otherwise.  Called before anything is started."""
    from yaoki.app.trust import untrusted

    if (question := app.trust.pending(*more)) is None:
        return
    if not trust and not _can_ask():
        refusal = untrusted(question)
        refusal.hint = hint or refusal.hint
        raise refusal
    whole = app.trust.pending(*more, whole=True) or question
    if not trust and not _asked(whole):
        words = f"{question.top} is not trusted; nothing was started"
        raise Untrusted(words, hint=hint or question.next)
    app.trust.accept(whole)


def _can_ask() -> bool:
    """A person sits there: no pipe, and no agent at work that was given a terminal."""
    from yaoki.app.trust import attempt_calls

    return sys.stdin.isatty() and sys.stderr.isatty() and not attempt_calls()


def _asked(question: Question) -> bool:
    top = line(question.top)
    first = f"{top} is not trusted yet. With your rights it would run:"
    changed = f"What {top} would run with your rights has changed since you trusted it:"
    click.echo(changed if question.again else first, err=True)
    show(question, err=True)
    return click.confirm("Trust this repository?", default=False, err=True)


def show(question: Question, *, err: bool = False) -> None:
    """As they stand: a cut line says how long it was."""
    for text in question.shown:
        indent = text[: len(text) - len(text.lstrip())]
        click.echo(f"{indent}{line(text, LINE_CHARS_MAX)}", err=err)
