"""A run and its tasks as screens show them; blocked and its cause are derived here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from yaoki.core.graph import root_causes
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
from yaoki.ports import TaskRow

# Of a task whose agent had nothing to do.
UNCHANGED = "nothing to change: its checks passed as it was"
OFF_BRANCH = "landed, but its commit is not on the branch any more"
STUCK_STATES = frozenset({State.ESCALATED, State.CANCELLED})
OPEN_STATES = frozenset(
    state for state in State if not state.is_final and state not in STUCK_STATES
)
NEEDS_SHOWN = 3


class IdleReason(StrEnum):
    """Why nothing of a whole run is begun, in words; the names are what documents say."""

    PAUSED = "the run is paused"
    NOBODY = "nobody carries the run"


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task with what a person asks of it: why it rests, because of whom, and the way out."""

    row: TaskRow
    reason: str = ""
    blocked_by: str = ""
    choices: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    unmet_needs: tuple[str, ...] = ()
    next_command: str = ""
    limited_until: datetime | None = None
    not_taken_because: str = ""
    # Does the run branch hold what it landed?  Nothing where nobody looked.
    on_branch: bool | None = None

    @property
    def blocked(self) -> bool:
        return bool(self.blocked_by)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it stands; its status is derived, never stored."""

    run: Run
    status: RunStatus
    tasks: tuple[TaskView, ...]
    counts: Mapping[str, int]
    next_command: str
    spent: Spend = field(default_factory=Spend)
    # Is anybody at it?  An active run that nobody carries stands still until it is resumed.
    is_carried: bool = True
    # Of a continuous run: what became of the last iteration that ended, and what follows.
    last_iteration: Mapping[str, Any] = field(default_factory=dict)

    @property
    def last_iteration_words(self) -> str:
        """The last iteration that ended, in words; empty for a run that is not continuous."""
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
        """The tasks that are counted: the run's own proofs and what was replaced are none."""
        return tuple(
            view
            for view in self.tasks
            if view.row.state is not State.REPLACED and not is_proof(view)
        )

    @property
    def landed_tasks(self) -> tuple[TaskView, ...]:
        """Done and on the run branch: what subtasks landed comes there with their group."""
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
        """The counted tasks that can land: a plan is an answer, and no branch holds it."""
        return tuple(view for view in self.counted_tasks if view.row.kind != TaskKind.PLAN)

    @property
    def landable_tasks_landed(self) -> tuple[TaskView, ...]:
        return tuple(view for view in self.landed_tasks if view.row.kind != TaskKind.PLAN)

    @property
    def tasks_asking(self) -> tuple[TaskView, ...]:
        """Who needs a person."""
        return tuple(view for view in self.tasks if view.row.state is State.ESCALATED)

    @property
    def partial_merge_note(self) -> str:
        """Of a run that ended without being done: what the command that merges it takes."""
        done, tasks = len(self.landable_tasks_landed), len(self.landable_tasks)
        merges = self.status is RunStatus.CANCELLED and " merge " in self.next_command
        if not merges or done == tasks:
            return ""
        return (
            f"not all of it is done: the next command takes {done} of {format_count(tasks, 'task')}"
        )

    @property
    def unlanded_optional_tasks(self) -> tuple[TaskView, ...]:
        """What did not land and is no question of its own: optional tasks, and parts of groups."""
        return tuple(
            v
            for v in self.tasks
            if (v.row.parent or not v.row.required) and v.row.state in STUCK_STATES
        )


def is_proof(view: TaskView) -> bool:
    """The task that proves the whole run, which no plan lists."""
    return view.row.kind == "check" and view.row.name.startswith(FINAL_CHECK_NAME)


