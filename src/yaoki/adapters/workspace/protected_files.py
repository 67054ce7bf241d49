"""`ports.ProtectedFiles`: hashes of files that agents and checks must not change."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.protect.fingerprints import hash_checkout, hash_protected_files
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles
from yaoki.core.model import Task


class GitProtectedFiles:
    def __init__(
        self,
        *,
        git: Git,
        repository: GitRepository,
        worktrees: Worktrees,
        leftovers: LeftoverFiles,
        remote_name: str,
    ) -> None:
        self._git, self._repository, self._remote_name = git, repository, remote_name
        self._worktrees, self._leftovers = worktrees, leftovers

    @translates_os_errors
    def protected_state(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        """Hashes of what a check must not change, by names for people."""
        worktree = self._worktrees.find(task.id)
        return {
            **self.hash_protected_files(task.id),
            **self._leftovers.protected_state(worktree, strict=strict),
        }

    @translates_os_errors
    def hash_protected_files(self, task_id: str = "") -> Mapping[str, str]:
        """Hashes of what an agent must never change: git config and hooks, by name."""
        admin = self._worktrees.find(task_id).admin if task_id else None
        return hash_protected_files(self._git, self._repository, self._remote_name, admin)

    @translates_os_errors
    def hash_checkout(self) -> Mapping[str, str]:
        """Hashes of the user's HEAD, index and tracked files, by name."""
        return hash_checkout(self._git, self._repository)
