"""Process trees that outlive their worker, each under a shim and known by its folder."""

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
from yaoki.core.redact import written_forms
from yaoki.core.text import format_count
from yaoki.errors import Fault
from yaoki.ports import Launch, ProcessState

SHIM = Path(__file__).with_name("shim") / "__main__.py"
START_S_MAX = 10.0
Number = int | float
# What an exit tells; a file that tells less was not written by a shim.
EXIT_FIELDS: Mapping[str, Any] = {
    "code": int | None,
    "signal": int | None,
    "ended_by": str,
    "seconds": Number,
    "output_bytes": int,
    "start_error": str,
    "start_errno": int,
}
# A little more than the shim itself may take after the grace: see KILL_S_MAX and STARS_S_MAX there.
PATIENCE = timedelta(seconds=32)
# A killed shim is gone at once, unless the whole machine stands still.
KILLED_S_MAX = 10.0
POLL_S_MIN, POLL_S_MAX = 0.002, 0.05
# Of what an agent could have written in a shim's place.
FACTS_BYTES_MAX = 1 << 20
GRACE_S_MAX = 3600.0
NUMBER_MAX = 1e15


class ShimProcesses:
    """`ports.Processes` with one detached shim per tree; docs/decisions/shim.md tells the files."""

    def __init__(self, python: str = sys.executable, *, patience: timedelta = PATIENCE) -> None:
        self._shim = (python, "-I", "-S", str(SHIM))
        self._patience_s = patience.total_seconds()
        limit = timedelta(seconds=START_S_MAX)
        self._stem = Conversation(self._shim, cwd=Path("/"), env=os.environ, timeout=limit)
        # Shims that this process started, held by descriptor: a name can be given to another.
        self._held: dict[Path, int] = {}
        self._holding = threading.Lock()

    def start(self, folder: Path, launch: Launch) -> None:
        """Start it, at most once per folder however often and by whomever this is called.

        After `end` on a folder that had not started yet nothing starts: the shim records
        the end at once.
        """
        if _started(folder):
            return
        try:
            _prepare(folder, launch)
            failed = self._forked(folder) or self._alone(folder)
        except OSError as error:
            raise make_file_fault(f"start a process in {folder}", error) from error
        if not _wait_until(lambda: _started(folder) or failed(), START_S_MAX):
            raise Fault(f"no process started in {folder} in {START_S_MAX:g} s", transient=True)
        if not _started(folder):
            raise Fault(f"the shim failed: {_last_line(folder / 'shim.log')}", transient=True)

    def inspect(self, folder: Path) -> ProcessState:
        """How the tree stands, seen from any process of this machine.

        An exit counts only of a shim that was started and has ended: while it lives, whatever
        stands in its folder may be written, or removed, by the very process that it watches.
        """
        if not _started(folder):
            return ProcessState("absent")
        if self._lives(folder) or _locked(folder):
            return _running(folder)
        return _exited(folder) or ProcessState("gone")

    def _lives(self, folder: Path) -> bool:
        """Does its shim live, whatever stands in the folder?  The agent may have written that."""
        with self._holding:
            held = self._held.get(folder)
            if held is not None and not _is_over(held):
                return True
            if held is not None:
                os.close(self._held.pop(folder))
        # Another worker, or a second start of ours, may have been the one whose shim went on.
        return _signal(_read(folder / "started.json"), 0)

    def _hold(self, folder: Path, pid: int) -> None:
        if not hasattr(os, "pidfd_open"):
            return
        try:
            made = os.pidfd_open(pid)
        except OSError:  # it has ended already, or the kernel knows no such thing
            return
        with self._holding:
            if (before := self._held.get(folder)) is not None:
                os.close(before)
            self._held[folder] = made

    def renew_lease(self, folder: Path) -> None:
        """Touch the lease: that needs no free space on the disk."""
        try:
            os.utime(folder / "lease", ns=(now := time.time_ns(), now))
        except OSError as error:
            raise make_file_fault(f"renew the lease in {folder}", error) from error

    def end(self, folder: Path, why: str) -> ProcessState:
        """End the whole tree, detached grandchildren included, and say how it stands then."""
        look = self.inspect(folder)
        if look.phase == "exited" or not folder.is_dir():
            return look
        _ask(folder, why)
        look = self._settle(folder)
        if look.phase == "gone":
            self._end_orphans()
        if look.phase == "gone" or not PROC:
            kill_marked_processes(str(_read(folder / "started.json").get("mark", "")))
        return look

    def _end_orphans(self) -> None:
        """What shims of ours left when they were killed, by whatever name and environment."""
        try:
            left = self._stem.ask(b"null", ProcessReply.read_line)
        except Fault:  # nobody is there to have adopted them
            return
        if left.isdigit() and int(left):
            words = format_count(int(left), "process", "processes")
            raise Fault(f"{words} of a lost agent cannot be ended", transient=True)

    def _forked(self, folder: Path) -> Callable[[], bool] | None:
        """A shim forked from the stem, in a tenth of the time; tells how to see that it failed.

        Nothing depends on the stem: whatever it does not do, `_alone` does.
        """
        try:
            told = self._stem.ask(
                json.dumps(str(folder.absolute())).encode(), ProcessReply.read_line
            )
        except Fault:
            return None
        if not told.isdigit():
            return None
        log = folder / "shim.log"
        self._hold(folder, int(told))
        return lambda: _ended(int(told)) and _says(log)

    def _alone(self, folder: Path) -> Callable[[], bool]:
        """The shim in its own session; a thread collects it, so it never stays a zombie."""
        with (folder / "shim.log").open("ab") as log:
            shim = subprocess.Popen(
                [*self._shim, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._hold(folder, shim.pid)
        threading.Thread(target=shim.wait, name=f"shim {shim.pid}", daemon=True).start()
        return lambda: shim.poll() not in (None, 0)

    def _settle(self, folder: Path) -> ProcessState:
        """Wait for the shim to end its tree; one that cannot is ended, and its tree swept."""
        started = _read(folder / "started.json")
        for number in (signal.SIGTERM, signal.SIGCONT):
            _signal(started, number)
        seconds = min(_number(started, "grace_s"), GRACE_S_MAX) + self._patience_s
        if not _wait_until(lambda: self.inspect(folder).phase != "running", seconds):
            _signal(started, signal.SIGKILL)
            _wait_until(lambda: self.inspect(folder).phase != "running", KILLED_S_MAX)
        return self.inspect(folder)


def _prepare(folder: Path, launch: Launch) -> None:
    """Only we may read the folder: it holds the environment and what the agent says."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "lease").touch(mode=0o600)
    own = folder / f"launch.{os.getpid()}.{threading.get_ident()}.tmp"
    own.touch(mode=0o600)
    own.write_text(json.dumps(_launch_facts(launch)), encoding="utf-8")
    own.replace(folder / "launch.json")


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
        "boot": boot_id(),
    }


def _started(folder: Path) -> bool:
    return os.path.lexists(folder / "started.json")


def _read(file: Path) -> dict[str, Any]:
    """The facts in a file; nothing when it is missing, no file, or no longer whole."""
    try:
        facts = json.loads(read_plain_bytes(file, FACTS_BYTES_MAX) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _number(facts: Mapping[str, Any], name: str) -> float:
    found = facts.get(name)
    return max(0.0, found) if isinstance(found, int | float) and found < NUMBER_MAX else 0.0


def _exited(folder: Path) -> ProcessState | None:
    facts = _read(folder / "exit.json") if _read(folder / "started.json") else {}
    if not all(isinstance(facts.get(name, ""), kind) for name, kind in EXIT_FIELDS.items()):
        return None
    return ProcessState(
        "exited",
        code=facts["code"],
        signal=facts["signal"],
        ended_by=facts["ended_by"],
        seconds=facts["seconds"],
        output_bytes=facts["output_bytes"],
        start_error=facts["start_error"],
        start_errno=facts["start_errno"],
        cwd_not_entered=facts.get("not_entered") is True,
    )


def _running(folder: Path) -> ProcessState:
    beat = _read(folder / "beat.json")
    return ProcessState(
        "running",
        seconds=_number(beat, "seconds"),
        quiet_seconds=_number(beat, "quiet_s"),
        output_bytes=int(_number(beat, "out_bytes")),
    )


def _locked(folder: Path) -> bool:
    """Does a shim live here?  Asked only after started.json: a starting one is not disturbed."""
    return is_locked(folder / "lock")


def _ask(folder: Path, why: str) -> None:
    """Leave the wish for the shim, now running or still to come; the first one stands."""
    if not os.path.lexists(folder / "end"):
        own = folder / f"end.{uuid4().hex}.tmp"
        # Never through a link that somebody laid there.
        with own.open("x", encoding="utf-8") as file:
            file.write(why)
        own.replace(folder / "end")


def _signal(started: dict[str, Any], number: int) -> bool:
    """Signal the shim itself, never a later process with its number; does it live?"""
    pid, start, boot = (started.get(name) for name in ("pid", "start", "boot"))
    known = isinstance(pid, int) and isinstance(start, int) and isinstance(boot, str)
    if not known or not is_process_alive(started["pid"], started["start"], started["boot"]):
        return False
    try:
        os.kill(started["pid"], number)
    except (ProcessLookupError, PermissionError):  # gone meanwhile, or never one of ours
        return False
    return True


def _is_over(descriptor: int) -> bool:
    """Has the process ended?  `poll` takes descriptors of any number, `select` does not."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(0))


def _ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def _says(log: Path) -> bool:
    """A shim that found another in its place says nothing, and is no failure."""
    return bool(read_plain_bytes(log, 1))


def _wait_until(true: Callable[[], bool], seconds: float) -> bool:
    give_up, pause = time.monotonic() + seconds, POLL_S_MIN
    while not true():
        if time.monotonic() >= give_up:
            return False
        time.sleep(pause)
        pause = min(pause * 1.1, POLL_S_MAX)
    return True


def _last_line(log: Path) -> str:
    held = (read_plain_bytes(log, FACTS_BYTES_MAX) or b"")[-2000:].decode("utf-8", "replace")
    lines = held.splitlines()
    return lines[-1] if lines else f"nothing in {log}"
