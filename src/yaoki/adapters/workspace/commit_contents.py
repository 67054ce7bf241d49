"""`ports.CommitContents`: what commits contain and how they differ."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from yaoki.adapters.git.batch import ALL_SUBMODULES
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.diff import read_changes
from yaoki.adapters.git.new_content import contains_text, read_new_content
from yaoki.adapters.git.refs import Refs
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.git.tree_paths import TreePaths
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.mode import RemoteMode
from yaoki.core.leaks import Leak, LeakSearch
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView

DIFF_BYTES_MAX = FILE_BYTES_MAX = 1 << 20
_LINK, _SUBMODULE = "120000", "160000"


class GitCommitContents:
    def __init__(
        self, *, git: Git, refs: Refs, commits: Commits, trees: TreeBuilder, mode: RemoteMode
    ) -> None:
        self._git, self._refs, self._commits = git, refs, commits
        self._trees, self._mode = trees, mode
        self._listings = TreePaths(git)

    @translates_os_errors
    def has_path(self, commit: str, path: str) -> bool:
        """True when the commit has a file or folder of this name."""
        name = path.removeprefix("./").rstrip("/")
        return "\n" not in name and self._git.look_up(f"{commit}:{name}")[0] is not None

    @translates_os_errors
    def contains_text(self, commit: str, value: str) -> bool:
        """True when a file of the commit contains the text."""
        return contains_text(self._git, commit, value)

    @translates_os_errors
    def find_leaks(self, old: str, new: str, search: LeakSearch) -> tuple[Leak, ...]:
        """Secrets in contents, names and messages that the newer commit adds."""
        self._mode.fetch_commits(old, new)
        return search.find(read_new_content(self._git, old, new))

    @translates_os_errors
    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(status, path) of every file that differs."""
        self._mode.fetch_commits(old, new)
        changes = self._trees.diff_trees(old, new)
        return tuple((change.status, printable_path(change.path)) for change in changes)

    @translates_os_errors
    def read_changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""
        self._mode.fetch_commits(old, new)
        return read_changes(self._git, old, new)

    @translates_os_errors
    def count_changed_lines(self, old: str, new: str) -> int:
        """The lines that the diff adds and removes; a binary file counts as one."""
        self._mode.fetch_commits(old, new)
        options = ("-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
        out = self._git.run("diff-tree", *options, ALL_SUBMODULES, old, new, "--").out
        rows = (line.split(b"\t")[:2] for line in out.split(b"\0") if line)
        return sum(1 if added == b"-" else int(added) + int(gone) for added, gone in rows)

    @translates_os_errors
    def file_sizes(self, commit: str, paths: Sequence[str]) -> dict[str, int]:
        """The size of each of these files that the commit has, in bytes."""
        objects = self._git.look_up(*(f"{commit}:{path}" for path in paths if "\n" not in path))
        named = (path for path in paths if "\n" not in path)
        return {path: one.size for path, one in zip(named, objects, strict=True) if one}

    @translates_os_errors
    def diff(self, old: str, new: str, *, stat: bool = False) -> str:
        """The diff as text; a diff over the limit is cut, and its end says so."""
        self._mode.fetch_commits(old, new)
        form = ("--stat=100",) if stat else ("-p",)
        options = ("-r", *form, "--no-ext-diff", "--no-textconv", "--no-color")
        out = self._git.run("diff-tree", *options, ALL_SUBMODULES, old, new, "--").out
        text = out[:DIFF_BYTES_MAX].decode("utf-8", "replace")
        rest = len(out) - DIFF_BYTES_MAX
        return text if rest <= 0 else f"{text}\n… {rest} more bytes: git diff {old} {new}\n"

    @translates_os_errors
    def tree_view(self, commit: str) -> TreeView:
        """The tracked files of a commit, read from its objects."""
        self._mode.fetch_commits(commit)
        return _make_tree_view(self._git, self._listings.list_paths(commit))

    @translates_os_errors
    def commit_with_files_of(self, commit: str, other: str, paths: Sequence[str]) -> str:
        """A child of `commit` with these paths as `other` has them; paths it lacks are removed."""
        with self._trees.temporary_index("mixed") as index:
            tree = self._trees.mix_trees(index, commit, other, paths)
        return self._commits.make(tree, [commit], "files of another commit\n")

    @translates_os_errors
    def is_pushed(self, commit: str) -> bool:
        """True when a remote-tracking branch contains the work, as far as this repository knows.

        yaoki squashes an agent's commits, so a branch with the same tree counts as well.
        """
        args = ("for-each-ref", "--format=%(tree)%00")
        if self._git.read_names(*args, "--contains", commit, "refs/remotes"):
            return True
        tree = self._git.read_text("rev-parse", f"{commit}^{{tree}}")
        return tree in {name.strip() for name in self._git.read_names(*args, "refs/remotes")}

    @translates_os_errors
    def is_reachable(self, commit: str) -> bool:
        """True when any ref contains the commit."""
        return bool(self._refs.read_commits(commit)[0] and self._refs.refs_containing(commit))


def _make_tree_view(git: Git, ids: dict[str, str]) -> TreeView:
    """The files of a listing, read from the object store without a worktree."""

    @lru_cache(maxsize=2_000)
    def read(path: str) -> str | None:
        mode, _, sha = ids.get(path, "").partition(" ")
        if not sha or mode in (_LINK, _SUBMODULE):
            return None
        blob = git.read_object(sha, FILE_BYTES_MAX)
        if blob is None or blob.size != len(blob.content) or b"\0" in blob.content:
            return None
        return blob.content.decode("utf-8", "replace")

    return TreeView(frozenset(ids), read, ids)
