"""The files of one commit in a folder, written through a git folder that no check can reach.

Checks find an ordinary clone: `.git` in their folder is a repository of its own that borrows the
user's objects.  It is written by hand and never read by yaoki, so nothing that a check does to it
matters.  yaoki's own git folder and index are outside.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from yaoki.adapters.git.command import CONFIG_BYTES_MAX, Git, GitLocation
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.workspace.proof_rooms.source import RoomSource
from yaoki.adapters.workspace.worktrees.worktree import delete_path

STATUS = ("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
GITLINK = "160000"
# The repositories of submodules that set-up checked out stay: they are output of set-up.
MODULES = "modules"
# Attributes outside of the commit would change what is checked out.
NO_ATTRIBUTES = "\n[core]\n\tattributesFile = /dev/null\n"


class RoomCheckout:
    """Puts commits into `files` and tells what differs from them."""

    def __init__(self, source: RoomSource, files: Path, git_dir: Path, filters: Filters) -> None:
        self._source, self.files, self._git_dir = source, files, git_dir
        self._git, self._at = Git(git_dir, filters=filters), GitLocation(git_dir, files)
        self.tracked: frozenset[str] = frozenset()

    def check_out(self, commit: str, config: str = "") -> None:
        """Check the commit out, whatever stood here; untracked files are the room's business."""
        self._found(commit)
        self._git.run("reset", "-q", "--hard", "--no-recurse-submodules", commit, at=self._at)
        self.tracked = self._listed()
        self._clone(commit, config or self._source.config(commit))

    def load_tracked(self) -> None:
        """Read which files are tracked, in a process that did not put them there."""
        if not self.tracked and (self._git_dir / "index").exists():
            self.tracked = self._listed()

    def changed_files(self) -> tuple[str, ...]:
        rows = self._git.read_names(*STATUS, "--ignore-submodules=all", at=self._at)
        return tuple(sorted(printable_path(row[3:]) for row in rows))

    def read_config(self) -> str:
        """The settings of the clone that checks see, with what set-up added to them."""
        inside = self.files / ".git"
        # Set-up ran what an agent wrote: a link would show to checks what is hidden from them.
        held = (
            None if inside.is_symlink() else read_plain_bytes(inside / "config", CONFIG_BYTES_MAX)
        )
        return (held or b"").decode("utf-8", "surrogateescape")

    def _listed(self) -> frozenset[str]:
        rows = self._git.read_names("ls-files", "-s", "-z", at=self._at)
        return frozenset(
            path for row in rows if not row.startswith(GITLINK) for path in [row.partition("\t")[2]]
        )

    def _found(self, commit: str) -> None:
        """Make yaoki's own git folder unless it is there."""
        self.files.mkdir(parents=True, exist_ok=True)
        if not (self._git_dir / "objects").is_dir():
            self._write(self._git_dir, commit, self._source.config(commit) + NO_ATTRIBUTES)

    def _clone(self, commit: str, config: str) -> None:
        """Write the `.git` that checks see, anew each time."""
        inside = self.files / ".git"
        if inside.is_symlink() or not inside.is_dir():
            delete_path(inside)
        for entry in inside.iterdir() if inside.is_dir() else ():
            if entry.name != MODULES:
                delete_path(entry)
        self._write(inside, commit, config)
        shutil.copy2(self._git_dir / "index", inside / "index")

    def _write(self, folder: Path, commit: str, config: str) -> None:
        for name in ("objects/info", "refs/heads", "refs/tags", "info"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        borrowed = os.fsencode(self._source.objects) + b"\n"
        (folder / "objects" / "info" / "alternates").write_bytes(borrowed)
        (folder / "HEAD").write_text(f"{commit}\n", encoding="ascii")
        (folder / "config").write_bytes(config.encode("utf-8", "surrogateescape"))
        (folder / "packed-refs").write_bytes(self._source.packed_refs)
        if shallow := self._source.shallow():
            (folder / "shallow").write_bytes(shallow)
