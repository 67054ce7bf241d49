"""A planner's answer, read from its log and held against the run as it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.model import Fill, Run, Spec, State, Task, TaskId
from yaoki.core.planning_brief import mendable
from yaoki.ports import PlanAnswer, Row, Store

if TYPE_CHECKING:
    from yaoki.formats.plan.planner_answer import Ground, Standing

ADDED_MAX = 10_000


class PlanReading:
    """`ports.Planning` over the plan reader and the store."""

    def __init__(self, store: Store, text_bytes_max: int) -> None:
        self._store, self._text_bytes_max = store, text_bytes_max

    def read(self, run: Run, task: Task, folder: Path) -> PlanAnswer:
        from yaoki.adapters.agents.output_files import OUT
        from yaoki.adapters.checks.output import read_channel
        from yaoki.formats.plan.planner_answer import defaults_of, read_answer

        ground = self._ground(run, task.spec.fill or Fill(), defaults_of(task.spec, run))
        return read_answer(read_channel(folder / OUT), ground)

    def from_text(self, run: Run, text: str, name: str) -> PlanAnswer:
        """What a person or an agent wrote down, in YAML or JSON; `name` stands before defects."""
        from yaoki.formats.plan import read_document
        from yaoki.formats.plan.planner_answer import check_answer, defaults_of

        given, defects = read_document(text, name)
        if defects:
            return PlanAnswer(defects=tuple(defects))
        if not isinstance(given, dict):
            return PlanAnswer(defects=(f"{name}: a document with tasks: is needed",))
        rows = self._store.rows(run.id)
        usual = self._store.task(rows[0].id).spec if rows else Spec("", "")
        ground = self._ground(run, Fill(tasks_max=ADDED_MAX), defaults_of(usual, run))
        # A person may replace whatever failed, as often as they like.
        ground = replace(ground, tasks=[_by_hand(one, rows) for one in ground.tasks])
        return check_answer(given, ground)

    def _ground(self, run: Run, fill: Fill, defaults: Spec) -> Ground:
        from yaoki.formats.plan.planner_answer import Ground

        rows = self._store.rows(run.id)
        names = {row.id: row.name for row in rows}
        needs = self._store.needs(run.id)
        return Ground(
            run=run,
            fill=fill,
            tasks=[self._standing(row) for row in rows],
            text_bytes_max=self._text_bytes_max,
            defaults=defaults,
            needs={names[one]: [names[need] for need in held] for one, held in needs.items()},
        )

    def context(self, run: Run) -> str:
        from yaoki.core.planning_brief import Incomplete, context

        rows = self._store.rows(run.id)
        open_ = [self._standing(row) for row in rows if not row.state.final]
        states = {row.id: row.state.value for row in rows}
        told = [
            Incomplete(
                one.id,
                one.name,
                states[TaskId(one.id)],
                one.spec.goal if one.spec else "",
                one.last_failure,
                one.replaceable,
            )
            for one in open_
        ]
        done = [(str(row.id), row.name) for row in rows if row.state is State.DONE]
        return context(run, told, done)

    def _standing(self, row: Row) -> Standing:
        from yaoki.formats.plan.planner_answer import Standing

        if row.state.final:
            return Standing(row.id, row.n, row.name, False)
        task = self._store.task(row.id)
        replans, may = task.counts.replans, mendable(task)
        words = task.failure.message if task.failure else ""
        return Standing(row.id, row.n, row.name, may, replans, task.spec, words)


def _by_hand(one: Standing, rows: list[Row]) -> Standing:
    failed = any(row.id == one.id and (row.state is State.ESCALATED or row.held) for row in rows)
    return replace(one, replaceable=failed, replans=0)
