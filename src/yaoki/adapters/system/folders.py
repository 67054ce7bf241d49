"""Folders walked and removed without recursion: an agent makes them as deep as it likes."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass

# Deeper folders than these are in nobody's project, and no path names the deepest.
DEPTH_MAX = 400
PATH_BYTES_MAX = 3_500
# Folders below this are moved up before they are removed, so that a path still names them.
REMOVED_DEPTH_MAX = 100


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A path below some top; `deep` is a folder that was not looked into."""

    path: str
    mode: int
    size: int
    is_too_deep: bool = False


def walk_tree(
    top: Path, name: str, depth_max: int = DEPTH_MAX, *, skip: Collection[str] = ()
) -> Iterator[FolderEntry]:
    """An entry of `top` and everything below it; links are not followed.

    What vanishes meanwhile is left out, and so is what nobody may read.
    """
    pending = [name]
    while pending:
        path = pending.pop()
        try:
            facts = os.lstat(top / path)
        except OSError:
            continue
        folder = stat.S_ISDIR(facts.st_mode)
        deep = folder and _too_deep(path, depth_max)
        yield FolderEntry(path, facts.st_mode, facts.st_size, deep)
        if folder and not deep:
            pending.extend(_inside(top, path, skip))


def _inside(top: Path, path: str, skip: Collection[str]) -> list[str]:
    with suppress(OSError), os.scandir(top / path) as held:
        return [f"{path}/{entry.name}" for entry in held if entry.name not in skip]
    return []


def _too_deep(path: str, depth_max: int) -> bool:
    return path.count("/") >= depth_max or len(os.fsencode(path)) > PATH_BYTES_MAX


def walk_folders(top: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, which goes down by calling itself up to Python 3.11: each folder with the
    names of folders and files in it.  Whoever asks may drop folders.
    """
    pending = [os.fspath(top)]
    while pending:
        place = pending.pop()
        found: list[tuple[str, bool]] = []
        with suppress(OSError), os.scandir(place) as held:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in held]
        folders = [name for name, folder in found if folder]
        yield place, folders, [name for name, folder in found if not folder]
        inner = (f"{place}/{name}" for name in reversed(folders))
        pending += [path for path in inner if len(os.fsencode(path)) <= PATH_BYTES_MAX]


def iter_paths_below(top: Path) -> Iterator[Path]:
    """Every file and folder."""
    for place, folders, files in walk_folders(top):
        yield from (Path(place, name) for name in (*folders, *files))


def remove_tree(top: Path) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays, and nothing is said."""
    try:
        shutil.rmtree(top, ignore_errors=True)
    except RecursionError:
        _flatten(top)
        shutil.rmtree(top, ignore_errors=True)


def _flatten(top: Path) -> None:
    """Move folders that are too deep for one path to the top, one after another."""
    moved, pending = 0, [str(top)]
    while pending:
        folder = pending.pop()
        with suppress(OSError), os.scandir(folder) as held:
            inside = [entry.path for entry in held if entry.is_dir(follow_symlinks=False)]
            for path in inside:
                place = path
                if path.count("/") - str(top).count("/") > REMOVED_DEPTH_MAX:
                    moved += 1
                    place = str(top / f".deep-{os.getpid()}-{moved}")
                    os.rename(path, place)  # noqa: PTH104  strings throughout
                pending.append(place)
