"""What people may ask: submit, cancel, answer, undo, merge.  Refusals say why and what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from yaoki.core.decide.escalation import waivable_check_names
from yaoki.core.machine.events import Answered, Event
from yaoki.core.model import Choice, PauseCause, Run, RunId, State, Task, TaskId
from yaoki.core.run_status import RunStatus
from yaoki.core.text import replace_lone_surrogates
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.commands.extend import suggest_next
from yaoki.engine.commands.merge import MergeCommand
from yaoki.engine.commands.submit import Submission, SubmitCommand
from yaoki.engine.commands.undo import UndoCommand
from yaoki.engine.loop.leftover_worktrees import LeftoverWorktrees
from yaoki.engine.required_checks import VerifyCommit
from yaoki.engine.run_status import load_run_status
from yaoki.errors import NotNow, RemoteUnreachable
from yaoki.ports import Clock, MergeResult, Store, Workspace

WORDS_MAX = 8_000


class Control:
    """Asked by every face; holds no state of its own."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        clock: Clock,
        *,
        is_dead: Callable[[str], bool],
        new_id: Callable[[], str],
        verify_commit: VerifyCommit,
        complete: Callable[[RunId], object] = lambda _: None,
        mask: Callable[[str], str] = lambda text: text,
        archived_hint: Callable[[str], str] = lambda _: "",
        on_release: Callable[[Task], None] = lambda _: None,
        host: str = "",
        end_processes: Callable[[Task], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._guard = BranchGuard(store, workspace)
        self._submitting = SubmitCommand(store, workspace, clock, new_id)
        self._undo_wish = UndoCommand(store, self._guard)
        self._merging = MergeCommand(store, workspace, self._guard, verify_commit)
        self._leftovers = LeftoverWorktrees(
            store,
            workspace,
            host=host,
            end_processes=end_processes,
            on_release=on_release,
            is_archived=archived_hint,
        )
        self._dead = is_dead
        self._settle = complete
        self._mask = mask

    # -------------------------------------------------------------- submit

    def submit(self, plan: Submission, request: Mapping[str, Any]) -> Run:
        """Freeze the plan as a new run; all of it or nothing."""
        return self._submitting.submit(plan, request)

    # -------------------------------------------------------------- cancel

    def cancel(self, run: Run, why: str = "cancelled by a person") -> list[TaskId]:
        """The wish is durable before anything acts on it; returns the tasks still being ended.

        A run that is done is refused by name; one that is cancelled already stays as it is.
        """
        if run.cancel_requested and self._store.is_idle(run.id):
            return []
        if load_run_status(self._store, run) is RunStatus.DONE:
            raise NotNow(f"run {run.id} is already DONE", hint=f"yaoki merge {run.id}")
        return self._store.cancel_run(run.id, why)

    def cancel_task(self, task_id: TaskId, why: str = "cancelled by a person") -> list[TaskId]:
        inside = [
            row.id
            for row in self._store.rows(self._store.task(task_id).run_id)
            if row.parent == task_id and not row.state.is_final
        ]
        ended = [self._store.cancel_task(one, why) for one in (*inside, task_id)]
        return [task.id for task in ended if not task.state.is_final]

    # -------------------------------------------------------------- answer

    def answer(
        self, task_id: TaskId, choice: Choice, words: str = "", check: str = "", how: str = ""
    ) -> Task:
        """Answer an escalation; the store refused further attempts until now.

        `how` it was given is written down: by which face, with which pass.
        """
        words = self._mask(replace_lone_surrogates(words))[:WORDS_MAX]
        run = self._store.run(self._store.task(task_id).run_id)

        def decide(task: Task) -> Sequence[Event]:
            if task.state is not State.ESCALATED or task.question is None:
                said = f"{task.id} asks nothing: it is {task.state.value}"
                raise NotNow(said, hint=suggest_next(task, run))
            if choice not in task.question.choices:
                allowed = ", ".join(c.value for c in task.question.choices)
                raise NotNow(f"{choice.value} is no answer here", hint=f"answer one of: {allowed}")
            waived = self._waived(task, choice, check)
            return (Answered(choice, words, waived, task.counts, how),)

        task = self._store.amend(task_id, decide)
        self._settle(task.run_id)
        return task

    @staticmethod
    def _waived(task: Task, choice: Choice, check: str) -> str:
        if choice is not Choice.WAIVE:
            return ""
        failing = task.failure.check if task.failure else ""
        named = check or failing
        known = waivable_check_names(task)
        if named not in known:
            raise NotNow(
                f"{named or 'no check'} cannot be waived: it is not a check of {task.id}",
                hint=f"name one of: {', '.join(_own_first(task, known))}",
            )
        return named

    # -------------------------------------------------------------- undo, merge

    def undo(self, task_id: TaskId, *, cascade: bool = False, how: str = "") -> Task:
        """Take landed work back off its branch; what stands on it goes with it only if asked.

        The wish is durable before the branch moves; whoever finds everything at rest acts on it.
        """
        run = self._undo_wish.request(task_id, cascade=cascade, how=how)
        self._settle(run.id)
        return self._store.task(task_id)

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
        return self._merging.merge(
            run, into=into, force_ref=force_ref, partial=partial, unproven=unproven
        )

    # -------------------------------------------------------------- pauses

    def go(self, run: Run, words: str = "", accept: str = "", how: str = "") -> Run:
        """A person's yes to a paused run; of a budget, as much again is granted.

        `accept` names a commit of its branch that no task landed and that may stay all the same.
        """
        if accept:
            self._guard.accept_commit(run, accept, how)
            if not run.pause_reason:
                return run
        if run.pause_cause is PauseCause.BRANCH:
            self._guard.refuse_unrestored(run)
        return self._store.unpause(
            run.id, self._mask(replace_lone_surrogates(words))[:WORDS_MAX], how
        )

    # -------------------------------------------------------------- going on

    def resume(self, run: Run) -> list[TaskId]:
        """A person goes on with a stopped run: claims of dead workers come back at once, and its
        branch must hold what landed.
        """
        self.check_run_branch(run)
        back = self._store.expire_claims(self._dead, counted=False, runs=[run.id])
        if back:
            data = {"mismatch": "stale lease", "tasks": list(back), "repair": "claims taken back"}
            self._store.note(run.id, "RECONCILED", data)
        return back

    def check_run_branch(self, run: Run) -> None:
        """Before anything is begun: the run branch must hold what landed, else the run asks."""
        if run.pause_reason or run.cancel_requested or run.merged_commit:
            return
        # Where the remote is away, whoever needs the branch waits for it, and looks then.
        with suppress(RemoteUnreachable):
            self._guard.pause_on_drift(run)

    def sweep(self, run: Run) -> list[str]:
        """Remove worktrees in which nobody goes on; their work is reachable from refs."""
        return self._leftovers.sweep(run.id)

    def sweep_again(self) -> list[str]:
        """The same for any run, in a quiet moment of a worker."""
        return self._leftovers.sweep_again()


def _own_first(task: Task, known: frozenset[str]) -> list[str]:
    """The plan's own checks, then what must hold of any change."""
    own = [check.name for check in task.spec.checks]
    return [*own, *sorted(known.difference(own))]
