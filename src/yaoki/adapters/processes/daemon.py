"""One background process per folder: held by a kernel lock, found again by its facts.

The lock is the truth, and it ends with its process; the facts only say whom to signal.
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
from yaoki.errors import Fault

SCRIPT = Path(__file__).with_name("detach.py")
LOG_BYTES_MAX = 1 << 20
TAIL_BYTES = 2000
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """The process that holds the lock, and what it said of itself."""

    pid: int
    facts: dict[str, Any]


class Daemon:
    """Seen from either side: whoever asks for it, and the process itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._lock = -1

    # -------------------------------------------------------------- from outside

    def find_running(self) -> RunningDaemon | None:
        """Who holds the lock; nothing when nobody does, whatever the facts say."""
        if not self._held():
            return None
        facts = self._facts()
        pid = facts.get("pid", 0)
        ready = pid and is_process_alive(pid, facts.get("start", 0), facts.get("boot", ""))
        return RunningDaemon(pid if ready else 0, facts if ready else {})

    def start(self, argv: Sequence[str], cwd: Path, patience: timedelta) -> RunningDaemon:
        """Start it away from any terminal and wait until it is ready, or say why it is not."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.rotate_log()
            begun = self.log.stat().st_size if self.log.exists() else 0
            words = [sys.executable, "-I", "-S", str(SCRIPT), str(cwd), str(self.log), *argv]
            # The middle process ends at once, so nobody has to collect the last one.
            subprocess.run(words, stdin=subprocess.DEVNULL, start_new_session=True, check=True)
        except OSError as error:
            raise make_file_fault(f"start a process in {self.folder}", error) from error
        give_up = time.monotonic() + patience.total_seconds()
        while time.monotonic() < give_up:
            found = self.find_running()
            if found is not None and found.pid:
                return found
            if found is None and self._said(begun):
                break
            time.sleep(POLL_S)
        said = self._said(begun) or f"nothing in {patience.total_seconds():g} s"
        raise Fault(f"the background process did not start: {said}", transient=True)

    def send_signal(self, number: int = signal.SIGTERM) -> bool:
        """Exactly the process that holds the lock; false when nobody does."""
        found = self.find_running()
        if found is None or not found.pid:
            return False
        with suppress(ProcessLookupError):
            os.kill(found.pid, number)
        return True

    def wait_until_gone(self, patience: timedelta) -> bool:
        give_up = time.monotonic() + patience.total_seconds()
        while self._held():
            if time.monotonic() >= give_up:
                return False
            time.sleep(POLL_S)
        return True

    def read_log_tail(self) -> str:
        """The last words of its log."""
        with suppress(FileNotFoundError):
            return self.log.read_bytes()[-TAIL_BYTES:].decode("utf-8", "replace")
        return ""

    def _said(self, begun: int) -> str:
        """The last line it wrote that is a complaint: one that starts well says nothing here."""
        with suppress(FileNotFoundError), self.log.open("rb") as log:
            log.seek(begun)
            lines = log.read(1 << 16).decode("utf-8", "replace").splitlines()
            return next((line for line in lines if line.strip()), "")
        return ""

    def _held(self) -> bool:
        return is_locked(self.folder / "lock")

    def _facts(self) -> dict[str, Any]:
        with suppress(FileNotFoundError, ValueError):
            facts = json.loads((self.folder / "process.json").read_bytes())
            return facts if isinstance(facts, dict) else {}
        return {}

    # -------------------------------------------------------------- from inside

    def acquire_lock(self) -> bool:
        """Hold the lock for the life of this process; false when somebody else does.

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
        """From here on others may signal this process."""
        pid = os.getpid()
        own = {"pid": pid, "start": process_start_time(pid), "boot": boot_id(), **facts}
        write_atomically(self.folder / "process.json", json.dumps(own).encode())

    def rotate_log(self) -> bool:
        """A log that is long enough is set aside, one old one is kept; true when that was done."""
        try:
            if self.log.stat().st_size < LOG_BYTES_MAX:
                return False
        except FileNotFoundError:
            return False
        self.log.replace(self.log.with_name("log.1"))
        return True

    def rotate_own_log(self) -> None:
        """Of the process itself: what it writes from now on goes to the new log."""
        if self.rotate_log():
            told = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(told, 1)
            os.dup2(told, 2)
            os.close(told)