def build_run_view(
    run: Run,
    rows: Sequence[TaskRow],
    needs: Mapping[TaskId, Sequence[TaskId]],
    *,
    resting: bool,
    questions: Mapping[TaskId, Question] | None = None,
    is_carried: bool = False,
    limits: Mapping[str, datetime] | None = None,
    not_taken_because: Callable[[TaskRow], str] = lambda _: "",
    spent: Spend | None = None,
    on_branch: Mapping[TaskId, bool] | None = None,
    merge_instead: Callable[[], str] = lambda: "",
    last_iteration: Mapping[str, Any] | None = None,
) -> RunView:
    """`questions` are those of the escalated tasks; `worker` says that somebody is at it; `limits`
    until when which account waits; `lacks` why no worker takes a task that could start;
    `on_branch` whether what landed is still there, where that was looked at; `taking` what brings
    the work into the base branch where `yaoki merge` would be refused.
    """
    tally = Counter((row.state, row.required) for row in rows)
    unsettled = any(row.awaiting_rerun or row.undo_requested for row in rows)
    head = summarize_run(run, tally, resting=resting, unsettled=unsettled, spent=spent)
    by_id, blocked = {row.id: row for row in rows}, _causes(rows, needs)
    around = _TaskContext(by_id, needs, blocked, questions or {}, limits or {}, on_branch or {})
    idle = _idle(run, head.status, worker=is_carried)
    tasks = tuple(around.view(row, not_taken_because(row) or idle) for row in rows)
    next_ = _next(run, head.status, tasks, worker=is_carried, taking=merge_instead)
    iterated = last_iteration or {}
    return replace(
        head, tasks=tasks, next_command=next_, is_carried=is_carried, last_iteration=iterated
    )


def summarize_run(
    run: Run,
    tally: Counter[tuple[State, bool]],
    *,
    resting: bool,
    unsettled: bool,
    spent: Spend | None = None,
) -> RunView:
    """A run without its tasks.  `unsettled`: one waits for its re-run or to be taken back."""
    # A paused run rests whatever waits for a decision: the decision is a person's.
    settled = bool(run.pause_reason) or not unsettled
    stands = current_run_status(run, tally, idle=resting and settled)
    counts = {state.value: tally[state, True] + tally[state, False] for state in State}
    return RunView(run, stands, (), counts, "", spent or Spend())


def _idle(run: Run, stands: RunStatus, *, worker: bool) -> IdleReason | Literal[""]:
    """Why nothing of the run is begun, whatever is ready."""
    if run.pause_reason:
        return IdleReason.PAUSED
    return IdleReason.NOBODY if stands is RunStatus.ACTIVE and not worker else ""


def _causes(
    rows: Sequence[TaskRow], needs: Mapping[TaskId, Sequence[TaskId]]
) -> Mapping[TaskId, TaskId]:
    """One walk over the graph, and none at all while nothing is stuck."""
    failed = [row.id for row in rows if row.state in STUCK_STATES]
    if not failed:
        return {}
    open_ids = {row.id for row in rows if row.state in OPEN_STATES}
    return root_causes(needs, failed, open_ids.__contains__)


@dataclass(frozen=True, slots=True)
class _TaskContext:
    """What a task is seen beside.  Ten thousand are looked at at once, so each is made once."""

    rows: Mapping[TaskId, TaskRow]
    needs: Mapping[TaskId, Sequence[TaskId]]
    blocked: Mapping[TaskId, TaskId]
    asked: Mapping[TaskId, Question]
    limits: Mapping[str, datetime]
    on_branch: Mapping[TaskId, bool]

    def view(self, row: TaskRow, lacks: str) -> TaskView:
        wanted = tuple(self.needs.get(row.id, ()))
        unmet = tuple([need for need in wanted if self.rows[need].state is not State.DONE])
        until, there = self.limits.get(row.account), self.on_branch.get(row.id)
        if row.id in self.blocked:
            cause = self.rows[self.blocked[row.id]]
            reason, way = Reason.DEPENDENCY_FAILED.value, _way_out(cause)
            return TaskView(row, reason, cause.id, (), wanted, unmet, way, until, lacks, there)
        asked = self.asked.get(row.id)
        choices = tuple(choice.value for choice in asked.choices) if asked else ()
        next_ = f"yaoki answer {row.id}" if row.state is State.ESCALATED else ""
        return TaskView(row, row.reason, "", choices, wanted, unmet, next_, until, lacks, there)


