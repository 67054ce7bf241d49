"""Which machine, which boot, which process: who holds a lease, and whether it still lives."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import sys
import uuid
from pathlib import Path

from yaoki.adapters.system.files import state_home, write_atomically

MACHINE_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
PID_SPACE = Path("/proc/self/ns/pid")
PROC = Path("/proc/self").exists()


def pip_install_command(package: str) -> str:
    """The command for the environment that yaoki is in, whichever `pip` is on the PATH."""
    return f"{shlex.quote(sys.executable)} -m pip install '{package}'"


def machine_id() -> str:
    """A short id of this machine, as far as process ids mean the same thing.

    Copies of one image share their machine id, so the host name counts as well; two
    containers see different processes under one number, so their process namespace does.
    """
    space = PID_SPACE.readlink() if PROC else ""
    words = f"{_raw_machine_id()} {platform.node()} {space}"
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def machine_name() -> str:
    """What people call this machine."""
    return platform.node() or "this machine"


def _raw_machine_id() -> str:
    for file in MACHINE_FILES:
        if file.is_file() and (text := file.read_text(encoding="ascii").strip()):
            return text
    return load_or_create_machine_id(state_home() / "machine-id")


def load_or_create_machine_id(file: Path) -> str:
    """A random id, made once; whoever writes second reads what the first one wrote."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_name(f"machine-id.{uuid.uuid4().hex}")
        write_atomically(made, uuid.uuid4().hex.encode())
        try:
            file.hardlink_to(made)
        except FileExistsError:
            pass
        finally:
            made.unlink()
    return file.read_text(encoding="ascii").strip()


def boot_id() -> str:
    """Differs after every start of the machine."""
    if PROC:
        return BOOT_FILE.read_text(encoding="ascii").strip()
    import psutil

    return str(int(psutil.boot_time()))


def process_start_time(pid: int) -> int:
    """When the process started, in units that only compare; 0 when it does not live.

    A zombie does not live: in a container nobody may ever collect it.
    """
    if PROC:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return 0
        fields = stat.rpartition(")")[2].split()
        return 0 if fields[0] in "ZX" else int(fields[19])
    return _birth_by_psutil(pid)


def _birth_by_psutil(pid: int) -> int:
    import psutil

    try:
        process = psutil.Process(pid)
        zombie = process.status() == psutil.STATUS_ZOMBIE
        return 0 if zombie else int(process.create_time() * 100)
    except psutil.NoSuchProcess:
        return 0


def is_process_alive(pid: int, start: int, boot: str) -> bool:
    """Does exactly that process live?  The number alone may be another's by now."""
    return start != 0 and boot == boot_id() and process_start_time(pid) == start


def current_holder() -> str:
    """This process, as the holder of a lease; a `:` and a slot may be added."""
    pid = os.getpid()
    return f"{machine_id()}:{pid}:{process_start_time(pid)}:{boot_id()[:8]}"


def is_holder_dead(holder: str) -> bool:
    """Is it certain that the holder is gone?  Of other machines nothing is certain."""
    machine, pid, start, boot = (*holder.split(":"), "", "", "", "")[:4]
    if machine != machine_id() or not (pid.isdecimal() and start.isdecimal()):
        return False
    return boot != boot_id()[:8] or process_start_time(int(pid)) != int(start)
