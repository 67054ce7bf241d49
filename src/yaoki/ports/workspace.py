"""Git as the engine sees it: one small protocol for each role, and the values they exchange."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from yaoki.core.leaks import Leak, LeakSearch
from yaoki.core.model import Run, Task, TaskId
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.ports.workspace_values import (
    Candidate,
    CommittedAttempt,
    IgnoredFile,
    JointCommit,
    LandedStep,
    MergeResult,
    PreparedWorktree,
    SetupChanges,
)

# Reads which tasks are in the merge queue, and which verified work may be joined with a candidate.
QueueMembers = Callable[[], Collection[TaskId]]
Companions = Callable[[], Sequence[Task]]


class RunBranches(Protocol):
    """The run branch, for the engine's guards, completion and commands.

    A `Run` may also stand for one of its group branches (`run.target_group`).
    """

    def open_run_branch(self, run: Run) -> None:
        """Create the run branch at the run's base unless it exists."""

    def push_existing_run(self, run: Run) -> None:
        """Push the branch of a run that started before there was a remote."""

    def head(self, run: Run) -> str: ...

    def branch_contains(self, run: Run, commit: str) -> bool: ...

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """The given commits that the run branch does not contain."""

    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """The landings on the target branch, oldest first."""

    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with only these landings; empty when they conflict."""

    def describe_drift(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""

    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchMovedExternally`, with the restore command as its hint, unless the run
        branch is where yaoki put it and contains all of `landed`.
        """

    def refuse_checked_out(self, run: Run) -> None:
        """Raise `BranchMovedExternally` while the run branch is checked out: nothing can land."""

    def way_back(self, run: Run, commit: str) -> str:
        """The command by which a person moves the run branch there; no commit is lost."""


class GroupBranches(Protocol):
    """The branches of task groups, for the stages of their subtasks."""

    def open_group_branch(self, run: Run, group: str) -> Run:
        """The run with the group's branch as its target; the branch is created if it is missing."""

    def refresh_group_branch(self, run: Run, group: str) -> Run:
        """Like `open_group_branch`, after merging the run branch in if that has no conflicts."""

    def roll_back_group_branch(self, run: Run, group: str, head: str) -> tuple[str, str]:
        """Move a group's branch from `head` to the run branch; returns its old and new head.

        Refused when the branch is no longer at `head`.
        """

    def close_group_branch(self, run: Run, group: str) -> None:
        """Delete a group's branch once the run branch contains it."""


