"""Watches the agent: its limits, its lease, and whether it is still active."""

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
# Reading the whole process table is the most expensive step.
SAMPLE_S_MIN, SAMPLE_S_MAX = 0.1, 5.0
# A suspended machine did not miss a renewal: at most this much time counts between two checks.
AWAKE_S_MAX = 1.0
WALK_S_MAX = 2.0


class AgentWatch:
    """Decides when the agent must be ended.  Zero for a limit means none."""

    def __init__(self, launch: dict[str, Any], agent: AgentProcess, bell: SignalWaiter) -> None:
        self._launch, self._agent, self._bell = launch, agent, bell
        self._checked_at = time.monotonic()
        self._awake_s = self._busy = self._renewed = 0.0
        self._busy_at = time.time()
        self._beat_at, self._sampled_at = -1e9, 0.0
        self._output = 0
        self._cpu: dict[int, float] = {}
        self._lease = lease_stamp()

    def wait_until_ended(self) -> str:
        """Waits until the agent ends (empty) or has to be ended (the cause)."""
        pause = POLL_S_MIN
        while True:
            self._agent.reap()
            if not self._agent.is_running:
                return ""
            if cause := self._end_cause():
                return cause
            self._record_beat()
            is_active = self._busy == self._awake_s
            pause = POLL_S_MIN if is_active else min(pause * 1.25, POLL_S_MAX)
            self._bell.wait(pause)

    def _end_cause(self) -> str:
        self._update_time()
        self._sample()
        launch = self._launch
        if request := read_end_request(self._bell):
            return request
        if 0 < launch["deadline_s"] <= time.monotonic() - self._agent.started_s:
            return "deadline"
        if 0 < launch["output_bytes_max"] < self._output:
            return "output"
        if 0 < launch["lease_s"] <= self._awake_s - self._renewed:
            return "lease"
        return "hang" if self._is_hung(launch["hang_s"]) else ""

    def _update_time(self) -> None:
        now = time.monotonic()
        self._awake_s += min(now - self._checked_at, AWAKE_S_MAX)
        self._checked_at = now

    def _sample(self) -> None:
        """Records renewals, output and CPU; a process that starts or ends counts as activity."""
        lease, output = lease_stamp(), self._agent.output_bytes()
        if lease != self._lease:
            self._lease, self._renewed = lease, self._awake_s
        if output != self._output:
            self._output = output
            self._mark_busy()
        every = self._launch["hang_s"] / 10 or SAMPLE_S_MAX
        if self._awake_s - self._sampled_at >= min(max(every, SAMPLE_S_MIN), SAMPLE_S_MAX):
            self._sampled_at = self._awake_s
            if (cpu := read_process_tree()) != self._cpu:
                if self._cpu:  # the first sample has nothing to compare with
                    self._mark_busy()
                self._cpu = cpu

    def _mark_busy(self) -> None:
        self._busy, self._busy_at = self._awake_s, time.time()

    def _is_hung(self, hang_s: float) -> bool:
        """Looks for changed files below cwd only after the agent was quiet for that long."""
        if not hang_s or self._awake_s - self._busy < hang_s:
            return False
        changed = last_change(self._launch["cwd"])
        if changed > self._busy_at:
            ago = max(time.time() - changed, 0.0)
            self._busy = max(self._busy, self._awake_s - ago)
            self._busy_at = changed
        return self._awake_s - self._busy >= hang_s

    def _record_beat(self) -> None:
        if self._awake_s - self._beat_at < BEAT_S:
            return
        self._beat_at = self._awake_s
        facts = {
            "at": time.time(),
            "seconds": time.monotonic() - self._agent.started_s,
            "quiet_s": self._awake_s - self._busy,
            "cpu_s": sum(self._cpu.values()) + sum(os.times()[2:4]),
            "out_bytes": self._output,
        }
        try:
            record("beat.json", facts, durable=False)
        except (
            OSError
        ) as error:  # a full disk must not end the agent; the lock shows that it is alive
            log_line(f"beat.json: {error}")


def lease_stamp() -> tuple[int, int]:
    """Changes with every renewal; a deleted lease file is never renewed again."""
    try:
        facts = os.stat("lease")
    except FileNotFoundError:
        return (0, 0)
    return (facts.st_mtime_ns, facts.st_ino)


def read_end_request(bell: SignalWaiter) -> str:
    """The cause in the file `end`, or `stop` after a bare SIGTERM; empty without a request.

    Anything but a plain file was put there by the agent: a pipe must not block us.
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
    """The newest change of a file or folder below `top` except .git, within a time limit.

    Uses the change time of the inode, which the agent cannot set.
    """
    newest, pending, deadline = 0.0, [top], time.monotonic() + WALK_S_MAX
    while pending and time.monotonic() < deadline:
        for entry in entries_of(pending.pop()):
            newest = max(newest, change_of(entry))
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return newest


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name != ".git"]
    except OSError:  # removed meanwhile, or not readable
        return []


def change_of(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_ctime
    except FileNotFoundError:  # the change of its folder counts instead
        return 0.0
