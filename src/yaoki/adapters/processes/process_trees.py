"""Process trees that outlive their worker, each under a shim and identified by its folder."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from yaoki.adapters.processes.conversation import Conversation, ProcessReply
from yaoki.adapters.processes.sweep import kill_marked_processes
from yaoki.adapters.system.files import is_locked, make_file_fault, read_plain_bytes
from yaoki.adapters.system.machine import PROC, boot_id, is_process_alive
from yaoki.core.model import EndCause
from yaoki.core.redact import written_forms
from yaoki.core.text import format_count
from yaoki.errors import Fault
from yaoki.ports import Launch, ProcessPhase, ProcessState

SHIM = Path(__file__).with_name("shim") / "__main__.py"
START_S_MAX = 10.0
Number = int | float
# The fields of an exit record; a file without them was not written by a shim.
EXIT_FIELDS: Mapping[str, Any] = {
    "code": int | None,
    "signal": int | None,
    "ended_by": str,
    "seconds": Number,
    "output_bytes": int,
    "start_error": str,
    "start_errno": int,
}
# Slightly more than the shim may take after the grace: see KILL_S_MAX and MASK_S_MAX there.
PATIENCE = timedelta(seconds=32)
# A killed shim is gone at once, unless the whole machine is stalled.
KILLED_S_MAX = 10.0
POLL_S_MIN, POLL_S_MAX = 0.0005, 0.05
# Bounds for a file that an agent may have written instead of the shim.
FACTS_BYTES_MAX = 1 << 20
GRACE_S_MAX = 3600.0
NUMBER_MAX = 1e15


class ShimProcesses:
    """Implements `ports.Processes` with a detached shim per tree; see docs/decisions/shim.md."""

    def __init__(self, python: str = sys.executable, *, patience: timedelta = PATIENCE) -> None:
        self._shim = (python, "-I", "-S", str(SHIM))
        self._patience_s = patience.total_seconds()
        limit = timedelta(seconds=START_S_MAX)
        self._fork_server = Conversation(self._shim, cwd=Path("/"), env=os.environ, timeout=limit)
        # Shims that this process started, by pidfd: a process id can be reused.
        self._pidfds: dict[Path, int] = {}
        self._pidfds_lock = threading.Lock()

    def start(self, folder: Path, launch: Launch) -> None:
        """Starts the process, at most once per folder, however many workers call this.

        After `end` on a folder without a process nothing starts: the shim records the end at once.
        """
        if _is_started(folder):
            return
        try:
            _prepare(folder, launch)
            has_failed = self._start_by_fork_server(folder) or self._start_alone(folder)
        except OSError as error:
            raise make_file_fault(f"start a process in {folder}", error) from error
        if not _wait_until(lambda: _is_started(folder) or has_failed(), START_S_MAX):
            raise Fault(f"no process started in {folder} in {START_S_MAX:g} s", transient=True)
        if not _is_started(folder):
            raise Fault(f"the shim failed: {_last_line(folder / 'shim.log')}", transient=True)

    def inspect(self, folder: Path) -> ProcessState:
        """The state of the tree, for any process of this machine.

        An exit record counts only after its shim has ended: until then the watched process itself
        could write or remove the files of the folder.
        """
        if not _is_started(folder):
            return ProcessState(ProcessPhase.ABSENT)
        if self._is_shim_alive(folder) or _is_locked(folder):
            return _read_running(folder)
        return _read_exit(folder) or ProcessState(ProcessPhase.GONE, seconds=_seconds_seen(folder))

    def _is_shim_alive(self, folder: Path) -> bool:
        """True if the shim runs, by its pidfd if possible: the agent may have changed the files."""
        with self._pidfds_lock:
            pidfd = self._pidfds.get(folder)
            if pidfd is not None and not _has_ended(pidfd):
                return True
            if pidfd is not None:
                os.close(self._pidfds.pop(folder))
        # The shim of another worker, or of a second start of ours, may be the one that runs.
        return _signal_shim(_read_facts(folder / "started.json"), 0)

    def pause(self, folder: Path, duration: timedelta) -> None:
        """Sleep; end early if this process started the shim and the kernel has pidfds."""
        with self._pidfds_lock:
            pidfd = self._pidfds.get(folder)
            # A copy: another thread may close the original meanwhile.
            watched = os.dup(pidfd) if pidfd is not None else None
        if watched is None:
            time.sleep(duration.total_seconds())
            return
        try:
            _has_ended(watched, duration)
        finally:
            os.close(watched)

    def _remember(self, folder: Path, pid: int) -> None:
        if not hasattr(os, "pidfd_open"):
            return
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:  # it has already ended, or the kernel has no pidfd
            return
        with self._pidfds_lock:
            if (previous := self._pidfds.get(folder)) is not None:
                os.close(previous)
            self._pidfds[folder] = pidfd

    def renew_lease(self, folder: Path) -> None:
        """Touches the lease, which needs no free disk space."""
        try:
            os.utime(folder / "lease", ns=(now := time.time_ns(), now))
        except OSError as error:
            raise make_file_fault(f"renew the lease in {folder}", error) from error

    def end(self, folder: Path, why: EndCause) -> ProcessState:
        """Ends the whole tree, including detached grandchildren, and returns its state."""
        state = self.inspect(folder)
        if state.phase == ProcessPhase.EXITED or not folder.is_dir():
            return state
        _request_end(folder, why)
        state = self._wait_for_end(folder)
        if state.phase == ProcessPhase.GONE:
            self._end_orphans()
        if state.phase == ProcessPhase.GONE or not PROC:
            kill_marked_processes(str(_read_facts(folder / "started.json").get("mark", "")))
        return state

    def _end_orphans(self) -> None:
        """Ends the processes that killed shims left, whatever name and environment they have."""
        try:
            remaining = self._fork_server.ask(b"null", ProcessReply.read_line)
        except Fault:  # without a fork server there are no adopted orphans
            return
        if remaining.isdigit() and int(remaining):
            words = format_count(int(remaining), "process", "processes")
            raise Fault(f"{words} of a lost agent cannot be ended", transient=True)

    def _start_by_fork_server(self, folder: Path) -> Callable[[], bool] | None:
        """Forks a shim from the fork server, ten times faster; returns a test for its failure.

        If the fork server fails, `_start_alone` starts the shim.
        """
        try:
            reply = self._fork_server.ask(
                json.dumps(str(folder.absolute())).encode(), ProcessReply.read_line
            )
        except Fault:
            return None
        if not reply.isdigit():
            return None
        log = folder / "shim.log"
        self._remember(folder, int(reply))
        return lambda: _is_gone(int(reply)) and _has_content(log)

    def _start_alone(self, folder: Path) -> Callable[[], bool]:
        """Starts the shim in its own session; a thread reaps it, so that it is never a zombie."""
        with (folder / "shim.log").open("ab") as log:
            shim = subprocess.Popen(
                [*self._shim, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._remember(folder, shim.pid)
        threading.Thread(target=shim.wait, name=f"shim {shim.pid}", daemon=True).start()
        return lambda: shim.poll() not in (None, 0)

    def _wait_for_end(self, folder: Path) -> ProcessState:
        """Waits for the shim to end its tree; kills a shim that does not."""
        started = _read_facts(folder / "started.json")
        for number in (signal.SIGTERM, signal.SIGCONT):
            _signal_shim(started, number)
        seconds = min(_number(started, "grace_s"), GRACE_S_MAX) + self._patience_s
        if not _wait_until(lambda: self.inspect(folder).phase != ProcessPhase.RUNNING, seconds):
            _signal_shim(started, signal.SIGKILL)
            _wait_until(lambda: self.inspect(folder).phase != ProcessPhase.RUNNING, KILLED_S_MAX)
        return self.inspect(folder)


def _prepare(folder: Path, launch: Launch) -> None:
    """Only our user may read the folder: it holds the environment and the output of the agent."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "lease").touch(mode=0o600)
    temporary = folder / f"launch.{os.getpid()}.{threading.get_ident()}.tmp"
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(_launch_facts(launch)), encoding="utf-8")
    temporary.replace(folder / "launch.json")


