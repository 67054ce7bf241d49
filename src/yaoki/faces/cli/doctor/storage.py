"""`yaoki doctor` on the store: is it intact, and does its journal agree with its rows?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.orphans import (
    UnknownBranches,
    describe_elsewhere,
    find_unknown_branches,
    suggest_checkouts,
    suggest_recovery,
)
from yaoki.app.orphans import describe_branches as branches
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
from yaoki.views.wait_text import describe_closed_account

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

RUNS_AUDITED = 5
REOPEN_COMMAND = "yaoki status"


def examine_storage(app: App) -> Iterator[Condition]:
    """The store, its journal and its journal file, each in a line."""
    if app.context.is_store_on_server:
        yield from _examine_server(app)
        return
    if app.yaoki_folder.exists() and not app.yaoki_folder.is_dir():
        words = f"{app.yaoki_folder} cannot be created: there is a file of that name"
        yield Condition("store", False, words, _move_command(app.yaoki_folder))
        return
    if not app.has_store:
        top = app.repository.top
        ok = os.access(top, os.W_OK | os.X_OK)
        found = find_unknown_branches(app) if ok else UnknownBranches()
        yield from _describe_elsewhere(found)
        if left := found.deleted:
            words = f"none, but {branches(left)} here: .yaoki was deleted"
            yield Condition("store", False, words, suggest_recovery(left[-1]))
            return
        words = f"none yet, and {top} is not writable"
        yield Condition("store", True, "none yet") if ok else _unwritable_store(words, top, top)
        return
    whole = _examine_store(app, lambda: _file_condition(app))
    yield whole
    if whole.ok:
        yield examine_condition("journal", lambda: _journal_condition(app), REOPEN_COMMAND)
        yield examine_condition(
            "journal file", lambda: _journal_file_condition(app), REOPEN_COMMAND
        )
        found = find_unknown_branches(app)
        yield from _describe_elsewhere(found)
        if left := found.deleted:
            words = f"{branches(left)} here, but not in the store: another store had their runs"
            yield Condition("run branches", False, words, suggest_recovery(left[-1]))
        yield from _closed_accounts(app)


def _describe_elsewhere(found: UnknownBranches) -> Iterator[Condition]:
    """The runs of other checkouts are no defect of this one."""
    if found.elsewhere:
        commands = suggest_checkouts(found.elsewhere)
        words = f"{describe_elsewhere(found.elsewhere)} ({commands})"
        yield Condition("run branches", True, words)


def _examine_store(app: App, look: Callable[[], Condition]) -> Condition:
    """Each way in which a store cannot be used has its own remedy."""
    try:
        return look()
    except StoreNewer as newer:
        return failed_condition("store", newer, "pip install --upgrade yaoki")
    except StoreCorrupt as broken:
        elsewhere = app.context.is_store_on_server or SETTINGS in broken.hint
        return failed_condition(
            "store",
            broken,
            edit_command(app.repository.top) if elsewhere else _move_command(app.yaoki_folder),
        )
    except YaokiError as error:
        local = _unwritable_store("", app.yaoki_folder, app.repository.top).next_command
        return failed_condition(
            "store",
            error,
            edit_command(app.repository.top) if app.context.is_store_on_server else local,
        )


def _unwritable_store(words: str, place: Path, top: Path) -> Condition:
    """The store is in the repository, so a clone on another disk helps."""
    return unwritable_condition("store", words, place, f"git clone {shell_quote(top)} DIR")


def _move_command(path: Path) -> str:
    return f"mv {shell_quote(path)} {shell_quote(path.with_name(f'{path.name}.old'))}"


def _examine_server(app: App) -> Iterator[Condition]:
    """The operator of the server cares for pages and backups; yaoki checks the content."""
    there = _examine_store(app, lambda: _server_condition(app))
    yield there
    if there.ok and app.has_store:
        yield examine_condition("journal", lambda: _journal_condition(app), REOPEN_COMMAND)
        words = "none: the server's operator makes them, for example with pg_dump"
        yield Condition("backups", True, words)
        yield from _closed_accounts(app)


def _closed_accounts(app: App) -> Iterator[Condition]:
    """The accounts that no task uses now; the next task finds out whether one works again."""
    for account in app.store.accounts():
        if words := describe_closed_account(account, app.clock.now()):
            yield Condition("account", True, words)


def _server_condition(app: App) -> Condition:
    if not app.has_store:
        return Condition("store", True, "the server answers; there is no store in the database yet")
    return Condition("store", True, f"{app.store.database.location}, reached")


def _file_condition(app: App) -> Condition:
    path = app.context.store_path
    if path.exists() and not os.access(path, os.W_OK):
        return _unwritable_store(f"{path} is read-only", path, app.repository.top)
    wrong = app.store.check_integrity()
    if wrong:
        remedy = "the next command moves it aside and restores it from backups and journal file"
        return Condition("store", False, f"{path} is damaged: {wrong[0]}; {remedy}", REOPEN_COMMAND)
    aside = app.context.list_quarantined_stores()
    damaged = format_count(len(aside), "damaged one is", "damaged ones are")
    copies = f"; {damaged} stored, the newest in {aside[-1]}" if aside else ""
    return Condition("store", True, f"{path}, intact{copies}")


def _journal_file_condition(app: App) -> Condition:
    """The file from which the store can be rebuilt, line by line."""
    folder, missing = app.context.journal_folder, app.store.lines_missing_in_journal_file()
    if missing:
        lacks = f"{folder} lacks {format_count(len(missing), 'line')}, the first is {missing[0]}"
        words = f"{lacks}; after you move it away, the next command writes it again"
        return Condition("journal file", False, words, _move_command(folder))
    return Condition("journal file", True, f"{folder}, has every entry of the journal")


def _journal_condition(app: App) -> Condition:
    """Folding the journal must give the same rows."""
    runs = app.reads.runs()[-RUNS_AUDITED:]
    wrong = [words for run in runs for words in app.store.audit(run.id)]
    strayed, unseen = _find_drift(app, runs)
    wrong += strayed
    if wrong:
        found = format_count(len(wrong), "mismatch", "mismatches")
        words = f"{found}: {wrong[0]}; keep a copy, and do not continue that run"
        return Condition("journal", False, words, _copy_command(app))
    checked = f"{format_count(len(runs), 'run')} checked"
    return Condition("journal", True, f"agrees with the database ({checked}){unseen}")


def _copy_command(app: App) -> str:
    """The copy is beside the repository, because git would see it inside."""
    top = app.repository.top
    if app.context.is_store_on_server:
        file = shell_quote(top.with_name(f"{top.name}-yaoki.sql"))
        return f"pg_dump --file={file} {shlex.quote(app.store.database.location)}"
    return (
        f"cp -a {shell_quote(app.yaoki_folder)} {shell_quote(top.with_name(f'{top.name}-yaoki'))}"
    )


def _describe_drift(app: App, run: Run) -> str:
    """A person may delete the branch of a run after merging it."""
    from yaoki.app.run_branch import detect_external_merge

    words = app.workspace.branches.describe_drift(run)
    return words and app.workspace.branches.describe_drift(
        detect_external_merge(app, run, app.reads.rows(run.id))
    )


def _find_drift(app: App, runs: Sequence[Run]) -> tuple[list[str], str]:
    """Run branches that were moved externally, and a note when an unreachable remote has them."""
    unseen = "; their branches are at a remote that does not answer"
    if app.settings.workspace.remote and app.workspace.remote.remote_problem():
        return [], unseen
    try:
        return [words for run in runs if (words := _describe_drift(app, run))], ""
    except RemoteUnreachable:
        return [], unseen
