"""A run and its tasks as screens show them; `run_state` builds them from rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import (
    FINAL_CHECK_NAME,
    NO_CHANGE_CHECK,
    Outcome,
    Spend,
    State,
    TaskKind,
)
from yaoki.core.run_status import RunStatus, exit_code
from yaoki.core.text import format_count, list_some

if TYPE_CHECKING:
    from datetime import datetime

    from yaoki.core.forecast.forecast import Forecast
    from yaoki.core.model import Run
    from yaoki.ports import AccountRow, TaskRow

OFF_BRANCH = "landed, but its commit is no longer on the branch"
NAMES_SHOWN = 5
STUCK_STATES = frozenset({State.ESCALATED, State.CANCELLED})


def describe_unchanged(outcomes: Mapping[str, str]) -> str:
    """The landing of a task that changed nothing, by the outcomes of its checks."""
    waived = [
        check
        for check, outcome in outcomes.items()
        if outcome == Outcome.WAIVED and check != NO_CHANGE_CHECK
    ]
    if not waived:
        return "nothing to change: its checks already pass"
    return f"nothing was changed; a person waived {', '.join(waived[:NAMES_SHOWN])}"


class IdleReason(StrEnum):
    """The reason why no task of a run is started, in words; documents use the names."""

    PAUSED = "the run is paused"
    NOBODY = "no worker is running this run"


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task with the reason why it does not run, the task that blocks it, and the next command."""

    row: TaskRow
    reason: str = ""
    blocked_by: str = ""
    choices: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    unmet_needs: tuple[str, ...] = ()
    next_command: str = ""
    # The account of its agent, while that is closed for all tasks.
    closed_account: AccountRow | None = None
    not_taken_because: str = ""
    # Does the run branch contain its landed commit?  None where this was not checked.
    on_branch: bool | None = None
    # Does the task that blocks it wait for an answer?  Then nothing has failed for good.
    cause_asks: bool = False
    # Why the work of the task that blocks it is missing, to follow its name.
    cause_words: str = ""
    # Its other needs that wait for a person or have failed.
    further_blockers: tuple[str, ...] = ()

    @property
    def blocked(self) -> bool:
        return bool(self.blocked_by)


@dataclass(frozen=True, slots=True)
class UnmergedRevert:
    """Tasks that were undone on the run branch, and a branch that still contains their work."""

    branch: str
    task_ids: tuple[str, ...]
    next_command: str


@dataclass(frozen=True, slots=True)
class LastMerge:
    """The newest merge of a run, what it lacks, and what of it was undone since.

    The work of an undone task is in `commit`: the merge had all of it.  So it was of a task that
    has landed again since; its new work is not merged yet.
    """

    branch: str
    commit: str
    missing_task_ids: tuple[str, ...] = ()
    undone_task_ids: tuple[str, ...] = ()
    relanded_task_ids: tuple[str, ...] = ()
    # Of tasks that the merge did not have at all.
    has_new_landings: bool = False

    @property
    def is_partial(self) -> bool:
        return bool(self.missing_task_ids) or self.has_new_landings

    @property
    def has_later_landings(self) -> bool:
        return self.has_new_landings or bool(self.relanded_task_ids)


