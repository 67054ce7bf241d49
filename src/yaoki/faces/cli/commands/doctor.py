"""`yaoki doctor`: every condition that yaoki depends on, one line each, with a remedy."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from yaoki.core.text import format_bytes, format_duration, list_some
from yaoki.errors import GitMissing, SettingsInvalid, YaokiError
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.cli.doctor.agents_and_checks import examine_agents_and_checks
from yaoki.faces.cli.doctor.condition import (
    Condition,
    edit_command,
    examine_condition,
    failed_condition,
    shell_quote,
    unwritable_condition,
)
from yaoki.faces.cli.doctor.storage import examine_storage
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
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.formats.discovery import CommentedCheck

PYTHON_MIN = (3, 11)
# git never holds this lock for longer than it takes to write a file.
LOCK_S_MAX = 60.0
GIT_FSCK = "git fsck"
UNTRUSTED = "not given yet, so no command of this repository is run (yaoki trust)"
SETTINGS_CHANGED = "the settings have changed since it was given: no command is run"
FOREIGN_STORE = "the store was not created here: no command is run"
NOTHING_TO_TRUST = "nothing to trust yet: the settings name no command"
OPEN_KEYRINGS = (
    "; your kernel keyrings can be read inside (bubblewrap or the kernel lacks seccomp); "
    "to list them: keyctl show"
)
# SQLite versions in which a reset of the WAL cannot lose pages, per release line.
WAL_FIX = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


@click.command()
@click.option("--checks", is_flag=True, help="Run the checks of the settings on the base, too.")
@trust_option
@json_option
@repo_option
def doctor(checks: bool, trust: bool, as_json: bool, repo: Path) -> int:
    """Check what yaoki depends on; exit code 1 when something is bad."""
    lines = list(_examine(repo.absolute(), run_checks=checks, trust=trust))
    wrong = [condition for condition in lines if not condition.ok]
    if as_json:
        listed = [
            {
                "name": condition.name,
                "ok": condition.ok,
                "warning": condition.is_warning,
                "words": condition.words,
                "next": condition.next_command or None,
            }
            for condition in lines
        ]
        print_document({"schema": SCHEMA, "ok": not wrong, "lines": listed})
    else:
        _show(lines)
        warnings = [condition for condition in lines if condition.is_warning]
        named = (one.next_command for one in (*wrong, *warnings, *lines) if one.next_command)
        print_next_command(next(named, "yaoki run PLAN"))
    return 1 if wrong else 0


def _show(lines: list[Condition]) -> None:
    rows = [(_mark(one), one.name, clean_line(one.words)) for one in lines]
    for text, condition in zip(align_columns(rows), lines, strict=True):
        colour = "yellow" if condition.is_warning else None
        print_wrapped(paint(text, colour if condition.ok else "red"))
        if not condition.ok or condition.is_warning:
            print_line(f"       {clean_line(condition.next_command)}")


def _mark(condition: Condition) -> str:
    good = "WARN" if condition.is_warning else "ok "
    return good if condition.ok else "BAD"


def _examine(where: Path, *, run_checks: bool, trust: bool) -> Iterator[Condition]:
    from yaoki.app.build import App

    yield _python()
    yield _sqlite()
    yield examine_condition("git", lambda: _git(where), _git_install_command())
    try:
        app = App(where)
    except YaokiError as unfit:
        yield failed_condition("repository", unfit, _remedy_for(where, unfit))
        return
    mend = edit_command(app.repository.top)
    yield Condition("repository", True, str(app.repository.top))
    yield from _locks(app)
    yield examine_condition("base", lambda: _base(app), GIT_FSCK)
    settings = examine_condition("settings", lambda: _settings(app), mend)
    yield settings
    if not settings.ok:
        return
    if run_checks:
        require_trust(app, trust=trust)
    trusted = _trust(app)
    yield trusted
    yield examine_condition("worktrees", lambda: _worktrees(app), mend)
    yield examine_condition("disk", lambda: _disk(app), f"df -h {shell_quote(app.repository.top)}")
    yield examine_condition("sandbox", lambda: _sandbox(app), _sandbox_remedy(mend))
    yield from examine_agents_and_checks(app, run_checks=run_checks)
    if app.settings.workspace.remote and trusted.ok and trusted.words != UNTRUSTED:
        yield examine_condition("remote", lambda: _remote(app), mend)
    try:
        yield from examine_storage(app)
    finally:
        app.close()


def _remedy_for(where: Path, unfit: YaokiError) -> str:
    match unfit:
        case GitMissing():
            return _git_install_command()
        case SettingsInvalid():
            return edit_command(where)
        case _:
            return f"git -C {shell_quote(where)} fsck"


def _python() -> Condition:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info[:2] >= PYTHON_MIN
    words = version if ok else f"{version}; 3.11 or newer is needed"
    return Condition("python", ok, words, "" if ok else _install_command("python3"))


def _install_command(package: str) -> str:
    from yaoki.app.remedies import choose_local_command

    ways = ("apt", "dnf", "zypper", "brew")
    return choose_local_command(", or ".join(f"{way} install {package}" for way in ways))


def _git_install_command() -> str:
    return _install_command("git")


def _sandbox_remedy(mend: str) -> str:
    if sys.platform != "linux":
        return "run yaoki on Linux, in a container, or on a separate machine"
    return mend if shutil.which("bwrap") else _install_command("bubblewrap")


def _sqlite() -> Condition:
    import sqlite3

    fixed = _has_wal_fix(sqlite3.sqlite_version_info)
    # The writer lock of the store prevents the race that the fix is about.
    workaround = "" if fixed else " (lacks a WAL fix; yaoki works around it)"
    return Condition("sqlite", True, f"{sqlite3.sqlite_version}{workaround}")


def _has_wal_fix(version: tuple[int, ...]) -> bool:
    patched = any(version[:2] == fix[:2] and version >= fix for fix in WAL_FIX)
    return patched or version >= max(WAL_FIX)


def _git(where: Path) -> Condition:
    from yaoki.adapters.git.repository import check_version, read_git_version

    place = where if where.is_dir() else Path.cwd()
    version = read_git_version(place)
    try:
        check_version(version)
    except GitMissing as old:
        return Condition("git", False, old.sentence, _git_install_command())
    return Condition("git", True, version.strip().removeprefix("git version "))


def _locks(app: App) -> Iterator[Condition]:
    """Locks of a killed git: until they are removed no branch can be deleted or packed."""
    file = app.repository.common_dir / "packed-refs.lock"
    try:
        age_s = app.clock.now().timestamp() - file.lstat().st_mtime
    except OSError:
        return
    if age_s > LOCK_S_MAX:
        words = f"{file} is left over from a git that was killed {format_duration(age_s)} ago"
        yield Condition("git lock", False, words, f"rm {shell_quote(file)}")


def _base(app: App) -> Condition:
    """Runs start from a commit that can be read."""
    from yaoki.app.try_checks import read_head_commit

    try:
        return Condition("base", True, f"HEAD is {read_head_commit(app)[:10]}")
    except YaokiError:
        words = "HEAD has no readable commit: the branch has no commits, or objects are missing"
        return Condition("base", False, words, GIT_FSCK)


def _settings(app: App) -> Condition:
    from yaoki.formats.discovery import commented_out_checks
    from yaoki.formats.plan import check_settings

    if app.context.loaded_settings.file is None:
        return Condition("settings", True, "defaults; no yaoki.toml (yaoki init makes one)")
    check_settings(app.settings)
    aside = commented_out_checks(app.context.loaded_settings.file.read_text(encoding="utf-8"))
    commented = list_some([_comment_words(one) for one in aside], 3)
    more = f"; commented-out checks: {commented}" if aside else ""
    more += _expired_quarantines(app)
    return Condition("settings", True, f"{app.context.loaded_settings.file}{more}")


def _comment_words(check: CommentedCheck) -> str:
    """The place of a check in the file, and the command that tries it again if one can help."""
    again = "" if check.needs_edit else ", yaoki init --again"
    return f"{check.name} (line {check.line}{again})"


def _expired_quarantines(app: App) -> str:
    now = app.clock.now()
    expired = [entry.words for entry in app.settings.quarantine if entry.has_expired(now)]
    return f"; expired quarantine: {list_some(expired, 3)}" if expired else ""


def _trust(app: App) -> Condition:
    """For information before trust is first given; trust that no longer holds is bad."""
    question = app.trust.find_question()
    if not app.trust.is_known:
        return Condition("trust", True, NOTHING_TO_TRUST if question is None else UNTRUSTED)
    if question is not None:
        words = FOREIGN_STORE if question.has_foreign_store else SETTINGS_CHANGED
        return Condition("trust", False, words, question.command)
    return Condition("trust", True, "every command that this repository would run is trusted")


def _worktrees(app: App) -> Condition:
    root = app.context.worktrees_root
    if root.resolve().is_relative_to(app.repository.top.resolve()):
        words = f"{root} is inside the repository; [workspace] root must be outside it"
        return Condition("worktrees", False, words, edit_command(app.repository.top))
    there = next(place for place in (root, *root.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        words = f"{there} is not writable"
        return unwritable_condition("worktrees", words, there, "export YAOKI_HOME=DIR")
    try:
        # Some file systems report that they are writable and still refuse to write.
        TemporaryDirectory(dir=there, prefix=".yaoki-").cleanup()
    except OSError as fault:
        words = f"{root} cannot be created: {fault.strerror}"
        return Condition("worktrees", False, words, "export YAOKI_HOME=DIR")
    return Condition("worktrees", True, str(root))


def _disk(app: App) -> Condition:
    from yaoki.adapters.system.files import free_disk_bytes

    floor = app.settings.limits.disk_free_bytes
    places = {
        app.yaoki_folder: free_disk_bytes(app.yaoki_folder),
        app.context.worktrees_root: free_disk_bytes(app.context.worktrees_root),
    }
    place, free = min(places.items(), key=lambda item: item[1])
    words = f"{format_bytes(free)} free at {place}; {format_bytes(floor)} needed"
    ok, frees = (
        free >= floor,
        "yaoki prune" if free and app.has_store else f"df -h {shell_quote(place)}",
    )
    return Condition("disk", ok, words, "" if ok else frees)


def _sandbox(app: App) -> Condition:
    from yaoki.core.settings.settings import SandboxMode

    choice = app.context.sandbox_choice
    if choice.mode is SandboxMode.OFF:
        return Condition(
            "sandbox",
            True,
            'off; agents can write anywhere you can. To confine them: sandbox.mode = "auto"',
        )
    if choice.mode is SandboxMode.AUTO and choice.unavailable_reason:
        remedy = _sandbox_remedy("")
        way = f"; to get one: {remedy}" if remedy else ""
        return Condition("sandbox", True, f"none: {choice.unavailable_reason}{way}")
    keyrings = ""
    if choice.sandbox is not None:
        choice.sandbox.check_available()
        keyrings = "" if choice.sandbox.closes_keyrings() else OPEN_KEYRINGS
    network = "open" if app.settings.sandbox.network else "closed"
    whom = "every agent" if choice.mode is SandboxMode.ON else "known agents"
    inside = f"bubblewrap around {whom} and their checks: they can write only in their worktree"
    return Condition("sandbox", True, f"{inside}; the network is {network}{keyrings}")


def _remote(app: App) -> Condition:
    """The remote that machines share; pending pushes are retried when it answers."""
    return Condition("remote", True, f"{app.workspace.remote.check_remote()}, answers")
