"""Continuous mode: when an iteration is finished, summarize it, decide, start the next one.

The iteration number changes in the transaction that adds its tasks, so a restart never counts an
iteration twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.decide.iteration import (
    CommitOutcome,
    Iteration,
    IterationAction,
    IterationDecision,
    decide_iteration,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    FailureKind,
    FaultSource,
    Pause,
    PauseCause,
    PlanningBrief,
    PlanningRole,
    Run,
    State,
    Task,
    TaskId,
    TaskSpec,
)
from yaoki.engine.completion.replan import ReplanStep
from yaoki.engine.required_checks import is_final_check
from yaoki.ports import RunStore, TaskRow, Workspace

ITERATION = PlanningRole.ITERATION
ITERATION_FINISHED = "ITERATION_FINISHED"


class IterateStep:
    """Called when no task of a continuous run can be claimed."""

    def __init__(self, store: RunStore, workspace: Workspace, replan: ReplanStep) -> None:
        self._store, self._workspace, self._replan = store, workspace, replan

    def advance(self, run: Run) -> bool:
        """True when another iteration was started."""
        if run.continuous is None or run.cancel_requested or run.finished_at is not None:
            return False
        iteration = self._finished_iteration(run)
        limits = run.continuous
        if run.acknowledged_iteration == iteration.number:
            # A person has seen this failure and let the run continue.
            limits = replace(limits, pause_on_failure=False, failures_max=limits.failures_max + 1)
            if iteration.commit is CommitOutcome.CONFLICT:
                iteration = replace(iteration, commit=CommitOutcome.NOTHING)
        decision = decide_iteration(iteration, run.failures_in_row, limits)
        data = {**_summary(iteration, decision), "head": self._workspace.branches.head(run)}
        if decision.action is IterationAction.NEXT:
            return self._start_next(run, iteration, decision, data)
        if decision.action is IterationAction.PAUSE:
            self._store.pause(
                run.id,
                Pause(PauseCause.FAILURE, decision.reason),
                event=ITERATION_FINISHED,
                data={**data, "failures_in_row": decision.failures_in_row},
                failures_in_row=decision.failures_in_row,
            )
        else:
            self._store.end_iterations(run.id, iteration.number, ITERATION_FINISHED, data)
        return False

    def _finished_iteration(self, run: Run) -> Iteration:
        number = run.iteration or 1
        rows = self._store.rows(run.id)
        tasks = [r for r in rows if not is_final_check(r) and self._belongs_to(r, number)]
        failed = [row for row in tasks if row.required and row.state is not State.DONE]
        checks = [row for row in rows if is_final_check(row)]
        passed = bool(checks) and checks[-1].state is State.DONE if run.done_when else not failed
        names = tuple(row.name for row in failed)
        return Iteration(number, self._commit_outcome(tasks, failed), passed, names)

    def _belongs_to(self, row: TaskRow, number: int) -> bool:
        """Does this task belong to the iteration?  The plan's own tasks belong to the first."""
        return (self._store.task(row.id).spec.iteration or 1) == number

    def _failed(self, run: Run, number: int) -> list[TaskId]:
        """The failed tasks of this iteration; the next one supersedes them."""
        rows = self._store.rows(run.id)
        return [
            row.id for row in rows if self._belongs_to(row, number) and row.state is State.ESCALATED
        ]

    def _commit_outcome(self, tasks: Sequence[TaskRow], failed: Sequence[TaskRow]) -> CommitOutcome:
        """The effect of the iteration on the run branch: a commit, or the reason why
        there is none.
        """
        failures = [self._store.task(row.id) for row in failed]
        if any(task.failure and task.failure.kind is FailureKind.CONFLICT for task in failures):
            return CommitOutcome.CONFLICT
        for task in failures:
            if task.failure and task.failure.source is FaultSource.GIT:
                return (
                    CommitOutcome.STAGING_ERROR
                    if task.work.prompt_sent
                    else CommitOutcome.GIT_ERROR
                )
        landed = [t for t in map(self._store.task, (row.id for row in tasks)) if t.landed_commit]
        if any(task.landed_commit != task.work.onto for task in landed):
            return CommitOutcome.COMMITTED
        return CommitOutcome.NOTHING

    def _start_next(
        self, run: Run, last: Iteration, decision: IterationDecision, data: dict[str, object]
    ) -> bool:
        number = last.number + 1
        specs = self._specs(run, number)
        added = self._store.add_tasks(
            run.id,
            specs,
            unless=specs[0].name,
            retire=self._failed(run, last.number),
            event=ITERATION_FINISHED
            if run.acknowledged_iteration != last.number
            else "ITERATION_GRANTED",
            data=data,
            iteration=number,
            failures_in_row=decision.failures_in_row,
        )
        return bool(added)

    def _specs(self, run: Run, number: int) -> list[TaskSpec]:
        """A planning task for the next tasks; without a planner, the plan's own tasks again."""
        rows = self._store.rows(run.id)
        if run.planner:
            name = f"{ITERATION}-{number}"
            brief = PlanningBrief(role=ITERATION, phase=name, iteration=number)
            return [self._replan.planning_task(run, name, brief)]
        first = [
            self._store.task(row.id)
            for row in rows
            if self._belongs_to(row, 1) and not is_final_check(row)
        ]
        names = {task.spec.name for task in first}
        return [_copy_spec(task, number, names) for task in first]


def _copy_spec(task: Task, number: int, names: set[str]) -> TaskSpec:
    spec = replace(task.spec, phase=f"{ITERATION}-{number}", iteration=number)
    needs = tuple(f"{need}-i{number}" if need in names else need for need in spec.needs)
    group = f"{spec.group}-i{number}" if spec.group else ""
    return replace(spec, name=f"{spec.name}-i{number}", needs=needs, group=group)


def _summary(iteration: Iteration, decision: IterationDecision) -> dict[str, object]:
    return {
        "iteration": iteration.number,
        "commit": iteration.commit.value,
        "partial_changes_possible": iteration.commit is CommitOutcome.CONFLICT,
        "retry_safe": iteration.commit.retry_safe,
        "proven": iteration.final_check_passed,
        "failed": list(iteration.failed),
        "decision": decision.action,
        "reason": decision.reason,
    }
