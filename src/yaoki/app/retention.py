"""Archive one old run at the end of another."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from yaoki.errors import NotNow, YaokiError

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import RunId


def prune_one_run(app: App, ended: RunId) -> None:
    """Archive at most one other run; an error never makes this run fail."""
    from yaoki.app.prune import RunArchiver

    failed: Mapping[str, str] = {}
    _restore_signals()
    try:
        failed = RunArchiver(app).prune(limit=1, except_runs=[ended]).failures
    except (NotNow, KeyboardInterrupt):
        return  # another process prunes, or the user does not wait: the next pruning continues
    except (YaokiError, OSError) as error:
        failed = {"": str(error)}
    for run_id, words in failed.items():
        sentence = f"run {run_id} could not be archived" if run_id else "nothing could be archived"
        app.store.note(ended, "WARNING", {"message": f"{sentence}: {words}"})


def _restore_signals() -> None:
    """The run is finished, so a signal ends the process instead of asking the run to stop."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
