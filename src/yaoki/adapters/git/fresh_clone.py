"""A clone that contains only what git transports: nothing of the user's checkout or settings."""

from __future__ import annotations

from pathlib import Path

from yaoki.adapters.git.command import git_environment, run_git
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import GitFailed


@dataclass(frozen=True, slots=True)
class FreshClone:
    folder: Path

    def check_out(self, commit: str) -> None:
        # Every file is written anew: attributes of another commit may have changed its line ends.
        _run(self.folder, "read-tree", "--empty")
        _run(self.folder, "checkout", "-q", "--force", "--detach", commit)

    def reset(self, commit: str = "HEAD") -> None:
        """Undo changes to tracked files, and move HEAD to the commit."""
        _run(self.folder, "reset", "-q", "--hard", commit)

    def clean(self) -> None:
        """Remove untracked and ignored files."""
        _run(self.folder, "clean", "-ffdxq")

    def changed_files(self) -> list[str]:
        return _run(self.folder, "diff", "--name-only", "HEAD").split("\n")[:-1]

    def list_tree(self, commit: str) -> list[str]:
        """Lines of `git ls-tree`: mode, type, object and path of every file."""
        return _run(self.folder, "ls-tree", "-r", "-z", commit).split("\0")

    def list_untracked(self) -> frozenset[str]:
        return frozenset(filter(None, _run(self.folder, "ls-files", "-o", "-z").split("\0")))


def clone_fresh(source: Path, folder: Path) -> FreshClone:
    """Clone through git's transport, without hard links, templates or a checkout."""
    args = ("clone", "-q", "--no-local", "--no-checkout", "--template=", str(source), str(folder))
    _run(folder.parent, *args)
    return FreshClone(folder)


def _run(cwd: Path, *args: str) -> str:
    result = run_git(args, cwd=cwd, env=git_environment())
    if result.code != 0:
        error = result.err.decode("utf-8", "replace").strip()
        raise GitFailed(f"git {args[0]} failed in the fresh clone: {error}")
    return result.out.decode("utf-8", "surrogateescape")
