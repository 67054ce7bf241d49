"""Compiled files of Python that are used without a look at their source (PEP 552)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

FOLDER, SUFFIX = "__pycache__", ".pyc"
HEADER_BYTES = 8
# A hash of the source is stored, and is not compared with it.
_HASHED, _COMPARED = 1, 2


def is_unchecked(header: bytes) -> bool:
    """Whether Python takes the file for its source, whatever the source has become."""
    flags = int.from_bytes(header[4:HEADER_BYTES], "little")
    return len(header) >= HEADER_BYTES and bool(flags & _HASHED) and not flags & _COMPARED


def is_unchecked_file(file: Path) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as stream:
        return is_unchecked(stream.read(HEADER_BYTES))


def find_source(path: str) -> str:
    """The source that Python reads `path` for; empty for any other file."""
    file = PurePosixPath(path)
    if file.suffix != SUFFIX or file.parent.name != FOLDER:
        return ""
    return str(file.parent.parent / f"{file.name.partition('.')[0]}.py")
