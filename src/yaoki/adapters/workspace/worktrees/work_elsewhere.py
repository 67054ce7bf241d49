"""Where the work of an agent is that changed nothing on its task's branch."""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import Refs, task_branch_ref
from yaoki.adapters.git.submodule_objects import find_git_folder
from yaoki.adapters.git.tree_diff import GITLINK, OBJECT_ID, printable_path
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.workspace.worktrees.worktree import Worktree

# The log of an agent's HEAD is read so far, and so many of its commits are looked at.
LOG_BYTES_MAX = 1 << 20
MADE_MAX = 50
# Lines of it that tell of no new commit; our own moves of a worktree are among them.
MOVES = (b"reset:", b"checkout:", b"branch:", b"worktree")
BRANCHES = "refs/heads/"


def list_commits_made(found: Worktree) -> tuple[str, ...]:
    """The newest commits that were made in a worktree: only the log of its HEAD names them all."""
    log = found.admin / "logs" / "HEAD" if found.admin else None
    rows = (read_plain_bytes(log, LOG_BYTES_MAX) or b"").splitlines() if log else []
    made = (row for row in rows if row and not row.partition(b"\t")[2].startswith(MOVES))
    names = dict.fromkeys(row.split()[1].decode("ascii", "replace") for row in made)
    return tuple(name for name in list(names)[-MADE_MAX:] if OBJECT_ID.fullmatch(name))


class WorkElsewhere:
    """Looks where agents put work by mistake: other branches, and the files of a submodule."""

    def __init__(self, git: Git, refs: Refs, content: TreeBuilder) -> None:
        self._git, self._refs, self._content = git, refs, content

    def describe_places(self, found: Worktree) -> tuple[str, ...]:
        """Each place in a few words; none where the agent did nothing at all."""
        head = self._refs.read_commits(found.head)[0] if found.is_usable else None
        if head is None:
            return ()
        return (*self._commits(found, head.sha), *self._submodules(found, head.sha))

    def _commits(self, found: Worktree, head: str) -> Iterator[str]:
        wanted = list_commits_made(found)
        known = (
            [commit.sha for commit in self._refs.read_commits(*wanted) if commit] if wanted else []
        )
        left = [sha for sha in known if not self._refs.is_ancestor(sha, head)]
        holding = {sha: self._refs.refs_containing(sha, BRANCHES) for sha in left}
        own = task_branch_ref(found.task_id)
        names = dict.fromkeys(name for held in holding.values() for name in held if name != own)
        for name in names:
            yield f"commits on branch {name.removeprefix(BRANCHES)}"
        if lost := [sha for sha, held in holding.items() if not set(held) - {own}]:
            yield f"commits on no branch any more ({lost[-1][:12]})"

    def _submodules(self, found: Worktree, head: str) -> Iterator[str]:
        if not (found.path / ".gitmodules").is_file():
            return
        rows = self._git.read_names("ls-tree", "-r", "-z", head)
        for row in rows:
            facts, _, path = row.partition("\t")
            if facts.startswith(GITLINK) and self._edited(found, path, facts.split()[-1]):
                yield f"uncommitted changes inside submodule {printable_path(path)}"

    def _edited(self, found: Worktree, path: str, commit: str) -> bool:
        """Do the files differ from the commit?  Repositories in it are links there, files here."""
        folder = found.path / path
        place = find_git_folder(folder)
        if place is None or (folder / ".gitmodules").exists():
            return False
        asked = ("rev-parse", "--verify", "-q", f"{commit}^{{tree}}")
        known = self._git.run_with_objects(place / "objects", *asked, ok=(0, 1, 128))
        tree = known.out.decode("ascii", "replace").strip()
        return known.code == 0 and tree != self._content.read_nested_repository(folder)
