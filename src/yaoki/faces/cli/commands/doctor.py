"""`yaoki doctor`: every condition yaoki depends on, one line each; a bad one names the remedy."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from yaoki.errors import GitMissing, SettingsInvalid, YaokiError
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.cli.doctor.condition import Line, bad, edit, told, typed, unwritable
from yaoki.faces.cli.doctor.proof import examined
from yaoki.faces.cli.doctor.storage import kept
from yaoki.faces.cli.text.render import columns, document, line, next_command, paint, prose, say
from yaoki.faces.cli.trust_question import clear, trust_option
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app import App

PYTHON_MIN = (3, 11)
# No git holds this lock for longer than it takes to write a file.
LOCK_S_MAX = 60.0
GIT_FSCK = "git fsck"
UNTRUSTED = "not given yet, so nothing of this repository is run (yaoki trust)"
# SQLite versions from which on a reset of the log cannot lose pages, per line of releases.
WAL_FIX = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


@click.command()
@click.option("--checks", is_flag=True, help="Run the checks of the settings on the base, too.")
@trust_option
@json_option
@repo_option
def doctor(checks: bool, trust: bool, as_json: bool, repo: Path) -> int:
    """Check what yaoki depends on; exit code 1 when something is bad."""
    lines = list(_examined(repo.absolute(), run_checks=checks, trust=trust))
    wrong = [held for held in lines if not held.ok]
    if as_json:
        listed = [
            {"name": held.name, "ok": held.ok, "words": held.words, "next": held.next or None}
            for held in lines
        ]
        document({"schema": SCHEMA, "ok": not wrong, "lines": listed})
    else:
        _show(lines)
        next_command(wrong[0].next if wrong else "yaoki run PLAN")
    return 1 if wrong else 0


def _show(lines: list[Line]) -> None:
    rows = [("ok " if held.ok else "BAD", held.name, line(held.words)) for held in lines]
    for text, held in zip(columns(rows), lines, strict=True):
        prose(paint(text, None if held.ok else "red"))
        if not held.ok:
            say(f"       {line(held.next)}")


def _examined(where: Path, *, run_checks: bool, trust: bool) -> Iterator[Line]:
    from yaoki.app import App

    yield _python()
    yield _sqlite()
    yield told("git", lambda: _git(where), _new_git())
    try:
        app = App(where)
    except YaokiError as unfit:
        yield bad("repository", unfit, _opened(where, unfit))
        return
    mend = edit(app.repository.top)
    yield Line("repository", True, str(app.repository.top))
    yield from _locks(app)
    yield told("base", lambda: _base(app), GIT_FSCK)
    settings = told("settings", lambda: _settings(app), mend)
    yield settings
    if not settings.ok:
        return
    if run_checks:
        clear(app, trust=trust)
    trusted = _trust(app)
    yield trusted
    yield told("worktrees", lambda: _worktrees(app), mend)
    yield told("disk", lambda: _disk(app), f"df -h {typed(app.repository.top)}")
    yield told("sandbox", lambda: _sandbox(app), _walled(mend))
    yield from examined(app, run_checks=run_checks)
    if app.settings.workspace.remote and trusted.words != UNTRUSTED:
        yield told("remote", lambda: _remote(app), mend)
    try:
        yield from kept(app)
    finally:
        app.close()


def _opened(where: Path, unfit: YaokiError) -> str:
    match unfit:
        case GitMissing():
            return _new_git()
        case SettingsInvalid():
            return edit(where)
        case _:
            return f"git -C {typed(where)} fsck"


def _python() -> Line:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info[:2] >= PYTHON_MIN
    words = version if ok else f"{version}; 3.11 or newer is needed"
    return Line("python", ok, words, "" if ok else _installed("python3"))


def _installed(package: str) -> str:
    from yaoki.app.remedies import here

    ways = ("apt", "dnf", "zypper", "brew")
    return here(", or ".join(f"{way} install {package}" for way in ways))


def _new_git() -> str:
    return _installed("git")


def _walled(mend: str) -> str:
    if sys.platform != "linux":
        return "run yaoki on Linux, in a container or a machine of its own"
    return mend if shutil.which("bwrap") else _installed("bubblewrap")


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
    from yaoki.adapters.git.command import environment, invoke
    from yaoki.adapters.git.repository import check_version

    place = where if where.is_dir() else Path.cwd()
    said = invoke(["version"], cwd=place, env=environment()).out.decode("ascii", "replace")
    try:
        check_version(said)
    except GitMissing as old:
        return Line("git", False, old.sentence, _new_git())
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
        yield Line("git lock", False, words, f"rm {typed(file)}")


def _base(app: App) -> Line:
    """Runs start from a commit; one that cannot be read helps nobody."""
    from yaoki.app.try_checks import head

    try:
        return Line("base", True, f"HEAD is {head(app)[:10]}")
    except YaokiError:
        words = "HEAD names no commit that can be read: a branch without commits, or lost objects"
        return Line("base", False, words, GIT_FSCK)


def _settings(app: App) -> Line:
    from yaoki.formats.discovery import set_aside
    from yaoki.formats.plan import check_settings

    if app.loaded.file is None:
        return Line("settings", True, "defaults; no yaoki.toml (yaoki init makes one)")
    check_settings(app.settings)
    aside = set_aside(app.loaded.file.read_text(encoding="utf-8"))
    more = f"; in comments: {', '.join(aside)} (yaoki init --again)" if aside else ""
    return Line("settings", True, f"{app.loaded.file}{more}")


def _trust(app: App) -> Line:
    """Good to know: what it would run is asked about before it runs."""
    asks = app.trust.pending() is not None
    return Line("trust", True, UNTRUSTED if asks else "all that this repository would run")


def _worktrees(app: App) -> Line:
    root = app.worktrees
    if root.resolve().is_relative_to(app.repository.top.resolve()):
        words = f"{root} is inside the repository; [workspace] root must lead out of it"
        return Line("worktrees", False, words, edit(app.repository.top))
    there = next(place for place in (root, *root.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        words = f"{there} is not writable"
        return unwritable("worktrees", words, there, "export YAOKI_HOME=DIR")
    try:
        # Some places say that they can be written, and yet take nothing.
        TemporaryDirectory(dir=there, prefix=".yaoki-").cleanup()
    except OSError as fault:
        words = f"{root} cannot be made: {fault.strerror}"
        return Line("worktrees", False, words, "export YAOKI_HOME=DIR")
    return Line("worktrees", True, str(root))


def _disk(app: App) -> Line:
    from yaoki.adapters.system.files import disk_free

    floor = app.settings.limits.disk_free_bytes
    places = {app.home: disk_free(app.home), app.worktrees: disk_free(app.worktrees)}
    place, free = min(places.items(), key=lambda item: item[1])
    words = f"{free >> 20} MiB free at {place}; {floor >> 20} MiB are needed"
    ok, frees = free >= floor, "yaoki prune" if free and app.has_store else f"df -h {typed(place)}"
    return Line("disk", ok, words, "" if ok else frees)


def _sandbox(app: App) -> Line:
    walls = app.walls
    if walls.mode == "off":
        return Line("sandbox", True, 'off: sandbox.mode = "auto" walls agents and checks in')
    if walls.mode == "auto" and walls.missing:
        words = f"none: {walls.missing}; to have one: {_walled('yaoki doctor')}"
        return Line("sandbox", True, words)
    if walls.sandbox is not None:
        walls.sandbox.check()
    network = "open" if app.settings.sandbox.network else "closed"
    whom = "every agent" if walls.mode == "on" else "known agents"
    inside = f"bubblewrap around {whom} and their checks: they write in their worktree alone"
    return Line("sandbox", True, f"{inside}; the network is {network}")


def _remote(app: App) -> Line:
    """Where machines meet.  What is owed to it is not lost: it is pushed when it answers."""
    return Line("remote", True, f"{app.workspace.meets()}, answers")
