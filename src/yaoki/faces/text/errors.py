"""Errors for people: a sentence and the next command, on a screen or as a document."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import click

from yaoki.core.redact import mask, secret_values
from yaoki.core.text import strip_terminal_codes
from yaoki.errors import YaokiError
from yaoki.faces.text.line_wrap import terminal_width, wrap_line

BAD_USAGE_EXIT = 2
INTERNAL_EXIT = 1
SCHEMA = 1
INDENT = " " * 7


def report_refusal(error: YaokiError, *, as_json: bool) -> int:
    defects = getattr(error, "defects", ())
    _report(error.sentence, error.hint, defects, error.exit_code, as_json=as_json)
    return error.exit_code


def report_usage_error(error: click.UsageError, *, as_json: bool) -> int:
    path = error.ctx.command_path if error.ctx else "yaoki"
    _report(error.format_message(), f"{path} --help", (), BAD_USAGE_EXIT, as_json=as_json)
    return BAD_USAGE_EXIT


def report_internal_error(error: Exception, *, as_json: bool, args: Sequence[str]) -> int:
    """A bug of yaoki: the traceback goes to a file, one line to the screen."""
    file = _write_log(error, args)
    hint = f"details are in {file}; yaoki doctor" if file else "yaoki doctor"
    _report(f"internal error: {error!r}", hint, (), INTERNAL_EXIT, as_json=as_json)
    return INTERNAL_EXIT


def _report(
    sentence: str, hint: str, defects: Sequence[str], exit_code: int, *, as_json: bool
) -> None:
    sentence, hint = (mask(text, secret_values(os.environ)) for text in (sentence, hint))
    defects = [mask(text, secret_values(os.environ)) for text in defects]
    for line in defects:
        _print_error(line)
    _print_error(f"yaoki: {sentence}")
    if hint:
        _print_error(INDENT + hint.replace("\n", "\n" + INDENT))
    if as_json:
        error = {"sentence": sentence, "hint": hint, "defects": defects}
        document = {"schema": SCHEMA, "error": {**error, "exit_code": exit_code}}
        click.echo(json.dumps(document, indent=2))


def _print_error(line: str) -> None:
    for full_line in strip_terminal_codes(line).split("\n"):
        for part in wrap_line(full_line, terminal_width(sys.stderr)):
            click.echo(part, err=True)


def _write_log(error: Exception, args: Sequence[str]) -> Path | None:
    """Write into the `.yaoki` of the repository, or, if there is none, into the user's state."""
    from yaoki.adapters.system.files import state_home

    story = "".join(traceback.format_exception(error))
    head = f"{datetime.now(UTC).isoformat()} yaoki {' '.join(args)}\n"
    homes = (
        place / ".yaoki" for here in _candidate_folders(args) for place in (here, *here.parents)
    )
    folder = next((home for home in homes if home.is_dir()), state_home())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "internal-errors.log").open("a", encoding="utf-8") as file:
            file.write(mask(head + story, secret_values(os.environ)) + "\n")
    except OSError as unwritable:
        print(f"yaoki: the log cannot be written: {unwritable}", file=sys.stderr)
        return None
    return folder / "internal-errors.log"


def _candidate_folders(args: Sequence[str]) -> list[Path]:
    named = [Path(value) for name, value in pairwise(args) if name == "--repo"]
    with suppress(FileNotFoundError):
        # The current folder may be deleted.
        return [place.absolute() for place in (*named, Path.cwd())]
    return [place for place in named if place.is_absolute()]
