"""`ports.UncommittedWork`: what an agent or a user wrote that no commit holds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.protect.fingerprints import find_edited_files
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.included_files import filter_ignored
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles
from yaoki.adapters.workspace.worktrees.work_elsewhere import WorkElsewhere
from yaoki.adapters.workspace.worktrees.worktree import delete_path
from yaoki.core.model import Task
from yaoki.core.text import list_some
from yaoki.ports import IgnoredFile

# The place of an ignore rule in messages.
SETUP_RULE = "yaoki: set-up makes it"
EDITED_MAX, NAMES_SHOWN_MAX = 100, 5


class GitUncommittedWork:
    def __init__(
        self,
        *,
        git: Git,
        repository: GitRepository,
        worktrees: Worktrees,
        leftovers: LeftoverFiles,
        elsewhere: WorkElsewhere,
    ) -> None:
        self._git, self._repository, self._worktrees = git, repository, worktrees
        self._leftovers, self._elsewhere = leftovers, elsewhere

    @translates_os_errors
    def ignored_sources(
        self, task: Task, since: float, committed: Collection[str]
    ) -> tuple[str, ...]:
        """Ignored source files written since then; none when the worktree is gone."""
        worktree = self._worktrees.find(task.id)
        if not worktree.admin or not worktree.exists:
            return ()
        return self._leftovers.ignored_sources(worktree, since, committed)

    @translates_os_errors
    def ignored_folders(self, names: Sequence[str]) -> tuple[str, ...]:
        """The given folders that exist in the user's checkout and that git ignores."""
        present = [name for name in names if (self._repository.top / name).is_dir()]
        return filter_ignored(self._git, self._repository, present)

    @translates_os_errors
    def edited_files(self, since: float) -> tuple[str, ...]:
        """Tracked files of the user's checkout that were changed or deleted since then."""
        return find_edited_files(self._git, self._repository, since)

    @translates_os_errors
    def find_work_elsewhere(self, task: Task) -> tuple[str, ...]:
        """The other places in which an agent worked that changed nothing on the task's branch."""
        worktree = self._worktrees.find(task.id)
        edited = self._worktrees.setup_files.list_edited(worktree)
        made = (f"changes of {list_some(edited, NAMES_SHOWN_MAX)}, which set-up makes",)
        return (*self._elsewhere.describe_places(worktree), *(made if edited else ()))

    @translates_os_errors
    def uncommitted_files(self, task: Task, since: float) -> tuple[IgnoredFile, ...]:
        """Ignored files written since then; none when the worktree is gone."""
        worktree = self._worktrees.find(task.id)
        if not worktree.is_usable:
            return ()
        edited = self._worktrees.setup_files.list_edited(worktree)
        ignored = self._leftovers.uncommitted_files(worktree, since)
        return (*(IgnoredFile(path, SETUP_RULE) for path in edited[:EDITED_MAX]), *ignored)

    @translates_os_errors
    def copy_uncommitted_files(self, task: Task, names: Sequence[str], to: Path) -> None:
        """Copy such files into another folder, never over an existing file of the commit."""
        top, made = self._worktrees.require(task.id).path, self._worktrees.setup_files.load(task.id)
        for name in names:
            target = to / name
            if name in made:
                delete_path(target)
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(top / name, target, follow_symlinks=False)
