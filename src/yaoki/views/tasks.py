"""A run and its tasks as screens show them; blocked and its cause are derived here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from yaoki.core.counting import count
from yaoki.core.graph import causes
from yaoki.core.model import DONE_WHEN, Question, Reason, Run, Spend, Stage, State, TaskId, TaskKind
from yaoki.core.run_status import Status, exit_code, stands_at
from yaoki.ports import Row

# Of a task whose agent had nothing to do.
UNCHANGED = "nothing to change: its checks passed as it was"
OFF_BRANCH = "landed, but its commit is not on the branch any more"
STUCK = frozenset({State.ESCALATED, State.CANCELLED})
OPEN = frozenset(state for state in State if not state.final and state not in STUCK)
NEEDS_SHOWN = 3


class Idle(StrEnum):
    """Why nothing of a whole run is begun, in words; the names are what documents say."""

    PAUSED = "the run is paused"
    NOBODY = "nobody carries the run"


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
    # Does the run branch hold what it landed?  Nothing where nobody looked.
    on_branch: bool | None = None

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
    # Is anybody at it?  An active run that nobody carries stands still until it is resumed.
    carried: bool = True
    # Of a continuous run: what became of the last iteration that ended, and what follows.
    last_iteration: Mapping[str, Any] = field(default_factory=dict)

    @property
    def iterated(self) -> str:
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
    def planned(self) -> tuple[TaskView, ...]:
        """The tasks that are counted: the run's own proofs and what was replaced are none."""
        return tuple(
            view
            for view in self.tasks
            if view.row.state is not State.REPLACED and not is_proof(view)
        )

    @property
    def landed(self) -> tuple[TaskView, ...]:
        """Done and on the run branch: what subtasks landed comes there with their group."""
        waiting = {v.row.id for v in self.tasks if v.row.kind == "group" and not v.row.landed}
        return tuple(
            view
            for view in self.planned
            if view.row.state is State.DONE
            and view.row.parent not in waiting
            and view.on_branch is not False
        )

    @property
    def works(self) -> tuple[TaskView, ...]:
        """The counted tasks that can land: a plan is an answer, and no branch holds it."""
        return tuple(view for view in self.planned if view.row.kind != TaskKind.PLAN)

    @property
    def works_landed(self) -> tuple[TaskView, ...]:
        return tuple(view for view in self.landed if view.row.kind != TaskKind.PLAN)

    @property
    def asking(self) -> tuple[TaskView, ...]:
        """Who needs a person."""
        return tuple(view for view in self.tasks if view.row.state is State.ESCALATED)

    @property
    def part(self) -> str:
        """Of a run that ended without being done: what the command that merges it takes."""
        done, tasks = len(self.works_landed), len(self.works)
        merges = self.status is Status.CANCELLED and " merge " in self.next
        if not merges or done == tasks:
            return ""
        return f"not all of it is done: the next command takes {done} of {count(tasks, 'task')}"

    @property
    def notes(self) -> tuple[TaskView, ...]:
        """What did not land and is no question of its own: optional tasks, and parts of groups."""
        return tuple(
            v for v in self.tasks if (v.row.parent or not v.row.required) and v.row.state in STUCK
        )


def is_proof(view: TaskView) -> bool:
    """The task that proves the whole run, which no plan lists."""
    return view.row.kind == "check" and view.row.name.startswith(DONE_WHEN)


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
    on_branch: Mapping[TaskId, bool] | None = None,
    taking: Callable[[], str] = lambda: "",
    last_iteration: Mapping[str, Any] | None = None,
) -> RunView:
    """`questions` are those of the escalated tasks; `worker` says that somebody is at it; `limits`
    until when which account waits; `lacks` why no worker takes a task that could start;
    `on_branch` whether what landed is still there, where that was looked at; `taking` what brings
    the work into the base branch where `yaoki merge` would be refused.
    """
    tally = Counter((row.state, row.required) for row in rows)
    unsettled = any(row.held or row.undo_wanted for row in rows)
    head = run_head(run, tally, resting=resting, unsettled=unsettled, spent=spent)
    by_id, blocked = {row.id: row for row in rows}, _causes(rows, needs)
    around = _Around(by_id, needs, blocked, questions or {}, limits or {}, on_branch or {})
    idle = _idle(run, head.status, worker=worker)
    tasks = tuple(around.view(row, lacks(row) or idle) for row in rows)
    next_ = _next(run, head.status, tasks, worker=worker, taking=taking)
    iterated = last_iteration or {}
    return replace(head, tasks=tasks, next=next_, carried=worker, last_iteration=iterated)


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


