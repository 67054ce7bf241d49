"""The files that make up git's settings: config files, their includes, and the hooks they name.

Every conditional include is followed: its condition may hold in another folder or branch.  These
files are read several times for each attempt, so they have plain names: a `Path` costs more than
the call.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice

from yaoki.adapters.git.command import Git
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.folders import walk_folders
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import GitFailed

PARSE_CACHE_MAX = 128
FILES_MAX = 64
FOLDERS_MAX = 8
HOOKS_MAX = 500
BYTES_MAX = 1 << 20
EDITOR_LOCK_PREFIX = ".#"
# Two writes within one tick of the file system's clock have the same times.
SETTLED_S = 2.0
KEPT_BYTES_MAX = 1 << 16

FileIdentity = tuple[str, int, int, int, int, int]
_contents: BoundedCache[FileIdentity, bytes] = BoundedCache(256)

INCLUDE = lazy_compile(rb"include\.path|includeif\..+\.path", re.DOTALL)
HOOKS_PATH = lazy_compile(rb"core\.hookspath")


def read_settings(git: Git, content: bytes) -> tuple[bytes, ...] | None:
    """The settings in order, each as `key\\nvalue`; None when git cannot parse the content.

    Results are cached by content.  A refusal is not cached: it may concern another file that git
    reads as well.
    """
    try:
        return list_settings(git, content)
    except GitFailed as error:
        if error.transient:
            raise
        return None


@lru_cache(maxsize=PARSE_CACHE_MAX)
def list_settings(git: Git, content: bytes) -> tuple[bytes, ...]:
    args = ("config", "--file", "-", "--no-includes", "-z", "--list")
    return tuple(entry for entry in git.run(*args, stdin=content).out.split(b"\0") if entry)


def read_with_includes(git: Git, files: Iterable[str], home: str) -> dict[str, bytes]:
    """The content of these files and of everything they include; missing files are skipped.

    `home` may be empty.
    """
    contents: dict[str, bytes] = {}
    queue = list(files)
    while queue and len(contents) < FILES_MAX:
        file = queue.pop(0)
        if file in contents or not is_file_or_link(file):
            continue
        contents[file] = read_bounded(file)
        queue += _list_includes(git, file, contents[file], home)
    return contents


def find_hook_folders(
    git: Git, contents: Mapping[str, bytes], top: str, home: str
) -> dict[str, str]:
    """The folders of `core.hooksPath`, each as it is named and with links resolved.

    Every value counts, because any of them may be in effect.
    """
    values = (value for each in contents.values() for value in _values(git, each, HOOKS_PATH))
    paths = (path for value in values if (path := _resolve(value, top, home)))
    folders = dict.fromkeys(os.path.normpath(path) for path in paths)
    return {folder: os.path.realpath(folder) for folder in tuple(folders)[-FOLDERS_MAX:]}


def read_hooks(folder: str, busy: Iterable[str] = ()) -> Iterator[tuple[str, bytes]]:
    """The files that hooks may run, with content, link target and executable bit.

    In a folder that contains a `busy` one people work, so only what git itself would start
    counts there.  A dangling link always counts: a later landing may bring its target.
    """
    is_busy = any(is_inside(path, folder) for path in busy)
    for file in _list_hooks(folder) if is_busy else islice(_walk_hooks(folder), HOOKS_MAX):
        executable = os.access(file, os.X_OK)
        if executable or not is_busy or not is_file(file):
            yield file, (b"x" if executable else b"-") + read_link(file) + read_bounded(file)


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def read_bounded(file: str) -> bytes:
    """The content; of a too large file the first part with size and times, unreadable for git.

    Otherwise the part beyond the limit could change unnoticed.  An error is encoded as well.  A
    file that was not changed since it was read is not read again.
    """
    try:
        kept = _contents.get(_identify(file, os.stat(file)))  # noqa: PTH116 - see above
        return _read(file) if kept is None else kept
    except (OSError, ValueError) as error:
        return b"[errno %d" % (getattr(error, "errno", 0) or 0)


def _read(file: str) -> bytes:
    with open(file, "rb", opener=open_nonblocking) as stream:
        facts = os.fstat(stream.fileno())
        if not stat.S_ISREG(facts.st_mode):
            return b"[no file"
        content = stream.read(BYTES_MAX)
    if facts.st_size > BYTES_MAX:
        numbers = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        return b"[too large %d %d %d\n%b" % (*numbers, content)
    unchanged_for = SystemClock().now().timestamp() - facts.st_ctime
    if len(content) <= KEPT_BYTES_MAX and unchanged_for > SETTLED_S:
        _contents[_identify(file, facts)] = content
    return content


def _identify(file: str, facts: os.stat_result) -> FileIdentity:
    """The ctime changes with every write, and no tool can set it back."""
    numbers = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return (file, *numbers)


def open_nonblocking(name: str, flags: int) -> int:
    """Open without waiting: opening a pipe would block until another process writes to it."""
    return os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def read_link(path: str) -> bytes:
    """The target of a link, empty for other files: the same content elsewhere is a change."""
    try:
        return b"-> %b\n" % os.readlink(os.fsencode(path))  # noqa: PTH115 - see above
    except OSError:
        return b""


def _list_includes(git: Git, file: str, content: bytes, home: str) -> Iterator[str]:
    """Real paths, so that each file is read once."""
    for value in _values(git, content, INCLUDE):
        if path := _resolve(value, file.rpartition("/")[0], home):
            yield os.path.realpath(path)


def _values(git: Git, content: bytes, keys: re.Pattern[bytes]) -> Iterator[bytes]:
    for entry in read_settings(git, content) or ():
        key, _, value = entry.partition(b"\n")
        if keys.fullmatch(key):
            yield value


def _resolve(value: bytes, folder: str, home: str) -> str:
    """A path as git reads it; empty for one inside git's own installation."""
    name = os.fsdecode(value)
    if not name or name.startswith("%(prefix)"):
        return ""
    if name == "~" or name.startswith("~/"):
        return f"{home}/{name[2:]}" if home else ""
    # For an unknown user git finds no file either.
    full = os.path.expanduser(name)  # noqa: PTH111 - see above
    return full if full.startswith("/") else f"{folder}/{full}"


def _mode(path: str) -> int:
    """0 for a missing, an inaccessible or a too long name."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116 - see above
    except (OSError, ValueError):
        return 0


def is_file(path: str) -> bool:
    return stat.S_ISREG(_mode(path))


def is_folder(path: str) -> bool:
    return stat.S_ISDIR(_mode(path))


def is_file_or_link(path: str) -> bool:
    """True for a file and any link, except the lock of an editor, which is a dangling link."""
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return False
    if not stat.S_ISLNK(mode):
        return stat.S_ISREG(mode)
    return is_file(path) or not path.rpartition("/")[2].startswith(EDITOR_LOCK_PREFIX)


def _list_hooks(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if _is_hook(entry.path))
    except OSError:
        return []


def _walk_hooks(folder: str) -> Iterator[str]:
    """The hooks first, then the files in subfolders that they may call."""
    for parent, folders, files in walk_folders(folder):
        folders.sort()
        yield from (file for name in sorted(files) if is_file_or_link(file := f"{parent}/{name}"))


def _is_hook(file: str) -> bool:
    return is_file_or_link(file) and not is_folder(file)
