"""A suspended worker, as on a laptop that sleeps."""

from __future__ import annotations

import fcntl
import signal
import subprocess
from pathlib import Path

from tests.acceptance.project import wait_until
from tests.adapters.store.store_actions import StoreLocation, run_sql


def suspend(worker: subprocess.Popen[str], store: StoreLocation) -> None:
    """Suspend the worker between two commits: during a commit it would block every writer."""

    def stopped() -> bool:
        worker.send_signal(signal.SIGSTOP)
        wait_until(lambda: _is_suspended(worker.pid), "it sleeps")
        if _is_committing(store):
            worker.send_signal(signal.SIGCONT)
            return False
        return True

    wait_until(stopped, "it sleeps between two commits")


def _is_committing(store: StoreLocation) -> bool:
    if isinstance(store, str):
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        begun = f"SELECT 1 FROM pg_stat_activity WHERE {others} AND xact_start IS NOT NULL"
        return bool(run_sql(store, begun))
    with store.with_suffix(".lock").open("r+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _is_suspended(pid: int) -> bool:
    """Checks every thread: one may still enter a commit when the first is stopped."""
    try:
        stats = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # one ended while we looked
        return False
    return bool(stats) and all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
