"""`yaoki trust`: trust the commands that a repository brings, list them, or forget them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.text import format_count
from yaoki.errors import Unknown
from yaoki.faces.cli.context import json_option
from yaoki.faces.cli.trust_question import print_trust_question
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_line,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.adapters.system.trust_file import TrustFile
    from yaoki.app.build import App
    from yaoki.app.trust import TrustQuestion
    from yaoki.core.trust import FileCommands, TrustRecord

FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("path", type=FOLDER, required=False)
@click.option("--plan", type=FOLDER, help="A committed plan whose commands are trusted as well.")
@click.option("--dry-run", is_flag=True, help="Show what would run; trust nothing.")
@click.option("--show", "listed", is_flag=True, help="List what is trusted.")
@click.option("--forget", is_flag=True, help="No longer trust PATH; you are asked again.")
@click.option(
    "--below",
    metavar="FOLDER",
    type=FOLDER,
    help="Trust every repository below FOLDER, now and later, whatever it brings.",
)
@json_option
@click.pass_obj
def trust(
    above: str | None,
    path: Path | None,
    plan: Path | None,
    dry_run: bool,
    listed: bool,
    forget: bool,
    below: Path | None,
    as_json: bool,
) -> int:
    """Show what the repository at PATH would run, and trust it; by default the current folder."""
    from yaoki.adapters.system.trust_file import TrustFile
    from yaoki.app.trust import refuse_attempts

    where = path or Path(above or ".")
    if sum((listed, forget, below is not None)) > 1:
        raise click.UsageError("--show, --forget and --below exclude each other; give one of them")
    if listed:
        return _list_trusted(*TrustFile().read(), as_json=as_json)
    if not dry_run:
        refuse_attempts()
    if forget:
        return _forget(TrustFile(), where, as_json=as_json)
    if below is not None:
        return _trust_below(TrustFile(), below, as_json=as_json)
    return _trust_repository(where, plan, dry_run=dry_run, as_json=as_json)


def _trust_repository(where: Path, plan: Path | None, *, dry_run: bool, as_json: bool) -> int:
    from yaoki.app.build import App

    app = App(where.absolute())
    try:
        question = app.trust.find_question(*_plan_commands(app, plan), look_into_store=True)
        if question is not None and not dry_run:
            app.trust.accept(question)
        place, is_known = app.trust.clone_path, app.trust.is_known
        settings_file = app.context.loaded_settings.file
    finally:
        app.close()
    done = is_known and (question is None or not dry_run)
    if as_json:
        lines = [] if question is None else [text.strip() for text in question.lines]
        print_document({"schema": SCHEMA, "place": place, "trusted": done, "commands": lines})
    elif question is None and not is_known:
        _print_nothing_to_trust(place, settings_file)
    else:
        _print_result(question, place, plan, dry_run=dry_run)
    return 0


def _plan_commands(app: App, plan: Path | None) -> tuple[FileCommands, ...]:
    if plan is None:
        return ()
    from yaoki.app.command_inventory import list_plan_contents
    from yaoki.formats.plan_file import load_plan

    return list_plan_contents(plan, load_plan(plan, app.settings, app.preflight.known_names))


def _print_nothing_to_trust(place: str, settings_file: Path | None) -> None:
    """The repository brings no command, and none was ever trusted."""
    if settings_file is not None:
        words = f"{clean_line(settings_file.name)} names no command"
    else:
        words = "there is no yaoki.toml; yaoki init lists what it would run"
    print_wrapped(f"{clean_line(place)}: nothing to trust yet: {words}")
    print_next_command("yaoki doctor" if settings_file else "yaoki init")


def _print_result(
    question: TrustQuestion | None, place: str, plan: Path | None, *, dry_run: bool
) -> None:
    named = clean_line(shlex.quote(str(plan))) if plan else ""
    after = f"yaoki run {named}" if named else "yaoki trust --show"
    if question is None:
        print_wrapped(f"{clean_line(place)}: every command that it would run is already trusted")
        print_next_command(after)
        return
    print_line(
        f"{clean_line(place)} would run:"
        if not question.is_repeated
        else f"{clean_line(place)} has changed:"
    )
    print_trust_question(question)
    if dry_run:
        print_next_command(f"yaoki trust --plan {named}" if named else "yaoki trust")
        return
    print_wrapped("trusted; when it changes, you are asked again")
    print_next_command(after)


def _list_trusted(record: TrustRecord, defect: str, *, as_json: bool) -> int:
    if as_json:
        places = {
            place: {part: list(texts.values()) for part, texts in parts.items()}
            for place, parts in record.places.items()
        }
        held = {"places": places, "stores": sorted(set(record.stores.values()))}
        print_document(
            {"schema": SCHEMA, **held, "below": list(record.below), "defect": defect or None}
        )
        return 0
    if defect:
        print_wrapped(f"{clean_line(defect)}; nothing is trusted")
    for folder in record.below:
        print_line(f"everything below {clean_line(folder)}")
    for place, parts in record.places.items():
        commands = {text for texts in parts.values() for text in texts.values()}
        print_line(f"{clean_line(place)}: {format_count(len(commands), 'command')}")
        for text in sorted(commands):
            print_line(f"  {clean_line(text, 600)}")
    for path in sorted(set(record.stores.values())):
        print_line(f"store {clean_line(path)}")
    if not (record.below or record.places or record.stores):
        print_line("nothing is trusted yet")
    print_next_command(
        "yaoki trust --forget PATH" if record.places or record.below else "yaoki trust"
    )
    return 0


def _forget(file: TrustFile, where: Path, *, as_json: bool) -> int:
    """By the path of a repository, of a file in it, or of a folder as it was trusted."""
    record, _ = file.read()
    here = str(where.resolve())
    stored = {str(Path(at).parents[1]) for at in record.stores.values()}
    known = {*record.places, *record.below, *stored}
    inside = [place for place in known if here == place or here.startswith(f"{place}/")]
    if not inside:
        raise Unknown(f"nothing is trusted at {here}", hint="yaoki trust --show")
    place = max(inside, key=len)
    file.update(lambda held: held.without(place))
    if as_json:
        print_document({"schema": SCHEMA, "place": place, "trusted": False})
        return 0
    print_line(f"{clean_line(place)} is no longer trusted")
    print_next_command("yaoki trust --show")
    return 0


def _trust_below(file: TrustFile, folder: Path, *, as_json: bool) -> int:
    place = folder.resolve()
    if not place.is_dir() or place == place.parent:
        raise Unknown(
            f"{place} cannot be trusted: it is not a folder, or it is the root",
            hint="name another folder",
        )
    file.update(lambda held: held.with_below(str(place)))
    if as_json:
        print_document({"schema": SCHEMA, "below": str(place), "trusted": True})
        return 0
    print_wrapped(f"every repository below {clean_line(str(place))} is trusted, whatever it brings")
    print_next_command(f"yaoki trust --forget {clean_line(str(place))}")
    return 0