class Landings(Protocol):
    """Moves of saved work to the run branch and the base branch, for verify, land, undo
    and merge.
    """

    def build_candidate(
        self,
        run: Run,
        task: Task,
        queue_members: QueueMembers = frozenset,
        companions: Companions = tuple,
    ) -> Candidate:
        """Merge the work onto the run branch's head and check the result out.

        A queued task is built on the last candidate of the merge queue, joined with the verified
        work of its `companions` as far as it merges.
        """

    def withdraw_candidate(self, run: Run, task: Task) -> None:
        """Move the worktree from the candidate back to the task's own work, without work of others
        that has not landed.

        The candidate does not land, and its subject is that of a landing: later commits must build
        on the task's own commit.
        """

    def read_joint(self, commit: str) -> JointCommit | None:
        """The tasks that land with this commit besides its own; None if there are none."""

    def is_in_merge_queue(self, run: Run, commit: str, queue_members: QueueMembers) -> bool:
        """True when the run branch can still reach this commit by landings of queue members."""

    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch to `commit` from the commit below it; returns its head afterwards.

        That is `onto`, or, for a joint commit, the commit that the work was joined on.

        It landed when the head is `commit` or contains it; otherwise the branch had moved.
        """

    def undo(
        self, run: Run, landings: Mapping[TaskId, str], approve: Callable[[str, str], None]
    ) -> str:
        """Revert landed work on the run branch; returns its new head.  Repeating changes nothing.

        `landings` are the landed commits of the tasks in the order in which they are reverted; the
        last task is the one that was asked for.  All are reverted by one commit, or none is.
        `approve` is called with that commit and the head before the branch moves; it raises
        to refuse.
        """

    def refuse_undo(self, run: Run, landings: Mapping[TaskId, str]) -> None:
        """Raise if `undo` would be refused because later work builds on these landings."""

    def merge(
        self,
        run: Run,
        *,
        into: str = "",
        force_ref: bool = False,
        approve: Callable[[MergeResult], None],
    ) -> MergeResult:
        """Move the base branch; `approve` is called before that, and raises to refuse."""


class AttemptWorktrees(Protocol):
    """The worktree of a task, from its preparation to its removal."""

    def prepare(self, run: Run, task: Task, attempt: int) -> PreparedWorktree:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""

    def begin_setup(self, task: Task) -> None:
        """Record the changes in a used worktree that set-up will not have made."""

    def record_setup_files(self, task: Task) -> SetupChanges:
        """Record what set-up made and changed: nothing of it is the agent's work."""

    def take_snapshot(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Save the worktree's content under refs/yaoki/snapshots; returns the snapshot's id.

        `untouched` since it was made: its content is its HEAD, so no file is read.
        """

    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt: ...

    def rebuild_worktree(self, task: Task) -> bool:
        """Make a missing worktree again at its work; true when it was missing."""

    def remove_worktree(self, task: Task, *, continued_elsewhere: bool = False) -> None:
        """Save all content of the worktree on a ref, then remove it.

        `continued_elsewhere`: another machine continues the task.
        """

    def save_worktree(self, task: Task) -> None:
        """Save all content of the worktree on a ref; the worktree stays as it is."""

    def tasks_with_worktree(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""


class UncommittedWork(Protocol):
    """Files that no commit holds, for the explanation of failed checks and empty attempts."""

    def ignored_sources(
        self, task: Task, since: float, committed: Collection[str]
    ) -> tuple[str, ...]:
        """Source files written since then that git ignores: they never land.

        `committed` are the paths that the attempt's commit changes, so git does not ignore them.
        """

    def ignored_folders(self, names: Sequence[str]) -> tuple[str, ...]:
        """The given folders that exist in the user's checkout and that git ignores."""

    def edited_files(self, since: float) -> tuple[str, ...]:
        """Tracked files of the user's checkout that were changed or deleted since then."""

    def find_work_elsewhere(self, task: Task) -> tuple[str, ...]:
        """The other places in which an agent worked that changed nothing on the task's branch."""

    def uncommitted_files(self, task: Task, since: float) -> tuple[IgnoredFile, ...]:
        """Ignored files written since then; at most a few hundred."""

    def copy_uncommitted_files(self, task: Task, names: Sequence[str], to: Path) -> None:
        """Copy such files into another folder, to find out whether a check needs them."""


class CommitContents(Protocol):
    """The contents of commits and their differences, for verification and reports."""

    def has_path(self, commit: str, path: str) -> bool:
        """True when the commit has a file or folder of this name."""

    def contains_text(self, commit: str, value: str) -> bool:
        """True when a file of the commit contains the text."""

    def find_leaks(self, old: str, new: str, search: LeakSearch) -> tuple[Leak, ...]:
        """Secrets in contents, names and messages that the newer commit adds."""

    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(status, path) of every file that differs between two commits."""

    def read_changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""

    def count_changed_lines(self, old: str, new: str) -> int:
        """The lines that the diff adds and removes; a binary file counts as one."""

    def file_sizes(self, commit: str, paths: Sequence[str]) -> Mapping[str, int]:
        """The size of each of these files that the commit has, in bytes."""

    def diff(self, old: str, new: str) -> str:
        """The diff as text; a diff over the limit is cut, and its end says so."""

    def tree_view(self, commit: str) -> TreeView:
        """The tracked files of a commit, read from its objects."""

    def commit_with_files_of(self, commit: str, other: str, paths: Sequence[str]) -> str:
        """A child of `commit` with these paths as `other` has them; paths it lacks are removed."""

    def is_pushed(self, commit: str) -> bool:
        """True when a remote-tracking branch contains the work."""


class ProtectedFiles(Protocol):
    """Hashes of files that agents and checks must not change."""

    def protected_state(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        """Hashes of what a check must not change, by names for people.

        Settings, hooks and the worktree's own link; if `strict`, also which branches and tags
        exist, and untracked files.
        """

    def hash_protected_files(self, task_id: str = "") -> Mapping[str, str]:
        """Hashes of what an agent must never change: git config and hooks, by name.

        With a task, also those of the task's own worktree.
        """

    def hash_checkout(self) -> Mapping[str, str]:
        """Hashes of the user's HEAD, index, refs and files; every name starts with checkout/."""


class Workspace(Protocol):
    """The repository, by role.  Nothing here touches the user's checkout, index or HEAD.

    Every method may be repeated after a crash at any point inside it.
    """

    @property
    def branches(self) -> RunBranches: ...

    @property
    def groups(self) -> GroupBranches: ...

    @property
    def landings(self) -> Landings: ...

    @property
    def worktrees(self) -> AttemptWorktrees: ...

    @property
    def uncommitted(self) -> UncommittedWork: ...

    @property
    def contents(self) -> CommitContents: ...

    @property
    def protection(self) -> ProtectedFiles: ...
