"""Continuous mode at rest: sum up the iteration, decide, begin the next one.

The number of the iteration changes in the transaction that adds its tasks, so no restart counts one
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from yaoki.core.decide.iteration import (
    CommitOutcome,
    Iteration,
    IterationDecision,
    decide_iteration,
)
from yaoki.core.model import (
    FailureKind,
    FaultSource,
    PlanningBrief,
    Run,
    State,
    Task,
    TaskId,
    TaskSpec,
)
from yaoki.engine.completion.replan import ReplanStep
from yaoki.engine.required_checks import is_final_check
from yaoki.ports import Store, TaskRow, Workspace

ITERATION = "iteration"
ITERATION_FINISHED = "ITERATION_FINISHED"


class IterateStep:
    """Asked when everything of a continuous run rests."""

    def __init__(self, store: Store, workspace: Workspace, replanning: ReplanStep) -> None:
        self._store, self._workspace, self._replanning = store, workspace, replanning

    def advance(self, run: Run) -> bool:
        """True when another iteration was begun."""
        if run.continuous is None or run.cancel_requested or run.finished_at is not None:
            return False
        ended = self._ended(run)
        bounds = run.continuous
        if run.acknowledged_iteration == ended.number:
            # A person has seen this failure and said go.
            bounds = replace(bounds, pause_on_failure=False, failures_max=bounds.failures_max + 1)
            safe = CommitOutcome.NOTHING if ended.commit is CommitOutcome.CONFLICT else ended.commit
            ended = replace(ended, commit=safe)
        follows = decide_iteration(ended, run.failures_in_row, bounds)
        told = {**_told(ended, follows), "head": self._workspace.branches.head(run)}
        if follows.action == "next":
            return self._next(run, ended, follows, told)
        if follows.action == "pause":
            self._store.pause(
                run.id,
                f"failure: {follows.reason}",
                event=ITERATION_FINISHED,
                data={**told, "failures_in_row": follows.failures_in_row},
                failures_in_row=follows.failures_in_row,
            )
        else:
            self._store.end_iterations(run.id, ended.number, ITERATION_FINISHED, told)
        return False

    def _ended(self, run: Run) -> Iteration:
        number = run.iteration or 1
        rows = self._store.rows(run.id)
        mine = [row for row in rows if not is_final_check(row) and self._of(row, number)]
        failed = [row for row in mine if row.required and row.state is not State.DONE]
        proofs = [row for row in rows if is_final_check(row)]
        proven = bool(proofs) and proofs[-1].state is State.DONE if run.done_when else not failed
        return Iteration(number, self._commit(run, mine, failed), proven, _names(failed))

    def _of(self, row: TaskRow, number: int) -> bool:
        """Does this task belong to the iteration?  The plan's own tasks are the first one's."""
        return (self._store.task(row.id).spec.iteration or 1) == number

    def _failed(self, run: Run, number: int) -> list[TaskId]:
        """What failed in this iteration: the next one makes it pointless."""
        rows = self._store.rows(run.id)
        return [row.id for row in rows if self._of(row, number) and row.state is State.ESCALATED]

    def _commit(
        self, run: Run, mine: Sequence[TaskRow], failed: Sequence[TaskRow]
    ) -> CommitOutcome:
        """What the iteration put on the run branch, or why it did not."""
        reasons = [self._store.task(row.id) for row in failed]
        if any(task.failure and task.failure.kind is FailureKind.CONFLICT for task in reasons):
            return CommitOutcome.CONFLICT
        for task in reasons:
            if task.failure and task.failure.source is FaultSource.GIT:
                return (
                    CommitOutcome.STAGING_ERROR
                    if task.work.prompt_sent
                    else CommitOutcome.GIT_ERROR
                )
        landed = [t for t in map(self._store.task, (row.id for row in mine)) if t.landed_commit]
        if any(task.landed_commit != task.work.onto for task in landed):
            return CommitOutcome.COMMITTED
        return CommitOutcome.NOTHING

    def _next(
        self, run: Run, ended: Iteration, follows: IterationDecision, told: dict[str, object]
    ) -> bool:
        number = ended.number + 1
        specs = self._specs(run, number)
        made = self._store.add_tasks(
            run.id,
            specs,
            unless=specs[0].name,
            retire=self._failed(run, ended.number),
            event=ITERATION_FINISHED
            if run.acknowledged_iteration != ended.number
            else "ITERATION_GRANTED",
            data=told,
            iteration=number,
            failures_in_row=follows.failures_in_row,
        )
        return bool(made)

    def _specs(self, run: Run, number: int) -> list[TaskSpec]:
        """The planner's next tasks, or, without a planner, the plan's own once more."""
        rows = self._store.rows(run.id)
        if run.planner:
            fill = PlanningBrief(role=ITERATION, phase=f"{ITERATION}-{number}", iteration=number)
            return [self._replanning.planning_task(run, f"{ITERATION}-{number}", fill)]
        first = [
            self._store.task(row.id) for row in rows if self._of(row, 1) and not is_final_check(row)
        ]
        names = {task.spec.name for task in first}
        return [_again(task, number, names) for task in first]


def _again(task: Task, number: int, names: set[str]) -> TaskSpec:
    spec = replace(task.spec, phase=f"{ITERATION}-{number}", iteration=number)
    needs = tuple(f"{need}-i{number}" if need in names else need for need in spec.needs)
    group = f"{spec.group}-i{number}" if spec.group else ""
    return replace(spec, name=f"{spec.name}-i{number}", needs=needs, group=group)


def _names(rows: Sequence[TaskRow]) -> tuple[str, ...]:
    return tuple(row.name for row in rows)


def _told(ended: Iteration, follows: IterationDecision) -> dict[str, object]:
    return {
        "iteration": ended.number,
        "commit": ended.commit.value,
        "partial_changes_possible": ended.commit is CommitOutcome.CONFLICT,
        "retry_safe": ended.commit.retry_safe,
        "proven": ended.final_check_passed,
        "failed": list(ended.failed),
        "decision": follows.action,
        "reason": follows.reason,
    }
