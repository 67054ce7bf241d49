"""`yaoki stats`: statistics of the journal of all runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.ports import JournalEntry
from yaoki.views import SCHEMA
from yaoki.views.history.prompts import (
    PromptSuccess,
    fold_prompt_successes,
    prompt_success_document,
)

if TYPE_CHECKING:
    from yaoki.app.build import App

PAGE = 5000


@click.group()
def stats() -> None:
    """Show statistics of the journal of all runs."""


@stats.command()
@json_option
@repo_option
def prompts(as_json: bool, repo: Path) -> int:
    """Show which prompt fixed which failure, and how often."""
    from yaoki.faces.cli.commands.prompts import prompt_name

    with open_app(repo) as app:
        found = fold_prompt_successes(_journal(app))
        known = _names(app)
    if as_json:
        print_document(
            {"schema": SCHEMA, "prompts": [prompt_success_document(cure) for cure in found]}
        )
        return 0
    if not found:
        print_wrapped("no prompt about a failure has been sent yet")
        print_next_command("yaoki run PLAN")
        return 0
    heads: tuple[str, ...] = ("pattern", "sent", "cured", "not", "rate", "prompt")
    for words in align_columns([heads, *(_row(cure) for cure in found)]):
        print_wrapped(words)
    first = next((name for cure in found if (name := prompt_name(cure.pattern)) in known), "")
    print_next_command(f"yaoki prompts show {clean_line(first)}" if first else "yaoki prompts list")
    return 0


def _names(app: App) -> set[str]:
    """The names with a template now; a pattern of old runs may be gone from the settings."""
    from yaoki.formats.prompts import PromptLibrary

    tree = PromptLibrary(app.yaoki_folder / "prompts", app.settings.language)
    return {*tree.names(), *app.settings.patterns}


def _journal(app: App) -> Iterator[JournalEntry]:
    after = 0
    while page := app.reads.journal(after=after, limit=PAGE):
        yield from page
        after = page[-1].seq


def _row(cure: PromptSuccess) -> tuple[str, ...]:
    rate = "unknown" if cure.cure_rate is None else f"{cure.cure_rate:.0%}"
    return (cure.pattern, str(cure.sent), str(cure.cured), str(cure.failed), rate, cure.prompt)
