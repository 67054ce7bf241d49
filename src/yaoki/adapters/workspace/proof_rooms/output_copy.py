"""Copies the output of set-up from a proof room to another checkout with the same lock file.

Always to files of their own, never by hard links: an agent or a check may write into a file in
place, and no other checkout may see that.  Some files contain the path of the checkout (the first
line of a script in a virtual environment): in a text it is replaced, and with such a binary file
nothing is copied, because the file works only where it was made.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from yaoki.adapters.workspace.worktrees.worktree import delete_path
from yaoki.core.lazy_dataclass import dataclass, field

# The ioctl of Linux that makes a file share the blocks of another until one of them is written.
FICLONE = 0x40049409
CHUNK_BYTES = 1 << 20
# Python compares it with its source, and corrects the path that it contains.
BYTECODE = ".pyc"
# Older versions of Linux read no more of the first line of a script.
INTERPRETER_LINE_BYTES_MAX = 127


class OutputNotCopied(Exception):
    """The output cannot be used in another place; its message is the reason."""


@dataclass(frozen=True, slots=True)
class OwnPaths:
    """The files of an output that contain the path of their checkout."""

    texts: tuple[str, ...] = ()
    binaries: tuple[str, ...] = ()


def find_own_paths(top: Path, paths: Iterable[str], place: Path) -> OwnPaths:
    """The files among `paths`, below `top`, that contain the path `place`."""
    forms = tuple(_forms(place, place))
    texts: list[str] = []
    binaries: list[str] = []
    for path in paths:
        file = top / path
        if file.is_symlink() or not file.is_file() or path.endswith(BYTECODE):
            continue
        if _contains(file, forms):
            (binaries if b"\0" in file.read_bytes() else texts).append(path)
    return OwnPaths(tuple(texts), tuple(binaries))


def _forms(old: Path, new: Path) -> Mapping[bytes, bytes]:
    """Each way in which a program writes the path, and the same for the new place.

    In an address the path is quoted; elsewhere a quoted path without special characters is a path.
    """
    pairs = [(str(old), str(new)), (str(old.resolve()), str(new.resolve()))]
    quoted = [(quote(one), quote(other)) for one, other in pairs]
    addresses = [(f"file://{one}", f"file://{other}") for one, other in quoted]
    forms: dict[bytes, bytes] = {}
    for one, other in (*addresses, *pairs, *quoted):
        forms.setdefault(os.fsencode(one), os.fsencode(other))
    return forms


def _contains(file: Path, forms: Sequence[bytes]) -> bool:
    overlap = max(map(len, forms)) - 1
    before = b""
    with file.open("rb") as stream:
        while piece := stream.read(CHUNK_BYTES):
            joined = before + piece
            if any(form in joined for form in forms):
                return True
            before = joined[-overlap:]
    return False


@dataclass(slots=True)
class OutputCopy:
    """One copy from `source`, made at the checkout `old`, to the checkout `new`."""

    source: Path
    old: Path
    new: Path
    _created: list[Path] = field(default_factory=list)
    _can_clone: bool = sys.platform == "linux"
    _known_forms: dict[bytes, bytes] = field(default_factory=dict)

    def copy(self, paths: Iterable[str], own_paths: OwnPaths) -> None:
        """Everything or nothing; a file that exists already is part of the commit and stays."""
        if own_paths.binaries:
            raise OutputNotCopied(f"{own_paths.binaries[0]} works only where it was made")
        texts = frozenset(own_paths.texts)
        try:
            for path in sorted(paths):
                self._copy(path, rewrite=path in texts)
        except OSError as error:
            self.undo()
            raise OutputNotCopied(f"{error.strerror or error}") from error
        except OutputNotCopied:
            self.undo()
            raise

    def undo(self) -> None:
        for path in reversed(self._created):
            delete_path(path)

    def _copy(self, path: str, *, rewrite: bool) -> None:
        source, target = self.source / path, self.new / path
        mode = source.lstat().st_mode
        if stat.S_ISDIR(mode):
            self._make_folder(target, mode)
        elif os.path.lexists(target):
            return
        else:
            self._created.append(target)
            if stat.S_ISLNK(mode):
                target.symlink_to(self._relocated_link(source))
            elif rewrite:
                self._rewrite(source, target)
            else:
                self._copy_file(source, target)

    def _make_folder(self, target: Path, mode: int) -> None:
        """Never through a link of the commit to another folder."""
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise OutputNotCopied(f"{target} is not a folder in this commit")
        if not target.exists():
            self._created.append(target)
            target.mkdir()
            target.chmod(stat.S_IMODE(mode))

    def _relocated_link(self, link: Path) -> str:
        text = os.fsencode(link.readlink())
        for old, new in self._forms.items():
            if text == old or text.startswith(old + b"/"):
                return os.fsdecode(new + text[len(old) :])
        return os.fsdecode(text)

    def _rewrite(self, source: Path, target: Path) -> None:
        """With a new date, so that bytecode of the old text is not used."""
        old = source.read_bytes()
        # In one pass: the new path may contain the old one.
        forms = re.compile(b"|".join(map(re.escape, self._forms)))
        new = forms.sub(lambda hit: self._forms[hit[0]], old)
        if not self._can_start(_first_line(old), _first_line(new)):
            raise OutputNotCopied(f"the first line of {target} would not work in this place")
        target.write_bytes(new)
        shutil.copymode(source, target)

    def _can_start(self, before: bytes, after: bytes) -> bool:
        """The kernel ends the name of an interpreter at a space, and reads so many bytes."""
        if before == after:
            return True
        is_short = len(after) <= max(INTERPRETER_LINE_BYTES_MAX, len(before))
        return is_short and not any(char.isspace() for char in str(self.new))

    @property
    def _forms(self) -> Mapping[bytes, bytes]:
        if not self._known_forms:
            self._known_forms = dict(_forms(self.old, self.new))
        return self._known_forms

    def _copy_file(self, source: Path, target: Path) -> None:
        if not (self._can_clone and self._clone(source, target)):
            shutil.copyfile(source, target, follow_symlinks=False)
        shutil.copystat(source, target, follow_symlinks=False)

    def _clone(self, source: Path, target: Path) -> bool:
        """The first file is the probe: most file systems cannot do it, or not across two."""
        with source.open("rb") as original, target.open("wb") as copy:
            try:
                fcntl.ioctl(copy.fileno(), FICLONE, original.fileno())
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise
                self._can_clone = False
        return self._can_clone


def _first_line(content: bytes) -> bytes:
    """The line that names the interpreter of a script; empty if there is none."""
    return content.partition(b"\n")[0] if content.startswith(b"#!") else b""
