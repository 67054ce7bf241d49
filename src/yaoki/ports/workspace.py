"""git worktrees and refs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from yaoki.core.leaks import Leak, LeakSearch
from yaoki.core.model import Run, Task, TaskId
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView

# A name in the protected state of a task, as long as its worktree exists.
WORKTREE_LINK = "the worktree's .git"


@dataclass(frozen=True, slots=True)
class PreparedWorktree:
    """A worktree made ready for one attempt."""

    worktree: Path
    base: str
    tree: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class CommittedAttempt:
    """The files of an attempt, committed on the task's branch and saved under a private ref.

    `warnings` are sentences about files that exist only in this repository.  `worktree_missing`:
    the worktree was gone, so only committed work could be saved.  `diff_digest` identifies the
    attempt's own changes, whatever commit they are based on.  `left_out_files` are new files
    outside the task's scope: they are saved beside the work and do not land.  `sandbox_refusals`
    are actions of the agent that the sandbox blocked.
    """

    head: str
    tree: str
    changed: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    worktree_missing: bool = False
    diff_digest: str = ""
    left_out_files: tuple[str, ...] = ()
    sandbox_refusals: tuple[str, ...] = ()
    size_excess: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxFolders:
    """The private folders of one task's agent inside the sandbox.

    `folder` contains them and stays from attempt to attempt; the agent may write to `writable`.
    `read_only_mounts` maps a path to the file or folder that the agent sees there instead.
    """

    folder: Path
    writable: tuple[Path, ...]
    read_only_mounts: Mapping[Path, Path]


@dataclass(frozen=True, slots=True)
class IgnoredFile:
    """A file that an agent wrote and git ignores, with the rule that ignores it."""

    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """The exact commit to verify: the task's work merged onto the head of the run branch.

    `changed` are the paths that differ from `onto`.  With `conflicts` there is nothing to verify.
    `tracked_count`, the files of `onto`, is counted only where files were deleted.  `outside_links`
    are changed links whose target is outside the repository.
    """

    commit: str
    onto: str
    tree: str
    changed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    deleted_count: int = 0
    tracked_count: int = 0
    conflict_markers: tuple[str, ...] = ()
    outside_links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedWork:
    """One attempt's work as `yaoki recover` lists it."""

    task_id: str
    attempt: int
    ref: str
    commit: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class LandedStep:
    """One commit of a target branch: the task that landed with it, empty for any other commit.

    `undoes` is the landing that it reverts.
    """

    task_id: TaskId
    commit: str
    undoes: str = ""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Where the work of a run is now.  `how`: already, created, fast-forward or merge.

    `onto` is the head of the branch before; empty when there was no such branch.
    """

    branch: str
    commit: str
    how: str
    onto: str = ""


# The tasks that are being verified now and whose landing was refused before.
QueueMembers = Callable[[], Collection[TaskId]]


class Workspace(Protocol):
    """git worktrees and refs.  Nothing here touches the user's checkout, index or HEAD.

    Every method may be repeated after a crash at any point inside it.
    """

    def open_run_branch(self, run: Run) -> None:
        """Create the run branch at the run's base unless it exists."""

    def push_existing_run(self, run: Run) -> None:
        """Push the branch of a run that began before a remote was configured."""

    def head(self, run: Run) -> str: ...

    def open_group_branch(self, run: Run, group: str) -> Run:
        """The run with the group's branch as target; the branch is created unless it exists."""

    def refresh_group_branch(self, run: Run, group: str) -> Run:
        """Merge the run branch into the group branch where that gives no conflict."""

    def roll_back_group_branch(self, run: Run, group: str, head: str) -> tuple[str, str]:
        """Reset a group's branch from `head` to the run branch; return its old and its new head.

        Refused when the branch is not at `head`: another worker moved it first.
        """

    def close_group_branch(self, run: Run, group: str) -> None: ...

    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """The commits of the target branch, oldest first."""

    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with only these landings; empty when they conflict."""

    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(status, path) of every file that differs between two commits."""

    def prepare(self, run: Run, task: Task, attempt: int) -> PreparedWorktree:
        """The worktree for this attempt: the task's own, or a fresh one if the task needs that."""

    def take_snapshot(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Save the whole content of the worktree under refs/yaoki/snapshots; return its id.

        `untouched`: the worktree was just created, so its HEAD is its content.
        """

    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt: ...

    def build_candidate(
        self, run: Run, task: Task, queue_members: QueueMembers = frozenset
    ) -> Candidate:
        """Merge onto the head of the run branch and check the result out in the worktree.

        A task whose landing was refused is built on the candidates of other queue members that may
        land first.
        """

    def is_in_merge_queue(self, run: Run, commit: str, queue_members: QueueMembers) -> bool:
        """Can the run branch still reach this commit by landings of queue members alone?"""

    def has_path(self, commit: str, path: str) -> bool:
        """Does the commit have a file or folder at this path?"""

    def find_leaks(self, old: str, new: str, search: LeakSearch) -> tuple[Leak, ...]:
        """Secrets in what the newer commit adds: file contents, file names and commit messages."""

    def contains_text(self, commit: str, value: str) -> bool:
        """Does a file of the commit contain this text?"""

    def read_changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""

    def tree_view(self, commit: str) -> TreeView:
        """The tracked files of a commit, read from its objects."""

    def commit_with_files_of(self, commit: str, other: str, paths: Sequence[str]) -> str:
        """A commit with these paths taken from another; paths that it lacks are removed."""

    def is_pushed(self, commit: str) -> bool: ...

    def ignored_sources(self, task: Task, since: float) -> tuple[str, ...]:
        """Ignored source files that were written since that instant; they never land."""

    def ignored_folders(self, names: Sequence[str]) -> tuple[str, ...]:
        """The folders among these that exist in the user's checkout and that git ignores."""

    def edited_files(self, since: float) -> tuple[str, ...]:
        """The tracked files of the user's checkout changed or deleted since that instant."""

    def find_work_elsewhere(self, task: Task) -> tuple[str, ...]:
        """Other places where the agent worked, for an agent that changed nothing on the branch."""

    def uncommitted_files(self, task: Task, since: float) -> tuple[IgnoredFile, ...]:
        """Ignored files that were written since that instant; at most a few hundred."""

    def copy_uncommitted_files(self, task: Task, names: Sequence[str], to: Path) -> None:
        """Copy such files into another folder, to find out whether a check needs them."""

    def record_setup_files(self, task: Task) -> None:
        """Record the ignored files that set-up made, to tell them from those of an agent."""

    def protected_state(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        """Hashes of everything that a check must not change, by a readable name.

        Settings, hooks and the worktree's own link; if `strict`, also which branches and tags
        there are, and files unknown to git.
        """

    def rebuild_worktree(self, task: Task) -> bool:
        """Create a missing worktree again at its last known work; true when it was missing."""

    def diff(self, old: str, new: str) -> str:
        """The difference of two commits as text; a long one is cut and says so."""

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """The commits among these that the run branch does not contain."""

    def describe_drift(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""

    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchMovedExternally` unless the run branch is where yaoki put it and contains
        all of `landed`; the hint says how to restore it.
        """

    def refuse_checked_out(self, run: Run) -> None:
        """Raise `BranchMovedExternally` while the run branch is checked out: nothing can land."""

    def way_back(self, run: Run, commit: str) -> str:
        """The command that moves the run branch to this commit and keeps its present head."""

    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`; return its head afterwards.

        It landed if the head is `commit` or a descendant; otherwise the branch had moved.
        """

    def branch_contains(self, run: Run, commit: str) -> bool:
        """Does the run branch contain this commit?"""

    def remove_worktree(self, task: Task, *, continued_elsewhere: bool = False) -> None:
        """Remove the worktree of a task whose work is reachable from a ref.

        `continued_elsewhere`: another machine continues the task.
        """

    def hash_protected_files(self, task_id: str = "") -> Mapping[str, str]:
        """Hashes of the files that an agent must never change, git config and hooks, by name.

        Those of the task's own worktree as well, when one is named.
        """

    def hash_checkout(self) -> Mapping[str, str]:
        """Hashes of the user's HEAD, index, refs and files; every name begins with checkout/."""

    def tasks_with_worktree(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""

    def undo(self, run: Run, landed: str, task_id: str, approve: Callable[[str, str], None]) -> str:
        """Revert landed work on the run branch; return its new head.  A repeated call does nothing.

        `approve` is called with the new commit and the head before the branch moves; it raises
        to refuse.
        """

    def merge(
        self,
        run: Run,
        *,
        into: str = "",
        force_ref: bool = False,
        approve: Callable[[MergeResult], None],
    ) -> MergeResult:
        """Move the base branch; `approve` is called before that, and raises to refuse."""
