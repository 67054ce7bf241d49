"""Reports: what a stage saw.  What follows from it is `rules.decide`'s business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from yaoki.core.model import AgentExit, FaultSource, Pause, TaskId, TaskSpec, Verdict


@dataclass(frozen=True, slots=True)
class WorktreePrepared:
    """A worktree stands ready at `base`."""

    base: str
    worktree: str
    host: str
    fresh: bool
    tree: str = ""
    snapshot: str = ""
    warning: str = ""
    protected_hashes: Mapping[str, str] = field(default_factory=dict)
    head: str = ""


@dataclass(frozen=True, slots=True)
class WorkCommitted:
    """The agent ended and everything it left is committed as `head`.

    `diff` stands for what the attempt changed.  `tampered` is git's own configuration;
    `disturbed` what changed meanwhile in the user's checkout, by whomever.  `left_out` are new
    files outside the scope, `excess` sentences about what is larger than the bounds on a change.
    """

    exit: AgentExit
    head: str
    tree: str
    changed: tuple[str, ...] = ()
    changed_git_config: tuple[str, ...] = ()
    changed_checkout: tuple[str, ...] = ()
    diff_digest: str = ""
    left_out_files: tuple[str, ...] = ()
    size_excess: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateVerified:
    """Every check that had to run ran on `commit`, which has `onto` as its ancestor.

    `already`: the run branch holds all that the task changed.  `elsewhere`: where else the agent
    worked, when it changed nothing that could land.
    """

    verdict: Verdict
    commit: str
    onto: str
    changed: tuple[str, ...] = ()
    is_already_landed: bool = False
    bisect_result: BisectResult | None = None
    work_elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BisectResult:
    """Whose landing turned a line red that was green before: found by bisection.

    `partners` are the earlier landings without which it would not be red.  `looked` counts the
    commits that were checked.
    """

    culprit: TaskId
    partners: tuple[TaskId, ...]
    commit: str
    checked_commits: int


@dataclass(frozen=True, slots=True)
class PlanAccepted:
    """A planner's answer was accepted: these tasks, some in the place of failed ones."""

    specs: tuple[TaskSpec, ...]
    replaces: Mapping[str, str]
    commit: str
    pause: Pause | None = None


@dataclass(frozen=True, slots=True)
class MergeConflicted:
    """The task's work and the run branch do not merge."""

    paths: tuple[str, ...]
    onto: str
    tree: str


@dataclass(frozen=True, slots=True)
class CommitLanded:
    """The run branch holds `commit`; `already` when it did before this try."""

    commit: str
    was_there_before: bool = False


@dataclass(frozen=True, slots=True)
class BranchMoved:
    """The run branch moved to `head` meanwhile, or is about to; nothing was landed."""

    head: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StageFaulted:
    """Our own infrastructure failed; the agent is not to blame."""

    message: str
    transient: bool
    code: str = ""
    source: FaultSource | None = None


@dataclass(frozen=True, slots=True)
class AgentLost:
    """The agent was cut off in the middle; nobody knows what it would have done.

    `charged`: no crash explains it, so it counts as a failure of the agent's own.
    """

    reason: str
    counts_as_failure: bool = False


@dataclass(frozen=True, slots=True)
class WorkInterrupted:
    """The tree was ended because a person cancelled; its work is kept at `ref`."""

    reason: str
    saved_ref: str = ""


@dataclass(frozen=True, slots=True)
class StageDeferred:
    """Something the stage needs is not free now: nobody's failure, so the task waits for it."""

    reason: str
    wait: timedelta


StageReport = (
    WorktreePrepared
    | WorkCommitted
    | CandidateVerified
    | MergeConflicted
    | CommitLanded
    | PlanAccepted
    | BranchMoved
    | StageFaulted
    | AgentLost
    | WorkInterrupted
    | StageDeferred
)
