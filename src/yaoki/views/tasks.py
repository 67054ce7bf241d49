"""A run and its tasks as screens show them; `blocked` and its cause are derived here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from yaoki.core.graph import root_causes
from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model import (
    FINAL_CHECK_NAME,
    PauseCause,
    Question,
    Reason,
    Run,
    Spend,
    Stage,
    State,
    TaskId,
    TaskKind,
)
from yaoki.core.run_status import RunStatus, current_run_status, exit_code
from yaoki.core.text import format_count

if TYPE_CHECKING:
    from yaoki.ports import TaskRow

# How the agent of a task ended that had nothing to change, or whose commit was removed.
UNCHANGED = "nothing to change: its checks already pass"
OFF_BRANCH = "landed, but its commit is no longer on the branch"
STUCK_STATES = frozenset({State.ESCALATED, State.CANCELLED})
OPEN_STATES = frozenset(
    state for state in State if not state.is_final and state not in STUCK_STATES
)
NEEDS_SHOWN = 3


class IdleReason(StrEnum):
    """The reason why no task of a run is started, in words; documents use the names."""

    PAUSED = "the run is paused"
    NOBODY = "no worker is running this"


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
    limited_until: datetime | None = None
    not_taken_because: str = ""
    # Does the run branch contain its landed commit?  None where this was not checked.
    on_branch: bool | None = None

    @property
    def blocked(self) -> bool:
        return bool(self.blocked_by)


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
        """The tasks of the plan, without the run's final checks and replaced tasks."""
        return tuple(
            view
            for view in self.tasks
            if view.row.state is not State.REPLACED and not is_proof(view)
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
        """For a run that ended without being done: what the merge command includes."""
        done, tasks = len(self.landable_tasks_landed), len(self.landable_tasks)
        merges = self.status is RunStatus.CANCELLED and " merge " in self.next_command
        if not merges or done == tasks:
            return ""
        total = format_count(tasks, "task")
        return f"not all tasks are done: the next command merges {done} of {total}"

    @property
    def unlanded_optional_tasks(self) -> tuple[TaskView, ...]:
        """Tasks that did not land and ask nothing: optional tasks, and subtasks of groups."""
        return tuple(
            v
            for v in self.tasks
            if (v.row.parent or not v.row.required) and v.row.state in STUCK_STATES
        )


def is_proof(view: TaskView) -> bool:
    """Is it the final check of the whole run, which no plan lists?"""
    return view.row.kind == "check" and view.row.name.startswith(FINAL_CHECK_NAME)


def build_run_view(
    run: Run,
    rows: Sequence[TaskRow],
    needs: Mapping[TaskId, Sequence[TaskId]],
    *,
    is_idle: bool,
    questions: Mapping[TaskId, Question] | None = None,
    is_carried: bool = False,
    limits: Mapping[str, datetime] | None = None,
    not_taken_because: Callable[[TaskRow], str] = lambda _: "",
    spent: Spend | None = None,
    on_branch: Mapping[TaskId, bool] | None = None,
    merge_instead: Callable[[], str] = lambda: "",
    last_iteration: Mapping[str, Any] | None = None,
) -> RunView:
    """Build the view of a run.

    `questions`: of the escalated tasks.  `is_carried`: a worker runs the run.  `limits`: until when
    each account is limited.  `not_taken_because`: why no worker takes a task that could start.
    `on_branch`: whether a landed commit is still on the branch, where this was checked.
    `merge_instead`: the command to merge the work where `yaoki merge` would be refused.
    """
    tally = Counter((row.state, row.required) for row in rows)
    unsettled = any(row.awaiting_rerun or row.undo_requested for row in rows)
    head = summarize_run(run, tally, is_idle=is_idle, unsettled=unsettled, spent=spent)
    by_id, blocked = {row.id: row for row in rows}, _causes(rows, needs)
    context = _TaskContext(by_id, needs, blocked, questions or {}, limits or {}, on_branch or {})
    idle = _idle(run, head.status, worker=is_carried)
    tasks = tuple(context.view(row, not_taken_because(row) or idle) for row in rows)
    next_ = _next_of_run(run, head.status, tasks, worker=is_carried, merge_instead=merge_instead)
    iterated = last_iteration or {}
    return replace(
        head, tasks=tasks, next_command=next_, is_carried=is_carried, last_iteration=iterated
    )


def summarize_run(
    run: Run,
    tally: Counter[tuple[State, bool]],
    *,
    is_idle: bool,
    unsettled: bool,
    spent: Spend | None = None,
) -> RunView:
    """A run without its tasks.  `unsettled`: a task waits for its re-run or for being reverted."""
    # A paused run is idle even with open decisions: a person makes them.
    settled = bool(run.pause_reason) or not unsettled
    status = current_run_status(run, tally, idle=is_idle and settled)
    counts = {state.value: tally[state, True] + tally[state, False] for state in State}
    return RunView(run, status, (), counts, "", spent or Spend())


def _idle(run: Run, status: RunStatus, *, worker: bool) -> IdleReason | Literal[""]:
    """The reason why no task of the run is started, even if some are ready."""
    if run.pause_reason:
        return IdleReason.PAUSED
    return IdleReason.NOBODY if status is RunStatus.ACTIVE and not worker else ""


def _causes(
    rows: Sequence[TaskRow], needs: Mapping[TaskId, Sequence[TaskId]]
) -> Mapping[TaskId, TaskId]:
    """The blocking task of each task: one walk over the graph, none while no task is stuck."""
    failed = [row.id for row in rows if row.state in STUCK_STATES]
    if not failed:
        return {}
    open_ids = {row.id for row in rows if row.state in OPEN_STATES}
    return root_causes(needs, failed, open_ids.__contains__)


@dataclass(frozen=True, slots=True)
class _TaskContext:
    """The values that all task views of a run share: a run may have ten thousand tasks."""

    rows: Mapping[TaskId, TaskRow]
    needs: Mapping[TaskId, Sequence[TaskId]]
    blocked: Mapping[TaskId, TaskId]
    questions: Mapping[TaskId, Question]
    limits: Mapping[str, datetime]
    on_branch: Mapping[TaskId, bool]

    def view(self, row: TaskRow, idle_reason: str) -> TaskView:
        wanted = tuple(self.needs.get(row.id, ()))
        unmet = tuple([need for need in wanted if self.rows[need].state is not State.DONE])
        until, on_branch = self.limits.get(row.account), self.on_branch.get(row.id)
        if row.id in self.blocked:
            cause = self.rows[self.blocked[row.id]]
            reason, command = Reason.DEPENDENCY_FAILED.value, _next_of_task(cause)
            return TaskView(
                row, reason, cause.id, (), wanted, unmet, command, until, idle_reason, on_branch
            )
        question = self.questions.get(row.id)
        choices = tuple(choice.value for choice in question.choices) if question else ()
        next_ = f"yaoki answer {row.id}" if row.state is State.ESCALATED else ""
        return TaskView(
            row, row.reason, "", choices, wanted, unmet, next_, until, idle_reason, on_branch
        )


def _next_of_task(cause: TaskRow) -> str:
    verb = "answer" if cause.state is State.ESCALATED else "why"
    return f"yaoki {verb} {cause.id}"


def first_to_answer(tasks: Sequence[TaskView]) -> TaskView | None:
    """The task to answer first: a required one before an optional one."""
    asking = [view for view in tasks if view.row.state is State.ESCALATED]
    return min(asking, key=lambda view: (not view.row.required, view.row.n), default=None)


def _next_of_run(
    run: Run,
    status: RunStatus,
    tasks: Sequence[TaskView],
    *,
    worker: bool,
    merge_instead: Callable[[], str],
) -> str:
    match status:
        case RunStatus.ACTIVE:
            return f"yaoki {'watch' if worker else 'resume'} {run.id}"
        case RunStatus.DONE:
            if run.merged_commit:
                return merge_log_command(run)
            return merge_instead() or f"yaoki merge {run.id}"
        case RunStatus.ESCALATED:
            first = first_to_answer(tasks)
            return first.next_command if first else f"yaoki status {run.id}"
        case RunStatus.PAUSED:
            # The question itself says what has to be done first.
            go = "" if run.pause_cause is PauseCause.BRANCH else " go"
            return f"yaoki answer {run.id}{go}"
        case RunStatus.CANCELLED:
            done = (v for v in tasks if v.row.state is State.DONE and not is_proof(v))
            if not any(view.row.landed_commit for view in done):
                return f"yaoki recover {run.id}"
            if run.merged_commit:
                return merge_log_command(run)
            return merge_instead() or f"yaoki merge {run.id} --partial"


def merge_log_command(run: Run) -> str:
    """Shows the commits of the merge, not the whole history."""
    return f"git log {run.base[:10]}..{run.merged_commit[:10]}"


def describe_wait(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    """The cause of the wait in a few words; empty when the task does not wait."""
    row = view.row
    if row.state is State.ACTIVE:
        is_queued = row.landing_refusals and row.stage == Stage.LAND
        return view.not_taken_because or (
            "lands after the tasks it was verified with" if is_queued else ""
        )
    if row.state is not State.WAITING:
        return ""
    if view.blocked:
        return f"blocked by {names.get(view.blocked_by, view.blocked_by)}"
    if row.awaiting_rerun:
        return _hold_words(row)
    if row.due_at is not None and row.due_at > now:
        return f"next try in {(row.due_at - now).total_seconds():.0f} s"
    if view.unmet_needs:
        shown = [names.get(need, need) for need in view.unmet_needs]
        more = f" and {len(shown) - NEEDS_SHOWN} more" if len(shown) > NEEDS_SHOWN else ""
        return f"needs {', '.join(shown[:NEEDS_SHOWN])}{more}"
    if view.limited_until is not None and row.stage == Stage.PREPARE:
        left = (view.limited_until - now).total_seconds()
        if left <= 0:
            return f"the rate limit of {row.account} has just ended; one task is testing it first"
        return f"waits for its account {row.account}, limited for {left:.0f} s"
    if row.landing_refusals and row.stage == Stage.VERIFY:
        return view.not_taken_because or "waits for a free slot, to be verified on the moved branch"
    return view.not_taken_because or "waits for a free slot"


def _hold_words(row: TaskRow) -> str:
    """A task that awaits its re-run waits until no other task can run."""
    if row.parent:
        return "waits until no other task can run; then its group is recovered"
    if row.reason == Reason.MAX_RETRIES_INTEGRATION:
        return "waits until no other task can run; its one re-run is used up"
    return "waits for its one re-run, until no other task can run"
