"""Ending the tree: asked first, then stopped and killed until nothing is left."""

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
    """TERM, grace, then KILL until nothing is left; returns what no signal could end."""
    # Orphans become our children, so without a child there is nobody: no table need be read.
    if not agent.reap():
        return []
    # Without a subreaper an orphan leaves the tree, but seldom its group.
    group = [] if PROC else [-agent.process_group]
    send_signal([*read_process_tree(), *group], signal.SIGTERM)
    give_up = time.monotonic() + grace_s + KILL_S_MAX
    empty = wait_until_empty(agent, bell, grace_s)
    while not empty and time.monotonic() < give_up:
        send_signal([*freeze(give_up), *group], signal.SIGKILL)
        empty = wait_until_empty(agent, bell, POLL_S_MIN)
    return sorted(read_process_tree())


def freeze(give_up: float) -> set[int]:
    """Stop the tree before killing it: what is stopped starts no new processes."""
    stopped: set[int] = set()
    while (new := read_process_tree().keys() - stopped) and time.monotonic() < give_up:
        send_signal(new, signal.SIGSTOP)
        stopped |= new
    return stopped


def wait_until_empty(agent: AgentProcess, bell: SignalWaiter, seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    while True:
        if not agent.reap():
            return True
        if time.monotonic() >= give_up:
            return False
        bell.wait(min(POLL_S_MIN, give_up - time.monotonic()))
