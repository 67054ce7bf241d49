"""Stored output of checks: its size, its digest, and the tool versions it names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from yaoki.adapters.system.files import open_plain_file, read_plain_bytes
from yaoki.core.lazy_pattern import lazy_compile

CHANNELS = ("out.log", "err.log")
PIECE = 1 << 20
HEAD_BYTES = 8192
VERSIONS_MAX = 8

# Tools that name themselves in their first lines: `pytest-9.2.0`, `Python 3.12.1`, `jest@29.7.0`.
_NAMED = (
    r"\b(pytest|python|ruff|mypy|pyright|eslint|jest|vitest|node|deno|go|cargo|rustc|phpunit|junit"
    r"|pluggy|tap)(?:[ /-]|(?: version )|(?:@))v?(\d{1,6}(?:\.\d{1,6}){1,3})\b"
)
_VERSION = lazy_compile(_NAMED, re.IGNORECASE)
# A whole line of a tool: a sentence that mentions another version is none.
_BANNER = lazy_compile(
    rf"^\W{{0,8}}(?:platform [\w.-]{{1,40}} -- )?{_NAMED}[ \t]*(?:$|[,;(\[]).*",
    re.IGNORECASE | re.MULTILINE,
)


class StoredOutputs:
    """`report.CheckOutputs` read from one `.yaoki` folder."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def outputs(self, log: str) -> list[dict[str, Any]]:
        """Both channels of the check run that `log` belongs to; empty if neither is stored."""
        place = self.place(log)
        if place is None:
            return []
        files = (place.with_name(name).as_posix() for name in CHANNELS)
        measured = ((file, self.measure(file)) for file in files)
        return [{"file": file, **facts} for file, facts in measured if facts is not None]

    def versions(self, log: str) -> dict[str, str]:
        """The versions that the tool itself named."""
        place = self.place(log)
        if place is None:
            return {}
        heads = "".join(self._head(place.with_name(name).as_posix()) for name in CHANNELS)
        lines = (line[0] for line in _BANNER.finditer(heads))
        pairs = ((hit[1].lower(), hit[2]) for line in lines for hit in _VERSION.finditer(line))
        return dict(list(dict(pairs).items())[:VERSIONS_MAX])

    @staticmethod
    def place(log: str) -> PurePosixPath | None:
        """The path below the folder, wherever the folder was when it was written."""
        inside = log.replace("\\", "/").rpartition("/.yaoki/")[2]
        return PurePosixPath(inside) if is_place(inside) else None

    def measure(self, file: str) -> Mapping[str, Any] | None:
        """Size and digest of a stored file; None when it is missing or not ours."""
        path = self._file(file)
        if path is None:
            return None
        digest, size = hashlib.sha256(), 0
        with open_plain_file(path) as stream:
            if stream is None:
                return None
            while piece := stream.read(PIECE):
                digest.update(piece)
                size += len(piece)
        return {"bytes": size, "sha256": digest.hexdigest()}

    def _head(self, file: str) -> str:
        path = self._file(file)
        if path is None:
            return ""
        return (read_plain_bytes(path, HEAD_BYTES) or b"").decode("utf-8", "replace")

    def _file(self, file: str) -> Path | None:
        """A plain file below the folder: a link or a pipe could lead elsewhere or block."""
        if not is_place(file):
            return None
        path = self._home / file
        inside = path.resolve().is_relative_to(self._home.resolve())
        return path if inside and path.is_file() and not path.is_symlink() else None


def is_place(file: str) -> bool:
    """Does it name a file of a run, and nothing outside?"""
    parts = PurePosixPath(file).parts
    return parts[:1] == ("runs",) and ".." not in parts and "\0" not in file
