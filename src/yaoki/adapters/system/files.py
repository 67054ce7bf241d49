"""Atomic writes, safe reads, the folders of yaoki's own files, and free disk and memory."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from yaoki.errors import FREE_DISK_HINT, FatalCode, Fault

# File system errors that may disappear, some of them once there is free space.
TRANSIENT_FILE_ERRNOS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.EMFILE, errno.ENFILE}
)
# The file is missing, or it was replaced by a link or a special file.
NOT_PLAIN_ERRNOS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EACCES, errno.ENAMETOOLONG}
)


def make_file_fault(action: str, error: OSError) -> Fault:
    """Turns a file system error into a `Fault`."""
    return Fault(
        f"cannot {action}: {error.strerror or error}",
        transient=error.errno in TRANSIENT_FILE_ERRNOS,
        code=FatalCode.PERMISSION_DENIED if isinstance(error, PermissionError) else FatalCode.NONE,
        hint=FREE_DISK_HINT if error.errno in {errno.ENOSPC, errno.EDQUOT} else "yaoki doctor",
    )


def write_atomically(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace the file with `data`; a crash at any instant leaves the old or the new one.

    `mode` is subject to the umask.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        _write_through(temporary, data, mode)
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise make_file_fault(f"write {path}", error) from error


def write_output_file(path: Path, data: bytes) -> None:
    """Write to a path that a person names: follows links, and writes into a device or pipe."""
    if not path.exists() or path.is_file():
        return write_atomically(path.resolve(), data)
    try:
        with path.open("wb") as file:
            file.write(data)
    except OSError as error:
        raise make_file_fault(f"write {path}", error) from error


def _write_through(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def free_disk_bytes(path: Path) -> int:
    """Free bytes where `path` is or will be."""
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    disk = os.statvfs(existing)
    return disk.f_bavail * disk.f_frsize


def free_memory_bytes() -> int:
    """Memory that new processes can use without swapping."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except FileNotFoundError:
        pass  # not Linux: ask psutil
    except OSError as error:
        raise make_file_fault("read /proc/meminfo", error) from error
    import psutil

    return int(psutil.virtual_memory().available)


def state_home() -> Path:
    """The folder for files that belong to no repository."""
    if home := os.environ.get("YAOKI_HOME"):
        return Path(home)
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state) / "yaoki"
    return Path.home() / ".local" / "state" / "yaoki"


def make_private_folder(folder: Path) -> None:
    """Creates the folder if needed and closes it to other users."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    facts = folder.stat()
    if stat.S_IMODE(facts.st_mode) & 0o077 and facts.st_uid == os.geteuid():
        folder.chmod(0o700)


def proof_rooms_home() -> Path:
    """The folder of proof rooms; its path does not reveal that yaoki made it."""
    if home := os.environ.get("YAOKI_HOME"):
        return Path(home) / "rooms"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "proof-rooms"


def read_plain_bytes(file: Path, most: int) -> bytes | None:
    """The first bytes of a plain file; None for anything else."""
    with open_plain_file(file) as stream:
        return None if stream is None else stream.read(most)


def is_plain_file(file: Path) -> bool:
    with open_plain_file(file) as stream:
        return stream is not None


@contextmanager
def open_plain_file(file: Path) -> Iterator[IO[bytes] | None]:
    """A plain file to read from; None for anything else.

    In a folder that an agent can write, a link could lead anywhere and a pipe could block forever.
    """
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in NOT_PLAIN_ERRNOS:
            raise
        yield None
        return
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        yield None
        return
    with os.fdopen(handle, "rb") as stream:
        yield stream


def is_locked(file: Path) -> bool:
    """A lock file that does not exist is not locked."""
    try:
        descriptor = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
