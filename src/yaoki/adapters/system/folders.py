"""Walks and removes folders without recursion: an agent can nest them arbitrarily deep."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass

# No project has deeper folders, and the deepest are too long for a path.
DEPTH_MAX = 400
PATH_BYTES_MAX = 3_500
# Deeper folders are moved up before they are removed, so that their path is not too long.
REMOVED_DEPTH_MAX = 100


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A path below a top folder; a folder that is too deep was not searched."""

    path: str
    mode: int
    size: int
    is_too_deep: bool = False


def walk_tree(
    top: Path, name: str, depth_max: int = DEPTH_MAX, *, skip: Collection[str] = ()
) -> Iterator[FolderEntry]:
    """An entry of `top` and everything below it; links are not followed.

    Entries that vanish meanwhile or cannot be read are left out.
    """
    folder, pending = os.fspath(top), [name]
    while pending:
        path = pending.pop()
        try:
            facts = os.lstat(f"{folder}/{path}")
        except OSError:
            continue
        is_folder = stat.S_ISDIR(facts.st_mode)
        is_too_deep = is_folder and _is_too_deep(path, depth_max)
        yield FolderEntry(path, facts.st_mode, facts.st_size, is_too_deep)
        if is_folder and not is_too_deep:
            pending.extend(_list_entries(folder, path, skip))


def list_small_folder(top: Path, entries_max: int, depth_max: int) -> list[FolderEntry] | None:
    """Everything below `top` except `.git`; None if there is more, or if it cannot be listed."""
    try:
        with os.scandir(top) as listed:
            names = [entry.name for entry in listed if entry.name != ".git"]
    except OSError:
        return None
    entries: list[FolderEntry] = []
    for name in names:
        for entry in walk_tree(top, name, depth_max, skip=(".git",)):
            if len(entries) == entries_max:
                return None
            entries.append(entry)
    return entries


def parent_folders(paths: Iterable[str]) -> set[str]:
    """All folders above these relative paths."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _list_entries(folder: str, path: str, skip: Collection[str]) -> list[str]:
    with suppress(OSError), os.scandir(f"{folder}/{path}") as entries:
        return [f"{path}/{entry.name}" for entry in entries if entry.name not in skip]
    return []


def _is_too_deep(path: str, depth_max: int) -> bool:
    return path.count("/") >= depth_max or len(os.fsencode(path)) > PATH_BYTES_MAX


def walk_folders(top: str | Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Like `os.walk`, which is recursive up to Python 3.11: each folder with the names of its
    folders and files.  The caller may remove folders from the list to skip them.
    """
    pending = [os.fspath(top)]
    while pending:
        folder_path = pending.pop()
        names: list[tuple[str, bool]] = []
        with suppress(OSError), os.scandir(folder_path) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        folders = [name for name, folder in names if folder]
        yield folder_path, folders, [name for name, folder in names if not folder]
        inner = (f"{folder_path}/{name}" for name in reversed(folders))
        pending += [path for path in inner if len(os.fsencode(path)) <= PATH_BYTES_MAX]


def iter_paths_below(top: Path) -> Iterator[Path]:
    """Every file and folder below `top`."""
    for folder, folders, files in walk_folders(top):
        yield from (Path(folder, name) for name in (*folders, *files))


def remove_tree(top: Path) -> None:
    """Removes a folder with its content; ignores what cannot be removed."""
    try:
        shutil.rmtree(top, ignore_errors=True)
    except RecursionError:
        _flatten(top)
        shutil.rmtree(top, ignore_errors=True)


def _flatten(top: Path) -> None:
    """Moves folders that are too deep for one path to the top, one after another."""
    moved_count, pending = 0, [str(top)]
    while pending:
        folder = pending.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            subfolders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            for path in subfolders:
                target = path
                if path.count("/") - str(top).count("/") > REMOVED_DEPTH_MAX:
                    moved_count += 1
                    target = str(top / f".deep-{os.getpid()}-{moved_count}")
                    os.rename(path, target)  # noqa: PTH104  strings throughout
                pending.append(target)
