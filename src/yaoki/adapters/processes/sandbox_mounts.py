"""The bubblewrap options that mount the file system of the sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

# Empty inside except for named paths: a socket in here would lead out of the sandbox.
SHARED_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/run"), Path("/dev/shm"))
# Name resolution, and the programs of some systems.
VISIBLE_RUN_FOLDERS = tuple(
    Path("/run") / name
    for name in ("systemd/resolve", "resolvconf", "NetworkManager", "current-system", "wrappers")
)
# Kernel settings below /proc: root can write them without any capability.
KERNEL_SWITCHES = (Path("/proc/sys"), Path("/proc/sysrq-trigger"))
# Every socket with a path in this network namespace.
SOCKETS, SOCKETS_MAX = Path("/proc/net/unix"), 500


def root_options() -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for switch in KERNEL_SWITCHES:
        if switch.exists():
            yield from ("--ro-bind", str(switch), str(switch))
    for path in SHARED_FOLDERS:
        if path.is_dir() and not path.is_symlink():
            yield from ("--tmpfs", str(path))


def bind_options(
    readable: Sequence[Path], writable: Sequence[Path], hidden: Sequence[Path]
) -> Iterator[str]:
    """Deeper paths last, so that each is mounted on top of its parent."""
    options: Mapping[Path, str] = {
        **dict.fromkeys(hidden, "--tmpfs"),
        **dict.fromkeys(readable, "--ro-bind"),
        **dict.fromkeys(writable, "--bind"),
    }
    hidden_folders = []
    for path in sorted(options, key=lambda item: len(item.parts)):
        if options[path] != "--tmpfs":
            yield from (options[path], str(path), str(path))
        elif path.is_dir():
            yield from ("--tmpfs", str(path))
            hidden_folders.append(str(path))
        else:
            yield from ("--ro-bind", os.devnull, str(path))
    # Read-only, because files written there would vanish.
    yield from (word for path in hidden_folders for word in ("--remount-ro", path))


def list_open_sockets() -> list[Path]:
    """Sockets on which programs of this machine listen and that we can use.

    A read-only mount does not close a socket: a container engine or a key agent would execute
    outside what a process inside requests.
    """
    try:
        rows = SOCKETS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    rows_with_path = (row.split(maxsplit=7)[7:] for row in rows)
    sockets = dict.fromkeys(
        word for words in rows_with_path for word in words if word.startswith("/")
    )
    return [Path(word).resolve() for word in sockets if os.access(word, os.W_OK)][:SOCKETS_MAX]


def overlay_options(overlays: Mapping[Path, Path], writable: Sequence[Path]) -> Iterator[str]:
    """The options that go on top of all binds, deeper paths last."""
    for path in sorted(overlays, key=lambda item: len(item.parts)):
        option = "--bind" if overlays[path] in writable else "--ro-bind"
        if path.exists():
            yield from (option, str(overlays[path]), str(path))


def resolve_existing(paths: Iterable[Path]) -> list[Path]:
    """The paths that exist, with links resolved, because a mount needs the real path.

    An inaccessible path counts as missing: a PATH may name folders of another user.
    """
    return [path.resolve() for path in paths if os.access(path, os.F_OK)]


def is_in_shared_folder(path: Path) -> bool:
    return is_below(path, SHARED_FOLDERS)


def is_below(path: Path, tops: Iterable[Path]) -> bool:
    return any(path.is_relative_to(top) for top in tops)
