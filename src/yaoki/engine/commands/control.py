"""The commands of people: submit, cancel, answer, undo, merge.  A refusal names the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from yaoki.core.decide.account import first_agent_after_answer
from yaoki.core.decide.escalation import waivable_check_names
from yaoki.core.decide.person_words import compose_said
from yaoki.core.machine.events import Event
from yaoki.core.machine.request_events import Answered
from yaoki.core.model import Choice, PauseCause, Run, RunId, State, StoreMismatch, Task, TaskId
from yaoki.core.run_status import RunStatus
from yaoki.core.text import did_you_mean, replace_lone_surrogates
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.commands.end_wait import EndWaitCommand
from yaoki.engine.commands.extend import suggest_next
from yaoki.engine.commands.merge import MergeCommand
from yaoki.engine.commands.submit import Submission, SubmitCommand
from yaoki.engine.commands.undo import UndoCommand
from yaoki.engine.loop.leftover_worktrees import LeftoverWorktrees
from yaoki.engine.required_checks import VerifyCommit
from yaoki.engine.run_status import load_run_status
from yaoki.errors import NotNow, RemoteUnreachable
from yaoki.ports import Clock, CommandStore, MergeResult, Workspace

TEXT_CHARS_MAX = 8_000


class Control:
    """Used by every face; has no state of its own."""

    def __init__(
        self,
        store: CommandStore,
        workspace: Workspace,
        clock: Clock,
        *,
        is_dead: Callable[[str], bool],
        new_id: Callable[[], str],
        verify_commit: VerifyCommit,
        complete: Callable[[RunId], object],
        mask: Callable[[str], str],
        leftovers: LeftoverWorktrees,
    ) -> None:
        self._store = store
        self._guard = BranchGuard(store, workspace)
        self._submit = SubmitCommand(store, workspace, clock, new_id)
        self._undo = UndoCommand(store, self._guard, workspace.landings)
        self._merge = MergeCommand(store, workspace, self._guard, verify_commit)
        self._waits = EndWaitCommand(store, clock)
        self._leftovers = leftovers
        self._is_dead = is_dead
        self._complete = complete
        self._mask = mask

    # -------------------------------------------------------------- submit

    def submit(self, plan: Submission, request: Mapping[str, Any]) -> Run:
        """Freeze the plan as a new run; all of it or nothing."""
        return self._submit.submit(plan, request)

    # -------------------------------------------------------------- cancel

    def cancel(self, run: Run, why: str = "cancelled by a person") -> list[TaskId]:
        """Record the cancellation, then let the workers act on it; returns the tasks still ending.

        A run that is DONE is refused.  A cancelled run stays as it is.
        """
        status = load_run_status(self._store, run)
        if status is RunStatus.CANCELLED and self._has_ended(run):
            return []
        if status is RunStatus.DONE:
            if run.merged_commit:
                hint = f"yaoki undo TASK --run {run.id}"
                raise NotNow(f"run {run.id} is already merged", hint=hint)
            raise NotNow(f"run {run.id} is already done", hint=f"yaoki merge {run.id}")
        return self._store.cancel_run(run.id, why)

    def _has_ended(self, run: Run) -> bool:
        """A run whose last open task was given up has ended as well, unless it may plan more."""
        may_plan = bool(run.planner or run.continuous) and run.finished_at is None
        all_final = all(row.state.is_final for row in self._store.rows(run.id))
        return all_final and (run.cancel_requested or not may_plan)

    def cancel_task(self, task_id: TaskId, why: str = "cancelled by a person") -> list[TaskId]:
        """Cancel a task with its subtasks; the candidates of a racing task end with it."""
        subtasks = [
            row.id
            for row in self._store.rows(self._store.task(task_id).run_id)
            if row.parent == task_id and not row.race_task and not row.state.is_final
        ]
        tasks = [self._store.cancel_task(one, why) for one in (*subtasks, task_id)]
        return [task.id for task in tasks if not task.state.is_final]

    # -------------------------------------------------------------- answer

    def answer(
        self, task_id: TaskId, choice: Choice, words: str = "", check: str = "", how: str = ""
    ) -> Task:
        """Answer an escalation; until then the store refuses further attempts.

        RETRY ends the wait of a task that waits for its account or a delay.

        `how` is recorded: the face through which the answer came, and the token it used.
        """
        words = self._clean(words)
        present = self._store.task(task_id)
        if choice is Choice.RETRY and present.state is State.WAITING:
            return self._waits.end(task_id, words, how)
        run = self._store.run(present.run_id)

        def decide(task: Task) -> Sequence[Event]:
            if task.state is not State.ESCALATED or task.question is None:
                state, hint = task.state.value, suggest_next(task, run, self._store)
                raise NotNow(f"{task.id} has no open question: it is {state}", hint=hint)
            if choice not in task.question.choices:
                allowed = ", ".join(c.value for c in task.question.choices)
                raise NotNow(
                    f"{choice.value} is not a possible answer here",
                    hint=f"answer one of: {allowed}",
                )
            waived = self._waived_check(task, choice, check)
            work = task.work_identity if waived else ""
            index = first_agent_after_answer(task) if choice is Choice.RETRY else None
            said = compose_said(task, words) if choice is Choice.RETRY else ""
            return (Answered(choice, words, waived, task.counts, how, work, index, said),)

        task = self._store.amend(task_id, decide)
        self._complete(task.run_id)
        return task

    def end_waits(self, run: Run, words: str = "", how: str = "") -> list[Task]:
        """End the wait of every task of the run that waits for its account or a delay."""
        return self._waits.end_all(run, self._clean(words), how)

    def _clean(self, words: str) -> str:
        return self._mask(replace_lone_surrogates(words))[:TEXT_CHARS_MAX]

    @staticmethod
    def _waived_check(task: Task, choice: Choice, check: str) -> str:
        if choice is not Choice.WAIVE:
            return ""
        name = check or (task.failure.check if task.failure else "")
        known = waivable_check_names(task)
        if name not in known:
            near = did_you_mean(name, known)
            raise NotNow(
                f"{name or 'no check'} cannot be waived: it is not a check of {task.id}{near}",
                hint=f"name one of: {', '.join(_own_first(task, known))}",
            )
        return name

    # -------------------------------------------------------------- undo, merge

    def undo(
        self, task_id: TaskId, *, cascade: bool = False, how: str = "", to_retry: bool = False
    ) -> Task:
        """Revert landed work on its branch; its dependents only with `cascade`.

        The request is stored before the branch moves; the next completion carries it out.
        """
        run = self._undo.request(task_id, cascade=cascade, how=how, to_retry=to_retry)
        self._complete(run.id)
        task = self._store.task(task_id)
        if task.state is State.DONE and not task.undo_requested:
            # It was refused, so a run that was finished before is finished again.
            self._complete(run.id)
        return task

    def merge(
        self,
        run: Run,
        *,
        into: str = "",
        force_ref: bool = False,
        partial: bool = False,
        unproven: bool = False,
    ) -> MergeResult:
        """Move the base branch to the run branch; never with conflicts, never in a checkout."""
        return self._merge.merge(
            run, into=into, force_ref=force_ref, partial=partial, unproven=unproven
        )

    # -------------------------------------------------------------- pauses

    def go(self, run: Run, words: str = "", accept: Sequence[str] = (), how: str = "") -> Run:
        """Let a paused run continue; a run paused for its budget is granted the same amount again.

        `accept` names the commits of its branch that no task landed and that may stay.  Everything
        that may refuse the answer comes before the first line that is written.
        """
        accepted = tuple(dict.fromkeys(accept))
        if accepted:
            self._guard.refuse_acceptance(run, accepted)
        if run.pause_cause is PauseCause.BRANCH:
            self._guard.refuse_unrestored(run, accepted)
        self._guard.record_acceptance(run, accepted, how)
        if accepted and not run.pause_reason:
            return run
        return self._store.unpause(run.id, self._clean(words), how)

    # -------------------------------------------------------------- resume

    def resume(self, run: Run) -> list[TaskId]:
        """Resume a stopped run: its branch must contain what landed, and the claims of dead
        workers expire at once.
        """
        self.check_run_branch(run)
        expired = self._store.expire_claims(self._is_dead, counted=False, runs=[run.id])
        if expired:
            data = {
                "mismatch": StoreMismatch.STALE_LEASE,
                "tasks": list(expired),
                "repair": "claims of dead workers ended",
            }
            self._store.note(run.id, "RECONCILED", data)
        return expired

    def check_run_branch(self, run: Run) -> None:
        """Before any work starts, pause the run if its branch lacks what landed."""
        if run.pause_reason or run.cancel_requested or run.merged_commit:
            return
        # Without the remote, the stage that needs the branch waits for it and checks it then.
        with suppress(RemoteUnreachable):
            self._guard.pause_on_drift(run)

    def sweep(self, run: Run) -> list[str]:
        """Remove the worktrees of a run that no worker uses; their work is saved on refs."""
        return self._leftovers.sweep(run.id)

    def save_blocked(self, run: Run) -> None:
        """Save the worktrees of tasks that cannot start because their need was given up."""
        self._leftovers.save_blocked(run.id)

    def sweep_again(self) -> list[str]:
        """Remove the unused worktrees of any run, when a worker is idle."""
        return self._leftovers.sweep_again()


def _own_first(task: Task, known: frozenset[str]) -> list[str]:
    """The plan's own checks, then the built-in ones."""
    own = [check.name for check in task.spec.checks]
    return [*own, *sorted(known.difference(own))]
