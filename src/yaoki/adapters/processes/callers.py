"""The processes above this one, or at the other end of a connection: what they were given.

Only Linux tells it, and only of our own processes; elsewhere nothing is known.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass

CALLERS_MAX = 64
# It is started by its path, whatever Python and whichever installation.
SHIM = b"/yaoki/adapters/processes/shim/__main__.py"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


@dataclass(frozen=True, slots=True)
class CallingProcess:
    """A process: its environment when it was started, and the folder of a shim."""

    pid: int
    environ: dict[str, str]
    shim_folder: Path | None = None


def iter_caller_environments() -> Iterator[dict[str, str]]:
    """The environment of each process that led to this one, the nearest first."""
    return (caller.environ for caller in iter_callers(os.getppid()))


def iter_callers(pid: int) -> Iterator[CallingProcess]:
    """This process and each that led to it, the nearest first."""
    for _ in range(CALLERS_MAX):
        place = Path(f"/proc/{pid}")
        try:
            held = (place / "environ").read_bytes()
            stat = (place / "stat").read_text(encoding="utf-8", errors="replace")
            folder = (place / "cwd").readlink() if _is_shim(place) else None
        except OSError:
            return
        pairs = (os.fsdecode(pair).partition("=") for pair in held.split(b"\0") if pair)
        yield CallingProcess(pid, {name: value for name, _, value in pairs}, folder)
        # The name of the program stands in parentheses, and may hold anything.
        pid = int(stat.rpartition(")")[2].split()[1])


def _is_shim(place: Path) -> bool:
    return any(w.endswith(SHIM) for w in (place / "cmdline").read_bytes().split(b"\0"))


def find_peer_process(ours: tuple[str, int], theirs: tuple[str, int]) -> int | None:
    """The process at the other end of a connection on this machine; None where nobody can tell."""
    inode = _inode(theirs, ours)
    return _holder(f"socket:[{inode}]") if inode else None


def _inode(local: tuple[str, int], remote: tuple[str, int]) -> str:
    wanted = {(_form(*local, six=six), _form(*remote, six=six)) for six in (False, True)}
    for table in TABLES:
        try:
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in (row.split() for row in rows):
            if len(fields) > 9 and (fields[1], fields[2]) in wanted and fields[9] != "0":
                return fields[9]
    return ""


def _form(host: str, port: int, *, six: bool) -> str:
    """As the kernel's table writes an address; one of version 4 may stand in that of version 6."""
    try:
        raw = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    except OSError:
        return ""
    if six and len(raw) == 4:
        raw = bytes(10) + b"\xff\xff" + raw
    words = (raw[at : at + 4][::-1].hex() for at in range(0, len(raw), 4))
    return f"{''.join(words).upper()}:{port:04X}"


def _holder(link: str) -> int | None:
    """Whoever has the socket open; of several, which share it, the youngest."""
    found = [pid for pid in _pids() if _holds(pid, link)]
    return max(found, default=None)


def _pids() -> Iterator[int]:
    names = os.listdir("/proc")  # noqa: PTH208  thousands of names, none of them a path of ours
    return (int(name) for name in names if name.isdecimal())


def _holds(pid: int, link: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        with os.scandir(folder) as held:
            return any(os.readlink(entry.path) == link for entry in held)  # noqa: PTH115  no path
    except OSError:
        return False
