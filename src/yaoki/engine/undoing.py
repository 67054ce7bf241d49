"""At rest: landed work that is not to stay is taken off its line, and what stands on it with it.

The wish was durable before.  The branch moves first; cut off in between, all of it is repeated, and
undoing twice is undoing once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yaoki.core.events import Event, UndoDropped, Undone, Unlanded
from yaoki.core.graph import downstream
from yaoki.core.machine import evolve
from yaoki.core.model import Choice, Question, Run, State, Task, TaskId
from yaoki.core.rules import sent_back
from yaoki.engine.moments import moment
from yaoki.errors import NotNow
from yaoki.ports import Clock, Store, Workspace


class Undoing:
    """Asked when nothing of a run can be claimed."""

    def __init__(self, store: Store, workspace: Workspace, clock: Clock) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock

    def settle(self, run: Run) -> bool:
        """True when something was taken back, or could not be and is no longer wanted."""
        wanted = self._store.undo_wanted(run.id)
        for task in wanted:
            self._take(run, task)
        return bool(wanted)

    def _take(self, run: Run, task: Task) -> None:
        line = self._workspace.open_line(run, task.parent) if task.parent else run
        standing = self.standing(task)
        head = self._workspace.head(line)
        try:
            for one in (*standing, task):
                if one.landed != one.work.onto:
                    head = self._workspace.undo(line, one.landed, one.id)
        except NotNow as refused:
            why = refused.sentence
            self._store.amend(task.id, lambda t: (UndoDropped(why),) if t.undo_wanted else ())
            return
        below = [(one.id, _unlanding(one, head, task.id)) for one in standing]

        def taken(now: Task) -> Sequence[Event]:
            return self._taken(run, now, head) if now.landed == task.landed else ()

        self._store.amend_all([*below, (task.id, taken)])

    def standing(self, task: Task) -> list[Task]:
        """What was done on top of it, the furthest first: undone before what it stands on."""
        below = downstream(task.id, self._store.needs(task.run_id))
        found = [self._store.task(one) for one in reversed(below)]
        return [t for t in found if t.state is State.DONE and t.parent == task.parent]

    def _taken(self, run: Run, task: Task, head: str) -> Sequence[Event]:
        if task.state is not State.DONE or not task.undo_wanted:
            return ()
        if task.blame is None:
            words = f"{task.spec.name} was undone on {run.branch}. Try again or abort?"
            return (Undone(head, Question(words, (Choice.RETRY, Choice.ABORT))),)
        unlanded = Unlanded(head, "a proof fails since it landed")
        return (unlanded, *sent_back(evolve(task, unlanded), moment(self._clock)))


def _unlanding(one: Task, head: str, cause: TaskId) -> Callable[[Task], Sequence[Event]]:
    """Only that very landing: another worker may have taken it back, and it landed anew since."""
    why = f"{cause}, on which it stands, was taken back"

    def decide(now: Task) -> Sequence[Event]:
        same = now.state is State.DONE and now.landed == one.landed
        return (Unlanded(head, why),) if same else ()

    return decide
