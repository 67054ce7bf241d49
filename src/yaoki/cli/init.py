"""`yaoki init`: what proves work here, how it does on the base, and a first `yaoki.toml` of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.cli.door import json_option, repo_option
from yaoki.cli.render import columns, document, line, next_command, paint, say
from yaoki.config.finding import Discovery, Here, State, Tried, find, settings_text
from yaoki.errors import YaokiError
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app import App

COLOURS = {State.GREEN: "green", State.RED: "red", State.MISSING: "yellow", State.BROKEN: "yellow"}
SHOWN = {State.MISSING: "cannot run", State.BROKEN: "cannot run"}


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that was found here."""

    agents: tuple[Here, ...]
    discovery: Discovery
    tried: tuple[Tried, ...]

    @property
    def text(self) -> str:
        return settings_text(self.agents, self.tried)


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option("--no-run", is_flag=True, help="Do not run the checks on the base.")
@click.option(
    "--seconds",
    default=120,
    show_default=True,
    type=click.IntRange(1, 3600),
    help="Longest time of one check on the base.",
)
@json_option
@repo_option
def init(dry_run: bool, no_run: bool, seconds: int, as_json: bool, repo: Path) -> int:
    """Find agents and checks, try them, and write a yaoki.toml unless there is one."""
    from yaoki.app import App

    app = App(repo.absolute())
    file = app.loaded.file
    if file is not None and not dry_run:
        return _unchanged(file, as_json=as_json)
    place = app.repository.top / "yaoki.toml"
    limit = None if no_run else timedelta(seconds=seconds)
    found = _look(app, limit, quiet=as_json)
    if not dry_run and not _written(place, found.text):
        return _unchanged(place, as_json=as_json)
    if as_json:
        document(_document(found, place, dry_run=dry_run))
    elif dry_run:
        say()
        say(line(f"# {place} would hold:"))
        say(found.text)
    else:
        _tell(found, place)
    return 0


def _unchanged(file: Path, *, as_json: bool) -> int:
    if as_json:
        document({"schema": SCHEMA, "file": str(file), "made": False, "checks": []})
        return 0
    say(f"{line(str(file))}: is there already; unchanged")
    next_command("yaoki doctor")
    return 0


def _look(app: App, limit: timedelta | None, *, quiet: bool) -> Look:
    from yaoki.app.trying import look, try_found

    agents = _agents(quiet=quiet)
    discovery = find(look(app))
    if not quiet:
        say(f"checks: {len(discovery.checks)} found{_with(discovery)}{_where(discovery, limit)}")
    if limit is None:
        tried = [Tried(one, State.NOT_RUN) for one in discovery.checks]
        for one in () if quiet else tried:
            _show(one, discovery)
    else:
        tell = (lambda _: None) if quiet else (lambda one: _show(one, discovery))
        tried = try_found(app, discovery.checks, limit, tell) if discovery.checks else []
    return Look(agents, discovery, tuple(tried))


def _with(discovery: Discovery) -> str:
    """` (Python with uv, Node with npm)`."""
    pairs = dict.fromkeys((one.language, one.manager) for one in discovery.checks)
    told = ", ".join(f"{language} with {manager}" for language, manager in pairs)
    return f" ({told})" if told else ""


def _where(discovery: Discovery, limit: timedelta | None) -> str:
    more = f", {discovery.left_out} more left out" if discovery.left_out else ""
    if limit is None or not discovery.checks:
        return more
    bound = f"{limit.total_seconds():g} s each at most"
    return f"{more}; each is run once on the base, in a checkout of its own ({bound})"


def _agents(*, quiet: bool) -> tuple[Here, ...]:
    from yaoki.agents.answering import answering, on_path

    found = answering(on_path())
    held = tuple(
        Here(one.about.name, one.about.title, one.answers, one.words, one.about.install)
        for one in found
    )
    if not quiet:
        say(f"agents: {len(held)} of those known are on the PATH (all: yaoki agents list)")
        rows = [("answers" if one.answers else "silent", one.name, one.words) for one in held]
        for text in columns([(a, b, line(c)) for a, b, c in rows]):
            say(f"  {text}")
    return held


def _show(one: Tried, discovery: Discovery) -> None:
    size = max(len(found.name) for found in discovery.checks)
    head = f"{SHOWN.get(one.state, one.state.value):<11}  {one.found.name:<{size}}"
    words = one.words.removeprefix("red at the base: ") or line(one.found.command, 100)
    say(paint(f"  {head}  {line(words, 200)}", COLOURS.get(one.state)))
    if one.next:
        say(f"  {'':<11}  {'':<{size}}  {line(one.next)}")


def _tell(found: Look, place: Path) -> None:
    usable = [one.found.name for one in found.tried if one.state.usable]
    others = len(found.tried) - len(usable)
    aside = f"; {others} that cannot run here stand in comments" if others else ""
    say(f"{line(str(place))}: made, with checks: {', '.join(usable) or 'none found'}{aside}")
    next_command("yaoki doctor")


def _document(found: Look, place: Path, *, dry_run: bool) -> dict[str, Any]:
    agents = [
        {"preset": one.name, "answers": one.answers, "words": one.words} for one in found.agents
    ]
    held: dict[str, Any] = {
        "schema": SCHEMA,
        "file": str(place),
        "made": not dry_run,
        "checks": [one.name for one in found.discovery.checks],
        "baseline": _baseline(found.tried),
        "managers": list(found.discovery.managers),
        "left_out": found.discovery.left_out,
        "agents": agents,
    }
    return {**held, "text": found.text} if dry_run else held


def _baseline(tried: Sequence[Tried]) -> list[dict[str, Any]]:
    return [
        {
            "check": one.found.name,
            "kind": one.found.kind,
            "tool": one.found.tool,
            "language": one.found.language,
            "folder": one.found.folder,
            "because": one.found.because,
            "command": one.found.command,
            "state": one.state.value,
            "failures": one.failures,
            "words": one.words,
            "next": one.next or None,
        }
        for one in tried
    ]


def _written(file: Path, text: str) -> bool:
    """Never over a file that came meanwhile."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise YaokiError(
            f"{file} cannot be written: {(error.strerror or str(error)).lower()}",
            hint=f"make {file.parent} writable",
        ) from error
    return True
