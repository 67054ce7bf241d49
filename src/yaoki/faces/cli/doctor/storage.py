"""`yaoki doctor` on what is kept: is the store whole, and does its journal fold to the rows?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.orphans import orphans, ways
from yaoki.app.orphans import told as branches
from yaoki.core.counting import count
from yaoki.errors import RemoteAway, StoreBroken, StoreNewer, YaokiError
from yaoki.faces.cli.doctor.condition import SETTINGS, Line, bad, edit, told, typed, unwritable

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run

RUNS_AUDITED = 5
AGAIN = "yaoki status"


def kept(app: App) -> Iterator[Line]:
    """The store, its journal and its journal file, each in a line."""
    if app.store_on_server:
        yield from _server(app)
        return
    if app.home.exists() and not app.home.is_dir():
        words = f"{app.home} cannot be made: a file stands in its place"
        yield Line("store", False, words, _moved_away(app.home))
        return
    if not app.has_store:
        top = app.repository.top
        ok = os.access(top, os.W_OK | os.X_OK)
        if ok and (left := orphans(app)):
            words = f"none, though {branches(left)} here: .yaoki was deleted"
            yield Line("store", False, words, ways(left[-1]))
            return
        words = f"none yet, and {top} is not writable"
        yield Line("store", True, "none yet") if ok else _unwritable(words, top, top)
        return
    whole = _stored(app, lambda: _whole(app))
    yield whole
    if whole.ok:
        yield told("journal", lambda: _journal(app), AGAIN)
        yield told("journal file", lambda: _witness(app), AGAIN)
        if left := orphans(app):
            words = f"{branches(left)} here that the store does not know: another store had them"
            yield Line("run branches", False, words, ways(left[-1]))


def _stored(app: App, look: Callable[[], Line]) -> Line:
    """Each way in which a store cannot be used has its own remedy."""
    try:
        return look()
    except StoreNewer as newer:
        return bad("store", newer, "pip install --upgrade yaoki")
    except StoreBroken as broken:
        elsewhere = app.store_on_server or SETTINGS in broken.hint
        return bad(
            "store", broken, edit(app.repository.top) if elsewhere else _moved_away(app.home)
        )
    except YaokiError as error:
        local = _unwritable("", app.home, app.repository.top).next
        return bad("store", error, edit(app.repository.top) if app.store_on_server else local)


def _unwritable(words: str, place: Path, top: Path) -> Line:
    """The store stands in the repository, so a clone on another disk is the way out."""
    return unwritable("store", words, place, f"git clone {typed(top)} DIR")


def _moved_away(path: Path) -> str:
    return f"mv {typed(path)} {typed(path.with_name(f'{path.name}.old'))}"


def _server(app: App) -> Iterator[Line]:
    """Its pages and its copies are its operator's; what stands in it is ours."""
    there = _stored(app, lambda: _reached(app))
    yield there
    if there.ok and app.has_store:
        yield told("journal", lambda: _journal(app), AGAIN)
        words = "none of a server: its operator makes them, with pg_dump or as the server is kept"
        yield Line("backups", True, words)


def _reached(app: App) -> Line:
    if not app.has_store:
        return Line("store", True, "the server answers; there is no store in the database yet")
    return Line("store", True, f"{app.store.database.where}, reached")


def _whole(app: App) -> Line:
    path = app.store_path
    if path.exists() and not os.access(path, os.W_OK):
        return _unwritable(f"{path} is read-only", path, app.repository.top)
    wrong = app.store.integrity()
    if wrong:
        remedy = "any command sets it aside and restores it from its backups and its journal file"
        return Line("store", False, f"{path} is damaged: {wrong[0]}; {remedy}", AGAIN)
    aside = app.set_aside()
    damaged = count(len(aside), "damaged one is", "damaged ones are")
    kept = f"; {damaged} kept, the newest in {aside[-1]}" if aside else ""
    return Line("store", True, f"{path}, whole{kept}")


def _witness(app: App) -> Line:
    """What the store would be made again from, line by line."""
    folder, missing = app.journal_folder, app.store.unwitnessed()
    if missing:
        lacks = f"{folder} lacks {count(len(missing), 'line')}, the first is {missing[0]}"
        words = f"{lacks}; once it is moved away the next command writes it anew"
        return Line("journal file", False, words, _moved_away(folder))
    return Line("journal file", True, f"{folder}, holds every line of the journal")


def _journal(app: App) -> Line:
    """The journal must fold to the rows."""
    runs = app.store.runs()[-RUNS_AUDITED:]
    wrong = [words for run in runs for words in app.store.audit(run.id)]
    strayed, unseen = _strayed(app, runs)
    wrong += strayed
    if wrong:
        found = count(len(wrong), "mismatch", "mismatches")
        words = f"{found}: {wrong[0]}; keep a copy, and do not go on with that run"
        return Line("journal", False, words, _copied(app))
    return Line("journal", True, f"folds to the rows of the last {count(len(runs), 'run')}{unseen}")


def _copied(app: App) -> str:
    """Beside the repository: within it git would see the copy."""
    top = app.repository.top
    if app.store_on_server:
        file = typed(top.with_name(f"{top.name}-yaoki.sql"))
        return f"pg_dump --file={file} {shlex.quote(app.store.database.where)}"
    return f"cp -a {typed(app.home)} {typed(top.with_name(f'{top.name}-yaoki'))}"


def _bent(app: App, run: Run) -> str:
    """The branch of a run that a person has merged is theirs to delete."""
    from yaoki.app.run_view import as_taken

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
