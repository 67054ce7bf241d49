"""Watching the agent: its limits, its lease, whether it still does anything."""

from __future__ import annotations

import os
import time

from yaoki.adapters.processes.shim.files import log_line, record
from yaoki.adapters.processes.shim.process_table import read_process_tree
from yaoki.adapters.processes.shim.signals import POLL_S_MAX, POLL_S_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaoki.adapters.processes.shim.agent import AgentProcess
    from yaoki.adapters.processes.shim.signals import SignalWaiter

BEAT_S = 1.0
# Reading the whole process table is the dearest thing done here.
SAMPLE_S_MIN, SAMPLE_S_MAX = 0.1, 5.0
# A machine that slept did not miss a renewal: at most this much counts between two looks.
AWAKE_S_MAX = 1.0
WALK_S_MAX = 2.0


class AgentWatch:
    """Decides when the agent must be ended.  Zero for a limit means none."""

    def __init__(self, launch: dict[str, Any], agent: AgentProcess, bell: SignalWaiter) -> None:
        self._launch, self._agent, self._bell = launch, agent, bell
        self._looked = time.monotonic()
        self._awake = self._busy = self._renewed = 0.0
        self._busy_at = time.time()
        self._beaten, self._sampled = -1e9, 0.0
        self._output = 0
        self._cpu: dict[int, float] = {}
        self._lease = lease_stamp()

    def wait_until_ended(self) -> str:
        """Wait for the end of the agent; empty when it came by itself, else why it must end."""
        pause = POLL_S_MIN
        while True:
            self._agent.reap()
            if not self._agent.is_running:
                return ""
            if why := self._why():
                return why
            self._beat()
            fresh = self._busy == self._awake
            pause = POLL_S_MIN if fresh else min(pause * 1.25, POLL_S_MAX)
            self._bell.wait(pause)

    def _why(self) -> str:
        self._tell_time()
        self._sample()
        limit = self._launch
        if asked := read_end_request(self._bell):
            return asked
        if 0 < limit["deadline_s"] <= time.monotonic() - self._agent.started_s:
            return "deadline"
        if 0 < limit["output_bytes_max"] < self._output:
            return "output"
        if 0 < limit["lease_s"] <= self._awake - self._renewed:
            return "lease"
        return "hang" if self._hung(limit["hang_s"]) else ""

    def _tell_time(self) -> None:
        now = time.monotonic()
        self._awake += min(now - self._looked, AWAKE_S_MAX)
        self._looked = now

    def _sample(self) -> None:
        """Note renewals, output and CPU; a process that came or went is work as well."""
        lease, output = lease_stamp(), self._agent.output_bytes()
        if lease != self._lease:
            self._lease, self._renewed = lease, self._awake
        if output != self._output:
            self._output = output
            self._mark_busy()
        every = self._launch["hang_s"] / 10 or SAMPLE_S_MAX
        if self._awake - self._sampled >= min(max(every, SAMPLE_S_MIN), SAMPLE_S_MAX):
            self._sampled = self._awake
            if (cpu := read_process_tree()) != self._cpu:
                if self._cpu:  # the first look has nothing to compare with
                    self._mark_busy()
                self._cpu = cpu

    def _mark_busy(self) -> None:
        self._busy, self._busy_at = self._awake, time.time()

    def _hung(self, hang_s: float) -> bool:
        """Quiet that long; then, and only then, look whether a file below cwd changed."""
        if not hang_s or self._awake - self._busy < hang_s:
            return False
        changed = last_change(self._launch["cwd"])
        if changed > self._busy_at:
            ago = max(time.time() - changed, 0.0)
            self._busy = max(self._busy, self._awake - ago)
            self._busy_at = changed
        return self._awake - self._busy >= hang_s

    def _beat(self) -> None:
        if self._awake - self._beaten < BEAT_S:
            return
        self._beaten = self._awake
        beat = {
            "at": time.time(),
            "seconds": time.monotonic() - self._agent.started_s,
            "quiet_s": self._awake - self._busy,
            "cpu_s": sum(self._cpu.values()) + sum(os.times()[2:4]),
            "out_bytes": self._output,
        }
        try:
            record("beat.json", beat, durable=False)
        except OSError as error:  # a full disk must not end the agent; the lock says it lives
            log_line(f"beat.json: {error}")


def lease_stamp() -> tuple[int, int]:
    """Changes with every renewal; a lease file that is gone is never renewed again."""
    try:
        facts = os.stat("lease")
    except FileNotFoundError:
        return (0, 0)
    return (facts.st_mtime_ns, facts.st_ino)


def read_end_request(bell: SignalWaiter) -> str:
    """Why somebody wants the end: the word in the file, or a bare SIGTERM.

    Whatever else stands under that name, the agent put it there: a pipe must not hold us up.
    """
    try:
        file = os.open("end", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return "stop" if bell.stop_requested else ""
    except OSError:
        return "stop"
    try:
        return os.read(file, 40).decode("utf-8", "replace").strip() or "stop"
    except OSError:
        return "stop"
    finally:
        os.close(file)


def last_change(top: str) -> float:
    """The newest change of a file or folder below `top`, .git aside, as far as time allows.

    The inode's own time is taken: it cannot be set back or forward by the agent.
    """
    newest, todo, give_up = 0.0, [top], time.monotonic() + WALK_S_MAX
    while todo and time.monotonic() < give_up:
        for entry in entries_of(todo.pop()):
            newest = max(newest, change_of(entry))
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
    return newest


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name != ".git"]
    except OSError:  # removed while we looked, or closed to us
        return []


def change_of(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_ctime
    except FileNotFoundError:  # its folder has changed and tells it
        return 0.0
