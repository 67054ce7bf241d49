"""`yaoki init`: find the checks of a project, try them on the base, write a first `yaoki.toml`."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count
from yaoki.errors import YaokiError
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.cli.trust_question import require_trust, trust_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    paint,
    print_document,
    print_line,
    print_next_command,
    print_wrapped,
)
from yaoki.formats.discovery import (
    Discovery,
    FoundAgent,
    TrialResult,
    TrialState,
    add_agents,
    add_usable_checks,
    commented_out_checks,
    find_checks,
    settings_text,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.build import App

UNUSABLE_STATES = (TrialState.MISSING, TrialState.BROKEN, TrialState.EMPTY)
COLOURS = {
    TrialState.GREEN: "green",
    TrialState.RED: "red",
    **dict.fromkeys(UNUSABLE_STATES, "yellow"),
}
SHOWN = {
    TrialState.MISSING: "cannot run",
    TrialState.BROKEN: "cannot run",
    TrialState.EMPTY: "no tests",
}


@dataclass(frozen=True, slots=True)
class ProjectSurvey:
    """The agents and checks that were found."""

    agents: tuple[FoundAgent, ...]
    discovery: Discovery
    trials: tuple[TrialResult, ...]

    @property
    def text(self) -> str:
        return settings_text(self.agents, self.trials)

    @property
    def ran_checks(self) -> bool:
        """Did a check run, so that a person was asked before?"""
        return any(one.state is not TrialState.NOT_RUN for one in self.trials)


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option("--again", is_flag=True, help="Try again: add the checks that can run now.")
@click.option("--no-run", is_flag=True, help="Do not run the checks on the base.")
@click.option(
    "--seconds",
    default=120,
    show_default=True,
    type=click.IntRange(1, 3600),
    help="Longest time of one check on the base.",
)
@trust_option
@json_option
@repo_option
def init(
    dry_run: bool,
    again: bool,
    no_run: bool,
    seconds: int,
    trust: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Find agents and checks, try them, and write a yaoki.toml unless there is one."""
    from yaoki.app.build import App
    from yaoki.app.try_checks import read_head_commit

    app = App(repo.absolute())
    file = app.context.loaded_settings.file
    if file is not None and not dry_run and not again:
        return _print_unchanged(file, as_json=as_json)
    read_head_commit(app)
    place = app.repository.top / "yaoki.toml"
    limit = None if no_run else timedelta(seconds=seconds)
    found = _survey(app, limit, trust=trust, quiet=as_json)
    if again and file is not None:
        return _add_checks(app, found, file, dry_run=dry_run, as_json=as_json)
    if not dry_run and not _write_new(place, found.text):
        return _print_unchanged(place, as_json=as_json)
    if not dry_run and (trust or found.ran_checks or not found.trials):
        _trust_written(app)
    if as_json:
        print_document(_document(found, place, dry_run=dry_run))
    elif dry_run:
        print_line()
        print_line(clean_line(f"# {place} would hold:"))
        print_line(found.text)
    else:
        _print_result(found, place)
    return 0


def _print_unchanged(file: Path, *, as_json: bool) -> int:
    if as_json:
        print_document({"schema": SCHEMA, "file": str(file), "made": False, "checks": []})
        return 0
    print_wrapped(f"{clean_line(str(file))}: is there already; unchanged")
    aside = commented_out_checks(file.read_text(encoding="utf-8"))
    if aside:
        print_wrapped(f"in comments, for they could not run: {clean_line(', '.join(aside))}")
    print_next_command("yaoki init --again" if aside else "yaoki doctor")
    return 0


