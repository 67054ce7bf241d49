"""`yaoki plan import`: a list of another tool becomes a plan; nothing is dropped silently."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.text import format_count
from yaoki.errors import NotNow, PlanInvalid, YaokiError
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.text.render import clean_line, print_document, print_line, print_next_command
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.formats.imports import ImportedList

FORM_NAMES = ("spec-kit", "task-master", "github", "checklist")
SHOWN_MAX = 20


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "-o",
    "--output",
    metavar="PLAN",
    type=click.Path(path_type=Path),
    help="Write the plan to this file.",
)
@click.option(
    "--from",
    "form",
    type=click.Choice(FORM_NAMES),
    help="The format of FILE, if it cannot be recognised.",
)
@click.option("--goal", default="", metavar="TEXT", help="The goal of the run.")
@click.option("--tag", default="", metavar="TAG", help="Which list of tasks.json to read.")
@click.option("--parallel", is_flag=True, help="Let the items of a checklist run in parallel.")
@click.option("--skip-unreadable", is_flag=True, help="Leave out entries that cannot be read.")
@json_option
@repo_option
def import_list(
    file: Path,
    output: Path | None,
    form: str | None,
    goal: str,
    tag: str,
    parallel: bool,
    skip_unreadable: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Make a plan from a task list.

    FILE is spec-kit's tasks.md, Task Master's tasks.json, a list of issues or a checklist; - is
    standard input.  Without -o the plan is printed.
    """
    from yaoki.app.build import App
    from yaoki.formats.imports import ImportOptions, plan_text, read_list

    app = App(repo.absolute())
    name, text = _read(file)
    asked = ImportOptions(tag, parallel, app.settings.limits.task_text_bytes)
    imported = read_list(text, name, form or "", asked)
    _refuse(imported, skip_unreadable=skip_unreadable)
    plan = plan_text(imported, goal)
    if output is not None:
        write_plan_file(output, plan)
    if as_json:
        print_document(_document(imported, plan, output))
    elif output is None:
        print_line(plan.rstrip("\n"))
        _print_left_out(imported, aside=True)
    else:
        _print_left_out(imported, aside=False)
        number = format_count(len(imported.items), "task")
        print_line(f"{clean_line(str(output))}: {number} from {clean_line(name)}")
        # Without settings there is no agent for its tasks and no check.
        validate = f"yaoki validate {clean_line(shlex.quote(str(output)))}"
        print_next_command(validate if app.context.loaded_settings.file else "yaoki init")
    return 0


def _read(file: Path) -> tuple[str, str]:
    from yaoki.formats.imports.model import BYTES_MAX

    name = "standard input" if str(file) == "-" else str(file)
    try:
        if str(file) == "-":
            raw = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with file.open("rb") as stream:
                raw = stream.read(BYTES_MAX + 1)
        return name, raw.decode("utf-8-sig")
    except OSError as fault:
        reason = (fault.strerror or str(fault)).lower()
        look = f"list the folder: ls -l {shlex.quote(str(file.parent))}"
        raise PlanInvalid(f"{name} cannot be read: {reason}", hint=look) from fault
    except UnicodeDecodeError as fault:
        at = raw.count(b"\n", 0, fault.start) + 1
        raise PlanInvalid(f"{name}:{at}: not UTF-8", hint="save the list as UTF-8") from fault


def _refuse(imported: ImportedList, *, skip_unreadable: bool) -> None:
    defects = imported.format_lines(imported.unreadable)
    if imported.unreadable and not (skip_unreadable and imported.items):
        number = format_count(len(defects), "entry", "entries")
        words = f"{imported.name}: {number} not understood, nothing was written"
        hint = "fix the list, or leave them out: --skip-unreadable"
        raise PlanInvalid(words, hint=hint, defects=defects)
    if not imported.items:
        done = (
            f"; {len(imported.skipped)} left out: done, closed or set aside"
            if imported.skipped
            else ""
        )
        words = f"{imported.name}: it contains no open task{done}"
        raise PlanInvalid(words, hint="yaoki plan import --help")


def write_plan_file(output: Path, text: str) -> None:
    try:
        with output.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as fault:
        raise NotNow(f"{output} exists already", hint=f"-o another file, or rm {output}") from fault
    except OSError as fault:
        reason = (fault.strerror or str(fault)).lower()
        hint = "name a folder that you can write to"
        raise YaokiError(f"{output} cannot be written: {reason}", hint=hint) from fault


def _print_left_out(imported: ImportedList, *, aside: bool) -> None:
    """The items that are not in the plan; on standard error when the plan is printed."""
    lines = [f"left out, {one.reason}: {one.name}" for one in imported.skipped]
    lines += [f"not understood: {words}" for words in imported.format_lines(imported.unreadable)]
    for words in lines[:SHOWN_MAX]:
        click.echo(clean_line(words), err=aside)
    if len(lines) > SHOWN_MAX:
        click.echo(f"and {len(lines) - SHOWN_MAX} more, named in the plan", err=aside)
    for words in imported.format_lines(imported.notes)[:SHOWN_MAX]:
        click.echo(clean_line(words), err=aside)


def _document(imported: ImportedList, plan: str, output: Path | None) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "form": imported.form,
        "file": imported.name,
        "plan": str(output) if output else None,
        "tasks": [item.id for item in imported.items],
        "left_out": [
            {"name": one.name, "line": one.line, "why": one.reason} for one in imported.skipped
        ],
        "unread": [{"line": at, "why": words} for at, words in sorted(imported.unreadable)],
        "notes": [{"line": at, "words": words} for at, words in sorted(imported.notes)],
        "text": plan,
    }
