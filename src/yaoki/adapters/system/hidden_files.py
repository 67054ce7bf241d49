"""The files of hidden checks: read from a folder, frozen as one text, laid over a checkout."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_bytes

FILES_MAX, BYTES_MAX = 2_000, 20 << 20
# What tools leave in a folder of tests; it is no part of a check.
LEFT_OUT = frozenset({".git", "__pycache__", ".pytest_cache", "node_modules"})


class HiddenFilesRefused(ValueError):
    """The reason why a folder cannot hold the files of a hidden check, in words."""


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """The content of one file."""

    content: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class HiddenContent:
    """The files by their path in the checkout."""

    files: Mapping[str, HiddenFile]

    @property
    def digest(self) -> str:
        """The same for the same paths, contents and rights, whatever the folder is called."""
        held = hashlib.sha256()
        for path, file in sorted(self.files.items()):
            sha = hashlib.sha256(file.content).hexdigest()
            held.update(f"{len(path)} {path} {file.is_executable:d} {sha}\n".encode())
        return held.hexdigest()

    def to_text(self) -> str:
        data = {
            path: [int(file.is_executable), base64.b64encode(file.content).decode("ascii")]
            for path, file in sorted(self.files.items())
        }
        return base64.b64encode(zlib.compress(json.dumps(data).encode())).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> HiddenContent:
        data = json.loads(zlib.decompress(base64.b64decode(text)))
        return cls(
            {
                path: HiddenFile(base64.b64decode(content), bool(is_executable))
                for path, (is_executable, content) in data.items()
            }
        )

    @contextmanager
    def laid_over(self, checkout: Path) -> Iterator[None]:
        """The files are in the checkout during the block; afterwards it is as it was before."""
        placed: list[_PlacedFile] = []
        try:
            for path, file in self.files.items():
                placed.append(_PlacedFile(checkout, path))
                placed[-1].write(file)
            yield
        finally:
            for one in reversed(placed):
                one.restore()


def read_hidden_folder(folder: Path) -> HiddenContent:
    """Raises `HiddenFilesRefused` for a folder that is missing, empty, too large or has links."""
    if not folder.is_dir():
        raise HiddenFilesRefused(f"there is no folder {folder}")
    files: dict[str, HiddenFile] = {}
    size = 0
    for path in _list_files(folder):
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode):
            raise HiddenFilesRefused(f"{path} is not a plain file")
        size += facts.st_size
        if len(files) >= FILES_MAX or size > BYTES_MAX:
            limit = f"{FILES_MAX:,} files or {format_bytes(BYTES_MAX)}"
            raise HiddenFilesRefused(f"{folder} has more than {limit}")
        name = path.relative_to(folder).as_posix()
        files[name] = HiddenFile(path.read_bytes(), bool(facts.st_mode & stat.S_IXUSR))
    if not files:
        raise HiddenFilesRefused(f"{folder} has no files")
    return HiddenContent(files)


def _list_files(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        links = [name for name in folders if Path(top, name).is_symlink()]
        yield from (Path(top, name) for name in sorted((*names, *links)))


class _PlacedFile:
    """One hidden file in a checkout, and what was at its place before.

    An agent may have committed a link at the path or above it: nothing is followed, what is in the
    way is moved aside.
    """

    def __init__(self, checkout: Path, path: str) -> None:
        self._checkout, self._path = checkout, PurePosixPath(path)
        self._moved: list[tuple[Path, Path]] = []
        self._made: list[Path] = []

    def write(self, file: HiddenFile) -> None:
        above = self._checkout
        for part in self._path.parts[:-1]:
            above = above / part
            if above.is_symlink() or (above.exists() and not above.is_dir()):
                self._move_aside(above)
            if not above.is_dir():
                above.mkdir()
                self._made.append(above)
        target = self._checkout / self._path
        if target.is_symlink() or target.exists():
            self._move_aside(target)
        mode = 0o755 if file.is_executable else 0o644
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
            out.write(file.content)
        self._made.append(target)

    def _move_aside(self, path: Path) -> None:
        for number in range(100):
            aside = path.with_name(f".{path.name}.aside{number}")
            if not (aside.is_symlink() or aside.exists()):
                path.rename(aside)
                self._moved.append((aside, path))
                return
        raise OSError(f"{path} is in the way of a hidden file")

    def restore(self) -> None:
        for path in reversed(self._made):
            if path.is_symlink() or not path.is_dir():
                path.unlink(missing_ok=True)
            elif not any(path.iterdir()):
                path.rmdir()
        for aside, path in reversed(self._moved):
            if not (path.is_symlink() or path.exists()):
                aside.rename(path)
