"""git worktrees and refs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.leaks import Leak, LeakSearch
from yaoki.core.model import Run, Task, TaskId
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView

# Among the marks of a task, as long as its worktree is there.
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
    """Everything an attempt left, committed on the task's branch and kept under a private ref.

    `warnings` are sentences about what nobody but this repository has.  `gone`: there was no
    worktree any more, so only what was committed could be kept.  `diff` is a digest of what the
    attempt changed, the same wherever it was built.  `left_out` are new files outside the task's
    scope: they are saved beside the work and are no part of it.  `refused` are acts of the agent
    that the sandbox did not let happen.
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
    """What the agent of one task has for itself inside the sandbox.

    `folder` holds it and stays from attempt to attempt; `writable` are its parts that the agent
    writes.  `laid` names files and folders that are seen in place of others, and only read.
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
    """The exact commit to prove: the task's work merged onto the run branch's head.

    `changed` are the paths in which it differs from `onto`.  With `conflicts` there is
    nothing to prove.  How many files `onto` has is only told where some were deleted.  `links_out`
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
    """One step of a line: the task that landed there, empty for a step that is no landing.

    `undoes` is the landing that it takes back.
    """

    task_id: TaskId
    commit: str
    undoes: str = ""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Where a run's work is now.  `how`: already, created, fast-forward or merge.

    `onto` is where the branch was before; empty when it was not there.
    """

    branch: str
    commit: str
    how: str
    onto: str = ""


# Who is at a proof now, and was refused before.
QueueMembers = Callable[[], Collection[TaskId]]


class Workspace(Protocol):
    """git worktrees and refs.  Nothing here touches the user's checkout, index or HEAD.

    Every method may be repeated after a crash at any point inside it.
    """

    def open_run_branch(self, run: Run) -> None:
        """Make the run branch at the run's base unless it is there."""

    def push_existing_run(self, run: Run) -> None:
        """A run that was begun before there was a remote is at the remote afterwards."""

    def head(self, run: Run) -> str: ...

    def open_group_branch(self, run: Run, group: str) -> Run:
        """The run seen from a group's own branch, which is made unless it is there."""

    def refresh_group_branch(self, run: Run, group: str) -> Run:
        """The line, with what landed on the run branch since merged in where that is clean."""

    def roll_back_group_branch(self, run: Run, group: str, head: str) -> tuple[str, str]:
        """Take a group's branch from `head` to the run branch; returns what it held and where it
        is.  Refused when it is elsewhere: somebody else was there first.
        """

    def close_group_branch(self, run: Run, group: str) -> None: ...

    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """What landed on the line, oldest first."""

    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with just these landings; empty when they do not fit together."""

    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(status, path) of every file that differs between two commits."""

    def prepare(self, run: Run, task: Task, attempt: int) -> PreparedWorktree:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""

    def take_snapshot(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Keep the worktree's whole content under refs/yaoki/snapshots; returns its id.

        `untouched` since it was made: then it holds what its HEAD holds, and nobody looks.
        """

    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt: ...

    def build_candidate(
        self, run: Run, task: Task, queue_members: QueueMembers = frozenset
    ) -> Candidate:
        """Merge onto the run branch's head and put the worktree at the result.

        Once refused, a task is built on the candidates of other riders, if those may land first.
        """

    def is_in_merge_queue(self, run: Run, commit: str, queue_members: QueueMembers) -> bool:
        """May the run branch still come to this commit, by landings of riders alone?"""

    def has_path(self, commit: str, path: str) -> bool:
        """Is there a file or folder of this name in the commit?"""

    def find_leaks(self, old: str, new: str, search: LeakSearch) -> tuple[Leak, ...]:
        """Secrets in all that the newer commit brings: contents, names and words."""

    def contains_text(self, commit: str, value: str) -> bool:
        """Does a file of the commit hold this text?"""

    def read_changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""

    def tree_view(self, commit: str) -> TreeView:
        """The tracked files of a commit, read from its objects."""

    def commit_with_files_of(self, commit: str, other: str, paths: Sequence[str]) -> str:
        """A commit with these paths as another has them; paths that it lacks are left out."""

    def is_pushed(self, commit: str) -> bool: ...

    def ignored_sources(self, task: Task, since: float) -> tuple[str, ...]:
        """Sources that were written since that instant and that git ignores: they never land."""

    def ignored_folders(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of these folders that the user's checkout has and git ignores."""

    def edited_files(self, since: float) -> tuple[str, ...]:
        """The tracked files of the user's checkout that changed or went since that instant."""

    def find_work_elsewhere(self, task: Task) -> tuple[str, ...]:
        """Where else an agent worked that changed nothing on the task's branch, in few words."""

    def uncommitted_files(self, task: Task, since: float) -> tuple[IgnoredFile, ...]:
        """Ignored files that were written since that instant; at most a few hundred."""

    def copy_uncommitted_files(self, task: Task, names: Sequence[str], to: Path) -> None:
        """Copy such files into another folder, to see whether a check needs them."""

    def record_setup_files(self, task: Task) -> None:
        """Note the ignored files that set-up made, to tell them from what an agent leaves."""

    def protected_state(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        """What a check must leave as it is, by a name for people, with a hash.

        Settings, hooks and the worktree's own link; if `strict`, also which branches and tags
        there are, and files unknown to git.
        """

    def rebuild_worktree(self, task: Task) -> bool:
        """Make a missing worktree again at the work it held; true when it was missing."""

    def diff(self, old: str, new: str) -> str:
        """The difference of two commits as text, cut at a bound and saying so."""

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of these commits the run branch does not hold."""

    def describe_drift(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""

    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchStrayed`, with the way back as its hint, unless the run branch is where
        yaoki put it and holds all of `landed`.
        """

    def refuse_checked_out(self, run: Run) -> None:
        """Raise `BranchStrayed` while somebody has the run branch checked out: nothing lands."""

    def way_back(self, run: Run, commit: str) -> str:
        """The command by which a person puts the run branch there; what it holds is kept."""

    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`; returns the head it then has.

        The head is `commit` or has it as an ancestor when it landed; anything else: it moved.
        """

    def branch_contains(self, run: Run, commit: str) -> bool:
        """Does the run branch already have this commit?"""

    def remove_worktree(self, task: Task, *, continued_elsewhere: bool = False) -> None:
        """Remove the worktree of a task whose work is reachable from a ref.

        `elsewhere`: another machine goes on with it.
        """

    def hash_protected_files(self, task_id: str = "") -> Mapping[str, str]:
        """Hashes of what an agent must never change: git config and hooks, by name.

        Those of the task's own worktree as well, when one is named.
        """

    def hash_checkout(self) -> Mapping[str, str]:
        """Hashes of the user's HEAD, index, refs and files; every name begins with checkout/."""

    def tasks_with_worktree(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""

    def undo(self, run: Run, landed: str, task_id: str, approve: Callable[[str, str], None]) -> str:
        """Revert landed work on the run branch; returns its new head.  Twice is once.

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
