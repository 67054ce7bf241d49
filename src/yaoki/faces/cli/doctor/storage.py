"""`yaoki doctor` on what is kept: is the store whole, and does its journal fold to the rows?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.orphans import describe_branches as branches
from yaoki.app.orphans import find_orphan_branches, suggest_recovery
from yaoki.core.text import format_count
from yaoki.errors import RemoteUnreachable, StoreCorrupt, StoreNewer, YaokiError
from yaoki.faces.cli.doctor.condition import (
    SETTINGS,
    Condition,
    edit_command,
    examine_condition,
    failed_condition,
    shell_quote,
    unwritable_condition,
)

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

RUNS_AUDITED = 5
REOPEN_COMMAND = "yaoki status"


def examine_storage(app: App) -> Iterator[Condition]:
    """The store, its journal and its journal file, each in a line."""
    if app.is_store_on_server:
        yield from _server(app)
        return
    if app.yaoki_folder.exists() and not app.yaoki_folder.is_dir():
        words = f"{app.yaoki_folder} cannot be created: there is a file of that name"
        yield Condition("store", False, words, _moved_away(app.yaoki_folder))
        return
    if not app.has_store:
        top = app.repository.top
        ok = os.access(top, os.W_OK | os.X_OK)
        if ok and (left := find_orphan_branches(app)):
            words = f"none, though {branches(left)} here: .yaoki was deleted"
            yield Condition("store", False, words, suggest_recovery(left[-1]))
            return
        words = f"none yet, and {top} is not writable"
        yield Condition("store", True, "none yet") if ok else _unwritable(words, top, top)
        return
    whole = _stored(app, lambda: _whole(app))
    yield whole
    if whole.ok:
        yield examine_condition("journal", lambda: _journal(app), REOPEN_COMMAND)
        yield examine_condition("journal file", lambda: _witness(app), REOPEN_COMMAND)
        if left := find_orphan_branches(app):
            words = f"{branches(left)} here that the store does not know: another store had them"
            yield Condition("run branches", False, words, suggest_recovery(left[-1]))


def _stored(app: App, look: Callable[[], Condition]) -> Condition:
    """Each way in which a store cannot be used has its own remedy."""
    try:
        return look()
    except StoreNewer as newer:
        return failed_condition("store", newer, "pip install --upgrade yaoki")
    except StoreCorrupt as broken:
        elsewhere = app.is_store_on_server or SETTINGS in broken.hint
        return failed_condition(
            "store",
            broken,
            edit_command(app.repository.top) if elsewhere else _moved_away(app.yaoki_folder),
        )
    except YaokiError as error:
        local = _unwritable("", app.yaoki_folder, app.repository.top).next_command
        return failed_condition(
            "store", error, edit_command(app.repository.top) if app.is_store_on_server else local
        )


def _unwritable(words: str, place: Path, top: Path) -> Condition:
    """The store stands in the repository, so a clone on another disk is the way out."""
    return unwritable_condition("store", words, place, f"git clone {shell_quote(top)} DIR")


def _moved_away(path: Path) -> str:
    return f"mv {shell_quote(path)} {shell_quote(path.with_name(f'{path.name}.old'))}"


def _server(app: App) -> Iterator[Condition]:
    """Its pages and its copies are its operator's; what stands in it is ours."""
    there = _stored(app, lambda: _reached(app))
    yield there
    if there.ok and app.has_store:
        yield examine_condition("journal", lambda: _journal(app), REOPEN_COMMAND)
        words = "none of a server: its operator makes them, with pg_dump or as the server is kept"
        yield Condition("backups", True, words)


def _reached(app: App) -> Condition:
    if not app.has_store:
        return Condition("store", True, "the server answers; there is no store in the database yet")
    return Condition("store", True, f"{app.store.database.location}, reached")


def _whole(app: App) -> Condition:
    path = app.store_path
    if path.exists() and not os.access(path, os.W_OK):
        return _unwritable(f"{path} is read-only", path, app.repository.top)
    wrong = app.store.check_integrity()
    if wrong:
        remedy = "any command sets it aside and restores it from its backups and its journal file"
        return Condition("store", False, f"{path} is damaged: {wrong[0]}; {remedy}", REOPEN_COMMAND)
    aside = app.list_quarantined_stores()
    damaged = format_count(len(aside), "damaged one is", "damaged ones are")
    kept = f"; {damaged} kept, the newest in {aside[-1]}" if aside else ""
    return Condition("store", True, f"{path}, whole{kept}")


def _witness(app: App) -> Condition:
    """What the store would be made again from, line by line."""
    folder, missing = app.journal_folder, app.store.lines_missing_in_journal_file()
    if missing:
        lacks = f"{folder} lacks {format_count(len(missing), 'line')}, the first is {missing[0]}"
        words = f"{lacks}; once it is moved away the next command writes it anew"
        return Condition("journal file", False, words, _moved_away(folder))
    return Condition("journal file", True, f"{folder}, holds every line of the journal")


def _journal(app: App) -> Condition:
    """The journal must fold to the rows."""
    runs = app.store.runs()[-RUNS_AUDITED:]
    wrong = [words for run in runs for words in app.store.audit(run.id)]
    strayed, unseen = _strayed(app, runs)
    wrong += strayed
    if wrong:
        found = format_count(len(wrong), "mismatch", "mismatches")
        words = f"{found}: {wrong[0]}; keep a copy, and do not go on with that run"
        return Condition("journal", False, words, _copied(app))
    return Condition(
        "journal", True, f"folds to the rows of the last {format_count(len(runs), 'run')}{unseen}"
    )


def _copied(app: App) -> str:
    """Beside the repository: within it git would see the copy."""
    top = app.repository.top
    if app.is_store_on_server:
        file = shell_quote(top.with_name(f"{top.name}-yaoki.sql"))
        return f"pg_dump --file={file} {shlex.quote(app.store.database.location)}"
    return (
        f"cp -a {shell_quote(app.yaoki_folder)} {shell_quote(top.with_name(f'{top.name}-yaoki'))}"
    )


def _bent(app: App, run: Run) -> str:
    """The branch of a run that a person has merged is theirs to delete."""
    from yaoki.app.run_view import detect_external_merge

    words = app.workspace.branches.describe_drift(run)
    return words and app.workspace.branches.describe_drift(
        detect_external_merge(app, run, app.store.rows(run.id))
    )


def _strayed(app: App, runs: Sequence[Run]) -> tuple[list[str], str]:
    """Run branches that somebody else moved, and a word when a remote that is away has them."""
    unseen = "; their branches are at the remote, which does not answer"
    if app.settings.workspace.remote and app.workspace.remote.remote_problem():
        return [], unseen
    try:
        return [words for run in runs if (words := _bent(app, run))], ""
    except RemoteUnreachable:
        return [], unseen
