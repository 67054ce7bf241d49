"""The archive file of one run, and the index of all archives.

An archive gets its final name only after it was read back completely.
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
REPORT = "report.txt"
LOGS = "logs"
ARCHIVE_SUFFIX = ".tar.gz"
INDEX = "index.jsonl"
COUNTED_FILES = (JOURNAL, ROWS)
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
    """The content of an archive.  `last` is the number of the last line of the run's journal."""

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
    """Write JSON objects, one per line; returns their number."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps(document) + "\n")
            count += 1
    return count


def files_below(folder: Path, name: str = "") -> dict[str, int]:
    """Regular files with their sizes, by their names in the archive."""
    prefix = f"{name}/" if name else ""
    files = sorted(p for p in iter_paths_below(folder) if p.is_file() and not p.is_symlink())
    return {f"{prefix}{p.relative_to(folder).as_posix()}": p.stat().st_size for p in files}


def write_archive(target: Path, parts: Path, logs: Path, manifest: Manifest) -> None:
    """Write the parts and all logs, synced to the disk before this returns."""
    (parts / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1), encoding="utf-8")
    with tarfile.open(target, "w:gz", compresslevel=6) as archive:
        archive.add(parts / MANIFEST, MANIFEST)
        for name in (REPORT, JOURNAL, ROWS, BUNDLE):
            if (parts / name).exists():
                archive.add(parts / name, name)
        for path in (logs, *sorted(iter_paths_below(logs))) if logs.is_dir() else ():
            inside = path.relative_to(logs).as_posix()
            archive.add(path, f"{LOGS}/{inside}".removesuffix("/."), recursive=False)
    sync_to_disk(target)


def read_manifest(path: Path) -> Manifest:
    """Read the beginning of an archive that was read back completely before."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            return _manifest(archive, archive.next())
    except ARCHIVE_READ_ERRORS as error:
        raise _unreadable(path, error) from error


def read_back(path: Path, bundle: Path) -> Manifest:
    """Read every byte and compare it with the manifest; the git bundle is written to `bundle`."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            manifest = _manifest(archive, archive.next())
            lines: dict[str, int] = {}
            sizes: dict[str, int] = {}
            while (member := archive.next()) is not None:
                if member.isreg() or member.islnk():
                    sizes[member.name], lines[member.name] = _read_member(archive, member, bundle)
    except ARCHIVE_READ_ERRORS as error:
        raise _unreadable(path, error) from error
    line_counts = {name: lines.get(name, -1) for name in COUNTED_FILES}
    if sizes != dict(manifest.files) or line_counts != dict(manifest.lines):
        raise _unreadable(path, "its content differs from its manifest")
    return manifest


def _manifest(archive: tarfile.TarFile, first: tarfile.TarInfo | None) -> Manifest:
    file = archive.extractfile(first) if first and first.name == MANIFEST else None
    if file is None:
        raise ValueError("its manifest is missing")
    return Manifest(**json.loads(file.read(MANIFEST_BYTES_MAX)))


def _read_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, bundle: Path
) -> tuple[int, int]:
    """Bytes and lines of one member."""
    source = archive.extractfile(member)
    if source is None:
        raise ValueError(f"{member.name} cannot be read")
    if member.name == BUNDLE:
        with bundle.open("wb") as file:
            shutil.copyfileobj(source, file, BLOCK)
        return bundle.stat().st_size, 0
    return _count_bytes_and_lines(source)


def _count_bytes_and_lines(file: IO[bytes]) -> tuple[int, int]:
    size = lines = 0
    while block := file.read(BLOCK):
        size += len(block)
        lines += block.count(b"\n")
    return size, lines


def _unreadable(path: Path, reason: object) -> StoreError:
    return StoreError(
        f"the archive {path} cannot be read back: {reason}",
        hint="nothing of the run was deleted; check the disk, then: yaoki prune",
    )


# ------------------------------------------------------------------ the index


def read_index(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of the index by the name of their archive; a torn line is skipped."""
    lines: dict[str, dict[str, Any]] = {}
    index = folder / INDEX
    for line in index.read_bytes().split(b"\n") if index.exists() else ():
        try:
            entry = json.loads(line)
            lines[str(entry["file"])] = entry
        except (ValueError, KeyError, TypeError):
            continue
    return lines


def add_to_index(folder: Path, line: Mapping[str, Any]) -> None:
    """The last step: an archive in the index is complete."""
    index = folder / INDEX
    torn = index.exists() and not index.read_bytes().endswith(b"\n") and index.stat().st_size > 0
    with index.open("ab") as file:
        file.write((b"\n" if torn else b"") + dump_json(dict(line)).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_to_disk(folder)
