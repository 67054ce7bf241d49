"""Stage reports: the facts that a stage observed; `decide` turns them into events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import (
    AgentExit,
    FaultSource,
    Pause,
    QueueChoice,
    RaceJudgment,
    RefusalCause,
    TaskId,
    TaskSpec,
    Verdict,
)
from yaoki.errors import FatalCode


@dataclass(frozen=True, slots=True)
class WorktreePrepared:
    """A worktree is ready at `base`."""

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
class RacePrepared:
    """The candidates of a race may start at `base` or later.

    `protected_hashes`: those from before a change that nobody has accepted.
    """

    base: str
    host: str
    protected_hashes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkCommitted:
    """The agent ended and its files are committed as `head`.

    `diff_digest` identifies the changes of the attempt.  `changed_git_config` names changed files
    of git's own configuration, `changed_checkout` files of the user's checkout that changed
    meanwhile, by the agent or by anyone else.  If new untracked files there are all that changed,
    `checkout_additions` names those that no task of the run has reported.
    `left_out_files` are new files outside the scope, `size_excess` sentences about files beyond the
    size limits of a change.  `person_file_count` are the files that a person who took over has
    changed since the last attempt.  `git_refusal`: what git said about a file that is not in the
    encoding of its attributes.
    `stopped_on_request`: the worker was asked to stop, and ended the agent.
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
    queue_choice: QueueChoice | None = None
    person_file_count: int | None = None
    git_refusal: str = ""
    stopped_on_request: bool = False
    checkout_additions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JointCandidateFailed:
    """A check failed on `commit`, which contains the work of other `tasks` as well."""

    commit: str
    tasks: tuple[TaskId, ...]
    message: str


@dataclass(frozen=True, slots=True)
class CandidateVerified:
    """The required checks ran on `commit`, which is a descendant of `onto`.

    `is_already_landed`: the task itself has landed before.  `landed_with`: the tasks that landed
    the same changes, if nothing of this one's is left to land.  `work_elsewhere`: other
    places where the agent worked, if it changed nothing that could land.  `check_revision` is the
    revision of the plan whose checks ran.
    `changed_lines` is counted only for a candidate of a race.
    """

    verdict: Verdict
    commit: str
    onto: str
    changed: tuple[str, ...] = ()
    is_already_landed: bool = False
    bisect_result: BisectResult | None = None
    work_elsewhere: tuple[str, ...] = ()
    check_revision: int = 0
    changed_lines: int | None = None
    landed_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BisectResult:
    """The landing that broke a target branch, found by bisection.

    `partners` are the earlier landings without which the branch would not fail.
    `checked_commits` counts the commits that were checked.
    `waived_for` names the culprit if a person waived the check for exactly that work: then the
    landing is accepted and stays.
    """

    culprit: TaskId
    partners: tuple[TaskId, ...]
    commit: str
    checked_commits: int
    waived_for: str = ""


@dataclass(frozen=True, slots=True)
class PlanAccepted:
    """The answer of a planner was accepted: these tasks, some as replacements of failed ones."""

    specs: tuple[TaskSpec, ...]
    replaces: Mapping[str, str]
    commit: str
    pause: Pause | None = None


@dataclass(frozen=True, slots=True)
class JudgeAnswered:
    """The judge of a race answered; with a `defect` its answer cannot be used."""

    judgment: RaceJudgment
    defect: str = ""


@dataclass(frozen=True, slots=True)
class MergeConflicted:
    """The task's work and the run branch do not merge.

    `marked_paths`: the work itself has conflict markers, of an earlier conflict, in these files.
    """

    paths: tuple[str, ...]
    onto: str
    tree: str
    marked_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitLanded:
    """The run branch contains `commit`; `was_there_before` this attempt to land it.

    `taken_along_by`: the task whose commit landed it.
    """

    commit: str
    was_there_before: bool = False
    taken_along_by: str = ""


@dataclass(frozen=True, slots=True)
class CommitNotLanded:
    """The verified commit cannot land on the branch, which is at `head`: verify again.

    `avoids_queue`: on the branch as it is, because the queued tasks are likely to fail.
    """

    head: str
    cause: RefusalCause = RefusalCause.MOVED
    avoids_queue: bool = False


@dataclass(frozen=True, slots=True)
class StageFaulted:
    """Our own infrastructure failed; the agent is not to blame."""

    message: str
    transient: bool
    code: FatalCode = FatalCode.NONE
    source: FaultSource | None = None


@dataclass(frozen=True, slots=True)
class AgentLost:
    """The agent was interrupted, so its result is unknown.

    `counts_as_failure`: no crash explains it, so it counts against the agent.  `seconds`: from its
    start to its last sign of life; None if unknown.  `head` has what it left; empty if nothing.
    """

    reason: str
    counts_as_failure: bool = False
    seconds: float | None = None
    head: str = ""
    tree: str = ""


@dataclass(frozen=True, slots=True)
class WorkInterrupted:
    """The agent was ended because of a request; its work is saved at `saved_ref`."""

    reason: str
    saved_ref: str = ""


@dataclass(frozen=True, slots=True)
class StageDeferred:
    """A resource that the stage needs is not free; the task waits, and nothing failed.

    `proof_discarded`: a check failed, but on top of work that did not land.
    `avoids_queue`: the work is rejected already, and is verified outside the merge queue.
    """

    reason: str
    wait: timedelta
    proof_discarded: bool = False
    avoids_queue: bool = False


StageReport = (
    WorktreePrepared
    | RacePrepared
    | WorkCommitted
    | CandidateVerified
    | JointCandidateFailed
    | JudgeAnswered
    | MergeConflicted
    | CommitLanded
    | PlanAccepted
    | CommitNotLanded
    | StageFaulted
    | AgentLost
    | WorkInterrupted
    | StageDeferred
)
