"""At rest: the planner is asked for what is missing, a deferred phase runs out of time."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import timedelta

from yaoki.core.graph import downstream
from yaoki.core.machine.events import Cancelled, CancelRequested, Event, JournalNote
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
from yaoki.core.planner_prompt import may_be_replaced, planning_goal
from yaoki.engine.required_checks import is_final_check
from yaoki.ports import Clock, Store, TaskRow

REPLAN = PlanningRole.REPLAN
PLAN_TRIES = 2


class ReplanStep:
    """Bounded per run and per lineage, and the bound is looked at before money is spent."""

    def __init__(self, store: Store, clock: Clock, *, timeout: timedelta, hang: timedelta) -> None:
        self._store, self._clock = store, clock
        self._timeout, self._hang = timeout, hang

    # -------------------------------------------------------------- what is missing

    def advance(self, run: Run) -> bool:
        if not run.planner or run.cancel_requested or run.continuous:
            return False
        rows = self._store.rows(run.id)
        earlier = [row for row in rows if self._is_replan(row)]
        open_ = [row for row in rows if (row.required or row.parent) and not row.state.is_final]
        if len(earlier) >= REPLANS_MAX or not any(self._mendable(row) for row in open_):
            return False
        if earlier and earlier[-1].reason == Reason.NEEDS_HUMAN:
            # The planner itself has asked for a person.
            return False
        name = _free_name(len(earlier) + 1, {row.name for row in rows})
        spec = self.planning_task(run, name, PlanningBrief(role=REPLAN))
        retire = [row.id for row in earlier if row.state is State.ESCALATED]
        event = "REPLAN_REQUESTED"
        return bool(self._store.add_tasks(run.id, [spec], unless=name, retire=retire, event=event))

    def _is_replan(self, row: TaskRow) -> bool:
        """By what it was made for: a task of the plan may have any name."""
        if row.kind != TaskKind.PLAN:
            return False
        fill = self._store.task(row.id).spec.planning_brief
        return fill is not None and fill.role is REPLAN

    def _mendable(self, row: TaskRow) -> bool:
        if row.awaiting_rerun and is_final_check(row):
            return True
        return row.state is State.ESCALATED and may_be_replaced(self._store.task(row.id))

    def planning_task(self, run: Run, name: str, fill: PlanningBrief) -> TaskSpec:
        """A plan task of the run's own planner."""
        policy = run.catalogue.policies.get("default", RetryPolicy(rules={}))
        return TaskSpec(
            name=name,
            goal=planning_goal(fill.role, run.goal, fill.phase),
            kind=TaskKind.PLAN,
            agents=tuple(run.catalogue.agents[agent] for agent in run.planner),
            policy=replace(policy, content_retries_max=PLAN_TRIES, reruns_max=0),
            timeout=self._timeout,
            hang=self._hang,
            required=fill.role is not REPLAN,
            phase=fill.phase,
            iteration=fill.iteration,
            language=run.language,
            planning_brief=fill,
        )

    # -------------------------------------------------------------- phases out of time

    def expire_phases(self, run: Run) -> bool:
        """A phase that nobody filled in time is over, and so is every phase that needs it."""
        late = [
            task for task, at in self._store.open_planning_tasks(run.id) if at <= self._clock.now()
        ]
        for task in late:
            self._time_out(task)
        return bool(late)

    def _time_out(self, task: Task) -> None:
        fill = task.spec.planning_brief
        assert fill is not None, f"{task.id} fills nothing"
        why = f"phase {fill.phase!r} was not filled within {fill.deadline}"
        below = downstream(task.id, self._store.needs(task.run_id))
        told = JournalNote(
            "PHASE_TIMED_OUT",
            {"phase": fill.phase, "deadline_s": fill.deadline.total_seconds(), "cancelled": below},
        )

        def over(now: Task) -> Sequence[Event]:
            return () if now.cancel_requested or now.state.is_final else (told, *_ended(now, why))

        def with_it(now: Task) -> Sequence[Event]:
            return () if now.cancel_requested or now.state.is_final else _ended(now, why)

        changes = [(task.id, over), *((TaskId(one), with_it) for one in below)]
        self._store.amend_all(changes)


def _free_name(number: int, taken: Container[str]) -> str:
    """The same for whoever looks at the same tasks, so that only one of them adds it."""
    name = f"{REPLAN}-{number}"
    while name in taken:
        name = f"{name}-again"
    return name


def _ended(task: Task, why: str) -> tuple[Event, ...]:
    """What somebody carries is ended by whoever carries it."""
    wish = CancelRequested(why)
    return (wish,) if task.state is State.ACTIVE else (wish, Cancelled(why))
