"""The files that make up git's settings: config files, their includes, and the hooks they name.

Every conditional include is followed: its condition may hold in another folder or branch.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.system.folders import walk_folders
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import GitFailed

PARSE_CACHE_MAX = 128
FILES_MAX = 64
FOLDERS_MAX = 8
HOOKS_MAX = 500
BYTES_MAX = 1 << 20
EDITOR_LOCK_PREFIX = ".#"

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


def read_with_includes(git: Git, files: Iterable[Path], home: Path | None) -> dict[Path, bytes]:
    """The content of these files and of everything they include; missing files are skipped."""
    contents: dict[Path, bytes] = {}
    queue = list(files)
    while queue and len(contents) < FILES_MAX:
        file = queue.pop(0)
        if file in contents or not is_file_or_link(file):
            continue
        contents[file] = read_bounded(file)
        queue += _list_includes(git, file, contents[file], home)
    return contents


def find_hook_folders(
    git: Git, contents: Mapping[Path, bytes], top: Path, home: Path | None
) -> dict[Path, Path]:
    """The folders of `core.hooksPath`, each as it is named and with links resolved.

    Every value counts, because any of them may be in effect.
    """
    values = (value for each in contents.values() for value in _values(git, each, HOOKS_PATH))
    paths = (path for value in values if (path := _resolve(value, top, home)))
    folders = dict.fromkeys(Path(os.path.normpath(path)) for path in paths)
    return {folder: _real_path(folder) for folder in tuple(folders)[-FOLDERS_MAX:]}


def read_hooks(folder: Path, busy: Iterable[Path] = ()) -> Iterator[tuple[Path, bytes]]:
    """The files that hooks may run, with content, link target and executable bit.

    In a folder that contains a `busy` one people work, so only what git itself would start
    counts there.  A dangling link always counts: a later landing may bring its target.
    """
    is_busy = any(path.is_relative_to(folder) for path in busy)
    for file in _list_hooks(folder) if is_busy else islice(_walk_hooks(folder), HOOKS_MAX):
        executable = os.access(file, os.X_OK)
        if executable or not is_busy or not is_file(file):
            yield file, (b"x" if executable else b"-") + read_link(file) + read_bounded(file)


def read_bounded(file: Path) -> bytes:
    """The content; of a too large file the first part with size and times, unreadable for git.

    Otherwise the part beyond the limit could change unnoticed.  An error is encoded as well.
    """
    try:
        with open(file, "rb", opener=open_nonblocking) as stream:
            facts = os.fstat(stream.fileno())
            if not stat.S_ISREG(facts.st_mode):
                return b"[no file"
            content = stream.read(BYTES_MAX)
    except OSError as error:
        return b"[errno %d" % (error.errno or 0)
    if facts.st_size <= BYTES_MAX:
        return content
    numbers = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return b"[too large %d %d %d\n%b" % (*numbers, content)


def open_nonblocking(name: str, flags: int) -> int:
    """Open without waiting: opening a pipe would block until another process writes to it."""
    return os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def read_link(path: Path) -> bytes:
    """The target of a link, empty for other files: the same content elsewhere is a change."""
    try:
        return b"-> %b\n" % os.fsencode(path.readlink())
    except OSError:
        return b""


def _list_includes(git: Git, file: Path, content: bytes, home: Path | None) -> Iterator[Path]:
    for value in _values(git, content, INCLUDE):
        if path := _resolve(value, file.parent, home):
            yield _real_path(path)


def _values(git: Git, content: bytes, keys: re.Pattern[bytes]) -> Iterator[bytes]:
    for entry in read_settings(git, content) or ():
        key, _, value = entry.partition(b"\n")
        if keys.fullmatch(key):
            yield value


def _resolve(value: bytes, folder: Path, home: Path | None) -> Path | None:
    """A path as git reads it; None for one inside git's own installation."""
    name = os.fsdecode(value)
    if not name or name.startswith("%(prefix)"):
        return None
    if name == "~" or name.startswith("~/"):
        return home / name[2:] if home else None
    try:
        return folder / Path(name).expanduser()
    except RuntimeError:  # the home of an unknown user: git finds no file either
        return None


def _real_path(path: Path) -> Path:
    """The path without links and dots, so that each file is read once under its real name."""
    return Path(os.path.realpath(path))


def is_file(path: Path) -> bool:
    """False also for an inaccessible or too long name."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_file_or_link(path: Path) -> bool:
    """True for a file and any link, except the lock of an editor, which is a dangling link."""
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            return stat.S_ISREG(mode)
        return path.is_file() or not path.name.startswith(EDITOR_LOCK_PREFIX)
    except (OSError, ValueError):
        return False


def _list_hooks(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if _is_hook(file))
    except OSError:
        return []


def _walk_hooks(folder: Path) -> Iterator[Path]:
    """The hooks first, then the files in subfolders that they may call."""
    for parent, folders, files in walk_folders(folder):
        folders.sort()
        yield from (file for name in sorted(files) if is_file_or_link(file := Path(parent, name)))


def _is_hook(file: Path) -> bool:
    return is_file_or_link(file) and not file.is_dir()
