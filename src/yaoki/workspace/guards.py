"""Hashes of the files by which an agent could make git run programs for others."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

SINGLE = ("config", "config.worktree", "info/attributes", "info/exclude")


def guards(common_dir: Path) -> dict[str, str]:
    """Name and hash of each file that is there, so a new or missing one shows as well."""
    return {
        file.relative_to(common_dir).as_posix(): sha256(file.read_bytes()).hexdigest()
        for file in _guarded(common_dir)
    }


def _guarded(common_dir: Path) -> Iterator[Path]:
    yield from (file for name in SINGLE if (file := common_dir / name).is_file())
    yield from (file for file in sorted(common_dir.glob("hooks/**/*")) if file.is_file())
