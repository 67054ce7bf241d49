"""`yaoki logs`: what an agent or a check wrote, secrets masked."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.cli.door import json_option, opened, repo_option, run_option
from yaoki.cli.render import clean, document, say
from yaoki.errors import Unknown
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Task

BYTES_SHOWN = 1 << 20
POLL = timedelta(milliseconds=200)


@click.command()
@click.argument("task")
@click.option("--attempt", type=click.IntRange(1), help="The attempt; the newest unless named.")
@click.option("--err", is_flag=True, help="The error channel.")
@click.option("--prompt", is_flag=True, help="What the agent was told.")
@click.option("--check", metavar="NAME", default="", help="What this check wrote.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the attempt ends.")
@run_option
@json_option
@repo_option
def logs(
    task: str,
    attempt: int | None,
    err: bool,
    prompt: bool,
    check: str,
    follow: bool,
    run_name: str,
    as_json: bool,
    repo: Path,
) -> int:
    """Show what the agent of TASK wrote, was told, or what a check said of its work."""
    with opened(repo) as app:
        found = app.store.task(app.control.find_task(task, run_name))
        number = attempt or found.attempt
        name = "prompt.md" if prompt else "err.log" if err else "out.log"
        file = _folder(app, found, number, check) / name
        if not file.is_file():
            raise Unknown(
                f"attempt {number} of {found.id} wrote no {name}",
                hint=f"yaoki recover {found.id}, or yaoki why {found.id}",
            )
        text, size = _tail(file, 0)
        if as_json:
            told = {"task": found.id, "attempt": number, "file": str(file)}
            document({"schema": SCHEMA, **told, "text": clean(text), "bytes": size})
            return 0
        if size > BYTES_SHOWN:
            say(f"[the last {BYTES_SHOWN} of {size} bytes; all of it: {file}]")
        _put(text)
        if follow:
            _follow(app, found, number, file, size)
    return 0


def _folder(app: App, task: Task, attempt: int, check: str) -> Path:
    home = app.folder / task.run_id / task.id / str(attempt)
    if not check:
        return home
    checks = home / "checks"
    found = [p for p in checks.glob("*") if p.name.partition("-")[2] == check]
    if not found:
        there = sorted(p.name.partition("-")[2] for p in checks.glob("*"))
        raise Unknown(
            f"no check {check!r} ran in attempt {attempt} of {task.id}",
            hint=f"these ran: {', '.join(there)}" if there else f"yaoki why {task.id}",
        )
    return max(found, key=lambda place: place.stat().st_mtime)


def _tail(file: Path, start: int) -> tuple[str, int]:
    """What stands after `start`, at most the last megabyte of it, and where the file ends."""
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(start, size - BYTES_SHOWN))
        return stream.read(size - stream.tell()).decode("utf-8", errors="replace"), size


def _put(text: str) -> None:
    if text:
        say(clean(text).rstrip("\n"))


def _follow(app: App, task: Task, attempt: int, file: Path, size: int) -> None:
    """Whole lines as they come; the last look comes after the attempt ended."""
    while True:
        now = app.store.task(task.id)
        over = now.attempt != attempt or now.lease is None or now.stage.value != "WORK"
        text, end = _tail(file, size)
        whole = text if over else text[: text.rfind("\n") + 1]
        _put(whole)
        size = end if over else size + len(whole.encode("utf-8", errors="replace"))
        if over:
            return
        app.clock.sleep(POLL)
