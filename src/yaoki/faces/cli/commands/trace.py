"""`yaoki trace`: the journal of a task or a run, as text, one document or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.faces.cli.context import json_option, open_app, repo_option, run_option
from yaoki.faces.cli.lookup import RunOrTask, find_run_or_task
from yaoki.faces.text.render import (
    clean_line,
    local_time,
    mask_environment_secrets,
    print_document,
    print_line,
    print_next_command,
)
from yaoki.ports import JournalEntry
from yaoki.views import SCHEMA, describe_entry, entry_document

if TYPE_CHECKING:
    from yaoki.app.build import App

PAGE = 1000
POLL = timedelta(milliseconds=200)


@click.command()
@click.argument("what", metavar="[TASK|RUN]", default="")
@run_option
@click.option("--jsonl", is_flag=True, help="One JSON object per line, for export.")
@click.option("-f", "--follow", is_flag=True, help="Follow until the run is finished or needs you.")
@json_option
@repo_option
def trace(what: str, run_name: str, jsonl: bool, follow: bool, as_json: bool, repo: Path) -> int:
    """Show the journal of TASK or RUN; by default of the newest run."""
    with open_app(repo, read_only=True) as app:
        found = find_run_or_task(app, what, run_name)
        entries = _entries(app, found, follow=follow)
        if as_json:
            listed = [entry_document(entry) for entry in entries]
            print_document(
                {
                    "schema": SCHEMA,
                    "run": found.run.id,
                    "task": found.task or None,
                    "entries": listed,
                }
            )
            return 0
        for entry in entries:
            print_line(_json_line(entry) if jsonl else _line(entry))
        if not jsonl:
            print_next_command(
                f"yaoki why {found.task}" if found.task else f"yaoki status {found.run.id}"
            )
    return 0


def _entries(app: App, found: RunOrTask, *, follow: bool) -> Iterator[JournalEntry]:
    """By cursor, page after page; the last page is read after the run was seen to be idle."""
    after = 0
    while True:
        rests = not follow or app.reads.is_idle(found.run.id)
        while page := app.reads.journal(
            run_id=found.run.id, task_id=found.task, after=after, limit=PAGE
        ):
            yield from page
            after = page[-1].seq
        if rests:
            return
        app.clock.sleep(POLL)


def _line(entry: JournalEntry) -> str:
    words = clean_line(describe_entry(entry) or json.dumps(dict(entry.data)), 160)
    who = f"{entry.task_id} " if entry.task_id else ""
    attempt = f"attempt {entry.attempt} " if entry.attempt else ""
    return f"{entry.seq} {local_time(entry.at)} {who}{attempt}{entry.event}  {words}"


def _json_line(entry: JournalEntry) -> str:
    return json.dumps(mask_environment_secrets({"schema": SCHEMA, **entry_document(entry)}))
