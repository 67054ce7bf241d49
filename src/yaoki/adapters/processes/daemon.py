"""A background process, at most one per folder, identified by a kernel lock and a file with its
facts.

The lock is authoritative and ends with its process; the facts only say which process to signal.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.system.files import is_locked, make_file_fault, write_atomically
from yaoki.adapters.system.machine import boot_id, is_process_alive, process_start_time
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_duration
from yaoki.errors import Fault

SCRIPT = Path(__file__).with_name("detach.py")
LOG_BYTES_MAX = 1 << 20
TAIL_BYTES = 2000
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """The process that holds the lock, and the facts it recorded."""

    pid: int
    facts: dict[str, Any]


class Daemon:
    """Used by both sides: by callers and by the background process itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._lock = -1

    # -------------------------------------------------------------- from outside

    def find_running(self) -> RunningDaemon | None:
        """The lock holder; None if the lock is free, whatever the facts say."""
        if not self._is_locked():
            return None
        facts = self._read_facts()
        pid = facts.get("pid", 0)
        is_alive = pid and is_process_alive(pid, facts.get("start", 0), facts.get("boot", ""))
        return RunningDaemon(pid if is_alive else 0, facts if is_alive else {})

    def start(self, argv: Sequence[str], cwd: Path, patience: timedelta) -> RunningDaemon:
        """Starts the process detached from any terminal and waits until it is ready."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.rotate_log()
            log_size = self.log.stat().st_size if self.log.exists() else 0
            command = [sys.executable, "-I", "-S", str(SCRIPT), str(cwd), str(self.log), *argv]
            # The intermediate process ends at once, so that init reaps the daemon.
            subprocess.run(command, stdin=subprocess.DEVNULL, start_new_session=True, check=True)
        except OSError as error:
            raise make_file_fault(f"start a process in {self.folder}", error) from error
        deadline = time.monotonic() + patience.total_seconds()
        while time.monotonic() < deadline:
            running = self.find_running()
            if running is not None and running.pid:
                return running
            if running is None and self._first_line_after(log_size):
                break
            time.sleep(POLL_S)
        message = (
            self._first_line_after(log_size)
            or f"nothing in {format_duration(patience.total_seconds())}"
        )
        raise Fault(f"the background process did not start: {message}", transient=True)

    def send_signal(self, number: int = signal.SIGTERM) -> bool:
        """Signals exactly the lock holder; false if the lock is free."""
        running = self.find_running()
        if running is None or not running.pid:
            return False
        with suppress(ProcessLookupError):
            os.kill(running.pid, number)
        return True

    def wait_until_gone(self, patience: timedelta) -> bool:
        deadline = time.monotonic() + patience.total_seconds()
        while self._is_locked():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True

    def read_log_tail(self) -> str:
        """The end of the log."""
        with suppress(FileNotFoundError):
            return self.log.read_bytes()[-TAIL_BYTES:].decode("utf-8", "replace")
        return ""

    def _first_line_after(self, log_size: int) -> str:
        """The first line that the process logged: one that starts successfully logs nothing."""
        with suppress(FileNotFoundError), self.log.open("rb") as log:
            log.seek(log_size)
            lines = log.read(1 << 16).decode("utf-8", "replace").splitlines()
            return next((line for line in lines if line.strip()), "")
        return ""

    def _is_locked(self) -> bool:
        return is_locked(self.folder / "lock")

    def _read_facts(self) -> dict[str, Any]:
        with suppress(FileNotFoundError, ValueError):
            facts = json.loads((self.folder / "process.json").read_bytes())
            return facts if isinstance(facts, dict) else {}
        return {}

    # -------------------------------------------------------------- from inside

    def acquire_lock(self) -> bool:
        """Locks for the life of this process; false if another process holds the lock.

        Who only looks holds a shared lock for an instant, so it is tried for a moment.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        for _ in range(20):
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                time.sleep(POLL_S / 5)
        os.close(self._lock)
        return False

    def mark_ready(self, **facts: Any) -> None:
        """Let others signal this process from now on."""
        pid = os.getpid()
        own = {"pid": pid, "start": process_start_time(pid), "boot": boot_id(), **facts}
        write_atomically(self.folder / "process.json", json.dumps(own).encode())

    def rotate_log(self) -> bool:
        """Moves a long log aside and keeps one old log; true if it did."""
        try:
            if self.log.stat().st_size < LOG_BYTES_MAX:
                return False
        except FileNotFoundError:
            return False
        self.log.replace(self.log.with_name("log.1"))
        return True

    def rotate_own_log(self) -> None:
        """Rotate the log of this process, and redirect its output to the new one."""
        if self.rotate_log():
            log_fd = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log_fd, 1)
            os.dup2(log_fd, 2)
            os.close(log_fd)
