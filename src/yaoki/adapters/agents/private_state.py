"""A copy of an agent's own folder for one task: it goes on with its conversation, and can write
neither the user's settings nor their hooks nor their keys.

The copy is made once for a task, of the user's settings without their conversations, and stays from
attempt to attempt.
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

    def make_copies(self, wanted: Mapping[Path, Sequence[str]]) -> dict[Path, Path]:
        """The copy of each of these folders; a folder that is not there is made, and empty.

        With each folder come the names in it that are not copied.
        """
        return {place: self._copy(place, left_out) for place, left_out in wanted.items()}

    def _copy(self, place: Path, left_out: Sequence[str]) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        kept = self._folder / sha256(os.fsencode(place)).hexdigest()[:12]
        copy, mark = kept / "copy", kept / FINISHED
        if mark.exists():
            return copy
        # One that was killed half-way begins again.
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(parents=True)
        room = BYTES_MAX
        for n, file in enumerate(_files(place, left_out)):
            room -= file.stat().st_size
            if n >= FILES_MAX or room < 0:
                break
            target = copy / file.relative_to(place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
        mark.touch()
        return copy


def _files(place: Path, left_out: Sequence[str]) -> Iterator[Path]:
    """Small plain files, those nearest to the top first in each folder."""
    for folder, folders, names in os.walk(place):
        inside = Path(folder)
        folders[:] = [f for f in sorted(folders) if not _is_left_out(inside / f, place, left_out)]
        for file in (inside / name for name in sorted(names)):
            fit = file.is_file() and os.access(file, os.R_OK)
            small = fit and file.stat().st_size <= FILE_BYTES_MAX
            if small and not _is_left_out(file, place, left_out):
                yield file


def _is_left_out(path: Path, place: Path, patterns: Sequence[str]) -> bool:
    name = path.relative_to(place).as_posix()
    return any(fnmatch(name, pattern) for pattern in patterns)
