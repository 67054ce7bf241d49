"""Copies of an agent's own folders for one task: the agent can continue its conversation, but
cannot write the settings, hooks or keys of the user.

The copy is made once per task, from the user's settings without conversations, and is used by all
attempts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path

FILE_BYTES_MAX = 1 << 20
BYTES_MAX = 64 << 20
FILES_MAX = 5_000
FINISHED = ".copied"


class PrivateState:
    """The copies of one task."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make_copies(self, excluded_by_folder: Mapping[Path, Sequence[str]]) -> dict[Path, Path]:
        """Maps each folder to its copy; a missing folder gets an empty copy.

        `excluded_by_folder` names for each folder the patterns that are not copied.
        """
        return {
            source: self._copy(source, excluded) for source, excluded in excluded_by_folder.items()
        }

    def _copy(self, source: Path, excluded: Sequence[str]) -> Path:
        source.mkdir(parents=True, exist_ok=True)
        private_folder = self._folder / sha256(os.fsencode(source)).hexdigest()[:12]
        copy, mark = private_folder / "copy", private_folder / FINISHED
        if mark.exists():
            return copy
        # A copy that was interrupted starts again.
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(parents=True)
        room = BYTES_MAX
        for n, file in enumerate(_list_files(source, excluded)):
            room -= file.stat().st_size
            if n >= FILES_MAX or room < 0:
                break
            target = copy / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
        mark.touch()
        return copy


def _list_files(source: Path, excluded: Sequence[str]) -> Iterator[Path]:
    """Small plain files, those nearest to the top first."""
    for folder, folders, names in os.walk(source):
        inside = Path(folder)
        folders[:] = [f for f in sorted(folders) if not _is_excluded(inside / f, source, excluded)]
        for file in (inside / name for name in sorted(names)):
            fit = file.is_file() and os.access(file, os.R_OK)
            small = fit and file.stat().st_size <= FILE_BYTES_MAX
            if small and not _is_excluded(file, source, excluded):
                yield file


def _is_excluded(path: Path, source: Path, patterns: Sequence[str]) -> bool:
    name = path.relative_to(source).as_posix()
    return any(fnmatch(name, pattern) for pattern in patterns)
