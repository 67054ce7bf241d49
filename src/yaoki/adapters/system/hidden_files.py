"""The files of hidden checks: read from a folder, frozen as one text, laid over a checkout."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.text import format_bytes

FILES_MAX, BYTES_MAX = 2_000, 20 << 20
COMPILED = (".so", ".pyd", ".pyc")
# Tools leave these in a folder of tests; they are no part of a check.
LEFT_OUT = frozenset({".git", "__pycache__", ".pytest_cache", "node_modules"})

_DEFINITION = lazy_compile(r"\b(?:def|class|func|fn|function)\s+(\w{1,120})")
_TITLE = lazy_compile(
    r"\b(?:it|test|describe|context|specify|scenario)(?:\.\w+)*\s*\(\s*(['\"`])([^'\"`\n]{1,120})\1"
)
# Parts of names such as `test_2d` are no values.
_NUMBER = lazy_compile(r"(?<![A-Za-z_])\d")


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

    @property
    def declared_names(self) -> frozenset[str]:
        """The names of tests that the files define, as opposed to those that a runner reports.

        Numbers in them may be expected values, so such a name does not count.
        """
        names: set[str] = set()
        for file in self.files.values():
            text = file.content.decode("utf-8", "replace")
            names.update(found[1] for found in _DEFINITION.finditer(text))
            names.update(found[2].strip() for found in _TITLE.finditer(text))
        return frozenset(name for name in names if not _NUMBER.search(name))

    def rewritten(self, rewrite: Callable[[str, str], str]) -> HiddenContent:
        """With other texts; a file that is not UTF-8 stays as it is."""
        return HiddenContent(
            {path: _with_text(path, file, rewrite) for path, file in self.files.items()}
        )

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


def _with_text(path: str, file: HiddenFile, rewrite: Callable[[str, str], str]) -> HiddenFile:
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        return file
    return HiddenFile(rewrite(path, text).encode("utf-8"), file.is_executable)


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


def list_revealing_paths(folder: Path) -> tuple[Path, ...]:
    """The folder, and the git folder of the repository that it is in: its history has the files."""
    git_folders = (place / ".git" for place in (folder, *folder.parents))
    found = next((place for place in git_folders if place.exists()), None)
    return (folder,) if found is None else (folder, found)


def _list_files(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        links = [name for name in folders if Path(top, name).is_symlink()]
        yield from (Path(top, name) for name in sorted((*names, *links)))


class _PlacedFile:
    """One hidden file in a checkout, and what was at its place before.

    The code under test may have put links into the checkout, before the check or during it: every
    folder is opened without following one, and what is in the way is moved aside.
    """

    def __init__(self, checkout: Path, path: str) -> None:
        self._checkout, self._path = checkout, PurePosixPath(path)
        # Each with the folder that it is in, from the checkout on.
        self._moved: list[tuple[tuple[str, ...], str, str]] = []
        self._made: list[tuple[tuple[str, ...], str]] = []

    def write(self, file: HiddenFile) -> None:
        *folders, name = self._path.parts
        for number, part in enumerate(folders):
            above = tuple(folders[:number])
            with _opened(self._checkout, above) as at:
                if not _is_folder(part, at):
                    self._move_aside(above, part, at)
                    os.mkdir(part, 0o755, dir_fd=at)
                    self._made.append((above, part))
        above = tuple(folders)
        with _opened(self._checkout, above) as at:
            for entry in _list_rivals(name, at):
                self._move_aside(above, entry, at)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            mode = 0o755 if file.is_executable else 0o644
            with os.fdopen(os.open(name, flags, mode, dir_fd=at), "wb") as out:
                out.write(file.content)
            self._made.append((above, name))

    def _move_aside(self, above: tuple[str, ...], name: str, at: int) -> None:
        if not _exists(name, at):
            return
        aside = f".{secrets.token_hex(8)}.aside"
        os.rename(name, aside, src_dir_fd=at, dst_dir_fd=at)
        self._moved.append((above, aside, name))

    def restore(self) -> None:
        """Raises `OSError` if the check replaced a folder: nothing outside is touched."""
        for above, name in reversed(self._made):
            with _opened(self._checkout, above) as at:
                if not _exists(name, at):
                    continue
                if not _is_folder(name, at):
                    os.unlink(name, dir_fd=at)
                else:
                    with suppress(OSError):  # the check left something in it
                        os.rmdir(name, dir_fd=at)
        for above, aside, name in reversed(self._moved):
            with _opened(self._checkout, above) as at:
                if _exists(aside, at) and not _exists(name, at):
                    os.rename(aside, name, src_dir_fd=at, dst_dir_fd=at)


@contextmanager
def _opened(checkout: Path, parts: Sequence[str]) -> Iterator[int]:
    """A descriptor of the folder; `OSError` if a part of the way is no folder, or a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY
    at = os.open(checkout, flags)
    try:
        for part in parts:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _exists(name: str, at: int) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_folder(name: str, at: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _list_rivals(name: str, at: int) -> list[str]:
    """The entry of the same name, and those that would be imported instead of this module: a
    package or file without the ending, and a compiled module of Python.
    """
    stem = PurePosixPath(name).stem
    with os.scandir(at) as entries:
        return [
            one.name
            for one in entries
            if one.name in {name, stem}
            or (one.name.startswith(f"{stem}.") and one.name.endswith(COMPILED))
        ]
