"""What a folder holds, as a tree of git's: read through an index of our own."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.size_bounds import DEFAULT_BOUNDS, SizeBounds, SizeSurveyor, Survey
from yaoki.adapters.git.submodule_objects import SubmoduleObjects
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import GitFailed, WorkspaceError

LINK = "120000"
GITLINK = "160000"
NESTING_MAX = 8
OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One path in which two trees differ; `status` is git's letter."""

    status: str
    path: str
    old_mode: str
    new_mode: str
    # The file it is now; empty when it is gone, or is no file.
    blob_id: str = ""
    # What stands there now, whatever it is: a file, a link, a commit of a submodule.
    object_id: str = ""

    @property
    def is_new_gitlink(self) -> bool:
        """A repository that came to stand where the tree had none."""
        return self.new_mode == GITLINK and self.old_mode != GITLINK

    @property
    def is_moved_gitlink(self) -> bool:
        """A submodule that the tree had, at another commit now."""
        return self.new_mode == self.old_mode == GITLINK


def digest_changes(changes: Sequence[TreeChange]) -> str:
    """A name for these changes that is the same wherever they are made.

    What the files held before is left out: other tasks may have landed there.
    """
    lines = sorted(f"{one.new_mode} {one.object_id} {one.path}" for one in changes)
    return sha256(os.fsencode("\0".join(lines))).hexdigest()


@dataclass(frozen=True, slots=True)
class FolderTree:
    """Everything in a folder, ignored files excepted, and how it differs from a base."""

    tree: str
    changes: tuple[TreeChange, ...]
    # What exceeds the bounds on a change, and is therefore not in the tree; a sentence each.
    excess: tuple[str, ...] = ()