@dataclass(frozen=True, slots=True)
class MergeObstacle:
    """The reason why the base branch cannot be moved where it is checked out, and a first step.

    `by_hand`: the command of git that moves it to exactly the head of the run; empty if the base
    has other commits.
    """

    words: str
    by_hand: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    """The current state of a run; its status is derived, never stored."""

    run: Run
    status: RunStatus
    tasks: tuple[TaskView, ...]
    counts: Mapping[str, int]
    next_command: str
    spent: Spend = field(default_factory=Spend)
    # Does a worker run it?  An active run without a worker makes no progress until it is resumed.
    is_carried: bool = True
    # For a continuous run: the result of the last finished iteration, and what follows.
    last_iteration: Mapping[str, Any] = field(default_factory=dict)
    unmerged_reverts: tuple[UnmergedRevert, ...] = ()
    # The accounts of all runs that no task may use now.
    closed_accounts: tuple[AccountRow, ...] = ()
    # A step that must come before the next command, if that is a merge; empty otherwise.
    merge_obstacle: str = ""
    # The rest of an active run, as it was forecast at this time; None where nobody asked for it.
    forecast: Forecast | None = None
    forecast_at: datetime | None = None
    # None where nobody asked for it.
    last_merge: LastMerge | None = None
    # Landed tasks whose checks all pass without their work; None where nobody asked for it.
    indistinct_task_ids: tuple[str, ...] | None = None
    # By landed task the checks that failed and passed on its commit; empty where nobody asked.
    flaky_checks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def last_iteration_words(self) -> str:
        """The last finished iteration in words; empty for a run that is not continuous."""
        if not self.last_iteration:
            return ""
        last = self.last_iteration
        follows = f"{last['decision']}: {last['reason']}"
        return f"iteration {last['iteration']}: {last['commit']}; {follows}"

    @property
    def exit_code(self) -> int:
        return exit_code(self.run, self.status)

    @property
    def counted_tasks(self) -> tuple[TaskView, ...]:
        """The tasks of the plan, without the run's final checks, candidates and replaced tasks."""
        return tuple(
            view
            for view in self.tasks
            if view.row.state is not State.REPLACED
            and not is_proof(view)
            and not view.row.race_task
        )

    @property
    def landed_tasks(self) -> tuple[TaskView, ...]:
        """Tasks that are done and on the run branch; subtasks get there with their group."""
        waiting = {
            v.row.id for v in self.tasks if v.row.kind == "group" and not v.row.landed_commit
        }
        return tuple(
            view
            for view in self.counted_tasks
            if view.row.state is State.DONE
            and view.row.parent not in waiting
            and view.on_branch is not False
        )

    @property
    def landable_tasks(self) -> tuple[TaskView, ...]:
        """The counted tasks that can land; a planning task changes no branch."""
        return tuple(view for view in self.counted_tasks if view.row.kind != TaskKind.PLAN)

    @property
    def landable_tasks_landed(self) -> tuple[TaskView, ...]:
        return tuple(view for view in self.landed_tasks if view.row.kind != TaskKind.PLAN)

    @property
    def tasks_asking(self) -> tuple[TaskView, ...]:
        """The tasks that wait for a person."""
        return tuple(view for view in self.tasks if view.row.state is State.ESCALATED)

    @property
    def partial_merge_note(self) -> str:
        """For a run that ended without being done: what the next merge command merges."""
        done, tasks = len(self.landable_tasks_landed), len(self.landable_tasks)
        merges = self.status is RunStatus.CANCELLED and is_merge(self.next_command)
        only_reverts = self.unmerged_reverts and (self.run.merged_commit or not done)
        if not merges or only_reverts or done == tasks:
            return ""
        total = format_count(tasks, "task")
        proof = "verifies done_when and " if self.run.done_when else ""
        return f"not all tasks are done: the next command {proof}merges {done} of {total}"

    @property
    def unmerged_revert_notes(self) -> tuple[str, ...]:
        """For each branch with work that was undone since: the command that reverts it there."""
        return tuple(
            f"{self.describe_revert(revert)}: {revert.next_command}"
            for revert in self.unmerged_reverts
        )

    def describe_revert(self, revert: UnmergedRevert) -> str:
        """`main still contains the undone work of login`."""
        names = [view.row.name for view in self.tasks if view.row.id in revert.task_ids]
        shown = list_some(names, NAMES_SHOWN)
        return f"{revert.branch} still contains the undone work of {shown}"

    @property
    def unlanded_optional_tasks(self) -> tuple[TaskView, ...]:
        """Tasks that did not land and ask nothing: optional tasks, and subtasks of groups."""
        return tuple(
            v
            for v in self.tasks
            if (v.row.parent or not v.row.required) and v.row.state in STUCK_STATES
        )


def is_merge(command: str) -> bool:
    return command.startswith("yaoki merge ")


def is_proof(view: TaskView) -> bool:
    """Is it the final check of the whole run, which no plan lists?"""
    return view.row.kind == "check" and view.row.name.startswith(FINAL_CHECK_NAME)


def first_to_answer(tasks: Sequence[TaskView]) -> TaskView | None:
    """The task to answer first: a required one before an optional one."""
    asking = [view for view in tasks if view.row.state is State.ESCALATED]
    return min(asking, key=lambda view: (not view.row.required, view.row.n), default=None)