def _launch_facts(launch: Launch) -> dict[str, Any]:
    return {
        "argv": list(launch.argv),
        "cwd": launch.cwd,
        "env": dict(launch.env),
        "stdin": launch.stdin,
        "deadline_s": launch.deadline.total_seconds(),
        "hang_s": launch.hang.total_seconds(),
        "lease_s": launch.lease.total_seconds(),
        "grace_s": launch.grace.total_seconds(),
        "output_bytes_max": launch.output_bytes_max,
        "secrets": written_forms(launch.secrets),
        "temporary": launch.temporary,
        "boot": boot_id(),
    }


def _is_started(folder: Path) -> bool:
    return os.path.lexists(folder / "started.json")


def _read_facts(file: Path) -> dict[str, Any]:
    """The facts in a file; empty if it is missing, not a file, or damaged."""
    try:
        facts = json.loads(read_plain_bytes(file, FACTS_BYTES_MAX) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _number(facts: Mapping[str, Any], name: str) -> float:
    value = facts.get(name)
    return max(0.0, value) if isinstance(value, int | float) and value < NUMBER_MAX else 0.0


def _read_exit(folder: Path) -> ProcessState | None:
    facts = _read_facts(folder / "exit.json") if _read_facts(folder / "started.json") else {}
    if not all(isinstance(facts.get(name, ""), kind) for name, kind in EXIT_FIELDS.items()):
        return None
    return ProcessState(
        ProcessPhase.EXITED,
        code=facts["code"],
        signal=facts["signal"],
        ended_by=EndCause(facts["ended_by"]),
        seconds=facts["seconds"],
        output_bytes=facts["output_bytes"],
        start_error=facts["start_error"],
        start_errno=facts["start_errno"],
        cwd_not_entered=facts.get("not_entered") is True,
    )


def _read_running(folder: Path) -> ProcessState:
    beat = _read_facts(folder / "beat.json")
    return ProcessState(
        ProcessPhase.RUNNING,
        seconds=_number(beat, "seconds"),
        quiet_seconds=_number(beat, "quiet_s"),
        output_bytes=int(_number(beat, "out_bytes")),
    )


def _seconds_seen(folder: Path) -> float:
    """From the start of the process to the last sign of life of its shim or its worker.

    The process could have changed these files: never more than the time that passed.
    """
    begun, *signs = (_changed_at(folder / name) for name in ("started.json", "beat.json", "lease"))
    if begun is None:
        return 0.0
    last = max((sign for sign in signs if sign is not None), default=begun)
    return round(max(0.0, min(last, time.time()) - begun), 3)


def _changed_at(file: Path) -> float | None:
    try:
        return file.lstat().st_mtime
    except OSError:
        return None


def _is_locked(folder: Path) -> bool:
    """Checked only after started.json, so that a starting shim is not disturbed."""
    return is_locked(folder / "lock")


def _request_end(folder: Path, why: str) -> None:
    """Writes the request for the shim, which may start later; the first request counts."""
    if not os.path.lexists(folder / "end"):
        temporary = folder / f"end.{uuid4().hex}.tmp"
        # Never through a link of the agent.
        with temporary.open("x", encoding="utf-8") as file:
            file.write(why)
        temporary.replace(folder / "end")


def _signal_shim(started: dict[str, Any], number: int) -> bool:
    """Signals the shim, never a later process with the same id; false if it is not alive."""
    pid, start, boot = (started.get(name) for name in ("pid", "start", "boot"))
    is_complete = isinstance(pid, int) and isinstance(start, int) and isinstance(boot, str)
    if not is_complete or not is_process_alive(started["pid"], started["start"], started["boot"]):
        return False
    try:
        os.kill(started["pid"], number)
    except (ProcessLookupError, PermissionError):  # gone meanwhile, or not our process
        return False
    return True


def _has_ended(descriptor: int, wait: timedelta = timedelta(0)) -> bool:
    """Uses `poll`, because `select` fails for large descriptors."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(wait.total_seconds() * 1000))


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def _has_content(log: Path) -> bool:
    """A shim that finds another one in its folder logs nothing and is not a failure."""
    return bool(read_plain_bytes(log, 1))


def _wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline, pause = time.monotonic() + seconds, POLL_S_MIN
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.1, POLL_S_MAX)
    return True


def _last_line(log: Path) -> str:
    text = (read_plain_bytes(log, FACTS_BYTES_MAX) or b"")[-2000:].decode("utf-8", "replace")
    lines = text.splitlines()
    return lines[-1] if lines else f"nothing in {log}"
