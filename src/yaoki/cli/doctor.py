"""`yaoki doctor`: every condition yaoki depends on, one line each; a bad one names the remedy."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.cli.condition import Line
from yaoki.cli.door import json_option, repo_option
from yaoki.cli.proving import examined
from yaoki.cli.render import columns, document, line, next_command, paint, say
from yaoki.core.counting import count
from yaoki.errors import GitMissing, RemoteAway, YaokiError
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

PYTHON_MIN = (3, 11)
# No git holds this lock for longer than it takes to write a file.
LOCK_S_MAX = 60.0
RUNS_AUDITED = 5
# SQLite versions from which on a reset of the log cannot lose pages, per line of releases.
WAL_FIX = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


@click.command()
@click.option("--checks", is_flag=True, help="Run the checks of the settings on the base, too.")
@json_option
@repo_option
def doctor(checks: bool, as_json: bool, repo: Path) -> int:
    """Check what yaoki depends on; exit code 1 when something is bad."""
    lines = list(_examined(repo.absolute(), run_checks=checks))
    bad = [held for held in lines if not held.ok]
    if as_json:
        listed = [
            {"name": held.name, "ok": held.ok, "words": held.words, "next": held.next or None}
            for held in lines
        ]
        document({"schema": SCHEMA, "ok": not bad, "lines": listed})
    else:
        _show(lines)
        next_command(bad[0].next if bad else "yaoki run PLAN")
    return 1 if bad else 0


def _show(lines: list[Line]) -> None:
    rows = [("ok " if held.ok else "BAD", held.name, line(held.words)) for held in lines]
    for text, held in zip(columns(rows), lines, strict=True):
        say(paint(text, None if held.ok else "red"))
        if not held.ok:
            say(f"       {line(held.next)}")


def _examined(where: Path, *, run_checks: bool) -> Iterator[Line]:
    from yaoki.app import App

    yield _python()
    yield _sqlite()
    yield _told("git", lambda: _git(where))
    try:
        app = App(where)
    except YaokiError as unfit:
        yield Line("repository", False, unfit.sentence, unfit.hint)
        return
    yield Line("repository", True, str(app.repository.top))
    yield from _locks(app)
    yield _told("base", lambda: _base(app))
    settings = _told("settings", lambda: _settings(app))
    yield settings
    if not settings.ok:
        return
    yield _told("worktrees", lambda: _worktrees(app))
    yield _told("disk", lambda: _disk(app))
    yield _told("sandbox", lambda: _sandbox(app))
    yield from examined(app, run_checks=run_checks)
    if app.settings.workspace.remote:
        yield _told("remote", lambda: _remote(app))
    try:
        yield from _store(app)
    finally:
        app.close()


def _told(name: str, look: Callable[[], Line]) -> Line:
    try:
        return look()
    except YaokiError as error:
        defects = "; ".join(getattr(error, "defects", ()))
        return Line(name, False, defects or error.sentence, error.hint)


def _python() -> Line:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info[:2] >= PYTHON_MIN
    return Line("python", ok, version, "" if ok else "install Python 3.11 or newer")


def _sqlite() -> Line:
    import sqlite3

    fixed = _has_wal_fix(sqlite3.sqlite_version_info)
    said = "with" if fixed else "without"
    cover = "" if fixed else "; the store's own writer lock keeps that race apart"
    return Line("sqlite", True, f"{sqlite3.sqlite_version} {said} the WAL-reset fix{cover}")


def _has_wal_fix(version: tuple[int, ...]) -> bool:
    patched = any(version[:2] == fix[:2] and version >= fix for fix in WAL_FIX)
    return patched or version >= max(WAL_FIX)


def _git(where: Path) -> Line:
    from yaoki.app.remedies import here
    from yaoki.workspace.git import environment, invoke
    from yaoki.workspace.repository import check_version

    place = where if where.is_dir() else Path.cwd()
    said = invoke(["version"], cwd=place, env=environment()).out.decode("ascii", "replace")
    try:
        check_version(said)
    except GitMissing as old:
        return Line("git", False, old.sentence, here("apt install git, or brew install git"))
    return Line("git", True, said.strip().removeprefix("git version "))


def _locks(app: App) -> Iterator[Line]:
    """What a git that was killed left behind: no branch can be deleted or packed any more."""
    file = app.repository.common_dir / "packed-refs.lock"
    try:
        age_s = app.clock.now().timestamp() - file.lstat().st_mtime
    except OSError:
        return
    if age_s > LOCK_S_MAX:
        words = f"{file} is left over from a git that was killed {age_s:.0f} s ago"
        yield Line("git lock", False, words, f"rm {shlex.quote(str(file))}")


def _base(app: App) -> Line:
    """Runs start from a commit; one that cannot be read helps nobody."""
    from yaoki.app.trying import head

    try:
        return Line("base", True, f"HEAD is {head(app)[:10]}")
    except YaokiError:
        words = "HEAD names no commit that can be read: a branch without commits, or lost objects"
        return Line("base", False, words, "git fsck")


def _settings(app: App) -> Line:
    from yaoki.config.finding import set_aside
    from yaoki.plan import check_settings

    if app.loaded.file is None:
        return Line("settings", True, "defaults; no yaoki.toml (yaoki init makes one)")
    check_settings(app.settings)
    aside = set_aside(app.loaded.file.read_text(encoding="utf-8"))
    more = f"; in comments: {', '.join(aside)} (yaoki init --again)" if aside else ""
    return Line("settings", True, f"{app.loaded.file}{more}")


def _worktrees(app: App) -> Line:
    root = app.worktrees
    if root.resolve().is_relative_to(app.repository.top.resolve()):
        hint = "set [workspace] root in yaoki.toml to a folder outside the repository"
        return Line("worktrees", False, f"{root} is inside the repository", hint)
    there = next(place for place in (root, *root.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        return Line("worktrees", False, f"{there} is not writable", f"chmod u+rwx {there}")
    return Line("worktrees", True, str(root))


def _disk(app: App) -> Line:
    from yaoki.system import disk_free

    floor = app.settings.limits.disk_free_bytes
    places = {app.home: disk_free(app.home), app.worktrees: disk_free(app.worktrees)}
    place, free = min(places.items(), key=lambda item: item[1])
    words = f"{free >> 20} MiB free at {place}; {floor >> 20} MiB are needed"
    return Line("disk", free >= floor, words, "" if free >= floor else "free some disk space")


def _sandbox(app: App) -> Line:
    if app.sandbox is None:
        return Line("sandbox", True, 'off: sandbox.mode = "on" walls agents and checks in')
    app.sandbox.check()
    network = "with" if app.settings.sandbox.network else "without"
    return Line("sandbox", True, f"on, {network} the network")


def _remote(app: App) -> Line:
    """Where machines meet.  What is owed to it is not lost: it is pushed when it answers."""
    return Line("remote", True, f"{app.workspace.meets()}, answers")


def _store(app: App) -> Iterator[Line]:
    if app.store_on_server:
        yield from _server(app)
        return
    if app.home.exists() and not app.home.is_dir():
        words = f"{app.home} cannot be made: a file stands in its place"
        yield Line("store", False, words, f"mv {app.home} {app.home}.old")
        return
    if not app.has_store:
        top = app.repository.top
        ok = os.access(top, os.W_OK | os.X_OK)
        words = "none yet" if ok else f"none yet, and {top} is not writable"
        yield Line("store", ok, words, "" if ok else f"chmod u+rwx {top}")
        return
    whole = _told("store", lambda: _whole(app))
    yield whole
    if whole.ok:
        yield _told("journal", lambda: _journal(app))
        yield _told("journal file", lambda: _witness(app))


def _server(app: App) -> Iterator[Line]:
    """Its pages and its copies are its operator's; what stands in it is ours."""
    there = _told("store", lambda: _reached(app))
    yield there
    if there.ok and app.has_store:
        yield _told("journal", lambda: _journal(app))
        words = "none of a server: its operator makes them, with pg_dump or as the server is kept"
        yield Line("backups", True, words)


