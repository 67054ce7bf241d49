"""A planner's answer, read from its log and checked against the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import PlanningBrief, Run, State, Task, TaskId, TaskSpec
from yaoki.core.planner_prompt import may_be_replaced
from yaoki.ports import PlannerAnswer, Reads, TaskRow

if TYPE_CHECKING:
    from yaoki.formats.plan.planner_answer import AnswerContext, ExistingTask

ADDED_MAX = 10_000


def read_agent_output(folder: Path) -> str:
    """The standard output of the agent that worked in this folder, up to a bound."""
    from yaoki.adapters.agents.output_files import OUT
    from yaoki.adapters.checks.output import read_channel

    return read_channel(folder / OUT)


class PlanAnswerReader:
    """`ports.PlanReader` over the plan reader and the store."""

    def __init__(self, store: Reads, text_bytes_max: int) -> None:
        self._store, self._text_bytes_max = store, text_bytes_max

    def read(self, run: Run, task: Task, folder: Path) -> PlannerAnswer:
        from yaoki.formats.plan.planner_answer import default_spec, read_answer

        ground = self._answer_context(
            run, task.spec.planning_brief or PlanningBrief(), default_spec(task.spec, run)
        )
        return read_answer(read_agent_output(folder), ground)

    def read_text(self, run: Run, text: str, name: str) -> PlannerAnswer:
        """Tasks that a person or an agent wrote in YAML or JSON; `name` precedes each defect."""
        from yaoki.formats.plan import read_document
        from yaoki.formats.plan.planner_answer import check_answer, default_spec

        answer, defects = read_document(text, name)
        if defects:
            return PlannerAnswer(defects=tuple(defects))
        if not isinstance(answer, dict):
            return PlannerAnswer(defects=(f"{name}: a document with tasks: is needed",))
        rows = self._store.rows(run.id)
        usual = self._store.task(rows[0].id).spec if rows else TaskSpec("", "")
        ground = self._answer_context(
            run, PlanningBrief(tasks_max=ADDED_MAX), default_spec(usual, run)
        )
        # A person may replace a failed task any number of times.
        ground = replace(
            ground, tasks=[_allow_manual_replacement(one, rows) for one in ground.tasks]
        )
        return check_answer(answer, ground)

    def _answer_context(self, run: Run, fill: PlanningBrief, defaults: TaskSpec) -> AnswerContext:
        from yaoki.formats.plan.planner_answer import AnswerContext

        rows = self._store.rows(run.id)
        names = {row.id: row.name for row in rows}
        needs = self._store.needs(run.id)
        return AnswerContext(
            run=run,
            planning_brief=fill,
            tasks=[self._existing_task(row) for row in rows],
            text_bytes_max=self._text_bytes_max,
            defaults=defaults,
            needs={names[one]: [names[need] for need in needed] for one, needed in needs.items()},
        )

    def context(self, run: Run) -> str:
        from yaoki.core.planner_prompt import UnfinishedTask, planning_context

        rows = self._store.rows(run.id)
        open_ = [self._existing_task(row) for row in rows if not row.state.is_final]
        states = {row.id: row.state.value for row in rows}
        unfinished = [
            UnfinishedTask(
                one.id,
                one.name,
                states[TaskId(one.id)],
                one.spec.goal if one.spec else "",
                one.last_failure,
                one.is_replaceable,
            )
            for one in open_
        ]
        done = [(str(row.id), row.name) for row in rows if row.state is State.DONE]
        return planning_context(run, unfinished, done)

    def _existing_task(self, row: TaskRow) -> ExistingTask:
        from yaoki.formats.plan.planner_answer import ExistingTask

        if row.state.is_final:
            return ExistingTask(row.id, row.n, row.name, row.state, is_replaceable=False)
        task = self._store.task(row.id)
        replans, may = task.counts.replans, may_be_replaced(task)
        words = task.failure.message if task.failure else ""
        return ExistingTask(row.id, row.n, row.name, row.state, may, replans, task.spec, words)


def _allow_manual_replacement(one: ExistingTask, rows: list[TaskRow]) -> ExistingTask:
    failed = any(
        row.id == one.id and (row.state is State.ESCALATED or row.awaiting_rerun) for row in rows
    )
    return replace(one, is_replaceable=failed, replans=0)
