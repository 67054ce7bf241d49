"""A worker that falls asleep, as with the laptop it runs on."""

from __future__ import annotations

import fcntl
import signal
import subprocess
from pathlib import Path

from tests.acceptance.project import until
from tests.adapters.store.store_actions import Where, by_hand


def fall_asleep(worker: subprocess.Popen[str], store: Where) -> None:
    """Stopped between two commits: whoever sleeps in the middle of one holds up every writer."""

    def stopped() -> bool:
        worker.send_signal(signal.SIGSTOP)
        until(lambda: _asleep(worker.pid), "it sleeps")
        if _in_a_commit(store):
            worker.send_signal(signal.SIGCONT)
            return False
        return True

    until(stopped, "it sleeps between two commits")


def _in_a_commit(store: Where) -> bool:
    if isinstance(store, str):
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        begun = f"SELECT 1 FROM pg_stat_activity WHERE {others} AND xact_start IS NOT NULL"
        return bool(by_hand(store, begun))
    with store.with_suffix(".lock").open("r+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _asleep(pid: int) -> bool:
    """Every thread: one may still be on its way into a commit when the first sleeps."""
    try:
        stats = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # one ended while we looked
        return False
    return bool(stats) and all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
