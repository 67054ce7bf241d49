"""What others ask of retention: one run in passing, and where a run that left is found."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from yaoki.errors import NotNow, YaokiError

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import RunId

ID_CHARS_MIN = 4


def prune_one_run(app: App, ended: RunId) -> None:
    """At the end of a run: at most one other run, and never a reason for this one to fail."""
    from yaoki.app.prune import RunArchiver

    failed: Mapping[str, str] = {}
    _interruptible()
    try:
        failed = RunArchiver(app).prune(limit=1, except_runs=[ended]).failures
    except (NotNow, KeyboardInterrupt):
        return  # somebody else is at it, or nobody wants to wait: the next pruning goes on
    except (YaokiError, OSError) as error:
        failed = {"": str(error)}
    for run_id, words in failed.items():
        told = f"run {run_id} could not be archived" if run_id else "nothing could be archived"
        app.store.note(ended, "WARNING", {"message": f"{told}: {words}"})


def _interruptible() -> None:
    """The run is over, so a signal no longer asks it to stop: it ends this, which harms nothing."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def find_archive_hint(app: App, text: str) -> str:
    """The remedy for somebody who names an archived run or task; empty when there is none.

    A few characters could as well be the name of a task.
    """
    from yaoki.adapters.store.tables.retention import find_archive_files

    run_id = text.removeprefix("yaoki/").partition("-")[0]
    if len(run_id) < ID_CHARS_MIN:
        return ""
    found = find_archive_files(app.store.database, run_id)
    stored = {run.id for run in app.store.runs()} if found else set()
    files = [name for gone, name in found.items() if gone not in stored]
    if len(files) != 1:
        return ""
    return f"it was archived: tar -tzf {app.yaoki_folder / 'archive' / files[0]}"
