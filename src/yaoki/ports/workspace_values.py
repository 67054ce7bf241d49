"""Values that the workspace returns: worktrees, candidates, landings, saved work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import TaskId

# Part of the protected state of a task, as long as its worktree exists.
WORKTREE_LINK = "the worktree's .git"


@dataclass(frozen=True, slots=True)
class PreparedWorktree:
    """A worktree made ready for one attempt.

    `rebuilt`: it was missing, and has only the saved work of the last attempt.
    """

    worktree: Path
    base: str
    tree: str
    fresh: bool
    rebuilt: bool = False


@dataclass(frozen=True, slots=True)
class CommittedAttempt:
    """Everything an attempt left, committed on the task's branch and saved under a private ref.

    `warnings` are sentences about commits that only this repository has.  `worktree_missing`: only
    commits could be saved.  `diff_digest` identifies the changes, on every machine the same.
    `left_out_files` are new files outside the task's scope: they are saved beside the work and are
    not part of it.  `sandbox_refusals` are acts of the agent that the sandbox refused.
    `git_refusal`: what git said about a file that is not in the encoding of its attributes.
    `person_file_count`: the number of files that a person changed after taking the task over.
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
    git_refusal: str = ""
    person_file_count: int | None = None


@dataclass(frozen=True, slots=True)
class SandboxFolders:
    """The private folders of a task's agent inside the sandbox.

    `folder` contains them and stays from attempt to attempt; `writable` are the parts that the
    agent may write.  `read_only_mounts` maps paths to the files and folders mounted over them.
    """

    folder: Path
    writable: tuple[Path, ...]
    read_only_mounts: Mapping[Path, Path]


@dataclass(frozen=True, slots=True)
class IgnoredFile:
    """A file that an agent wrote and git ignores, and the rule that ignores it."""

    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class RevertedLanding:
    """A commit that landed work which was reverted since, and the same commit without that work."""

    commit: str
    before: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """The exact commit to verify: the task's work merged onto the run branch's head.

    `changed` are the paths in which it differs from `onto`.  With `conflicts` there is nothing to
    verify.  `tracked_count`, the files of `onto`, is only set when some were deleted.
    `outside_links` are changed links whose target is outside the repository, `unchecked_bytecode`
    changed compiled files of Python that are used without a look at their source.
    `predecessor` is the commit that must be the branch's head for it to land: `onto`, unless the
    work of `companions` was joined on it first.
    `reverted` are landings in `onto` that it reverts; their tests may be removed with them.
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
    unchecked_bytecode: tuple[str, ...] = ()
    predecessor: str = ""
    companions: tuple[TaskId, ...] = ()
    reverted: tuple[RevertedLanding, ...] = ()


@dataclass(frozen=True, slots=True)
class JointCommit:
    """A commit that lands the verified commits of other tasks with its own task's work.

    `predecessor` is the commit below it on the branch; `parts` maps the other tasks to their
    commits.
    """

    predecessor: str
    parts: Mapping[TaskId, str]


@dataclass(frozen=True, slots=True)
class SavedWork:
    """The work of an attempt as `yaoki recover` lists it."""

    task_id: str
    attempt: int
    ref: str
    commit: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class LandedStep:
    """A step of a branch: the task that landed there, empty for a step that is no landing.

    `undoes` is the landing that the step reverts; a commit that reverts several is one step for
    each.  `joint_commit` is the commit of the branch that landed it together with others; empty
    for a landing of its own.
    """

    task_id: TaskId
    commit: str
    undoes: str = ""
    joint_commit: str = ""

    @property
    def branch_commit(self) -> str:
        """The commit on the branch itself that contains this landing first."""
        return self.joint_commit or self.commit


def without_undone(steps: Sequence[LandedStep]) -> list[LandedStep]:
    """The landings that no later step reverts."""
    undone = {step.undoes for step in steps}
    return [step for step in steps if step.task_id and step.commit not in undone]


@dataclass(frozen=True, slots=True)
class BranchStep:
    """A commit on the first-parent line of the run branch; without a task it is no landing.

    `undoes` are the landings that the commit reverts.  `companions` are the other tasks that landed
    with the commit, each with its own verified commit.
    """

    commit: str
    tree: str
    parent: str
    run: str = ""
    task: str = ""
    undoes: tuple[str, ...] = ()
    companions: tuple[tuple[str, str], ...] = ()


class MergeKind(StrEnum):
    """The way a run's work came into a branch."""

    ALREADY = "already"
    CREATED = "created"
    FAST_FORWARD = "fast-forward"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class SetupChanges:
    """Tracked files that set-up changed, as people see their names.

    `restored` are files, as they were committed again.  `moved_submodules` stay where set-up
    moved them.
    """

    restored: tuple[str, ...] = ()
    moved_submodules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The branch that contains a run's work; `onto` is its head before, empty if it is new.

    `checkout` is the clean checkout of the branch that was moved with it.  `notes` are sentences
    for people about the proof of the merge.
    """

    branch: str
    commit: str
    how: MergeKind
    onto: str = ""
    checkout: str = ""
    notes: tuple[str, ...] = ()
