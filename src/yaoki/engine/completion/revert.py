"""At rest: landed work that is not to stay is taken off its line, and what stands on it with it.

The wish was durable before.  The branch moves first; cut off in between, all of it is repeated, and
undoing twice is undoing once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yaoki.core.decide.rules import decide_after_revert
from yaoki.core.graph import downstream
from yaoki.core.machine.events import Event, LandingReverted, Replaced, UndoCompleted, UndoDropped
from yaoki.core.machine.evolution import evolve
from yaoki.core.model import Choice, Question, Run, State, Task, TaskId
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.engine.required_checks import (
    RequiredChecks,
    VerifyCommit,
    describe_first_failure,
    is_final_check,
)
from yaoki.errors import NotNow
from yaoki.ports import Clock, Store, Workspace


class RevertStep:
    """Asked when nothing of a run can be claimed."""

    def __init__(
        self, store: Store, workspace: Workspace, clock: Clock, prove: VerifyCommit
    ) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock
        self._prove, self._standing = prove, RequiredChecks(store)

    def advance(self, run: Run) -> bool:
        """True when something was taken back, or could not be and is no longer wanted."""
        wanted = self._store.tasks_to_undo(run.id)
        for task in wanted:
            self._take(run, task)
        return bool(wanted)

    def _take(self, run: Run, task: Task) -> None:
        line = self._workspace.groups.open_group_branch(run, task.parent) if task.parent else run
        standing = self.dependents_done(task)
        head = self._workspace.branches.head(line)
        leaving = frozenset(one.id for one in (*standing, task))
        last = next((one.id for one in (task, *reversed(standing)) if _moves(one)), "")
        try:
            for one in (*standing, task):
                if _moves(one):
                    approve = self._approval(run, task, leaving if one.id == last else None)
                    head = self._workspace.landings.undo(line, one.landed_commit, one.id, approve)
        except NotNow as refused:
            why = refused.sentence
            self._store.amend(task.id, lambda t: (UndoDropped(why),) if t.undo_requested else ())
            return
        below = [(one.id, _unlanding(one, head, task.id)) for one in standing]
        below += [
            (row.id, _superseding()) for row in self._store.rows(run.id) if is_final_check(row)
        ]

        def taken(now: Task) -> Sequence[Event]:
            return self._taken(run, now, head) if now.landed_commit == task.landed_commit else ()

        self._store.amend_all([*below, (task.id, taken)])

    def _approval(
        self, run: Run, task: Task, leaving: frozenset[TaskId] | None
    ) -> Callable[[str, str], None]:
        """A person's undo is proven like a landing: what stays must still hold without it.

        After a blamed landing the whole run is proven again in any case, and of several reverts
        only the last leaves what stays.
        """

        def approve(made: str, head: str) -> None:
            if task.revert_cause is not None or task.parent or leaving is None:
                return
            stays = self._standing.of_landed(run, without=leaving)
            if not stays.checks:
                return
            spec = stays.as_task_spec(
                run, "undo", f"Prove the run branch without {task.spec.name}."
            )
            verdict = self._prove(run, spec, made, head)
            if not verdict.passed:
                raise NotNow(
                    f"without {task.spec.name} the rest does not hold: "
                    f"{describe_first_failure(verdict)}",
                    hint=f"take back what needs it as well, or: git revert -m1 "
                    f"{task.landed_commit[:12]}",
                )

        return approve

    def dependents_done(self, task: Task) -> list[Task]:
        """What was done on top of it, the furthest first: undone before what it stands on."""
        below = downstream(task.id, self._store.needs(task.run_id))
        found = [self._store.task(one) for one in reversed(below)]
        return [t for t in found if t.state is State.DONE and t.parent == task.parent]

    def _taken(self, run: Run, task: Task, head: str) -> Sequence[Event]:
        if task.state is not State.DONE or not task.undo_requested:
            return ()
        if task.revert_cause is None:
            words = f"{task.spec.name} was undone on {run.branch}. Try again or abort?"
            return (UndoCompleted(head, Question(words, (Choice.RETRY, Choice.ABORT))),)
        unlanded = LandingReverted(head, "a proof fails since it landed")
        return (
            unlanded,
            *decide_after_revert(evolve(task, unlanded), read_clock_and_chance(self._clock)),
        )


def _moves(one: Task) -> bool:
    """Did its landing change the branch?"""
    return one.landed_commit != one.work.onto


def _superseding() -> Callable[[Task], Sequence[Event]]:
    """A proof of the whole run speaks of a commit that the branch no longer is."""
    words = "work was taken back since: the run is proven again"

    def decide(now: Task) -> Sequence[Event]:
        return (Replaced("", words),) if now.state is State.DONE else ()

    return decide


def _unlanding(one: Task, head: str, cause: TaskId) -> Callable[[Task], Sequence[Event]]:
    """Only that very landing: another worker may have taken it back, and it landed anew since."""
    why = f"{cause}, on which it stands, was taken back"

    def decide(now: Task) -> Sequence[Event]:
        same = now.state is State.DONE and now.landed_commit == one.landed_commit
        return (LandingReverted(head, why),) if same else ()

    return decide
