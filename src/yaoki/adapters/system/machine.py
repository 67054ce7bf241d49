"""Identifies machine, boot and process: who holds a lease, and whether that process is alive."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from yaoki.adapters.system.files import state_home, write_atomically

MACHINE_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
PID_SPACE = Path("/proc/self/ns/pid")
PROC = Path("/proc/self").exists()


def pip_install_command(package: str) -> str:
    """The command for the environment of yaoki, independent of the `pip` on the PATH."""
    import shlex

    return f"{shlex.quote(sys.executable)} -m pip install '{package}'"


def machine_id() -> str:
    """A short id for everything that shares process ids with us.

    It includes the host name, because copies of an image share their machine id, and the process
    namespace, because containers have their own process ids.
    """
    import hashlib

    namespace = PID_SPACE.readlink() if PROC else ""
    identity = f"{_raw_machine_id()} {os.uname().nodename} {namespace}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def machine_name() -> str:
    """The host name."""
    return os.uname().nodename or "this machine"


def _raw_machine_id() -> str:
    for file in MACHINE_FILES:
        if file.is_file() and (text := file.read_text(encoding="ascii").strip()):
            return text
    return load_or_create_machine_id(state_home() / "machine-id")


def load_or_create_machine_id(file: Path) -> str:
    """A random id, created once; of two concurrent writers the second reads the id of the first."""
    import uuid

    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f"machine-id.{uuid.uuid4().hex}")
        write_atomically(temporary, uuid.uuid4().hex.encode())
        try:
            file.hardlink_to(temporary)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return file.read_text(encoding="ascii").strip()


def boot_id() -> str:
    """Differs after every start of the machine."""
    if PROC:
        return BOOT_FILE.read_text(encoding="ascii").strip()
    import psutil

    return str(int(psutil.boot_time()))


def process_start_time(pid: int) -> int:
    """A number that identifies the start of the process; 0 if it is not alive.

    A zombie is not alive: in a container it may never be reaped.
    """
    if PROC:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return 0
        fields = stat.rpartition(")")[2].split()
        return 0 if fields[0] in "ZX" else int(fields[19])
    return _start_time_by_psutil(pid)


def _start_time_by_psutil(pid: int) -> int:
    import psutil

    try:
        process = psutil.Process(pid)
        is_zombie = process.status() == psutil.STATUS_ZOMBIE
        return 0 if is_zombie else int(process.create_time() * 100)
    except psutil.NoSuchProcess:
        return 0


def is_process_alive(pid: int, start: int, boot: str) -> bool:
    """Compares the start time as well: a process id can be reused."""
    return start != 0 and boot == boot_id() and process_start_time(pid) == start


def current_holder() -> str:
    """The lease holder name of this process; a `:` and a slot may be appended."""
    pid = os.getpid()
    return f"{machine_id()}:{pid}:{process_start_time(pid)}:{boot_id()[:8]}"


def is_holder_dead(holder: str) -> bool:
    """True only if it is certain; for a holder on another machine it never is."""
    machine, pid, start, boot = (*holder.split(":"), "", "", "", "")[:4]
    if machine != machine_id() or not (pid.isdecimal() and start.isdecimal()):
        return False
    return boot != boot_id()[:8] or process_start_time(int(pid)) != int(start)
