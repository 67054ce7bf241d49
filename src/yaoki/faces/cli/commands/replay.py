"""`yaoki verify --replay`: the output while commits are verified again, and at the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from yaoki.faces.text.render import clean_line, paint, print_wrapped

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.app.replay import CommitReplay, LandedCommit
    from yaoki.core.model import Run

SHORT = 12


def replay_landings(app: App, run: Run, *, quiet: bool) -> list[CommitReplay]:
    """Verify every landed commit again; one line for each as soon as it is known."""
    from yaoki.app.replay import replay_run

    found = []
    with _handle_sigterm():
        for one in replay_run(app, run, _progress):
            found.append(one)
            if not quiet:
                _show(one)
    return found


@contextmanager
def _handle_sigterm() -> Iterator[None]:
    """SIGTERM works like Ctrl-C: the clone is removed, and no check keeps running."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _progress(n: int, total: int, landing: LandedCommit) -> None:
    name, commit = clean_line(landing.task.spec.name, 60), landing.proof.landed_commit[:SHORT]
    click.echo(f"verifying {n} of {total} again: {name} {commit}", err=True)


def _show(one: CommitReplay) -> None:
    from yaoki.app.replay import describe_check_replay

    details = "; ".join(
        f"{clean_line(check.check, 40)} {clean_line(describe_check_replay(check))}"
        for check in one.checks
    )
    words = "; ".join(part for part in (details, clean_line(one.not_run_reason)) if part)
    mark = "ok " if one.passed else "BAD"
    text = f"{mark}  {clean_line(one.name, 60)}  {one.commit[:SHORT]}  {words}"
    print_wrapped(paint(text, "green" if one.passed else "red"))


def replay_document(one: CommitReplay) -> dict[str, Any]:
    return {
        "task": one.task_id,
        "name": one.name,
        "commit": one.commit,
        "ok": one.passed,
        "why": one.not_run_reason or None,
        "checks": [
            {
                "check": check.check,
                "journal": check.recorded_outcome or None,
                "outcome": check.outcome.value,
                "words": check.message or None,
                "tests": check.test_count,
                "seconds": check.seconds,
            }
            for check in one.checks
        ],
    }
