"""What people may ask: submit, cancel, answer, undo, merge.  Refusals say why and what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from yaoki.core.decide.escalation import waivable_names
from yaoki.core.display import sound
from yaoki.core.machine.events import Answered, Event
from yaoki.core.model import Choice, Run, RunId, State, Task, TaskId
from yaoki.core.run_status import Status
from yaoki.engine.branch_guard import BRANCH, Guard
from yaoki.engine.commands.extend import instead
from yaoki.engine.commands.merge import Merging
from yaoki.engine.commands.submit import Submission, Submitting
from yaoki.engine.commands.undo import UndoWish
from yaoki.engine.loop.leftover_worktrees import Leftovers
from yaoki.engine.run_status import status_of
from yaoki.engine.stages.required_checks import Prove
from yaoki.errors import NotNow, RemoteAway
from yaoki.ports import Clock, Merged, Store, Workspace

WORDS_MAX = 8_000


class Control:
    """Asked by every face; holds no state of its own."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        clock: Clock,
        *,
        dead: Callable[[str], bool],
        new_id: Callable[[], str],
        prove: Prove,
        settle: Callable[[RunId], object] = lambda _: None,
        mask: Callable[[str], str] = lambda text: text,
        archived: Callable[[str], str] = lambda _: "",
        released: Callable[[Task], None] = lambda _: None,
        host: str = "",
        end: Callable[[Task], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._guard = Guard(store, workspace)
        self._submitting = Submitting(store, workspace, clock, new_id)
        self._undo_wish = UndoWish(store, self._guard)
        self._merging = Merging(store, workspace, self._guard, prove)
        self._leftovers = Leftovers(
            store, workspace, host=host, end=end, released=released, archived=archived
        )
        self._dead = dead
        self._settle = settle
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
        if run.cancel_wanted and self._store.resting(run.id):
            return []
        if status_of(self._store, run) is Status.DONE:
            raise NotNow(f"run {run.id} is already DONE", hint=f"yaoki merge {run.id}")
        return self._store.cancel_run(run.id, why)

    def cancel_task(self, task_id: TaskId, why: str = "cancelled by a person") -> list[TaskId]:
        inside = [
            row.id
            for row in self._store.rows(self._store.task(task_id).run_id)
            if row.parent == task_id and not row.state.final
        ]
        ended = [self._store.cancel_task(one, why) for one in (*inside, task_id)]
        return [task.id for task in ended if not task.state.final]

    # -------------------------------------------------------------- answer

    def answer(
        self, task_id: TaskId, choice: Choice, words: str = "", check: str = "", how: str = ""
    ) -> Task:
        """Answer an escalation; the store refused further attempts until now.

        `how` it was given is written down: by which face, with which pass.
        """
        words = self._mask(sound(words))[:WORDS_MAX]
        run = self._store.run(self._store.task(task_id).run_id)

        def decide(task: Task) -> Sequence[Event]:
            if task.state is not State.ESCALATED or task.question is None:
                said = f"{task.id} asks nothing: it is {task.state.value}"
                raise NotNow(said, hint=instead(task, run))
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
        known = waivable_names(task)
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
        run = self._undo_wish.ask(task_id, cascade=cascade, how=how)
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
    ) -> Merged:
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
            self._guard.accept(run, accept, how)
            if not run.paused:
                return run
        if run.paused.startswith(BRANCH):
            self._guard.freed(run)
        return self._store.unpause(run.id, self._mask(sound(words))[:WORDS_MAX], how)

    # -------------------------------------------------------------- going on

    def resumed(self, run: Run) -> list[TaskId]:
        """A person goes on with a stopped run: claims of dead workers come back at once, and its
        branch must hold what landed.
        """
        self.look_after(run)
        back = self._store.expire(self._dead, counted=False, runs=[run.id])
        if back:
            data = {"mismatch": "stale lease", "tasks": list(back), "repair": "claims taken back"}
            self._store.note(run.id, "RECONCILED", data)
        return back

    def look_after(self, run: Run) -> None:
        """Before anything is begun: the run branch must hold what landed, else the run asks."""
        if run.paused or run.cancel_wanted or run.merged:
            return
        # Where the remote is away, whoever needs the branch waits for it, and looks then.
        with suppress(RemoteAway):
            self._guard.look(run)

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
