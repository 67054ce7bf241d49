"""A run and its tasks as screens show them; blocked and its cause are derived here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from yaoki.core.graph import causes
from yaoki.core.model import Question, Reason, Run, Spend, Stage, State, Task, TaskId
from yaoki.core.status import Status, exit_code, stands_at
from yaoki.core.tags import joined
from yaoki.ports import Row

STUCK = frozenset({State.ESCALATED, State.CANCELLED})
NEEDS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task with what a person asks of it: why it rests, because of whom, and the way out."""

    row: Row
    reason: str = ""
    cause: str = ""
    choices: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    next: str = ""
    limited_until: datetime | None = None
    lacks: str = ""

    @property
    def blocked(self) -> bool:
        return bool(self.cause)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it stands; its status is derived, never stored."""

    run: Run
    status: Status
    tasks: tuple[TaskView, ...]
    counts: Mapping[str, int]
    next: str
    spent: Spend = field(default_factory=Spend)

    @property
    def exit_code(self) -> int:
        return exit_code(self.run, self.status)

    @property
    def asking(self) -> tuple[TaskView, ...]:
        """Who needs a person."""
        return tuple(view for view in self.tasks if view.row.state is State.ESCALATED)

    @property
    def notes(self) -> tuple[TaskView, ...]:
        """Optional tasks that did not land: a note, never a failed run."""
        return tuple(v for v in self.tasks if not v.row.required and v.row.state in STUCK)


def run_view(
    run: Run,
    rows: Sequence[Row],
    needs: Mapping[TaskId, Sequence[TaskId]],
    *,
    resting: bool,
    questions: Mapping[TaskId, Question] | None = None,
    worker: bool = False,
    limits: Mapping[str, datetime] | None = None,
    lacks: Callable[[Row], str] = lambda _: "",
    spent: Spend | None = None,
) -> RunView:
    """`questions` are those of the escalated tasks; `worker` says that somebody is at it; `limits`
    until when which account waits; `lacks` why no worker takes a task that could start.
    """
    tally = Counter((row.state, row.required) for row in rows)
    unsettled = any(row.held or row.undo_wanted for row in rows)
    head = run_head(run, tally, resting=resting, unsettled=unsettled, spent=spent)
    blocked = _causes(rows, needs)
    asked = questions or {}
    by_id = {row.id: row for row in rows}
    held = (_view(row, by_id, blocked, needs, asked.get(row.id)) for row in rows)
    tasks = tuple(
        replace(v, limited_until=(limits or {}).get(v.row.account), lacks=lacks(v.row))
        for v in held
    )
    return replace(head, tasks=tasks, next=_next(run, head.status, tasks, worker=worker))


def run_head(
    run: Run,
    tally: Counter[tuple[State, bool]],
    *,
    resting: bool,
    unsettled: bool,
    spent: Spend | None = None,
) -> RunView:
    """A run without its tasks.  `unsettled`: one waits for its re-run or to be taken back."""
    # A paused run rests whatever waits for a decision: the decision is a person's.
    settled = bool(run.paused) or not unsettled
    stands = stands_at(run, tally, resting=resting and settled)
    counts = {state.value: tally[state, True] + tally[state, False] for state in State}
    return RunView(run, stands, (), counts, "", spent or Spend())


def _causes(
    rows: Sequence[Row], needs: Mapping[TaskId, Sequence[TaskId]]
) -> Mapping[TaskId, TaskId]:
    """One walk over the graph, and none at all while nothing is stuck."""
    failed = [row.id for row in rows if row.state in STUCK]
    if not failed:
        return {}
    open_ids = {row.id for row in rows if not row.state.final and row.state not in STUCK}
    return causes(needs, failed, open_ids.__contains__)


def _view(
    row: Row,
    rows: Mapping[TaskId, Row],
    blocked: Mapping[TaskId, TaskId],
    needs: Mapping[TaskId, Sequence[TaskId]],
    asked: Question | None,
) -> TaskView:
    wanted = tuple(needs.get(row.id, ()))
    unmet = tuple(need for need in wanted if rows[need].state is not State.DONE)
    if row.id in blocked:
        cause = rows[blocked[row.id]]
        reason = Reason.DEPENDENCY_FAILED.value
        return TaskView(row, reason, cause.id, (), wanted, unmet, _way_out(cause))
    choices = tuple(choice.value for choice in asked.choices) if asked else ()
    next_ = f"yaoki answer {row.id}" if row.state is State.ESCALATED else ""
    return TaskView(row, row.reason, "", choices, wanted, unmet, next_)


def _way_out(cause: Row) -> str:
    verb = "answer" if cause.state is State.ESCALATED else "why"
    return f"yaoki {verb} {cause.id}"


def in_need(tasks: Sequence[TaskView]) -> TaskView | None:
    """Whom to answer first: a required task before an optional one."""
    asking = [view for view in tasks if view.row.state is State.ESCALATED]
    return min(asking, key=lambda view: (not view.row.required, view.row.n), default=None)


def _next(run: Run, stands: Status, tasks: Sequence[TaskView], *, worker: bool) -> str:
    match stands:
        case Status.ACTIVE:
            return f"yaoki {'watch' if worker else 'resume'} {run.id}"
        case Status.DONE:
            return f"git log {run.merged}" if run.merged else f"yaoki merge {run.id}"
        case Status.ESCALATED:
            first = in_need(tasks)
            return first.next if first else f"yaoki status {run.id}"
        case Status.PAUSED:
            return f"yaoki answer {run.id} go"
        case Status.CANCELLED:
            landed = any(view.row.landed for view in tasks)
            return f"yaoki merge {run.id} --partial" if landed else "yaoki recover"


def waiting_for(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    """What the task waits for, in a few words; empty when it does not wait."""
    row = view.row
    if row.state is State.ACTIVE:
        return view.lacks
    if row.state is not State.WAITING:
        return ""
    if view.blocked:
        return f"blocked by {names.get(view.cause, view.cause)}"
    if row.held:
        return "waits for its one re-run until everything else rests"
    if row.due_at is not None and row.due_at > now:
        return f"next try in {(row.due_at - now).total_seconds():.0f} s"
    if view.unmet:
        shown = [names.get(need, need) for need in view.unmet]
        more = f" and {len(shown) - NEEDS_SHOWN} more" if len(shown) > NEEDS_SHOWN else ""
        return f"needs {', '.join(shown[:NEEDS_SHOWN])}{more}"
    if view.limited_until is not None and row.stage == Stage.PREPARE:
        left = max(0.0, (view.limited_until - now).total_seconds())
        return f"waits for its account {row.account}, limited for {left:.0f} s"
    if row.refused and row.stage == Stage.VERIFY:
        return view.lacks or "waits for its turn to be proven on the moved branch"
    return view.lacks or "waits for a free slot"


def row_of(task: Task, open_needs: int) -> Row:
    """One task as a row, so that a screen need not read all of them again."""
    return Row(
        id=task.id,
        run_id=task.run_id,
        n=task.n,
        name=task.spec.name,
        kind=task.spec.kind.value,
        state=task.state,
        stage=task.stage.value,
        attempt=task.attempt,
        epoch=task.epoch,
        holder=task.lease.holder if task.lease else "",
        due_at=task.due_at,
        lease_until=task.lease.expires_at if task.lease else None,
        open_needs=open_needs,
        required=task.spec.required and not task.parent,
        reason=task.reason.value if task.reason else "",
        agent=task.agent.name if task.agent else "",
        cancel_wanted=task.cancel_wanted,
        landed=task.landed,
        question=task.question.text if task.question else "",
        undo_wanted=task.undo_wanted,
        parent=task.parent,
        held=task.held,
        phase=task.spec.phase,
        account=(task.agent.account or task.agent.name) if task.agent else "",
        tags=joined(task.spec.tags),
        place=task.work.host if task.take_over else "",
        refused=task.work.refused,
        session=task.session,
        spent=task.spent_on,
    )
