"""The files of one commit in a folder, written through a git folder that no check can reach.

Checks see an ordinary clone: `.git` in their folder is a repository of its own with the user's
objects as alternates.  yaoki writes it and never reads it, so nothing that a check does to it
matters.  yaoki's own git folder and index are outside of that folder.  They contain no objects, and
only the environment of yaoki's git has the path of the user's objects, so a check that must not see
some files cannot read them there either.  Submodules are checked out the same way, from the
repositories of the user's checkout.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from yaoki.adapters.git.command import CONFIG_BYTES_MAX, Git, GitLocation
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.submodules import FILE as GITMODULES
from yaoki.adapters.git.submodules import GITLINK, list_submodules
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.system.folders import iter_paths_below, parent_folders
from yaoki.adapters.workspace.proof_rooms.source import RoomSource
from yaoki.adapters.workspace.worktrees.worktree import delete_path
from yaoki.core.scope import is_in_scope

STATUS = ("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
# Repositories of submodules stay: they are output of set-up.
MODULES = "modules"
ATTRIBUTES, ALTERNATES = ".gitattributes", "objects/info/alternates"
# Attributes outside of the commit would change the checked out files.
NO_ATTRIBUTES = "\n[core]\n\tattributesFile = /dev/null\n"


class RoomCheckout:
    """Checks commits out into `files`, and lists what differs from them."""

    def __init__(self, source: RoomSource, files: Path, git_dir: Path, filters: Filters) -> None:
        self._source, self.files, self._git_dir = source, files, git_dir
        self._filters = filters
        self._git = Git(git_dir, filters=filters, objects=source.objects)
        self._at = GitLocation(git_dir, files)
        self.tracked: frozenset[str] = frozenset()
        # The attributes files that are checked out, with their blobs.
        self._attributes: frozenset[tuple[str, str]] = frozenset()
        # The facts of the index that both were read from.
        self._listed_index: tuple[int, ...] = ()

    def check_out(self, commit: str, config: str = "") -> None:
        """Check the commit out over any content; the room handles untracked files."""
        self._create(commit)
        before = self._attributes
        self._reset(commit)
        self._set_tracked(self._source.listings.list_paths(commit).items())
        if self._attributes != before:
            # git leaves a file with the same blob as it is, though it has other line ends now.
            self._git.run("read-tree", "--empty", at=self._at)
            self._reset(commit)
        self._write_clone(commit, config or self._source.config(commit))
        if GITMODULES in self.tracked:
            self.tracked |= frozenset(self._check_out_submodules(commit))

    def _reset(self, commit: str) -> None:
        self._git.run("reset", "-q", "--hard", "--no-recurse-submodules", commit, at=self._at)

    def load_tracked(self) -> None:
        """Read which files are tracked, after another process checked them out."""
        if self._read_index_facts() == self._listed_index:
            return
        rows: Iterable[str] = ()
        if (self._git_dir / "index").exists():
            rows = self._git.read_names("ls-files", "-s", "-z", at=self._at)
        self._set_tracked((path, entry) for entry, _, path in (r.partition("\t") for r in rows))

    def changed_files(self) -> tuple[str, ...]:
        rows = self._git.read_names(*STATUS, "--ignore-submodules=all", at=self._at)
        return tuple(sorted(printable_path(row[3:]) for row in rows))

    def remove_others(self, globs: Sequence[str]) -> frozenset[str]:
        """Remove the tracked files that no glob covers; returns their names for people.

        An empty folder would still be a package for Python, so it goes, too.
        """
        others = [path for path in self.tracked if not is_in_scope(path, globs)]
        for path in others:
            delete_path(self.files / path)
        for folder in sorted(parent_folders(others), reverse=True):
            with suppress(OSError):
                (self.files / folder).rmdir()
        self.files.mkdir(exist_ok=True)
        delete_path(self.files / ".git")
        return frozenset(map(printable_path, others))

    def read_config(self) -> str:
        """The config of the clone that checks see, with what set-up added to it."""
        git_folder = self.files / ".git"
        # Set-up ran an agent's code: a link could show checks what is hidden from them.
        if git_folder.is_symlink():
            return ""
        content = read_plain_bytes(git_folder / "config", CONFIG_BYTES_MAX)
        return (content or b"").decode("utf-8", "surrogateescape")

    def _set_tracked(self, entries: Iterable[tuple[str, str]]) -> None:
        """`entries`: the paths that are checked out, each with its mode and object."""
        self._listed_index = self._read_index_facts()
        known = list(entries)
        self._attributes = frozenset(
            (path, entry.split(" ")[1])
            for path, entry in known
            if path == ATTRIBUTES or path.endswith(f"/{ATTRIBUTES}")
        )
        self.tracked = frozenset(path for path, entry in known if not entry.startswith(GITLINK))

    def _read_index_facts(self) -> tuple[int, ...]:
        """git writes a new file whenever the index changes."""
        try:
            facts = (self._git_dir / "index").lstat()
        except FileNotFoundError:
            return ()
        return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns

    def _check_out_submodules(self, commit: str) -> Iterator[str]:
        """Check out the submodules that the user's checkout has; yields their files."""
        for submodule in list_submodules(self._git, commit):
            source = self._source.submodule(submodule.name, self.files / submodule.path)
            if source is None or not source.has_commit(submodule.commit):
                continue
            own = self._git_dir / MODULES / submodule.name
            inner = RoomCheckout(source, self.files / submodule.path, own, self._filters)
            inner.check_out(submodule.commit)
            git_files = (str(path.relative_to(inner.files)) for path in inner.iter_git_files())
            yield from (f"{submodule.path}/{name}" for name in (*inner.tracked, *git_files))

    def iter_git_files(self) -> Iterator[Path]:
        """The files of the clone that checks see."""
        return iter_paths_below(self.files / ".git")

    def _create(self, commit: str) -> None:
        """Create yaoki's own git folder unless it exists."""
        self.files.mkdir(parents=True, exist_ok=True)
        if not (self._git_dir / "objects").is_dir():
            self._write(self._git_dir, commit, self._source.config(commit) + NO_ATTRIBUTES)
        # Earlier versions of yaoki wrote it.
        (self._git_dir / ALTERNATES).unlink(missing_ok=True)

    def _write_clone(self, commit: str, config: str) -> None:
        """Write the `.git` that checks see; it is new for each commit."""
        git_folder = self.files / ".git"
        if git_folder.is_symlink() or not git_folder.is_dir():
            delete_path(git_folder)
        for entry in git_folder.iterdir() if git_folder.is_dir() else ():
            if entry.name != MODULES:
                delete_path(entry)
        self._write(git_folder, commit, config)
        (git_folder / ALTERNATES).write_bytes(os.fsencode(self._source.objects) + b"\n")
        shutil.copy2(self._git_dir / "index", git_folder / "index")

    def _write(self, folder: Path, commit: str, config: str) -> None:
        for name in ("objects/info", "refs/heads", "refs/tags", "info"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "HEAD").write_text(f"{commit}\n", encoding="ascii")
        (folder / "config").write_bytes(config.encode("utf-8", "surrogateescape"))
        (folder / "packed-refs").write_bytes(self._source.packed_refs)
        if shallow := self._source.shallow():
            (folder / "shallow").write_bytes(shallow)
