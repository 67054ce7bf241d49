"""`yaoki verify --replay`: what is said while commits are proven again, and at the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from yaoki.faces.cli.text.render import line, paint, prose

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.app.replay import Landing, Replayed
    from yaoki.core.model import Run

SHORT = 12


def replayed(app: App, run: Run, *, quiet: bool) -> list[Replayed]:
    """Every landed commit, proven again; a line for each as soon as it is known."""
    from yaoki.app.replay import replay

    found = []
    with _terminable():
        for one in replay(app, run, _progress):
            found.append(one)
            if not quiet:
                _show(one)
    return found


@contextmanager
def _terminable() -> Iterator[None]:
    """A polite end is as good as Ctrl-C: the clone goes, and no check stays behind."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _progress(n: int, total: int, landing: Landing) -> None:
    name, commit = line(landing.task.spec.name, 60), landing.proof.landed[:SHORT]
    click.echo(f"proving {n} of {total} again: {name} {commit}", err=True)


def _show(one: Replayed) -> None:
    from yaoki.app.replay import words_of

    said = "; ".join(f"{line(check.check, 40)} {line(words_of(check))}" for check in one.checks)
    words = "; ".join(part for part in (said, line(one.why)) if part)
    mark = "ok " if one.ok else "BAD"
    text = f"{mark}  {line(one.name, 60)}  {one.commit[:SHORT]}  {words}"
    prose(paint(text, "green" if one.ok else "red"))


def document_of(one: Replayed) -> dict[str, Any]:
    return {
        "task": one.task,
        "name": one.name,
        "commit": one.commit,
        "ok": one.ok,
        "why": one.why or None,
        "checks": [
            {
                "check": check.check,
                "journal": check.told or None,
                "outcome": check.outcome.value,
                "words": check.words or None,
                "tests": check.tests,
                "seconds": check.seconds,
            }
            for check in one.checks
        ],
    }
