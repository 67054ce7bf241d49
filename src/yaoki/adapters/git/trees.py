"""The content of a folder as a git tree, read through an index of yaoki's own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.excluded_paths import NOTHING_EXCLUDED, ExcludedPaths
from yaoki.adapters.git.size_bounds import DEFAULT_BOUNDS, SizeBounds, SizeSurveyor, Survey
from yaoki.adapters.git.submodule_objects import SubmoduleObjects
from yaoki.adapters.git.tree_diff import GITLINK, TreeChange, parse_raw_diff, read_raw_diff
from yaoki.adapters.git.unconverted_files import add_unconverted, is_encoding_refusal
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import GitFailed, WorkspaceError

NESTING_MAX = 8


@dataclass(frozen=True, slots=True)
class FolderTree:
    """All files of a folder except ignored ones, and the difference from a base."""

    tree: str
    changes: tuple[TreeChange, ...]
    # Sentences about files and groups that exceed a limit and are not in the tree.
    excess: tuple[str, ...] = ()
    # The words of git about a file that is not in the encoding that `.gitattributes` names.
    refusal: str = ""


class TreeBuilder:
    """Turns folders into trees without changing their index or files."""

    def __init__(self, git: Git, scratch: Path, bounds: SizeBounds = DEFAULT_BOUNDS) -> None:
        self._git, self._scratch = git, scratch
        self._surveyor = SizeSurveyor(git, bounds)
        self._submodules = SubmoduleObjects(git)
        self._index_digests: dict[str, bytes] = {}
        self.count_files = lru_cache(maxsize=64)(self._count_files)

    @contextmanager
    def temporary_index(self, name: str, inside: Path | None = None) -> Iterator[Path]:
        """The path of a temporary index, filled from the cached index of this name if any."""
        parent = inside or self._scratch
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=parent))
        try:
            if not inside:
                self._copy_cached(name, folder)
            yield folder / "index"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _copy_cached(self, name: str, folder: Path) -> None:
        """Use only what this process wrote itself: an agent may have changed the file."""
        for cached in self._cache_folder(name).glob("*.index"):
            _copy(cached, folder / "index")
            if _digest(folder / "index", cached.stem) == self._index_digests.get(name):
                (folder / "of").write_text(cached.stem, encoding="ascii")
            else:
                (folder / "index").unlink()

    def cache_index(self, name: str, index: Path, commit: str) -> None:
        """Cache the index of a commit, so that unchanged files are not hashed again.

        The index must predate the agent: a file changed later has a later ctime, which cannot be
        set back.  A copy is kept, because in the worktree's own index an agent could mark files
        as never changing.
        """
        folder = self._cache_folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with suppress(FileNotFoundError):
            _copy(index, folder / "new")
            self._index_digests[name] = _digest(folder / "new", commit)
            (folder / "new").replace(folder / f"{commit}.index")

    def _cache_folder(self, name: str) -> Path:
        return self._scratch / f"{name}.known"

    def drop_cached_index(self, name: str) -> None:
        """Drop the cache of this name, and what killed processes left."""
        self._index_digests.pop(name, None)
        with suppress(FileNotFoundError), os.scandir(self._scratch) as entries:
            own = [entry.path for entry in entries if entry.name.startswith(f"{name}.")]
            for folder in own:
                shutil.rmtree(folder, ignore_errors=True)

    def drop_cached_indexes_except(self, tasks: Collection[str]) -> None:
        """Drop the caches of all other tasks: killed processes left them."""
        for folder in self._scratch.glob("*.known"):
            if folder.stem not in tasks:
                shutil.rmtree(folder, ignore_errors=True)

    def read_folder(
        self,
        files: Path,
        index: Path,
        start: str,
        base: str,
        excluded: ExcludedPaths = NOTHING_EXCLUDED,
    ) -> FolderTree:
        """Fill `index` with the files of the folder; `start` says which files are tracked."""
        at = GitLocation(self._git.common_dir, files, index)
        cached = index.exists() and self._update_cached(at, index, start)
        if not cached:
            self._git.run("read-tree", start, at=at)
        survey = self._surveyor.survey(at, base, excluded)
        excess, refusal = survey.excess, ""
        try:
            if excess:
                self._add_listed(at, survey.within_bounds)
            elif not cached:
                self._add(at, excluded)
            elif not self._try_add(at, excluded):
                self._git.run("read-tree", start, at=at)
                self._add(at, excluded)
        except GitFailed as error:
            if not is_encoding_refusal(error):
                raise
            refusal = str(error)
            self._git.run("read-tree", start, at=at)
            excess += self._add_as_they_are(at, survey, excluded)
        self._remove_from_index(at, excluded)
        self._restore_links(at, base, excluded)
        tree = self._git.read_text("write-tree", at=at)
        changes = self.diff_trees(base, tree)
        if links := [change.path for change in changes if change.is_new_gitlink]:
            excess += self._graft_all(at, links, NESTING_MAX)
            self._remove_from_index(at, excluded)
            tree = self._git.read_text("write-tree", at=at)
            changes = self.diff_trees(base, tree)
        large = (change.path for change in changes if change.path in survey.unchanged)
        excess += tuple(self._surveyor.describe_too_large(path, files) for path in large)
        return FolderTree(tree, changes, excess, refusal)

    def read_folder_without(
        self, files: Path, index: Path, paths: Sequence[str], base: str
    ) -> FolderTree:
        """The content of the index without these files, which stay in the folder."""
        at = GitLocation(self._git.common_dir, files, index)
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        self._git.run("update-index", "--force-remove", "-z", "--stdin", at=at, stdin=names)
        tree = self._git.read_text("write-tree", at=at)
        return FolderTree(tree, self.diff_trees(base, tree))

    def mix_trees(self, index: Path, commit: str, other: str, paths: Sequence[str]) -> str:
        """The tree of a commit with these paths as another commit has them."""
        at = GitLocation(self._git.common_dir, index=index)
        index.unlink(missing_ok=True)
        self._git.run("read-tree", commit, at=at)
        rows = self._git.run("ls-tree", "-r", "-z", other, "--", *paths).out if paths else b""
        removals = b"".join(
            b"0 %b\t%b\0" % (b"0" * len(commit), os.fsencode(path)) for path in paths
        )
        additions = b"".join(
            b"%b %b\t%b\0" % (mode, name, path)
            for row in rows.split(b"\0")
            if row
            for head, _, path in [row.partition(b"\t")]
            for mode, _, name in [head.split(b" ")]
        )
        self._git.run("update-index", "-z", "--index-info", at=at, stdin=removals + additions)
        return self._git.read_text("write-tree", at=at)

    def _update_cached(self, at: GitLocation, index: Path, start: str) -> bool:
        """Move the cached index to `start`; an unusable index is removed."""
        try:
            if (index.parent / "of").read_text(encoding="ascii") != start:
                self._git.run("read-tree", "-i", "-m", start, at=at)
        except (GitFailed, OSError):
            index.unlink(missing_ok=True)
            return False
        return True

    def _remove_from_index(self, at: GitLocation, excluded: ExcludedPaths) -> None:
        """Single files were added with their folder, and an agent may have committed any."""
        if not excluded:
            return
        listed = self._git.read_names("ls-files", "-z", at=at)
        names = b"".join(os.fsencode(path) + b"\0" for path in listed if path in excluded)
        if names:
            self._git.run("update-index", "--force-remove", "-z", "--stdin", at=at, stdin=names)

    def _restore_links(self, at: GitLocation, base: str, excluded: ExcludedPaths) -> None:
        """Let a submodule that only set-up moved point where it does in `base`."""
        for path, moved in excluded.links:
            literal = "--literal-pathspecs"
            rows = self._git.read_names(literal, "ls-files", "-s", "-z", "--", path, at=at)
            olds = self._git.read_names(literal, "ls-tree", "-z", base, "--", path)
            row, old = next(iter(rows), ""), next(iter(olds), "")
            if row.startswith(f"{GITLINK} {moved} ") and old.startswith(GITLINK):
                entry = f"{GITLINK},{old.split()[2]},{path}"
                self._git.run("update-index", "--cacheinfo", entry, at=at)

    def _try_add(self, at: GitLocation, excluded: ExcludedPaths) -> bool:
        try:
            self._git.run("add", "-A", *excluded.pathspecs, at=at)
        except GitFailed:
            assert at.index
            at.index.unlink(missing_ok=True)
            return False
        return True

    def _add_as_they_are(
        self, at: GitLocation, survey: Survey, excluded: ExcludedPaths
    ) -> tuple[str, ...]:
        """Add all files, those with an encoding without a conversion."""
        if survey.excess:
            self._add_listed(at, add_unconverted(self._git, at, survey.within_bounds))
            return ()
        args = ("ls-files", "-c", "-o", "--exclude-standard", "-z")
        listed = [name for name in self._git.read_names(*args, at=at) if name not in excluded]
        files = [name for name in dict.fromkeys(listed) if not name.endswith("/")]
        self._add_listed(at, add_unconverted(self._git, at, files))
        nested = [name.rstrip("/") for name in listed if name.endswith("/")]
        return self._graft_all(at, nested, NESTING_MAX)

    def _add_listed(self, at: GitLocation, paths: Sequence[str]) -> None:
        """Add these files; all others stay as the index has them."""
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        self._git.run("update-index", *options, at=at, stdin=names)

    def read_submodules(self, files: Path, index: Path) -> tuple[str, tuple[str, ...]]:
        """A tree of the files in submodules, which no commit of yaoki's contains, and sentences
        about what exceeds the limits.
        """
        at = GitLocation(self._git.common_dir, files, index)
        rows = self._git.read_names("ls-files", "-s", "-z", at=at)
        paths = [row.partition("\t")[2] for row in rows if row.startswith(GITLINK)]
        # A submodule that is not checked out may contain files too: git ignores them.
        present = [path for path in paths if _has_files(files / path)]
        if not present:
            return "", ()
        self._git.run("read-tree", "--empty", at=at)
        excess = self._graft_all(at, present, NESTING_MAX)
        return self._git.read_text("write-tree", at=at), excess

    def read_nested_repository(self, folder: Path) -> str:
        """A tree of the current files in a nested repository."""
        with self.temporary_index("inside") as index:
            inner = GitLocation(self._git.common_dir, folder, index)
            self._git.run("read-tree", "--empty", at=inner)
            self._add_around(inner, NESTING_MAX)
            return self._git.read_text("write-tree", at=inner)

    def unpublished_submodule_commit(self, files: Path, tree: str, path: str) -> str:
        """The commit that a submodule's link points at; empty when one of its remotes has it, as
        far as the submodule knows, or when it is not checked out.
        """
        if not self._submodules.has_git_folder(files / path):
            return ""
        commit = self._git.read_text("rev-parse", "--verify", f"{tree}:{path}")
        return "" if self._submodules.is_published(files / path, commit) else commit

    def import_submodule_commit(self, files: Path, path: str, commit: str) -> bool:
        return self._submodules.import_commit(files / path, commit)

    def _add(self, at: GitLocation, excluded: ExcludedPaths) -> None:
        """Add all files.  Nested repositories become links, which the diff shows; git refuses a
        nested repository without commits.
        """
        try:
            self._git.run("add", "-A", *excluded.pathspecs, at=at)
        except GitFailed:
            self._add_around(at, NESTING_MAX, excluded)

    def _add_around(
        self, at: GitLocation, depth: int, excluded: ExcludedPaths = NOTHING_EXCLUDED
    ) -> tuple[str, ...]:
        """Add all files; nested repositories become plain files, because a link holds none.

        Returns sentences about what exceeds the limits and is left out.
        """
        survey = self._surveyor.survey(at, excluded=excluded)
        if survey.excess:
            self._add_listed(at, survey.within_bounds)
            return survey.excess
        listed = self._git.read_names("ls-files", "-o", "-k", "--exclude-standard", "-z", at=at)
        folders = (name.rstrip("/") for name in listed if name.endswith("/"))
        nested = [name for name in folders if name not in excluded]
        left_out = (*nested, *sorted(excluded.folders))
        lines = [".", *(f":(exclude,literal){name}" for name in left_out)]
        pathspecs = b"".join(os.fsencode(line) + b"\0" for line in lines)
        options = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._git.run("add", "-A", *options, at=at, stdin=pathspecs)
        return self._graft_all(at, nested, depth)

    def _graft_all(self, at: GitLocation, paths: Sequence[str], depth: int) -> tuple[str, ...]:
        return tuple(sentence for path in paths for sentence in self._graft(at, path, depth))

    def _graft(self, at: GitLocation, path: str, depth: int) -> tuple[str, ...]:
        """Put the files of the repository at `path` into the index as plain files."""
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
        """The paths that differ between two trees or commits."""
        if old == new:
            return ()
        return parse_raw_diff(read_raw_diff(self._git, old, new))

    def _count_files(self, tree: str) -> int:
        return self._git.run("ls-tree", "-r", "-z", "--name-only", tree).out.count(b"\0")


def _has_files(folder: Path) -> bool:
    try:
        return not folder.is_symlink() and any(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _copy(index: Path, to: Path) -> None:
    """Keep the modification time: git trusts files that are older than the index."""
    shutil.copy2(index, to)


def _digest(index: Path, commit: str) -> bytes:
    """Includes the time of the index, by which git decides which files to trust."""
    facts = f"{commit} {index.stat().st_mtime_ns}\n".encode()
    return sha256(facts + index.read_bytes()).digest()
