"""The view of a run, built from its rows; `blocked` and its cause are derived here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from yaoki.core.graph import root_causes
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import (
    PauseCause,
    Question,
    Reason,
    Run,
    Spend,
    State,
    TaskId,
)
from yaoki.core.run_status import RunStatus, awaits_revised_checks, current_run_status
from yaoki.views.plain_words import describe_absence
from yaoki.views.tasks import (
    STUCK_STATES,
    IdleReason,
    MergeObstacle,
    RunView,
    TaskView,
    UnmergedRevert,
    first_to_answer,
    is_merge,
    is_proof,
)

if TYPE_CHECKING:
    from yaoki.ports import AccountRow, TaskRow

OPEN_STATES = frozenset(
    state for state in State if not state.is_final and state not in STUCK_STATES
)


def build_run_view(
    run: Run,
    rows: Sequence[TaskRow],
    needs: Mapping[TaskId, Sequence[TaskId]],
    *,
    is_idle: bool,
    questions: Mapping[TaskId, Question] | None = None,
    is_carried: bool = False,
    closed_accounts: Sequence[AccountRow] = (),
    not_taken_because: Callable[[TaskRow], str] = lambda _: "",
    spent: Spend | None = None,
    on_branch: Mapping[TaskId, bool] | None = None,
    merge_obstacle: Callable[[], MergeObstacle | None] = lambda: None,
    last_iteration: Mapping[str, Any] | None = None,
    reverts: Sequence[UnmergedRevert] = (),
) -> RunView:
    """Build the view of a run.

    `questions`: of the escalated tasks.  `is_carried`: a worker runs the run.  `closed_accounts`:
    no task may use them now.  `not_taken_because`: why no worker takes a task that could start.
    `on_branch`: whether a landed commit is still on the branch, where this was checked.
    `merge_obstacle`: why `yaoki merge` would be refused; asked only if that is the next command.
    `reverts`: of merged work, on the run branch alone.
    """
    tally = Counter((row.state, row.required) for row in rows)
    unsettled = any(row.awaiting_rerun or row.undo_requested for row in rows)
    head = summarize_run(run, tally, is_idle=is_idle, unsettled=unsettled, spent=spent)
    by_id, blocked = {row.id: row for row in rows}, _causes(rows, needs)
    closed = {account.name: account for account in closed_accounts}
    context = _TaskContext(by_id, needs, blocked, questions or {}, closed, on_branch or {})
    idle = _idle(run, head.status, worker=is_carried)
    tasks = tuple(context.view(row, not_taken_because(row) or idle) for row in rows)
    next_ = _next_of_run(
        run,
        head.status,
        tasks,
        worker=is_carried,
        revert=next((one.next_command for one in reverts), ""),
    )
    next_, obstacle = _avoid_obstacle(run, next_, merge_obstacle)
    return replace(
        head,
        tasks=tasks,
        next_command=next_,
        is_carried=is_carried,
        last_iteration=last_iteration or {},
        unmerged_reverts=tuple(reverts),
        closed_accounts=tuple(closed_accounts),
        merge_obstacle=obstacle,
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
    closed_accounts: Mapping[str, AccountRow]
    on_branch: Mapping[TaskId, bool]

    def view(self, row: TaskRow, idle_reason: str) -> TaskView:
        wanted = tuple(self.needs.get(row.id, ()))
        unmet = tuple([need for need in wanted if self.rows[need].state is not State.DONE])
        closed, on_branch = self.closed_accounts.get(row.account), self.on_branch.get(row.id)
        if row.id in self.blocked:
            cause = self.rows[self.blocked[row.id]]
            reason, command = Reason.DEPENDENCY_FAILED.value, _next_of_task(cause)
            others = (need for need in unmet if need != cause.id)
            further = tuple([need for need in others if self.rows[need].state in STUCK_STATES])
            return TaskView(
                row,
                reason,
                cause.id,
                (),
                wanted,
                unmet,
                command,
                closed,
                idle_reason,
                on_branch,
                cause.state is State.ESCALATED,
                describe_absence(cause.state, cause.reason),
                further,
            )
        question = self.questions.get(row.id)
        choices = tuple(choice.value for choice in question.choices) if question else ()
        next_ = f"yaoki answer {row.id}" if row.state is State.ESCALATED else ""
        return TaskView(
            row,
            _reason_of(row),
            "",
            choices,
            wanted,
            unmet,
            next_,
            closed,
            idle_reason,
            on_branch,
        )


def _reason_of(row: TaskRow) -> str:
    """The reason of a cancelled task is that of its last question, which no longer matters.

    Only the reason of an undo stays: it says why the landing was reverted.
    """
    is_over = row.state is State.CANCELLED and row.reason != Reason.MANUAL
    return "" if is_over else row.reason


def _next_of_task(cause: TaskRow) -> str:
    verb = "answer" if cause.state is State.ESCALATED else "why"
    return f"yaoki {verb} {cause.id}"


def _next_of_run(
    run: Run,
    status: RunStatus,
    tasks: Sequence[TaskView],
    *,
    worker: bool,
    revert: str,
) -> str:
    match status:
        case RunStatus.ACTIVE:
            return f"yaoki {'watch' if worker else 'resume'} {run.id}"
        case RunStatus.DONE:
            if run.merged_commit:
                return revert or merge_log_command(run)
            return f"yaoki merge {run.id}{_into(run)}"
        case RunStatus.ESCALATED:
            first = first_to_answer(tasks)
            return first.next_command if first else f"yaoki status {run.id}"
        case RunStatus.PAUSED:
            # The question itself says what has to be done first.
            go = "" if run.pause_cause is PauseCause.BRANCH else " go"
            return f"yaoki answer {run.id}{go}"
        case RunStatus.CANCELLED:
            if revert:
                return revert
            done = (v for v in tasks if v.row.state is State.DONE and not is_proof(v))
            if not any(view.row.landed_commit for view in done):
                started = any(view.row.attempt for view in tasks)
                return f"yaoki {'recover' if started else 'forget'} {run.id}"
            if run.merged_commit:
                return merge_log_command(run)
            return f"yaoki merge {run.id} --partial{_into(run)}"


def _avoid_obstacle(
    run: Run, next_: str, find_obstacle: Callable[[], MergeObstacle | None]
) -> tuple[str, str]:
    """The next command where the base branch cannot be moved, and what must be done before it.

    git runs no check, so its command is only for the head of a run that is DONE, which is proven.
    """
    obstacle = find_obstacle() if is_merge(next_) and " --into " not in next_ else None
    if obstacle is None:
        return next_, ""
    proven = next_ == f"yaoki merge {run.id}" and not awaits_revised_checks(run)
    if obstacle.by_hand and proven:
        return obstacle.by_hand, ""
    return next_, obstacle.words


def _into(run: Run) -> str:
    """A run that started from a commit has no branch to be merged into."""
    return "" if run.base_branch else " --into BRANCH"


def merge_log_command(run: Run) -> str:
    """Shows the commits of the merge, not the whole history."""
    return f"git log {run.base[:10]}..{run.merged_commit[:10]}"
