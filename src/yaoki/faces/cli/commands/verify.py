"""`yaoki verify`: check a receipt against git, or a store against its journal file and git."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.adapters.git.facts import LocalGitFacts, open_git_facts
from yaoki.app.check_output import StoredOutputs
from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.cli.trust_question import require_trust, trust_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    paint,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.report import VerificationResult
from yaoki.report import verify_receipt as verified
from yaoki.report.canonical import BYTES_MAX
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

WRONG_EXIT = 1
MARKS = {True: "ok ", False: "BAD", None: " - "}
STDIN = "-"


@click.command()
@click.argument("what", metavar="[RECEIPT|RUN]", default="")
@click.option(
    "--ref", metavar="REF", default="", help="The branch or tag that must contain the head."
)
@click.option("--replay", is_flag=True, help="Run the checks of every landed commit of RUN again.")
@trust_option
@json_option
@repo_option
def verify(what: str, ref: str, replay: bool, trust: bool, as_json: bool, repo: Path) -> int:
    """Check RECEIPT (- is standard input) against git, or RUN's store against journal file and git.

    The default is the newest run.  The exit code is 1 if a line is BAD.  --replay runs the checks
    of every landed commit again, in a fresh clone that is removed afterwards.
    """
    if names_receipt(what):
        if replay:
            raise click.UsageError("--replay is for a run of this store")
        return _receipt(what, ref, repo, as_json=as_json)
    if ref:
        raise click.UsageError("--ref is for a receipt")
    return _store(what, repo, again=replay, trust=trust, as_json=as_json)


def names_receipt(what: str) -> bool:
    """Is it a receipt and not the name of a run?  A missing file is an error."""
    if what == STDIN or Path(what).is_file():
        return True
    if what and Path(what).exists() and Path(what).name != what:
        words = f"{what!r} is not a regular file; to make a receipt: yaoki report --receipt FILE"
        raise click.BadParameter(words, param_hint="RECEIPT")
    if what and (Path(what).suffix or Path(what).name != what):
        raise click.BadParameter(f"file {what!r} does not exist", param_hint="RECEIPT")
    return False


def _receipt(name: str, ref: str, repo: Path, *, as_json: bool) -> int:
    git = open_git_facts(repo.absolute())
    stored = StoredOutputs(git.common_dir.parent / ".yaoki")
    lines = verified(_read(name), git, ref=ref, measure=stored.measure)
    true = _summary(lines, {}, "git agrees with every line", as_json=as_json)
    if not as_json:
        _hint(lines, git, name)
    return 0 if true else WRONG_EXIT


def _hint(lines: Sequence[VerificationResult], git: LocalGitFacts, name: str) -> None:
    if any(held.name == "commits" and held.ok is False for held in lines):
        shallow = (git.common_dir / "shallow").exists()
        elsewhere = f"git fetch, or: yaoki verify {clean_line(name)} --repo DIR"
        print_next_command("git fetch --unshallow" if shallow else elsewhere)


def _store(name: str, repo: Path, *, again: bool, trust: bool, as_json: bool) -> int:
    from yaoki.app.verification import verify_store

    with open_app(repo) as app:
        run = app.lookup.find_run(name)
        if again:
            require_trust(app, trust=trust)
        lines = verify_store(app, run)
        if again:
            return _replay(app, run, lines, as_json=as_json)
    agreed = f"journal file and git agree with the store of run {run.id}"
    true = _summary(lines, {"run": run.id}, agreed, as_json=as_json)
    return 0 if true else WRONG_EXIT


def _replay(app: App, run: Run, lines: Sequence[VerificationResult], *, as_json: bool) -> int:
    """First the claims of the store: only true ones are worth verifying again."""
    from yaoki.app.replay import summarise_replay
    from yaoki.faces.cli.commands.replay import replay_document, replay_landings

    if not as_json:
        _show(lines)
    found = replay_landings(app, run, quiet=as_json)
    good = all(one.passed for one in found)
    told = summarise_replay(found)
    if as_json:
        names = {"run": run.id, "summary": told, "commits": [replay_document(one) for one in found]}
        return 0 if _summary(lines, names, "", as_json=True, also=good) else WRONG_EXIT
    true = good and _is_true(lines)
    print_wrapped(
        paint(f"{'verified' if true else 'not verified'}: {told}", "green" if true else "red")
    )
    return 0 if true else WRONG_EXIT


def _read(name: str) -> bytes:
    """At most the size of a receipt, and one byte to notice that there is more."""
    if name == STDIN:
        return sys.stdin.buffer.read(BYTES_MAX + 1)
    with Path(name).open("rb") as file:
        return file.read(BYTES_MAX + 1)


def _is_true(lines: Sequence[VerificationResult]) -> bool:
    return all(held.ok is not False for held in lines)


def _summary(
    lines: Sequence[VerificationResult],
    names: Mapping[str, Any],
    agreed: str,
    *,
    as_json: bool,
    also: bool = True,
) -> bool:
    true = _is_true(lines) and also
    if as_json:
        listed = [_document(one) for one in lines]
        print_document({"schema": SCHEMA, **names, "verified": true, "lines": listed})
    else:
        _show(lines)
        told = f"verified: {agreed}" if true else "not verified: see BAD above"
        print_wrapped(paint(told, "green" if true else "red"))
    return true


def _document(result: VerificationResult) -> dict[str, object]:
    return {
        "name": result.name,
        "ok": result.ok,
        "words": result.words,
        "places": list(result.places),
    }


def _show(lines: Sequence[VerificationResult]) -> None:
    rows = [(MARKS[result.ok], result.name, clean_line(result.words)) for result in lines]
    for text, result in zip(align_columns(rows), lines, strict=True):
        colour = {True: "green", False: "red", None: None}[result.ok]
        print_wrapped(paint(text, colour))
        for place in result.places:
            print_wrapped(f"       {clean_line(place)}")
