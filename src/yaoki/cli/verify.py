"""`yaoki verify`: a receipt held against git alone; no store, no settings, no network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from yaoki.app.facts import facts_of
from yaoki.cli.door import json_option, repo_option
from yaoki.cli.render import columns, document, line, next_command, paint, prose
from yaoki.views import SCHEMA
from yaoki.views.report import Line, Stored
from yaoki.views.report import verify as verified
from yaoki.views.report.canonical import BYTES_MAX

WRONG = 1
MARKS = {True: "ok ", False: "BAD", None: " - "}


@click.command()
@click.argument("receipt", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--ref", metavar="REF", default="", help="This branch or tag must hold the head.")
@json_option
@repo_option
def verify(receipt: str, ref: str, as_json: bool, repo: Path) -> int:
    """Hold RECEIPT (- is standard input) against git; exit code 0 only if all of it is true."""
    git = facts_of(repo.absolute())
    stored = Stored(git.common_dir.parent / ".yaoki")
    lines = verified(_read(receipt), git, ref=ref, measure=stored.measure)
    true = all(held.ok is not False for held in lines)
    if as_json:
        document({"schema": SCHEMA, "verified": true, "lines": [_document(one) for one in lines]})
    else:
        _show(lines, true=true)
        if any(held.name == "commits" and held.ok is False for held in lines):
            shallow = (git.common_dir / "shallow").exists()
            elsewhere = f"git fetch, or: yaoki verify {line(receipt)} --repo DIR"
            next_command("git fetch --unshallow" if shallow else elsewhere)
    return 0 if true else WRONG


def _read(name: str) -> bytes:
    """No more than a receipt can have, and one byte to notice that there is more."""
    if name == "-":
        return sys.stdin.buffer.read(BYTES_MAX + 1)
    with Path(name).open("rb") as file:
        return file.read(BYTES_MAX + 1)


def _document(held: Line) -> dict[str, object]:
    return {"name": held.name, "ok": held.ok, "words": held.words, "places": list(held.places)}


def _show(lines: Sequence[Line], *, true: bool) -> None:
    rows = [(MARKS[held.ok], held.name, line(held.words)) for held in lines]
    for text, held in zip(columns(rows), lines, strict=True):
        prose(
            paint(text, {True: "green", False: "red"}.get(held.ok) if held.ok is not None else None)
        )
        for place in held.places:
            prose(f"       {line(place)}")
    told = "verified: git agrees with every line" if true else "not verified: see BAD above"
    prose(paint(told, "green" if true else "red"))
