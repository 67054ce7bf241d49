"""The commands that change a run's plan: add tasks, replace failed ones, fill a phase, complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.machine.events import Event, Planned
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model import (
    REPLANS_MAX,
    PlannedBy,
    PlanningBrief,
    Run,
    State,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
)
from yaoki.core.run_status import RunStatus, current_run_status
from yaoki.core.text import format_count
from yaoki.engine.run_status import has_open_work
from yaoki.errors import NotNow, PlanInvalid, Unknown
from yaoki.ports import CompletionStore, StatusReads, TaskRow

NAMES_MAX = 1000


@dataclass(frozen=True, slots=True)
class PlanExtension:
    """The tasks that were added, and the new revision of the plan."""

    tasks: tuple[TaskId, ...]
    revision: int


class ExtendCommand:
    """The planner's commands, for agents and people alike."""

    def __init__(self, store: CompletionStore) -> None:
        self._store = store

    # -------------------------------------------------------------- more tasks

    def extend(
        self,
        run: Run,
        specs: Sequence[TaskSpec],
        replaces: Mapping[str, str],
        *,
        by_agent: bool = False,
    ) -> PlanExtension:
        """Add tasks and replace failed ones, all or nothing.

        A person may replace a task any number of times, an agent at most `REPLANS_MAX` times.
        """
        for task_id in replaces.values() if by_agent else ():
            self._refuse_over_limit(self._store.task(TaskId(task_id)))
        continues = has_open_work(self._store, run)

        def refuse(now: Run) -> None:
            # Somebody may have merged it meanwhile.
            _refuse_ended(now, continues=continues and now.merged_commit == run.merged_commit)

        added, revision = self._store.extend(run.id, specs, replaces, refuse, by_planner=by_agent)
        return PlanExtension(tuple(added), revision)

    def _refuse_over_limit(self, task: Task) -> None:
        if task.counts.replans >= REPLANS_MAX:
            raise NotNow(
                f"{task.id} was already replaced {format_count(task.counts.replans, 'time')}",
                hint="ask a person: yaoki result --status question --question TEXT",
            )

    def add_retry(self, task: Task, goal: str, *, by_agent: bool = False) -> PlanExtension:
        """Replace a failed task by a copy; it keeps the lineage, and its dependents wait for it."""
        run = self._store.run(task.run_id)
        if task.state is not State.ESCALATED and not task.awaiting_rerun:
            message = f"{task.id} has not failed: it is {task.state.value}"
            raise NotNow(message, hint=suggest_next(task, run, self._store))
        spec = replace(task.spec, name=self._free_name(run, task), goal=goal or task.spec.goal)
        return self.extend(run, [spec], {spec.name: task.id}, by_agent=by_agent)

    def _free_name(self, run: Run, task: Task) -> str:
        taken_names = {row.name for row in self._store.rows(run.id)}
        first = self._store.task(task.lineage).spec.name if task.lineage else task.spec.name
        return next(n for i in range(2, NAMES_MAX) if (n := f"{first}-r{i}") not in taken_names)

    # -------------------------------------------------------------- deferred phases

    def fill_phase(self, run: Run, phase: str, specs: Sequence[TaskSpec]) -> PlanExtension:
        """Fill a deferred phase by hand; if the tasks break its constraints it stays open."""
        _refuse_ended(run, continues=has_open_work(self._store, run))
        task = self.open_planning_task(run, phase)
        brief = task.spec.planning_brief
        assert brief is not None, f"{task.id} is not a planning task"
        defects = _phase_defects(brief, specs)
        if defects:
            refusal = JournalNote("PHASE_REFUSED", {"phase": phase, "defects": defects})
            self._store.amend(task.id, lambda _: (refusal,))
            raise PlanInvalid(
                f"phase {phase!r} stays open: {defects[0]}",
                hint=f"yaoki plan submit --phase {phase} FILE",
                defects=defects,
            )
        names = tuple(spec.name for spec in specs)
        placed = tuple(replace(s, phase=brief.phase, iteration=brief.iteration) for s in specs)

        def decide(now: Task) -> Sequence[Event]:
            if now.state.is_final or now.state is State.ACTIVE:
                message = f"phase {phase!r} is {now.state.value}"
                raise NotNow(message, hint=f"yaoki why {now.id}")
            return (Planned(names, by=PlannedBy.PERSON, specs=placed),)

        self._store.amend(task.id, decide)
        added = [row.id for row in self._store.rows(run.id) if row.name in names]
        return PlanExtension(tuple(added), run.revision)

    def open_planning_task(self, run: Run, phase: str) -> Task:
        """The open planning task of a phase, by the name of the phase or of the task."""
        rows = [r for r in self._store.rows(run.id) if r.kind == TaskKind.PLAN]
        matches = [r for r in rows if phase in {r.phase, r.name}]
        if not matches:
            names = ", ".join(r.phase or r.name for r in rows) or "none"
            raise Unknown(f"there is no deferred phase {phase!r}", hint=f"there are: {names}")
        return self._store.task(matches[-1].id)

    # -------------------------------------------------------------- completion

    def open_required_tasks(self, run: Run) -> list[TaskRow]:
        rows = self._store.rows(run.id)
        return [row for row in rows if row.required and not row.state.is_final]

    def complete(self, run: Run) -> RunStatus:
        """The status of a run without open required tasks; otherwise refused, with their names."""
        open_ = self.open_required_tasks(run)
        if open_:
            names = ", ".join(f"{row.name} ({row.state.value})" for row in open_[:20])
            more = f" and {len(open_) - 20} more" if len(open_) > 20 else ""
            tasks = format_count(len(open_), "required task is", "required tasks are")
            raise NotNow(
                f"{tasks} open in run {run.id}: {names}{more}",
                hint=f"yaoki status {run.id}",
            )
        now = self._store.run(run.id)
        return current_run_status(
            now, self._store.count_by_state(run.id), idle=self._store.is_idle(run.id)
        )


def suggest_next(task: Task, run: Run, store: StatusReads) -> str:
    """The next command for a task that cannot be retried; a cancelled task is final."""
    if task.state is not State.CANCELLED:
        return f"yaoki why {task.id}"
    if run.cancel_requested or (run.merged_commit and not has_open_work(store, run)):
        return "a cancelled task is final; start a new run: yaoki run PLAN"
    return f"a cancelled task is final; add it again: yaoki plan extend FILE --run {run.id}"


def _refuse_ended(run: Run, *, continues: bool) -> None:
    """`continues`: the run has open work, even if it was merged."""
    if run.cancel_requested:
        raise NotNow(f"run {run.id} was cancelled and cannot continue", hint="yaoki status")
    if run.merged_commit and not continues:
        raise NotNow(f"run {run.id} is already merged", hint="yaoki run PLAN")


def _phase_defects(brief: PlanningBrief, specs: Sequence[TaskSpec]) -> list[str]:
    kinds = [kind.value for kind in brief.kinds]
    defects = []
    if len(specs) > brief.tasks_max:
        count = format_count(len(specs), "task is", "tasks are")
        defects.append(f"{count} over the limit of {brief.tasks_max}")
    defects += [
        f"{spec.name}: kind {spec.kind.value} is not one of {', '.join(kinds)}"
        for spec in specs
        if spec.kind.value not in kinds
    ]
    return defects