def _add_checks(app: App, found: ProjectSurvey, file: Path, *, dry_run: bool, as_json: bool) -> int:
    """Add checks that can run now and are commented out or missing; the rest stays."""
    text = file.read_text(encoding="utf-8")
    made, added = add_usable_checks(text, found.trials, app.settings.checks)
    if not (app.settings.agents or app.settings.agent):
        made, more = add_agents(made, found.agents)
        added = [*more, *added]
    if added and not dry_run:
        _replace(file, made)
        if found.ran_checks:
            _trust_written(app)
    if as_json:
        held = _document(found, file, dry_run=dry_run)
        held = {**held, "made": bool(added) and not dry_run, "added": added}
        print_document({**held, "text": made} if dry_run else held)
        return 0
    would = "would be added" if dry_run else "added"
    print_wrapped(
        f"{clean_line(str(file))}: {f'{would}: ' + ', '.join(added) if added else 'nothing new'}"
    )
    print_next_command("yaoki doctor --checks")
    return 0


def _trust_written(app: App) -> None:
    """The person accepted the commands that were tried and written."""
    from yaoki.app.build import App as Opened

    Opened(app.repository.top).trust.accept_settings()


def _require_trust(app: App, discovery: Discovery, *, trust: bool) -> None:
    """Trying the checks runs code of this repository."""
    from yaoki.app.try_checks import list_detected_commands
    from yaoki.core.trust import FileCommands

    brought = FileCommands("init", list_detected_commands(discovery.checks))
    require_trust(app, brought, trust=trust, hint="yaoki init --trust, or yaoki init --no-run")


def _survey(app: App, limit: timedelta | None, *, trust: bool, quiet: bool) -> ProjectSurvey:
    from yaoki.app.try_checks import read_checkout, try_detected_checks

    agents = _agents(quiet=quiet)
    discovery = find_checks(read_checkout(app))
    if not quiet:
        words = f"{_ecosystem_words(discovery)}{_trial_words(discovery, limit)}"
        print_wrapped(f"checks: {len(discovery.checks)} found{words}")
        for file, why in discovery.unreadable.items():
            print_wrapped(
                paint(
                    f"  cannot be read: {clean_line(file, 120)}: {clean_line(why, 160)}", "yellow"
                )
            )
        _print_passed_over(discovery)
    if limit is None:
        tried = [TrialResult(one, TrialState.NOT_RUN) for one in discovery.checks]
        for one in () if quiet else tried:
            _show(one, discovery)
    else:
        if discovery.checks:
            _require_trust(app, discovery, trust=trust)
        tell = (lambda _: None) if quiet else (lambda one: _show(one, discovery))
        tried = try_detected_checks(app, discovery.checks, limit, tell) if discovery.checks else []
    if not quiet:
        _warn_of_environment(tried)
    return ProjectSurvey(agents, discovery, tuple(tried))


def _print_passed_over(discovery: Discovery) -> None:
    for one in discovery.skipped_checks:
        there = ", ".join(held.name for held in discovery.checks if held.kind == one.kind)
        print_wrapped(
            paint(
                f"  passed over: {clean_line(one.command, 60)}, beside {clean_line(there, 80)}",
                "yellow",
            )
        )
        print_wrapped("    if it does more than these, add it to yaoki.toml as a check of its own")


def _ecosystem_words(discovery: Discovery) -> str:
    """` (Python with uv, Node with npm)`."""
    pairs = dict.fromkeys((one.language, one.manager) for one in discovery.checks)
    told = ", ".join(
        language if language.lower() == manager else f"{language} with {manager}"
        for language, manager in pairs
    )
    return f" ({told})" if told else ""


def _trial_words(discovery: Discovery, limit: timedelta | None) -> str:
    more = f", {discovery.left_out} more left out" if discovery.left_out else ""
    if limit is None or not discovery.checks:
        return more
    bound = f"{limit.total_seconds():g} s each at most"
    return f"{more}; each is run once on the base, in a checkout of its own ({bound})"


def _agents(*, quiet: bool) -> tuple[FoundAgent, ...]:
    from yaoki.adapters.agents.availability import find_presets_on_path, probe_presets

    found = probe_presets(find_presets_on_path())
    held = tuple(
        FoundAgent(
            one.preset.name,
            one.preset.title,
            one.is_responding,
            one.version_or_reason,
            one.preset.install,
        )
        for one in found
    )
    if not quiet:
        print_wrapped(
            f"agents: {len(held)} of those known are on the PATH (all: yaoki agents list)"
        )
        rows = [("answers" if one.answers else "silent", one.name, one.words) for one in held]
        for text in align_columns([(a, b, clean_line(c)) for a, b, c in rows]):
            print_wrapped(f"  {text}")
    return held


