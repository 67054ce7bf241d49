"""`yaoki stats`: which treatment fixed which failure, and which forecasts held, in all runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.text import format_count
from yaoki.faces.cli.commands.flaky import flaky_stats
from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA
from yaoki.views.treatments import (
    ALL_PARTS,
    PROMPT_PARTS,
    CureRate,
    TreatmentPart,
    cure_rate_document,
    sum_treatments,
)

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.ports import JournalEntry
    from yaoki.views.history.forecast_record import ForecastRecord

PAGE = 5000
RUNS_SHOWN = 30
NOTHING_SENT = "no prompt about a failure has been sent yet"


@click.group(invoke_without_command=True)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice([part.value for part in ALL_PARTS]),
    help="Compare only by this; can be given several times.",
)
@json_option
@repo_option
@click.pass_context
def stats(context: click.Context, by: tuple[str, ...], as_json: bool, repo: Path) -> int:
    """Show what fixed which failure: pattern, agent, conversation, prompt.

    All runs are counted, including archived ones. The interval is the 95 % Wilson interval of the
    rate.
    """
    if context.invoked_subcommand is not None:
        return 0
    parts = [part for part in ALL_PARTS if part.value in by] or list(ALL_PARTS)
    with open_app(repo) as app:
        found = sum_treatments(app.reads.treatment_counts(), parts)
    if as_json:
        documents = [cure_rate_document(rate, parts) for rate in found]
        print_document({"schema": SCHEMA, "treatments": documents})
        return 0
    if not found:
        print_wrapped(NOTHING_SENT)
        print_next_command("yaoki run PLAN")
        return 0
    _print_table(found, parts)
    print_next_command("yaoki stats prompts")
    return 0


@stats.command()
@json_option
@repo_option
def prompts(as_json: bool, repo: Path) -> int:
    """Show which prompt fixed which failure, and how often."""
    from yaoki.faces.cli.commands.prompts import prompt_name

    with open_app(repo) as app:
        found = sum_treatments(app.reads.treatment_counts(), PROMPT_PARTS)
        known = _names(app)
    if as_json:
        documents = [cure_rate_document(rate, PROMPT_PARTS) for rate in found]
        print_document({"schema": SCHEMA, "prompts": documents})
        return 0
    if not found:
        print_wrapped(NOTHING_SENT)
        print_next_command("yaoki run PLAN")
        return 0
    _print_table(found, PROMPT_PARTS)
    first = next((name for rate in found if (name := prompt_name(rate.parts[0])) in known), "")
    print_next_command(f"yaoki prompts show {clean_line(first)}" if first else "yaoki prompts list")
    return 0


@stats.command()
@json_option
@repo_option
def forecast(as_json: bool, repo: Path) -> int:
    """Show how accurate the forecasts of runs were."""
    from yaoki.app.forecast import describe_unreadable
    from yaoki.app.warning_output import print_warning
    from yaoki.views.forecasts import coverage, score_document
    from yaoki.views.history.forecast_record import ForecastRecord, collect_forecasts

    with open_app(repo, read_only=True) as app:
        unreadable: list[int] = []
        records = collect_forecasts(_journal(app, ForecastRecord.EVENTS), unreadable)
    if unreadable:
        print_warning(describe_unreadable(unreadable))
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
            yield f"{measure}: {words} ({counts['inside'] / runs:.0%}, target: 80%), {beside}"
    for run, record in list(records.items())[-RUNS_SHOWN:]:
        yield f"{run}: {score_words(record)}"


stats.add_command(flaky_stats)


def _names(app: App) -> set[str]:
    """The names with a template now; a pattern of old runs may be gone from the settings."""
    from yaoki.formats.prompts import PromptLibrary

    tree = PromptLibrary(app.yaoki_folder / "prompts", app.settings.language)
    return {*tree.names(), *app.settings.patterns}


def _journal(app: App, events: Sequence[str] = ()) -> Iterator[JournalEntry]:
    """All entries, or those of these events; damaged ones are left out."""
    from yaoki.adapters.store.tables import journal_pages

    after, database = 0, app.store.database
    while page := journal_pages.read_forward(
        database, events=events, after=after, limit=PAGE, mark_damaged=True
    ):
        yield from journal_pages.intact_entries(page)
        after = page[-1].seq


def _print_table(found: Sequence[CureRate], parts: Sequence[TreatmentPart]) -> None:
    """A prompt is long, so it is the last column."""
    shown = [part for part in parts if part is not TreatmentPart.PROMPT]
    last = [part for part in parts if part is TreatmentPart.PROMPT]
    numbers = ("sent", "fixed", "not fixed", "rate", "95 %")
    heads = (*(part.value for part in shown), *numbers, *(part.value for part in last))
    rows = [_row(rate, parts, shown, last) for rate in found]
    for words in align_columns([heads, *rows]):
        print_wrapped(words)


def _row(
    rate: CureRate,
    parts: Sequence[TreatmentPart],
    shown: Sequence[TreatmentPart],
    last: Sequence[TreatmentPart],
) -> tuple[str, ...]:
    words = dict(zip(parts, rate.parts, strict=True))
    low, high = rate.interval
    known = rate.rate is not None
    return (
        *(clean_line(words[part], 60) for part in shown),
        *(str(rate.sent), str(rate.cured), str(rate.failed)),
        f"{rate.rate:.0%}" if known else "unknown",
        f"{low:.0%}-{high:.0%}" if known else "",
        *(words[part] for part in last),
    )