def _idle(run: Run, stands: Status, *, worker: bool) -> Idle | Literal[""]:
    """Why nothing of the run is begun, whatever is ready."""
    if run.paused:
        return Idle.PAUSED
    return Idle.NOBODY if stands is Status.ACTIVE and not worker else ""


def _causes(
    rows: Sequence[Row], needs: Mapping[TaskId, Sequence[TaskId]]
) -> Mapping[TaskId, TaskId]:
    """One walk over the graph, and none at all while nothing is stuck."""
    failed = [row.id for row in rows if row.state in STUCK]
    if not failed:
        return {}
    open_ids = {row.id for row in rows if row.state in OPEN}
    return causes(needs, failed, open_ids.__contains__)


@dataclass(frozen=True, slots=True)
class _Around:
    """What a task is seen beside.  Ten thousand are looked at at once, so each is made once."""

    rows: Mapping[TaskId, Row]
    needs: Mapping[TaskId, Sequence[TaskId]]
    blocked: Mapping[TaskId, TaskId]
    asked: Mapping[TaskId, Question]
    limits: Mapping[str, datetime]
    on_branch: Mapping[TaskId, bool]

    def view(self, row: Row, lacks: str) -> TaskView:
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


def _way_out(cause: Row) -> str:
    verb = "answer" if cause.state is State.ESCALATED else "why"
    return f"yaoki {verb} {cause.id}"


def in_need(tasks: Sequence[TaskView]) -> TaskView | None:
    """Whom to answer first: a required task before an optional one."""
    asking = [view for view in tasks if view.row.state is State.ESCALATED]
    return min(asking, key=lambda view: (not view.row.required, view.row.n), default=None)


def _next(
    run: Run,
    stands: Status,
    tasks: Sequence[TaskView],
    *,
    worker: bool,
    taking: Callable[[], str],
) -> str:
    match stands:
        case Status.ACTIVE:
            return f"yaoki {'watch' if worker else 'resume'} {run.id}"
        case Status.DONE:
            if run.merged:
                return merged_log(run)
            return taking() or f"yaoki merge {run.id}"
        case Status.ESCALATED:
            first = in_need(tasks)
            return first.next if first else f"yaoki status {run.id}"
        case Status.PAUSED:
            # What has to be done first stands in its question.
            go = "" if run.paused.startswith("branch") else " go"
            return f"yaoki answer {run.id}{go}"
        case Status.CANCELLED:
            done = (v for v in tasks if v.row.state is State.DONE and not is_proof(v))
            if not any(view.row.landed for view in done):
                return f"yaoki recover {run.id}"
            if run.merged:
                return merged_log(run)
            return taking() or f"yaoki merge {run.id} --partial"


def merged_log(run: Run) -> str:
    """What the merge brought, and not the whole past."""
    return f"git log {run.base[:10]}..{run.merged[:10]}"


def waiting_for(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    """What the task waits for, in a few words; empty when it does not wait."""
    row = view.row
    if row.state is State.ACTIVE:
        riding = row.refused and row.stage == Stage.LAND
        return view.lacks or ("lands after those it was proven with" if riding else "")
    if row.state is not State.WAITING:
        return ""
    if view.blocked:
        return f"blocked by {names.get(view.cause, view.cause)}"
    if row.held:
        return _held(row)
    if row.due_at is not None and row.due_at > now:
        return f"next try in {(row.due_at - now).total_seconds():.0f} s"
    if view.unmet:
        shown = [names.get(need, need) for need in view.unmet]
        more = f" and {len(shown) - NEEDS_SHOWN} more" if len(shown) > NEEDS_SHOWN else ""
        return f"needs {', '.join(shown[:NEEDS_SHOWN])}{more}"
    if view.limited_until is not None and row.stage == Stage.PREPARE:
        left = (view.limited_until - now).total_seconds()
        if left <= 0:
            return f"waits for its account {row.account}, whose limit is over: one task tries first"
        return f"waits for its account {row.account}, limited for {left:.0f} s"
    if row.refused and row.stage == Stage.VERIFY:
        return view.lacks or "waits for a free slot, to be proven on the moved branch"
    return view.lacks or "waits for a free slot"


def _held(row: Row) -> str:
    """What follows is decided when everything else rests."""
    if row.parent:
        return "waits until everything else rests; then its group is recovered"
    if row.reason == Reason.MAX_RETRIES_INTEGRATION:
        return "waits until everything else rests; its one re-run is used up"
    return "waits for its one re-run until everything else rests"
