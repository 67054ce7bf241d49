"""Ends the process tree: TERM first, then stops and kills until no process remains."""

from __future__ import annotations

import signal
import time

from yaoki.adapters.processes.shim.process_table import PROC, read_process_tree
from yaoki.adapters.processes.shim.signals import POLL_S_MIN, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaoki.adapters.processes.shim.agent import AgentProcess
    from yaoki.adapters.processes.shim.signals import SignalWaiter

KILL_S_MAX = 10.0


def end_tree(agent: AgentProcess, bell: SignalWaiter, grace_s: float) -> list[int]:
    """TERM, grace period, then KILL; returns the processes that no signal could end."""
    # Orphans become our children: without a child the tree is empty, and no table need be read.
    if not agent.reap():
        return []
    # Without a subreaper an orphan leaves the tree, but seldom its process group.
    group = [] if PROC else [-agent.process_group]
    send_signal([*read_process_tree(), *group], signal.SIGTERM)
    deadline = time.monotonic() + grace_s + KILL_S_MAX
    is_empty = wait_until_empty(agent, bell, grace_s)
    while not is_empty and time.monotonic() < deadline:
        send_signal([*freeze(deadline), *group], signal.SIGKILL)
        is_empty = wait_until_empty(agent, bell, POLL_S_MIN)
    return sorted(read_process_tree())


def freeze(deadline: float) -> set[int]:
    """Stops the tree before the kill: a stopped process starts no new ones."""
    stopped: set[int] = set()
    while (running := read_process_tree().keys() - stopped) and time.monotonic() < deadline:
        send_signal(running, signal.SIGSTOP)
        stopped |= running
    return stopped


def wait_until_empty(agent: AgentProcess, bell: SignalWaiter, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        if not agent.reap():
            return True
        if time.monotonic() >= deadline:
            return False
        bell.wait(min(POLL_S_MIN, deadline - time.monotonic()))
