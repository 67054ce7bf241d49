"""Registers a worktree in the repository: the files of `git worktree add --no-checkout --lock`.

git starts a second process for them, and each task needs a worktree.  Their layout is documented
(gitrepository-layout).  Wherever it could differ, git itself is called.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from yaoki.adapters.git.command import CONFIG_BYTES_MAX, Git
from yaoki.adapters.git.ref_names import REF_COMPONENT
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.workspace.worktrees.worktree import COMMIT_ID, UNFINISHED_MARK, delete_path
from yaoki.errors import WorkspaceError

# `--lock` marks a worktree while it is being made.
ADD = ("worktree", "add", "-q", "--no-checkout", "--lock", "--reason", UNFINISHED_MARK.decode())


class WorktreeRegistration:
    """Adds worktrees without files to one repository."""

    def __init__(self, git: Git) -> None:
        self._git, self._folder = git, git.common_dir / "worktrees"
        # Read at start-up, before an agent could change it.  An extension can change the layout.
        config = read_plain_bytes(git.common_dir / "config", CONFIG_BYTES_MAX)
        self._is_usual = config is not None and b"[extensions" not in config.lower()

    def add_on_branch(self, path: Path, branch: str) -> None:
        """The branch exists, and no other worktree is on it."""
        if not self._write(path, f"ref: refs/heads/{branch}\n"):
            self._git.run(*ADD, str(path), branch)

    def add_detached(self, path: Path, commit: str) -> None:
        is_id = COMMIT_ID.fullmatch(commit.encode("utf-8", "surrogateescape"))
        if not is_id or not self._write(path, f"{commit}\n"):
            self._git.run(*ADD, "--detach", str(path), commit)

    def _write(self, path: Path, head: str) -> bool:
        """False, with nothing written, where git has to decide: a name or a folder is taken."""
        admin = self._folder / path.name
        if not self._is_usual or not REF_COMPONENT.fullmatch(path.name) or os.path.lexists(path):
            return False
        try:
            self._folder.mkdir(exist_ok=True)
            admin.mkdir()
        except FileExistsError:
            return False
        try:
            _write_files(admin, path, head)
        except OSError:
            with suppress(WorkspaceError, OSError):  # the reason is in the first error
                delete_path(path)
                delete_path(admin)
            raise
        return True


def _write_files(admin: Path, path: Path, head: str) -> None:
    """In git's order: the mark protects the folder from `git worktree prune`."""
    (admin / "locked").write_bytes(UNFINISHED_MARK + b"\n")
    (admin / "gitdir").write_bytes(os.fsencode(f"{path / '.git'}\n"))
    (admin / "HEAD").write_text(head, encoding="utf-8")
    (admin / "commondir").write_text("../..\n", encoding="ascii")
    path.mkdir()
    (path / ".git").write_bytes(os.fsencode(f"gitdir: {admin}\n"))