def _reached(app: App) -> Line:
    if not app.has_store:
        return Line("store", True, "the server answers; there is no store in the database yet")
    return Line("store", True, f"{app.store.database.where}, reached")


def _whole(app: App) -> Line:
    path = app.store_path
    if path.exists() and not os.access(path, os.W_OK):
        return Line("store", False, f"{path} is read-only", f"chmod u+w {path}")
    wrong = app.store.integrity()
    if wrong:
        remedy = "yaoki status: it is set aside and restored from its backups and its journal file"
        return Line("store", False, f"{path} is damaged: {wrong[0]}", remedy)
    aside = app.set_aside()
    damaged = count(len(aside), "damaged one is", "damaged ones are")
    kept = f"; {damaged} kept, the newest in {aside[-1]}" if aside else ""
    return Line("store", True, f"{path}, whole{kept}")


def _witness(app: App) -> Line:
    """What the store would be made again from, line by line."""
    folder, missing = app.journal_folder, app.store.unwitnessed()
    if missing:
        words = f"{folder} lacks {count(len(missing), 'line')}, the first is {missing[0]}"
        remedy = f"mv {folder} {folder}.old: the next command writes it anew"
        return Line("journal file", False, words, remedy)
    return Line("journal file", True, f"{folder}, holds every line of the journal")


def _journal(app: App) -> Line:
    """The journal must fold to the rows."""
    runs = app.store.runs()[-RUNS_AUDITED:]
    wrong = [words for run in runs for words in app.store.audit(run.id)]
    strayed, unseen = _strayed(app, runs)
    wrong += strayed
    if wrong:
        place = "the database" if app.store_on_server else app.store_path.parent
        hint = f"keep a copy of {place}, and do not go on with that run"
        found = count(len(wrong), "mismatch", "mismatches")
        return Line("journal", False, f"{found}: {wrong[0]}", hint)
    return Line("journal", True, f"folds to the rows of the last {count(len(runs), 'run')}{unseen}")


def _bent(app: App, run: Run) -> str:
    """The branch of a run that a person has merged is theirs to delete."""
    from yaoki.app.looking import as_taken

    words = app.workspace.intact(run)
    return words and app.workspace.intact(as_taken(app, run, app.store.rows(run.id)))


def _strayed(app: App, runs: Sequence[Run]) -> tuple[list[str], str]:
    """Run branches that somebody else moved, and a word when a remote that is away has them."""
    unseen = "; their branches are at the remote, which does not answer"
    if app.settings.workspace.remote and app.workspace.away():
        return [], unseen
    try:
        return [words for run in runs if (words := _bent(app, run))], ""
    except RemoteAway:
        return [], unseen