def _way_out(cause: TaskRow) -> str:
    verb = "answer" if cause.state is State.ESCALATED else "why"
    return f"yaoki {verb} {cause.id}"


def first_to_answer(tasks: Sequence[TaskView]) -> TaskView | None:
    """Whom to answer first: a required task before an optional one."""
    asking = [view for view in tasks if view.row.state is State.ESCALATED]
    return min(asking, key=lambda view: (not view.row.required, view.row.n), default=None)


def _next(
    run: Run,
    stands: RunStatus,
    tasks: Sequence[TaskView],
    *,
    worker: bool,
    taking: Callable[[], str],
) -> str:
    match stands:
        case RunStatus.ACTIVE:
            return f"yaoki {'watch' if worker else 'resume'} {run.id}"
        case RunStatus.DONE:
            if run.merged_commit:
                return merge_log_command(run)
            return taking() or f"yaoki merge {run.id}"
        case RunStatus.ESCALATED:
            first = first_to_answer(tasks)
            return first.next_command if first else f"yaoki status {run.id}"
        case RunStatus.PAUSED:
            # What has to be done first stands in its question.
            go = "" if run.pause_cause is PauseCause.BRANCH else " go"
            return f"yaoki answer {run.id}{go}"
        case RunStatus.CANCELLED:
            done = (v for v in tasks if v.row.state is State.DONE and not is_proof(v))
            if not any(view.row.landed_commit for view in done):
                return f"yaoki recover {run.id}"
            if run.merged_commit:
                return merge_log_command(run)
            return taking() or f"yaoki merge {run.id} --partial"


def merge_log_command(run: Run) -> str:
    """What the merge brought, and not the whole past."""
    return f"git log {run.base[:10]}..{run.merged_commit[:10]}"


def describe_wait(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    """What the task waits for, in a few words; empty when it does not wait."""
    row = view.row
    if row.state is State.ACTIVE:
        riding = row.landing_refusals and row.stage == Stage.LAND
        return view.not_taken_because or ("lands after those it was proven with" if riding else "")
    if row.state is not State.WAITING:
        return ""
    if view.blocked:
        return f"blocked by {names.get(view.blocked_by, view.blocked_by)}"
    if row.awaiting_rerun:
        return _held(row)
    if row.due_at is not None and row.due_at > now:
        return f"next try in {(row.due_at - now).total_seconds():.0f} s"
    if view.unmet_needs:
        shown = [names.get(need, need) for need in view.unmet_needs]
        more = f" and {len(shown) - NEEDS_SHOWN} more" if len(shown) > NEEDS_SHOWN else ""
        return f"needs {', '.join(shown[:NEEDS_SHOWN])}{more}"
    if view.limited_until is not None and row.stage == Stage.PREPARE:
        left = (view.limited_until - now).total_seconds()
        if left <= 0:
            return f"waits for its account {row.account}, whose limit is over: one task tries first"
        return f"waits for its account {row.account}, limited for {left:.0f} s"
    if row.landing_refusals and row.stage == Stage.VERIFY:
        return view.not_taken_because or "waits for a free slot, to be proven on the moved branch"
    return view.not_taken_because or "waits for a free slot"


def _held(row: TaskRow) -> str:
    """What follows is decided when everything else rests."""
    if row.parent:
        return "waits until everything else rests; then its group is recovered"
    if row.reason == Reason.MAX_RETRIES_INTEGRATION:
        return "waits until everything else rests; its one re-run is used up"
    return "waits for its one re-run until everything else rests"
