"""`yaoki verify`: a receipt against git alone, or a store against its journal file and git."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.app.check_output import StoredOutputs
from yaoki.app.git_facts import GitHere, facts_of
from yaoki.faces.cli.context import json_option, opened, repo_option
from yaoki.faces.cli.text.render import columns, document, line, next_command, paint, prose
from yaoki.faces.cli.trust_question import clear, trust_option
from yaoki.report import Line
from yaoki.report import verify as verified
from yaoki.report.canonical import BYTES_MAX
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

WRONG = 1
MARKS = {True: "ok ", False: "BAD", None: " - "}
STDIN = "-"


@click.command()
@click.argument("what", metavar="[RECEIPT|RUN]", default="")
@click.option("--ref", metavar="REF", default="", help="This branch or tag must hold the head.")
@click.option("--replay", is_flag=True, help="Prove every landed commit of RUN again.")
@trust_option
@json_option
@repo_option
def verify(what: str, ref: str, replay: bool, trust: bool, as_json: bool, repo: Path) -> int:
    """Hold RECEIPT (- is standard input) against git, or RUN's store against journal file and git.

    The newest run unless something is named.  Exit code 0 only if all of it is true.  --replay
    runs the checks of every landed commit again, in a fresh clone that is gone afterwards.
    """
    if is_file(what):
        if replay:
            raise click.UsageError("--replay is for a run of this store")
        return _receipt(what, ref, repo, as_json=as_json)
    if ref:
        raise click.UsageError("--ref is for a receipt")
    return _store(what, repo, again=replay, trust=trust, as_json=as_json)


def is_file(what: str) -> bool:
    """A receipt, and not the name of a run; one that is missing is said to be so."""
    if what == STDIN or Path(what).is_file():
        return True
    if what and Path(what).exists() and Path(what).name != what:
        words = f"{what!r} is no plain file; a receipt is made by: yaoki report --receipt FILE"
        raise click.BadParameter(words, param_hint="RECEIPT")
    if what and (Path(what).suffix or Path(what).name != what):
        raise click.BadParameter(f"file {what!r} does not exist", param_hint="RECEIPT")
    return False


def _receipt(name: str, ref: str, repo: Path, *, as_json: bool) -> int:
    git = facts_of(repo.absolute())
    stored = StoredOutputs(git.common_dir.parent / ".yaoki")
    lines = verified(_read(name), git, ref=ref, measure=stored.measure)
    true = _told(lines, {}, "git agrees with every line", as_json=as_json)
    if not as_json:
        _hint(lines, git, name)
    return 0 if true else WRONG


def _hint(lines: Sequence[Line], git: GitHere, name: str) -> None:
    if any(held.name == "commits" and held.ok is False for held in lines):
        shallow = (git.common_dir / "shallow").exists()
        elsewhere = f"git fetch, or: yaoki verify {line(name)} --repo DIR"
        next_command("git fetch --unshallow" if shallow else elsewhere)


def _store(name: str, repo: Path, *, again: bool, trust: bool, as_json: bool) -> int:
    from yaoki.app.verification import verify_store

    with opened(repo) as app:
        run = app.naming.run(name)
        if again:
            clear(app, trust=trust)
        lines = verify_store(app, run)
        if again:
            return _replayed(app, run, lines, as_json=as_json)
    agreed = f"journal file and git agree with the store of run {run.id}"
    true = _told(lines, {"run": run.id}, agreed, as_json=as_json)
    return 0 if true else WRONG


def _replayed(app: App, run: Run, lines: Sequence[Line], *, as_json: bool) -> int:
    """What the store claims first: only what it is right about is worth proving again."""
    from yaoki.app.replay import summary
    from yaoki.faces.cli.commands.replay import document_of, replayed

    if not as_json:
        _show(lines)
    found = replayed(app, run, quiet=as_json)
    good = all(one.ok for one in found)
    told = summary(found)
    if as_json:
        names = {"run": run.id, "summary": told, "commits": [document_of(one) for one in found]}
        return 0 if _told(lines, names, "", as_json=True, also=good) else WRONG
    true = good and _true(lines)
    prose(paint(f"{'verified' if true else 'not verified'}: {told}", "green" if true else "red"))
    return 0 if true else WRONG


def _read(name: str) -> bytes:
    """No more than a receipt can have, and one byte to notice that there is more."""
    if name == STDIN:
        return sys.stdin.buffer.read(BYTES_MAX + 1)
    with Path(name).open("rb") as file:
        return file.read(BYTES_MAX + 1)


def _true(lines: Sequence[Line]) -> bool:
    return all(held.ok is not False for held in lines)


def _told(
    lines: Sequence[Line],
    names: Mapping[str, Any],
    agreed: str,
    *,
    as_json: bool,
    also: bool = True,
) -> bool:
    true = _true(lines) and also
    if as_json:
        listed = [_document(one) for one in lines]
        document({"schema": SCHEMA, **names, "verified": true, "lines": listed})
    else:
        _show(lines)
        told = f"verified: {agreed}" if true else "not verified: see BAD above"
        prose(paint(told, "green" if true else "red"))
    return true


def _document(held: Line) -> dict[str, object]:
    return {"name": held.name, "ok": held.ok, "words": held.words, "places": list(held.places)}


def _show(lines: Sequence[Line]) -> None:
    rows = [(MARKS[held.ok], held.name, line(held.words)) for held in lines]
    for text, held in zip(columns(rows), lines, strict=True):
        colour = {True: "green", False: "red", None: None}[held.ok]
        prose(paint(text, colour))
        for place in held.places:
            prose(f"       {line(place)}")
