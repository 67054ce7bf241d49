"""Replanning: a planning task for what is missing, and deferred phases past their deadline."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import timedelta

from yaoki.core.graph import downstream
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import Event
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.request_events import Cancelled, CancelRequested
from yaoki.core.model import (
    REPLANS_MAX,
    PlanningBrief,
    PlanningRole,
    Reason,
    RetryPolicy,
    Run,
    State,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
)
from yaoki.core.model.spec import list_chain
from yaoki.core.planner_prompt import may_be_replaced, planning_goal
from yaoki.engine.required_checks import is_final_check
from yaoki.ports import Clock, CompletionStore, TaskRow

REPLAN = PlanningRole.REPLAN
PLAN_RETRIES_MAX = 2


class ReplanStep:
    """Bounded per run and per lineage; the bound is checked before any money is spent."""

    def __init__(
        self, store: CompletionStore, clock: Clock, *, timeout: timedelta, hang: timedelta
    ) -> None:
        self._store, self._clock = store, clock
        self._timeout, self._hang = timeout, hang

    # -------------------------------------------------------------- replan

    def advance(self, run: Run) -> bool:
        if not run.planner or run.cancel_requested or run.continuous:
            return False
        rows = self._store.rows(run.id)
        earlier = [row for row in rows if self._is_replan(row)]
        open_ = [row for row in rows if (row.required or row.parent) and not row.state.is_final]
        if len(earlier) >= REPLANS_MAX or not any(self._is_replaceable(row) for row in open_):
            return False
        if earlier and earlier[-1].reason == Reason.NEEDS_HUMAN:
            # The planner itself asked for a person.
            return False
        name = _free_name(len(earlier) + 1, {row.name for row in rows})
        spec = self.planning_task(run, name, PlanningBrief(role=REPLAN))
        retire = [row.id for row in earlier if row.state is State.ESCALATED]
        event = "REPLAN_REQUESTED"
        return bool(self._store.add_tasks(run.id, [spec], unless=name, retire=retire, event=event))

    def _is_replan(self, row: TaskRow) -> bool:
        """Is this a replanning task?  Its brief says so; its name proves nothing, since a plan may
        use any.
        """
        if row.kind != TaskKind.PLAN:
            return False
        brief = self._store.task(row.id).spec.planning_brief
        return brief is not None and brief.role is REPLAN

    def _is_replaceable(self, row: TaskRow) -> bool:
        if row.awaiting_rerun and is_final_check(row):
            return True
        return row.state is State.ESCALATED and may_be_replaced(self._store.task(row.id))

    def planning_task(self, run: Run, name: str, brief: PlanningBrief) -> TaskSpec:
        """A planning task for the run's own planner."""
        policy = run.catalogue.policies.get("default", RetryPolicy(rules={}))
        return TaskSpec(
            name=name,
            goal=planning_goal(brief.role, run.goal, brief.phase),
            kind=TaskKind.PLAN,
            agents=list_chain(run.catalogue.agents[agent] for agent in run.planner),
            policy=replace(policy, content_retries_max=PLAN_RETRIES_MAX, reruns_max=0),
            timeout=self._timeout,
            hang=self._hang,
            required=brief.role is not REPLAN,
            phase=brief.phase,
            iteration=brief.iteration,
            language=run.language,
            planning_brief=brief,
        )

    # -------------------------------------------------------------- deadlines of phases

    def expire_phases(self, run: Run) -> bool:
        """Cancel each phase that was not filled in time, and every task that needs it."""
        late = [
            task for task, at in self._store.open_planning_tasks(run.id) if at <= self._clock.now()
        ]
        for task in late:
            self._time_out(task)
        return bool(late)

    def _time_out(self, task: Task) -> None:
        brief = task.spec.planning_brief
        assert brief is not None, f"{task.id} is not a planning task"
        reason = f"phase {brief.phase!r} was not filled within {brief.deadline}"
        dependents = downstream(task.id, self._store.needs(task.run_id))
        note = JournalNote(
            "PHASE_TIMED_OUT",
            {
                "phase": brief.phase,
                "deadline_s": brief.deadline.total_seconds(),
                "cancelled": dependents,
            },
        )

        def cancel_phase(now: Task) -> Sequence[Event]:
            events = cancel_dependent(now)
            return (note, *events) if events else ()

        def cancel_dependent(now: Task) -> Sequence[Event]:
            return () if now.cancel_requested or now.state.is_final else _cancel(now, reason)

        changes = [(TaskId(one), cancel_dependent) for one in dependents]
        self._store.amend_all([(task.id, cancel_phase), *changes])


def _free_name(number: int, taken_names: Container[str]) -> str:
    """A name that every worker derives alike from the same tasks, so that only one of
    them adds it.
    """
    name = f"{REPLAN}-{number}"
    while name in taken_names:
        name = f"{name}-again"
    return name


def _cancel(task: Task, why: str) -> tuple[Event, ...]:
    """An active task is ended by the worker that has claimed it."""
    request = CancelRequested(why)
    return (request,) if task.state is State.ACTIVE else (request, Cancelled(why))