def _show(one: TrialResult, discovery: Discovery) -> None:
    size = max(len(found.name) for found in discovery.checks)
    head = f"{SHOWN.get(one.state, one.state.value):<11}  {one.check.name:<{size}}"
    words = one.words or clean_line(one.check.command, 100)
    print_wrapped(paint(f"  {head}  {clean_line(words, 200)}", COLOURS.get(one.state)))
    if one.next_command:
        print_wrapped(f"  {'':<11}  {'':<{size}}  {clean_line(one.next_command)}")


def _warn_of_environment(tried: Sequence[TrialResult]) -> None:
    """In yaoki's own environment the packages of the project are hidden."""
    from yaoki.app.remedies import find_own_python, suggest_project_python

    here = find_own_python()
    unable = {TrialState.MISSING, TrialState.BROKEN}
    if here and any(one.check.program == "python" and one.state in unable for one in tried):
        words = f"{here} is yaoki's own, so checks see its packages and not those of your project"
        print_wrapped(paint(clean_line(words), "yellow"))
        print_wrapped(f"  {clean_line(suggest_project_python())}")


def _print_result(survey: ProjectSurvey, place: Path) -> None:
    usable = [trial.check.name for trial in survey.trials if trial.state.is_usable]
    others = len(survey.trials) - len(usable)
    names = f"{format_count(len(usable), 'check')} ({clean_line(', '.join(usable))})"
    print_wrapped(f"Wrote {clean_line(str(place))} with {names if usable else 'no check'}.")
    if others:
        verb = "is" if others == 1 else "are"
        more = f"{others} more" if usable else format_count(others, "check")
        print_wrapped(
            f"{more} {verb} commented out; after installing the tools run yaoki init --again."
        )
    print_next_command("yaoki doctor")


def _document(found: ProjectSurvey, place: Path, *, dry_run: bool) -> dict[str, Any]:
    agents = [
        {"preset": one.name, "answers": one.answers, "words": one.words} for one in found.agents
    ]
    held: dict[str, Any] = {
        "schema": SCHEMA,
        "file": str(place),
        "made": not dry_run,
        "checks": [one.name for one in found.discovery.checks],
        "baseline": _baseline(found.trials),
        "managers": list(found.discovery.managers),
        "left_out": found.discovery.left_out,
        "unread": [{"file": f, "why": why} for f, why in found.discovery.unreadable.items()],
        "passed_over": [one.command for one in found.discovery.skipped_checks],
        "agents": agents,
    }
    return {**held, "text": found.text} if dry_run else held


def _baseline(tried: Sequence[TrialResult]) -> list[dict[str, Any]]:
    return [
        {
            "check": one.check.name,
            "kind": one.check.kind,
            "tool": one.check.tool,
            "language": one.check.language,
            "folder": one.check.folder,
            "because": one.check.reason,
            "command": one.check.command,
            "state": one.state.value,
            "failures": one.failures,
            "words": one.words,
            "next": one.next_command or None,
        }
        for one in tried
    ]


def _write_new(file: Path, text: str) -> bool:
    """Never overwrites a file that was created meanwhile, and never writes half of it."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            try:
                stream.write(text)
                stream.flush()
            except OSError:
                file.unlink()
                raise
    except FileExistsError:
        return False
    except OSError as error:
        raise _make_write_error(file, error) from error
    return True


def _replace(file: Path, text: str) -> None:
    """Replaced as a whole or not at all."""
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise _make_write_error(file, error) from error


def _make_write_error(file: Path, error: OSError) -> YaokiError:
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    hint = f"free some space: df -h {file.parent}" if full else f"chmod u+w {file.parent}"
    words = f"{file} cannot be written: {(error.strerror or str(error)).lower()}"
    return YaokiError(words, hint=hint)
