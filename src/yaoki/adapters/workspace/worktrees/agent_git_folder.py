"""Reads the git folder that an agent wrote: as plain files, bounded, without running git."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from yaoki.adapters.git.batch import OBJECT_ID
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.system.folders import walk_folders, walk_tree

FILE_BYTES_MAX = 4 << 20
LOG_BYTES_MAX = 1 << 20
FILES_MAX = 200_000
REFS_MAX = 2_000
NAMES_MAX = 50


def read_printable_lines(file: Path) -> Iterator[str]:
    for row in (read_plain_bytes(file, FILE_BYTES_MAX) or b"").splitlines():
        yield "".join(c for c in row.decode("utf-8", "replace") if c.isprintable())[:200]


def has_objects(objects: Path) -> bool:
    """True when the agent's git wrote any object; only names are read."""
    if objects.is_symlink() or not objects.is_dir():
        return False
    with os.scandir(objects) as entries:
        loose = any(len(entry.name) == 2 for entry in entries)
    return loose or any((objects / "pack").glob("*.pack"))


def find_unsafe_file(objects: Path) -> str:
    """A sentence about what git must not read: a pipe, a device, alternates."""
    alternates = objects / "info" / "alternates"
    if not alternates.is_symlink() and alternates.is_file() and alternates.stat().st_size:
        return "its objects have alternates"
    for n, entry in enumerate(walk_tree(objects.parent, objects.name)):
        if n > FILES_MAX:
            return f"there are more than {FILES_MAX} files"
        if entry.is_too_deep or not (stat.S_ISDIR(entry.mode) or stat.S_ISREG(entry.mode)):
            return f"{Path(entry.path).name} is not a regular file"
    return ""


def read_refs(own: Path) -> Iterator[tuple[str, str]]:
    """Loose refs, which the agent made or moved; copied refs are in the packed file."""
    count = 0
    if (own / "refs").is_symlink():  # it could lead through the whole machine
        return
    for folder, folders, names in walk_folders(own / "refs"):
        del folders[NAMES_MAX:]
        count += 1 + len(names)
        if count > REFS_MAX:
            return
        for name in names[:NAMES_MAX]:
            file = Path(folder) / name
            text = (read_plain_bytes(file, 100) or b"").decode("ascii", "replace").strip()
            if OBJECT_ID.fullmatch(text):
                yield file.relative_to(own).as_posix(), text


def read_head(own: Path, refs: dict[str, str]) -> str:
    text = (read_plain_bytes(own / "HEAD", 4096) or b"").decode("utf-8", "replace").strip()
    if OBJECT_ID.fullmatch(text):
        return text
    ref = text.removeprefix("ref: ")
    if ref in refs:
        return refs[ref]
    if ref.startswith("refs/heads/") and ".." not in ref:
        loose = (read_plain_bytes(own / ref, 100) or b"").decode("ascii", "replace").strip()
        if OBJECT_ID.fullmatch(loose):
            return loose
    packed: Iterable[bytes] = (
        read_plain_bytes(own / "packed-refs", FILE_BYTES_MAX) or b""
    ).splitlines()
    rows = (row.decode("utf-8", "replace").split(" ", 1) for row in packed)
    return next(
        (r[0] for r in rows if len(r) == 2 and r[1] == ref and OBJECT_ID.fullmatch(r[0])), ""
    )


def read_reflogs(own: Path) -> Iterator[str]:
    """Every commit at which HEAD or the stash has been."""
    for name in ("logs/HEAD", "logs/refs/stash"):
        for row in (read_plain_bytes(own / name, LOG_BYTES_MAX) or b"").splitlines():
            words = row.decode("ascii", "replace").split()
            if len(words) > 1 and OBJECT_ID.fullmatch(words[1]):
                yield words[1]
