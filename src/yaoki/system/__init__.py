"""Processes, files, the machine and the real clock: the only user of subprocess and time."""

from __future__ import annotations

from yaoki.system.children import Child
from yaoki.system.clock import SystemClock
from yaoki.system.commands import OUTPUT_BYTES_MAX, Completed, run
from yaoki.system.conversation import Answer, Conversation
from yaoki.system.daemon import Daemon, Running
from yaoki.system.files import (
    disk_free,
    is_plain,
    locked,
    make_private,
    memory_free,
    plain_bytes,
    plain_file,
    rooms_home,
    state_home,
    write_atomically,
    write_out,
)
from yaoki.system.helper_process import HelperProcess
from yaoki.system.machine import (
    alive,
    birth,
    boot_id,
    holder_dead,
    holder_name,
    machine_id,
    node,
    pip_install,
)
from yaoki.system.processes import ShimProcesses
from yaoki.system.ranges import PortFiles
from yaoki.system.sandbox import Sandbox, SandboxedProcesses
from yaoki.system.sweep import MARK
from yaoki.system.trees import Entry, paths_below, remove_tree, walk, walk_folders

__all__ = [
    "MARK",
    "OUTPUT_BYTES_MAX",
    "Answer",
    "Child",
    "Completed",
    "Conversation",
    "Daemon",
    "Entry",
    "HelperProcess",
    "PortFiles",
    "Running",
    "Sandbox",
    "SandboxedProcesses",
    "ShimProcesses",
    "SystemClock",
    "alive",
    "birth",
    "boot_id",
    "disk_free",
    "holder_dead",
    "holder_name",
    "is_plain",
    "locked",
    "machine_id",
    "make_private",
    "memory_free",
    "node",
    "paths_below",
    "pip_install",
    "plain_bytes",
    "plain_file",
    "remove_tree",
    "rooms_home",
    "run",
    "state_home",
    "walk",
    "walk_folders",
    "write_atomically",
    "write_out",
]
