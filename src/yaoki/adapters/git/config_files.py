"""Which files make up git's settings: the ones named, all that they include, the hooks they name.

Every condition of an include is taken as met: it may be, at another place or on another branch.
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
from yaoki.errors import GitFailed

KNOWN_MAX = 128
FILES_MAX = 64
FOLDERS_MAX = 8
HOOKS_MAX = 500
BYTES_MAX = 1 << 20
LOCK = ".#"

INCLUDE = re.compile(rb"include\.path|includeif\..+\.path", re.DOTALL)
HOOKS_PATH = re.compile(rb"core\.hookspath")


def read_settings(git: Git, held: bytes) -> tuple[bytes, ...] | None:
    """Settings in their order, the key before the first line's end; None where git cannot read.

    The same bytes give the same answer, so git is started for new ones only.  A refusal is not
    kept: it may be about another file, which git reads along.
    """
    try:
        return list_settings(git, held)
    except GitFailed as failed:
        if failed.transient:
            raise
        return None


@lru_cache(maxsize=KNOWN_MAX)
def list_settings(git: Git, held: bytes) -> tuple[bytes, ...]:
    args = ("config", "--file", "-", "--no-includes", "-z", "--list")
    return tuple(entry for entry in git.run(*args, stdin=held).out.split(b"\0") if entry)


def read_with_includes(git: Git, files: Iterable[Path], home: Path | None) -> dict[Path, bytes]:
    """The bytes of these files and of everything they include, as far as they are there."""
    held: dict[Path, bytes] = {}
    waiting = list(files)
    while waiting and len(held) < FILES_MAX:
        file = waiting.pop(0)
        if file in held or not is_file_or_link(file):
            continue
        held[file] = read_bounded(file)
        waiting += _included(git, file, held[file], home)
    return held


def find_hook_folders(
    git: Git, held: Mapping[Path, bytes], top: Path, home: Path | None
) -> dict[Path, Path]:
    """Where `core.hooksPath` leads from the checkout, as it is named and as it is.

    Every value counts, for any may hold.
    """
    named = (value for one in held.values() for value in _values(git, one, HOOKS_PATH))
    places = (place for value in named if (place := _place(value, top, home)))
    found = dict.fromkeys(Path(os.path.normpath(place)) for place in places)
    return {place: _plain(place) for place in tuple(found)[-FOLDERS_MAX:]}


def read_hooks(folder: Path, moving: Iterable[Path] = ()) -> Iterator[tuple[Path, bytes]]:
    """What may be run there, with its bytes; one that may not be executed is another thing.

    Around what is `moving` everybody works: there only what git itself would start counts.  A
    link that leads nowhere counts everywhere: what lands later may bring the file.
    """
    around = any(place.is_relative_to(folder) for place in moving)
    for file in _direct(folder) if around else islice(_below(folder), HOOKS_MAX):
        started = os.access(file, os.X_OK)
        if started or not around or not is_file(file):
            yield file, (b"x" if started else b"-") + read_link(file) + read_bounded(file)


def read_bounded(file: Path) -> bytes:
    """The bytes; of a file that is too large some, its size and time, and nothing git can read.

    What stands behind the bound could otherwise change unseen.  A refusal is an answer, too.
    """
    try:
        with open(file, "rb", opener=open_nonblocking) as opened:
            facts = os.fstat(opened.fileno())
            if not stat.S_ISREG(facts.st_mode):
                return b"[no file"
            held = opened.read(BYTES_MAX)
    except OSError as error:
        return b"[errno %d" % (error.errno or 0)
    if facts.st_size <= BYTES_MAX:
        return held
    return b"[too large %d %d %d\n%b" % (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, held)


def open_nonblocking(name: str, flags: int) -> int:
    """Opens without waiting: a pipe would hold us up until somebody writes."""
    return os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def read_link(place: Path) -> bytes:
    """Where a link leads; nothing for what is none.  The same bytes elsewhere are another thing."""
    try:
        return b"-> %b\n" % os.fsencode(place.readlink())
    except OSError:
        return b""


def _included(git: Git, file: Path, held: bytes, home: Path | None) -> Iterator[Path]:
    for value in _values(git, held, INCLUDE):
        if place := _place(value, file.parent, home):
            yield _plain(place)


def _values(git: Git, held: bytes, wanted: re.Pattern[bytes]) -> Iterator[bytes]:
    for entry in read_settings(git, held) or ():
        key, _, value = entry.partition(b"\n")
        if wanted.fullmatch(key):
            yield value


def _place(value: bytes, around: Path, home: Path | None) -> Path | None:
    """A path as git reads it; one below git's own installation is no business of ours."""
    name = os.fsdecode(value)
    if not name or name.startswith("%(prefix)"):
        return None
    if name == "~" or name.startswith("~/"):
        return home / name[2:] if home else None
    try:
        return around / Path(name).expanduser()
    except RuntimeError:  # the home of a user whom nobody knows: git finds no file either
        return None


def _plain(place: Path) -> Path:
    """Without links and dots, so that each file is looked at once and named as it is."""
    return Path(os.path.realpath(place))


def is_file(place: Path) -> bool:
    """No for a name that nobody may look at, or that is too long to be one."""
    try:
        return place.is_file()
    except OSError:
        return False


def is_file_or_link(place: Path) -> bool:
    """A file, or a link wherever it leads; but for the locks of editors, which lead nowhere."""
    try:
        return place.is_file() or (place.is_symlink() and not place.name.startswith(LOCK))
    except OSError:
        return False


def _direct(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if _may_start(file))
    except OSError:
        return []


def _below(folder: Path) -> Iterator[Path]:
    """The hooks themselves before what they may call."""
    for place, folders, files in walk_folders(folder):
        folders.sort()
        yield from (file for name in sorted(files) if is_file_or_link(file := Path(place, name)))


def _may_start(file: Path) -> bool:
    return is_file_or_link(file) and not file.is_dir()
