"""What planners and people may ask of a run on its way: more tasks, replacements, its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from yaoki.core.machine.events import Event, JournalNote, Planned
from yaoki.core.model import REPLANS_MAX, Run, State, Task, TaskId, TaskKind, TaskSpec
from yaoki.core.run_status import RunStatus, current_run_status
from yaoki.core.text import format_count
from yaoki.errors import NotNow, PlanInvalid, Unknown
from yaoki.ports import Store, TaskRow

NAMES_MAX = 1000


@dataclass(frozen=True, slots=True)
class PlanExtension:
    """What came of it: the new tasks by name, and the revision of the plan."""

    tasks: tuple[TaskId, ...]
    revision: int


class ExtendCommand:
    """The planner's commands, the same for agents and for people."""

    def __init__(self, store: Store) -> None:
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
        """Add tasks, some in the place of failed ones; all of it or nothing.

        A person may replace a task as often as they like, an agent only so often.
        """
        for task_id in replaces.values() if by_agent else ():
            self._refuse_again(self._store.task(TaskId(task_id)))
        made, revision = self._store.extend(
            run.id, specs, replaces, _refuse_over, by_planner=by_agent
        )
        return PlanExtension(tuple(made), revision)

    def _refuse_again(self, task: Task) -> None:
        if task.counts.replans >= REPLANS_MAX:
            words = f"{task.id} was replaced {task.counts.replans} times already"
            hint = "ask a person: yaoki result --status question --question TEXT"
            raise NotNow(words, hint=hint)

    def add_retry(self, task: Task, goal: str, *, by_agent: bool = False) -> PlanExtension:
        """Another task in the place of a failed one: lineage kept, dependents revived."""
        run = self._store.run(task.run_id)
        if task.state is not State.ESCALATED and not task.awaiting_rerun:
            words = f"{task.id} has not failed: it is {task.state.value}"
            raise NotNow(words, hint=suggest_next(task, run))
        spec = replace(task.spec, name=self._free(run, task), goal=goal or task.spec.goal)
        return self.extend(run, [spec], {spec.name: task.id}, by_agent=by_agent)

    def _free(self, run: Run, task: Task) -> str:
        taken = {row.name for row in self._store.rows(run.id)}
        stem = self._store.task(task.lineage).spec.name if task.lineage else task.spec.name
        return next(n for i in range(2, NAMES_MAX) if (n := f"{stem}-r{i}") not in taken)

    # -------------------------------------------------------------- deferred phases

    def fill_phase(self, run: Run, phase: str, specs: Sequence[TaskSpec]) -> PlanExtension:
        """Fill a deferred phase by hand; what breaks its constraints is refused, it stays open."""
        _refuse_over(run)
        task = self.open_planning_task(run, phase)
        fill = task.spec.planning_brief
        assert fill is not None, f"{task.id} fills nothing"
        defects = _against(fill.tasks_max, [kind.value for kind in fill.kinds], specs)
        if defects:
            told = JournalNote("PHASE_REFUSED", {"phase": phase, "defects": defects})
            self._store.amend(task.id, lambda _: (told,))
            words = f"phase {phase!r} stays open: {defects[0]}"
            raise PlanInvalid(
                words, hint=f"yaoki plan submit --phase {phase} FILE", defects=defects
            )
        names = tuple(spec.name for spec in specs)
        placed = tuple(replace(spec, phase=fill.phase, iteration=fill.iteration) for spec in specs)

        def decide(now: Task) -> Sequence[Event]:
            if now.state.is_final or now.state is State.ACTIVE:
                words = f"phase {phase!r} is {now.state.value}"
                raise NotNow(words, hint=f"yaoki why {now.id}")
            return (Planned(names, by="person", specs=placed),)

        self._store.amend(task.id, decide)
        rows = [row.id for row in self._store.rows(run.id) if row.name in names]
        return PlanExtension(tuple(rows), run.revision)

    def open_planning_task(self, run: Run, phase: str) -> Task:
        """The open plan task of a phase, by the phase's name or its own."""
        rows = [r for r in self._store.rows(run.id) if r.kind == TaskKind.PLAN]
        found = [r for r in rows if phase in {r.phase, r.name}]
        if not found:
            names = ", ".join(r.phase or r.name for r in rows) or "none"
            raise Unknown(f"there is no deferred phase {phase!r}", hint=f"there are: {names}")
        return self._store.task(found[-1].id)

    # -------------------------------------------------------------- its end

    def open_required_tasks(self, run: Run) -> list[TaskRow]:
        """What is required and still open."""
        rows = self._store.rows(run.id)
        return [row for row in rows if row.required and not row.state.is_final]

    def complete(self, run: Run) -> RunStatus:
        """Refused with the list while anything required is open; the status is derived."""
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


def suggest_next(task: Task, run: Run) -> str:
    """What to do with a task that nobody can let try again; cancelled is final."""
    if task.state is not State.CANCELLED:
        return f"yaoki why {task.id}"
    if run.cancel_requested or run.merged_commit:
        return "cancelled is final; begin anew: yaoki run PLAN"
    return f"cancelled is final; add such a task anew: yaoki plan extend FILE --run {run.id}"


def _refuse_over(run: Run) -> None:
    if run.cancel_requested:
        raise NotNow(f"run {run.id} was cancelled; it goes on no more", hint="yaoki status")
    if run.merged_commit:
        raise NotNow(f"run {run.id} is merged already", hint="yaoki run PLAN")


def _against(most: int, kinds: Sequence[str], specs: Sequence[TaskSpec]) -> list[str]:
    found = []
    if len(specs) > most:
        found.append(f"{format_count(len(specs), 'task is', 'tasks are')} over the limit of {most}")
    found += [
        f"{spec.name}: kind {spec.kind.value} is not one of {', '.join(kinds)}"
        for spec in specs
        if spec.kind.value not in kinds
    ]
    return found
