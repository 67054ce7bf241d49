"""The file of one archived run, and the index of all of them.

A file that stands under its own name was read back whole before it got that name.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import IO, Any

from yaoki.adapters.store.rows import dump_json
from yaoki.adapters.store.sqlite.database import sync_to_disk
from yaoki.adapters.system.folders import iter_paths_below
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import StoreError

MANIFEST, JOURNAL, ROWS, BUNDLE = "manifest.json", "journal.jsonl", "rows.jsonl", "refs.bundle"
LOGS = "logs"
ARCHIVE_SUFFIX = ".tar.gz"
INDEX = "index.jsonl"
COUNTED = (JOURNAL, ROWS)
MANIFEST_BYTES_MAX = 64 << 20
BLOCK = 1 << 16
ARCHIVE_READ_ERRORS = (
    tarfile.TarError,
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    zlib.error,
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive holds.  `last` is the number of the last line of the run's journal."""

    run: str
    goal: str
    base: str
    created_at: str
    finished_at: str
    archived_at: str
    why: str
    last: int
    lines: Mapping[str, int]
    refs: Mapping[str, str]
    files: Mapping[str, int] = field(default_factory=dict)
    schema: int = 1


def write_lines(path: Path, documents: Iterable[Mapping[str, Any]]) -> int:
    """One JSON object a line; returns how many."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps(document) + "\n")
            count += 1
    return count


def files_below(folder: Path, name: str = "") -> dict[str, int]:
    """Plain files with their sizes, by the name they get in the archive."""
    prefix = f"{name}/" if name else ""
    found = sorted(p for p in iter_paths_below(folder) if p.is_file() and not p.is_symlink())
    return {f"{prefix}{p.relative_to(folder).as_posix()}": p.stat().st_size for p in found}


def write_archive(target: Path, parts: Path, logs: Path, manifest: Manifest) -> None:
    """The parts and the whole of the logs, on the disk before this returns."""
    (parts / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1), encoding="utf-8")
    with tarfile.open(target, "w:gz", compresslevel=6) as archive:
        archive.add(parts / MANIFEST, MANIFEST)
        for name in (JOURNAL, ROWS, BUNDLE):
            if (parts / name).exists():
                archive.add(parts / name, name)
        for path in (logs, *sorted(iter_paths_below(logs))) if logs.is_dir() else ():
            inside = path.relative_to(logs).as_posix()
            archive.add(path, f"{LOGS}/{inside}".removesuffix("/."), recursive=False)
    sync_to_disk(target)


def read_manifest(path: Path) -> Manifest:
    """Of an archive that was read back before; only its beginning is read."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            return _manifest(archive, archive.next())
    except ARCHIVE_READ_ERRORS as error:
        raise _unreadable(path, error) from error


def read_back(path: Path, bundle: Path) -> Manifest:
    """Read every byte and hold it against the manifest; the bundle is left at `bundle`."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            manifest = _manifest(archive, archive.next())
            lines: dict[str, int] = {}
            sizes: dict[str, int] = {}
            while (member := archive.next()) is not None:
                if member.isreg() or member.islnk():
                    sizes[member.name], lines[member.name] = _read(archive, member, bundle)
    except ARCHIVE_READ_ERRORS as error:
        raise _unreadable(path, error) from error
    counted = {name: lines.get(name, -1) for name in COUNTED}
    if sizes != dict(manifest.files) or counted != dict(manifest.lines):
        raise _unreadable(path, "it does not hold what its manifest says")
    return manifest


def _manifest(archive: tarfile.TarFile, first: tarfile.TarInfo | None) -> Manifest:
    held = archive.extractfile(first) if first and first.name == MANIFEST else None
    if held is None:
        raise ValueError("its manifest is missing")
    return Manifest(**json.loads(held.read(MANIFEST_BYTES_MAX)))


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo, bundle: Path) -> tuple[int, int]:
    """Bytes and lines of one member."""
    held = archive.extractfile(member)
    if held is None:
        raise ValueError(f"{member.name} cannot be read")
    if member.name == BUNDLE:
        with bundle.open("wb") as file:
            shutil.copyfileobj(held, file, BLOCK)
        return bundle.stat().st_size, 0
    return _measured(held)


def _measured(held: IO[bytes]) -> tuple[int, int]:
    size = lines = 0
    while block := held.read(BLOCK):
        size += len(block)
        lines += block.count(b"\n")
    return size, lines


def _unreadable(path: Path, why: object) -> StoreError:
    return StoreError(
        f"the archive {path} cannot be read back: {why}",
        hint="nothing of the run was removed for it; look at the disk, then: yaoki prune",
    )


# ------------------------------------------------------------------ the index


def read_index(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of the index by the name of the file they tell of; a torn line tells nothing."""
    found: dict[str, dict[str, Any]] = {}
    index = folder / INDEX
    for line in index.read_bytes().split(b"\n") if index.exists() else ():
        try:
            told = json.loads(line)
            found[str(told["file"])] = told
        except (ValueError, KeyError, TypeError):
            continue
    return found


def add_to_index(folder: Path, line: Mapping[str, Any]) -> None:
    """The last step of an archiving: an archive that stands here is done with."""
    index = folder / INDEX
    torn = index.exists() and not index.read_bytes().endswith(b"\n") and index.stat().st_size > 0
    with index.open("ab") as file:
        file.write((b"\n" if torn else b"") + dump_json(dict(line)).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_to_disk(folder)
