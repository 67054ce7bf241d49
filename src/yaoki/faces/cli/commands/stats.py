"""`yaoki stats`: what the journal of all runs teaches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.faces.cli.context import json_option, opened, repo_option
from yaoki.faces.cli.text.render import columns, document, line, next_command, prose
from yaoki.ports import Entry
from yaoki.views import SCHEMA
from yaoki.views.cures import Cure, cure_document, cures

if TYPE_CHECKING:
    from yaoki.app import App

PAGE = 5000


@click.group()
def stats() -> None:
    """Show what the journal of all runs teaches."""


@stats.command()
@json_option
@repo_option
def prompts(as_json: bool, repo: Path) -> int:
    """Which prompt cured which failure, and how often."""
    from yaoki.faces.cli.commands.prompts import name_of

    with opened(repo) as app:
        found = cures(_journal(app))
        known = _names(app)
    if as_json:
        document({"schema": SCHEMA, "prompts": [cure_document(cure) for cure in found]})
        return 0
    if not found:
        prose("no prompt about a failure has been sent yet")
        next_command("yaoki run PLAN")
        return 0
    heads: tuple[str, ...] = ("pattern", "sent", "cured", "not", "rate", "prompt")
    for words in columns([heads, *(_row(cure) for cure in found)]):
        prose(words)
    first = next((name for cure in found if (name := name_of(cure.pattern)) in known), "")
    next_command(f"yaoki prompts show {line(first)}" if first else "yaoki prompts list")
    return 0


def _names(app: App) -> set[str]:
    """What has words now; a pattern of old runs may have been taken out of the settings."""
    from yaoki.formats.prompts import PromptTree

    tree = PromptTree(app.home / "prompts", app.settings.language)
    return {*tree.names(), *app.settings.patterns}


def _journal(app: App) -> Iterator[Entry]:
    after = 0
    while page := app.store.journal(after=after, limit=PAGE):
        yield from page
        after = page[-1].seq


def _row(cure: Cure) -> tuple[str, ...]:
    rate = "unknown" if cure.rate is None else f"{cure.rate:.0%}"
    return (cure.pattern, str(cure.sent), str(cure.cured), str(cure.failed), rate, cure.prompt)
