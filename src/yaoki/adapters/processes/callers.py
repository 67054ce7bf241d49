"""The ancestors of a process, or of the process at the other end of a connection.

Works on Linux, for processes of the same user; elsewhere nothing is found.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass

CALLERS_MAX = 64
# The shim is started by its path, with any Python and from any installation.
SHIM = b"/yaoki/adapters/processes/shim/__main__.py"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


@dataclass(frozen=True, slots=True)
class CallingProcess:
    """A process with its environment at the start; for a shim also its folder."""

    pid: int
    environ: dict[str, str]
    shim_folder: Path | None = None


def iter_caller_environments() -> Iterator[dict[str, str]]:
    """The environment of each ancestor of this process, the nearest first."""
    return (caller.environ for caller in iter_callers(os.getppid()))


def iter_callers(pid: int) -> Iterator[CallingProcess]:
    """The process and each of its ancestors, the nearest first."""
    for _ in range(CALLERS_MAX):
        proc_folder = Path(f"/proc/{pid}")
        try:
            environ = (proc_folder / "environ").read_bytes()
            stat = (proc_folder / "stat").read_text(encoding="utf-8", errors="replace")
            folder = (proc_folder / "cwd").readlink() if _is_shim(proc_folder) else None
        except OSError:
            return
        pairs = (os.fsdecode(pair).partition("=") for pair in environ.split(b"\0") if pair)
        yield CallingProcess(pid, {name: value for name, _, value in pairs}, folder)
        # The program name in parentheses can contain anything.
        pid = int(stat.rpartition(")")[2].split()[1])


def _is_shim(proc_folder: Path) -> bool:
    return any(w.endswith(SHIM) for w in (proc_folder / "cmdline").read_bytes().split(b"\0"))


def find_peer_process(own: tuple[str, int], peer: tuple[str, int]) -> int | None:
    """The process at the other end of a connection on this machine; None if unknown."""
    inode = _find_inode(peer, own)
    return _find_socket_owner(f"socket:[{inode}]") if inode else None


def _find_inode(local: tuple[str, int], remote: tuple[str, int]) -> str:
    addresses = {
        (_kernel_address(*local, six=six), _kernel_address(*remote, six=six))
        for six in (False, True)
    }
    for table in TABLES:
        try:
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in (row.split() for row in rows):
            if len(fields) > 9 and (fields[1], fields[2]) in addresses and fields[9] != "0":
                return fields[9]
    return ""


def _kernel_address(host: str, port: int, *, six: bool) -> str:
    """An address as the kernel's table writes it; IPv4 may appear in the IPv6 table."""
    try:
        raw = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    except OSError:
        return ""
    if six and len(raw) == 4:
        raw = bytes(10) + b"\xff\xff" + raw
    words = (raw[at : at + 4][::-1].hex() for at in range(0, len(raw), 4))
    return f"{''.join(words).upper()}:{port:04X}"


def _find_socket_owner(link: str) -> int | None:
    """The process that has the socket open; the youngest, if several share it."""
    pids = [pid for pid in _pids() if _has_open(pid, link)]
    return max(pids, default=None)


def _pids() -> Iterator[int]:
    names = os.listdir("/proc")  # noqa: PTH208  thousands of names, none of them a path
    return (int(name) for name in names if name.isdecimal())


def _has_open(pid: int, link: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        with os.scandir(folder) as entries:
            return any(os.readlink(entry.path) == link for entry in entries)  # noqa: PTH115  no path
    except OSError:
        return False