class TreeBuilder:
    """Turns folders into trees without touching their index or a file."""

    def __init__(self, git: Git, scratch: Path, bounds: SizeBounds = DEFAULT_BOUNDS) -> None:
        self._git, self._scratch = git, scratch
        self._measure = SizeSurveyor(git, bounds)
        self._submodules = SubmoduleObjects(git)
        self._remembered: dict[str, bytes] = {}
        self.count_files = lru_cache(maxsize=64)(self._count)

    @contextmanager
    def temporary_index(self, name: str, inside: Path | None = None) -> Iterator[Path]:
        """A place for an index, begun with what is remembered of this name; gone afterwards."""
        parent = inside or self._scratch
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=parent))
        try:
            if not inside:
                self._begin(name, folder)
            yield folder / "index"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _begin(self, name: str, folder: Path) -> None:
        """Only with what we wrote ourselves in this life: an agent may reach the file."""
        for known in self._known(name).glob("*.index"):
            _copy(known, folder / "index")
            if _digest(folder / "index", known.stem) == self._remembered.get(name):
                (folder / "of").write_text(known.stem, encoding="ascii")
            else:
                (folder / "index").unlink()

    def cache_index(self, name: str, index: Path, commit: str) -> None:
        """Files that stand as this index of the commit saw them need not be read again.

        Only one from before any agent came: whatever is changed later has a later time of its
        inode, which nobody can set back.  And a copy: in the worktree's own an agent could mark
        files as never changing.
        """
        folder = self._known(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with suppress(FileNotFoundError):
            _copy(index, folder / "new")
            self._remembered[name] = _digest(folder / "new", commit)
            (folder / "new").replace(folder / f"{commit}.index")

    def _known(self, name: str) -> Path:
        return self._scratch / f"{name}.known"

    def drop_cached_index(self, name: str) -> None:
        """Remove what killed processes left for this name."""
        self._remembered.pop(name, None)
        for folder in self._scratch.glob(f"{name}.*"):
            shutil.rmtree(folder, ignore_errors=True)

    def drop_cached_indexes_except(self, tasks: Collection[str]) -> None:
        """Remove what is remembered of others than these: whoever forgot them was killed."""
        for folder in self._scratch.glob("*.known"):
            if folder.stem not in tasks:
                shutil.rmtree(folder, ignore_errors=True)

    def read_folder(self, files: Path, index: Path, start: str, base: str) -> FolderTree:
        """Fill `index` with what `files` holds; `start` says what counts as tracked."""
        at = GitLocation(self._git.common_dir, files, index)
        begun = index.exists() and self._begun(at, index, start)
        if not begun:
            self._git.run("read-tree", start, at=at)
        survey = self._measure.survey(at, base)
        if survey.excess:
            self._add_listed(at, survey)
        elif not begun:
            self._add(at)
        elif not self._filled(at):
            self._git.run("read-tree", start, at=at)
            self._add(at)
        tree = self._git.read_text("write-tree", at=at)
        changes = self.diff_trees(base, tree)
        excess = survey.excess
        if links := [change.path for change in changes if change.is_new_gitlink]:
            excess += self._graft_all(at, links, NESTING_MAX)
            tree = self._git.read_text("write-tree", at=at)
            changes = self.diff_trees(base, tree)
        large = (change.path for change in changes if change.path in survey.unchanged)
        excess += tuple(self._measure.describe_too_large(path, files) for path in large)
        return FolderTree(tree, changes, excess)

    def read_folder_without(
        self, files: Path, index: Path, paths: Sequence[str], base: str
    ) -> FolderTree:
        """The same content without these files, which stay where they are."""
        at = GitLocation(self._git.common_dir, files, index)
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        self._git.run("update-index", "--force-remove", "-z", "--stdin", at=at, stdin=given)
        tree = self._git.read_text("write-tree", at=at)
        return FolderTree(tree, self.diff_trees(base, tree))

    def mix_trees(self, index: Path, commit: str, other: str, paths: Sequence[str]) -> str:
        """The tree of a commit with these paths as another commit has them."""
        at = GitLocation(self._git.common_dir, index=index)
        index.unlink(missing_ok=True)
        self._git.run("read-tree", commit, at=at)
        rows = self._git.run("ls-tree", "-r", "-z", other, "--", *paths).out if paths else b""
        gone = b"".join(b"0 %b\t%b\0" % (b"0" * len(commit), os.fsencode(path)) for path in paths)
        kept = b"".join(
            b"%b %b\t%b\0" % (mode, name, path)
            for row in rows.split(b"\0")
            if row
            for head, _, path in [row.partition(b"\t")]
            for mode, _, name in [head.split(b" ")]
        )
        self._git.run("update-index", "-z", "--index-info", at=at, stdin=gone + kept)
        return self._git.read_text("write-tree", at=at)

    def _begun(self, at: GitLocation, index: Path, start: str) -> bool:
        """With what is remembered; if that is of no use, it is not there any more."""
        try:
            if (index.parent / "of").read_text(encoding="ascii") != start:
                self._git.run("read-tree", "-i", "-m", start, at=at)
        except (GitFailed, OSError):
            index.unlink(missing_ok=True)
            return False
        return True

    def _filled(self, at: GitLocation) -> bool:
        try:
            self._git.run("add", "-A", at=at)
        except GitFailed:
            assert at.index
            at.index.unlink(missing_ok=True)
            return False
        return True

    def _add_listed(self, at: GitLocation, survey: Survey) -> None:
        """Add what is within the bounds; everything else stays as the index has it."""
        given = b"".join(os.fsencode(path) + b"\0" for path in survey.within_bounds)
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        self._git.run("update-index", *options, at=at, stdin=given)

    def read_submodules(self, files: Path, index: Path) -> tuple[str, tuple[str, ...]]:
        """A tree of the files in checked-out submodules, which no commit of ours holds, and what
        exceeds the bounds.
        """
        at = GitLocation(self._git.common_dir, files, index)
        rows = self._git.read_names("ls-files", "-s", "-z", at=at)
        paths = [row.partition("\t")[2] for row in rows if row.startswith(GITLINK)]
        # One that was never checked out may hold files as well: git looks into none of them.
        present = [path for path in paths if _holds_files(files / path)]
        if not present:
            return "", ()
        self._git.run("read-tree", "--empty", at=at)
        excess = self._graft_all(at, present, NESTING_MAX)
        return self._git.read_text("write-tree", at=at), excess

    def read_nested_repository(self, folder: Path) -> str:
        """A tree of the files in a repository inside ours, as they are now."""
        with self.temporary_index("inside") as index:
            inner = GitLocation(self._git.common_dir, folder, index)
            self._git.run("read-tree", "--empty", at=inner)
            self._add_around(inner, NESTING_MAX)
            return self._git.read_text("write-tree", at=inner)

    def unpublished_submodule_commit(self, files: Path, tree: str, path: str) -> str:
        """The commit a submodule's link points at; empty when one of its remotes has it, as far
        as the submodule knows, or when it is not checked out.
        """
        if not self._submodules.has_git_folder(files / path):
            return ""
        commit = self._git.read_text("rev-parse", "--verify", f"{tree}:{path}")
        return "" if self._submodules.is_published(files / path, commit) else commit

    def import_submodule_commit(self, files: Path, path: str, commit: str) -> bool:
        return self._submodules.import_commit(files / path, commit)

    def _add(self, at: GitLocation) -> None:
        """Add everything.  Repositories inside become links, which are told from the difference;
        git refuses those that hold no commit.
        """
        try:
            self._git.run("add", "-A", at=at)
        except GitFailed:
            self._add_around(at, NESTING_MAX)

    def _add_around(self, at: GitLocation, depth: int) -> tuple[str, ...]:
        """Add everything; repositories inside become plain files, for a link holds none of them.

        What exceeds the bounds is left out, and said.
        """
        survey = self._measure.survey(at)
        if survey.excess:
            self._add_listed(at, survey)
            return survey.excess
        listed = self._git.read_names("ls-files", "-o", "-k", "--exclude-standard", "-z", at=at)
        nested = [name.rstrip("/") for name in listed if name.endswith("/")]
        lines = [".", *(f":(exclude,literal){name}" for name in nested)]
        given = b"".join(os.fsencode(line) + b"\0" for line in lines)
        options = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._git.run("add", "-A", *options, at=at, stdin=given)
        return self._graft_all(at, nested, depth)

    def _graft_all(self, at: GitLocation, paths: Sequence[str], depth: int) -> tuple[str, ...]:
        return tuple(words for path in paths for words in self._graft(at, path, depth))

    def _graft(self, at: GitLocation, path: str, depth: int) -> tuple[str, ...]:
        """Put the files of the repository at `path` into the index as files of ours."""
        assert at.work_tree
        assert at.index
        if depth == 0:
            raise WorkspaceError(
                f"repositories are nested more than {NESTING_MAX} deep below {at.work_tree}",
                hint=f"remove {path}",
            )
        folder = at.work_tree / path
        if not folder.is_dir() or folder.is_symlink():
            return ()
        with self.temporary_index("nested", at.index.parent) as index:
            inner = GitLocation(self._git.common_dir, folder, index)
            self._git.run("read-tree", "--empty", at=inner)
            excess = self._add_around(inner, depth - 1)
            tree = self._git.read_text("write-tree", at=inner)
        self._git.run("rm", "-rqf", "--cached", "--ignore-unmatch", f":(literal){path}", at=at)
        self._git.run("read-tree", f"--prefix={path}/", tree, at=at)
        return excess

    def diff_trees(self, old: str, new: str) -> tuple[TreeChange, ...]:
        """In what two trees or commits differ."""
        if old == new:
            return ()
        return parse_raw_diff(read_raw_diff(self._git, old, new))

    def _count(self, tree: str) -> int:
        """How many files a tree holds."""
        return self._git.run("ls-tree", "-r", "-z", "--name-only", tree).out.count(b"\0")


def _holds_files(folder: Path) -> bool:
    try:
        return not folder.is_symlink() and any(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _copy(index: Path, to: Path) -> None:
    """With its time: git trusts files that are older than its index."""
    shutil.copy2(index, to)


def _digest(index: Path, commit: str) -> bytes:
    """With its time, by which git tells which files to trust."""
    facts = f"{commit} {index.stat().st_mtime_ns}\n".encode()
    return sha256(facts + index.read_bytes()).digest()


def read_raw_diff(git: Git, old: str, new: str) -> bytes:
    """The same two commits are asked for more than once, and they never change; a name may."""
    fixed = OBJECT_ID.fullmatch(old) and OBJECT_ID.fullmatch(new)
    return _kept_raw(git, old, new) if fixed else _raw(git, old, new)


def _raw(git: Git, old: str, new: str) -> bytes:
    trees = [tree.name for tree in git.look_up(f"{old}^{{tree}}", f"{new}^{{tree}}") if tree]
    said = git.batch.diff_trees(*trees) if len(trees) == 2 else None
    if said is not None:
        return said
    return git.run("diff-tree", "-r", "--raw", "-z", "--no-renames", old, new, "--").out


_kept_raw = lru_cache(maxsize=4)(_raw)


def parse_raw_diff(out: bytes) -> tuple[TreeChange, ...]:
    """git's raw format with -z: `:mode mode sha sha letter` and the path, in turn."""
    fields = out.split(b"\0")
    pairs = zip(fields[0::2], fields[1::2], strict=False)
    return tuple(
        TreeChange(
            status, os.fsdecode(path), was[1:], now, blob if now.startswith("100") else "", blob
        )
        for head, path in pairs
        if len(words := head.decode("ascii").split()) == 5
        for was, now, _, blob, status in [words]
    )


def printable_path(path: str) -> str:
    """A path as it can be stored and shown; bytes that are no text become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
