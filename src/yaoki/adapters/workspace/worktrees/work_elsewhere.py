"""Finds the work of an agent that changed nothing on its task's branch."""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.adapters.git.batch import OBJECT_ID
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.ref_names import task_branch_ref
from yaoki.adapters.git.refs import Refs
from yaoki.adapters.git.submodule_objects import find_git_folder
from yaoki.adapters.git.tree_diff import GITLINK, printable_path
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.workspace.worktrees.worktree import Worktree

# Limits on the reflog of an agent's HEAD, and on the commits read from it.
LOG_BYTES_MAX = 1 << 20
COMMITS_MAX = 50
# Reflog entries without a new commit; yaoki's own checkouts are among them.
MOVES = (b"reset:", b"checkout:", b"branch:", b"worktree")
BRANCHES = "refs/heads/"


def list_commits_made(worktree: Worktree) -> tuple[str, ...]:
    """The newest commits made in a worktree: only the reflog of its HEAD names them all."""
    log = worktree.admin / "logs" / "HEAD" if worktree.admin else None
    rows = (read_plain_bytes(log, LOG_BYTES_MAX) or b"").splitlines() if log else []
    commits = (row for row in rows if row and not row.partition(b"\t")[2].startswith(MOVES))
    names = dict.fromkeys(row.split()[1].decode("ascii", "replace") for row in commits)
    return tuple(name for name in list(names)[-COMMITS_MAX:] if OBJECT_ID.fullmatch(name))


class WorkElsewhere:
    """Finds work that an agent put on other branches or into a submodule by mistake."""

    def __init__(self, git: Git, refs: Refs, trees: TreeBuilder) -> None:
        self._git, self._refs, self._trees = git, refs, trees

    def describe_places(self, worktree: Worktree) -> tuple[str, ...]:
        """Phrases for the places; empty when the agent did nothing at all."""
        head = self._refs.read_commits(worktree.head)[0] if worktree.is_usable else None
        if head is None:
            return ()
        commits = self._describe_commits(worktree, head.sha)
        return (*commits, *self._describe_submodules(worktree, head.sha))

    def _describe_commits(self, worktree: Worktree, head: str) -> Iterator[str]:
        names = list_commits_made(worktree)
        commits = [commit.sha for commit in self._refs.read_commits(*names) if commit]
        others = [sha for sha in commits if not self._refs.is_ancestor(sha, head)]
        branches = {sha: self._refs.refs_containing(sha, BRANCHES) for sha in others}
        own = task_branch_ref(worktree.task_id)
        for name in dict.fromkeys(n for refs in branches.values() for n in refs if n != own):
            yield f"commits on branch {name.removeprefix(BRANCHES)}"
        if lost := [sha for sha, refs in branches.items() if not set(refs) - {own}]:
            yield f"commits on no branch any more ({lost[-1][:12]})"

    def _describe_submodules(self, worktree: Worktree, head: str) -> Iterator[str]:
        if not (worktree.path / ".gitmodules").is_file():
            return
        rows = self._git.read_names("ls-tree", "-r", "-z", head)
        for row in rows:
            facts, _, path = row.partition("\t")
            if facts.startswith(GITLINK) and self._is_edited(worktree, path, facts.split()[-1]):
                yield f"uncommitted changes inside submodule {printable_path(path)}"

    def _is_edited(self, worktree: Worktree, path: str, commit: str) -> bool:
        """True when the files differ from the commit.

        Submodules with submodules are not compared: those are links there and files here.
        """
        folder = worktree.path / path
        git_folder = find_git_folder(folder)
        if git_folder is None or (folder / ".gitmodules").exists():
            return False
        args = ("rev-parse", "--verify", "-q", f"{commit}^{{tree}}")
        result = self._git.run_with_objects(git_folder / "objects", *args, ok=(0, 1, 128))
        tree = result.out.decode("ascii", "replace").strip()
        return result.code == 0 and tree != self._trees.read_nested_repository(folder)
