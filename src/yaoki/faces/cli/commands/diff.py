"""`yaoki diff`: the change of a task."""

from __future__ import annotations

import os
from pathlib import Path

import click

from yaoki.core.redact import mask_values, secret_values
from yaoki.faces.cli.context import json_option, open_app, repo_option, run_option
from yaoki.faces.text.render import clean_text, print_document, print_line
from yaoki.views import SCHEMA


@click.command()
@click.argument("task")
@click.option("--stat", is_flag=True, help="Only the files and the size of each change.")
@run_option
@json_option
@repo_option
def diff(task: str, stat: bool, run_name: str, as_json: bool, repo: Path) -> int:
    """Show what TASK landed; before it landed, what its last attempt left."""
    from yaoki.app.attempt_files import find_diff_ends
    from yaoki.engine.stages.secrets import passed_variables

    with open_app(repo, read_only=True) as app:
        found = app.reads.task(app.lookup.find_task(task, run_name))
        ends = find_diff_ends(app, found)
        secrets = secret_values(os.environ, passed_variables(app.reads.run(found.run_id), found))
        text = mask_values(app.workspace.contents.diff(ends.old, ends.new, stat=stat), secrets)
        if as_json:
            document = {
                "task": found.id,
                "old": ends.old,
                "new": ends.new,
                "landed": ends.is_landed,
            }
            print_document({"schema": SCHEMA, **document, "diff": text})
        elif text:
            print_line(clean_text(text).rstrip("\n"))
        else:
            print_line(f"{found.id} changed nothing")
    return 0
