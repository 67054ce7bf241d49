"""`yaoki stats`: statistics of the journal of all runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.text import format_count
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
    PromptSuccesses,
    fold_prompt_successes,
    prompt_success_document,
)

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.views.history.forecast_record import ForecastRecord

PAGE = 5000
RUNS_SHOWN = 30


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
        found = fold_prompt_successes(_journal(app, PromptSuccesses.EVENTS))
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


@stats.command()
@json_option
@repo_option
def forecast(as_json: bool, repo: Path) -> int:
    """Show how often runs took what was forecast at their start."""
    from yaoki.views.forecasts import coverage, score_document
    from yaoki.views.history.forecast_record import ForecastRecord, collect_forecasts

    with open_app(repo, read_only=True) as app:
        records = collect_forecasts(_journal(app, ForecastRecord.EVENTS))
    scores = [record.score for record in records.values() if record.score is not None]
    if as_json:
        runs = [{"run": run, **(score_document(one) or {})} for run, one in records.items()]
        print_document({"schema": SCHEMA, "coverage": coverage(scores), "runs": runs})
        return 0
    if not records:
        print_wrapped("no run with a forecast is in the store yet")
        print_next_command("yaoki run PLAN")
        return 0
    for words in _forecast_lines(records, coverage(scores)):
        print_wrapped(clean_line(words))
    print_next_command(f"yaoki report {next(reversed(records))}")
    return 0


def _forecast_lines(
    records: Mapping[str, ForecastRecord], covered: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """A line for each measure and each run; P10 to P90 should hold 80 % of the time."""
    from yaoki.views.forecasts import score_words

    for name, counts in covered.items():
        if runs := counts["runs"]:
            words = f"{counts['inside']} of {format_count(runs, 'run')} inside P10 to P90"
            beside = f"{counts['below']} below, {counts['above']} above"
            measure = name.replace("_", " ")
            yield f"{measure}: {words} ({counts['inside'] / runs:.0%}, meant: 80%), {beside}"
    for run, record in list(records.items())[-RUNS_SHOWN:]:
        yield f"{run}: {score_words(record)}"


def _names(app: App) -> set[str]:
    """The names with a template now; a pattern of old runs may be gone from the settings."""
    from yaoki.formats.prompts import PromptLibrary

    tree = PromptLibrary(app.yaoki_folder / "prompts", app.settings.language)
    return {*tree.names(), *app.settings.patterns}


def _journal(app: App, events: Sequence[str] = ()) -> Iterator[JournalEntry]:
    """All entries, or those of these events."""
    from yaoki.adapters.store.tables import journal_pages

    after, database = 0, app.store.database
    while page := journal_pages.read_forward(database, events=events, after=after, limit=PAGE):
        yield from page
        after = page[-1].seq


def _row(cure: PromptSuccess) -> tuple[str, ...]:
    rate = "unknown" if cure.cure_rate is None else f"{cure.cure_rate:.0%}"
    return (cure.pattern, str(cure.sent), str(cure.cured), str(cure.failed), rate, cure.prompt)
