"""At rest: the one re-run from the run branch, and what becomes of groups with failed subtasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yaoki.core.decide.failure_response import not_rerun
from yaoki.core.decide.recovery import Choice, choose, left_out
from yaoki.core.decide.rounds import next_round
from yaoki.core.machine.events import (
    Cancelled,
    CancelRequested,
    Event,
    Note,
    RecoveryStarted,
    RerunGranted,
    Unlanded,
    Why,
)
from yaoki.core.model import Run, State, Strategy, Task, TaskId
from yaoki.engine.clock_and_chance import moment
from yaoki.ports import Clock, Row, Store, Workspace

Change = tuple[TaskId, Callable[[Task], Sequence[Event]]]
FILES_TOLD_MAX = 100


class Outdated(Exception):
    """A task is no longer as it was when the decision was made."""


class Recovering:
    """Asked when nothing of a run can be claimed; every answer is one transaction."""

    def __init__(self, store: Store, workspace: Workspace, clock: Clock) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock

    def settle(self, run: Run) -> bool:
        """True when something was changed, so that the run may go on."""
        held = [task for task in self._store.held(run.id) if not task.spec.patient]
        groups = [self._store.task(one) for one in sorted({t.parent for t in held if t.parent})]
        alone = [task for task in held if not task.parent]
        changes = self._round(run, alone) if alone else []
        for group in groups:
            members = [task for task in held if task.parent == group.id]
            try:
                changes += self._group(run, group, members)
            except Outdated:
                return True
        if changes:
            self._decide(changes, [*held, *groups])
        return bool(changes)

    def _decide(self, changes: Sequence[Change], seen: Sequence[Task]) -> None:
        """All of it as it was seen, or nothing: another worker may have decided meanwhile."""
        try:
            self._store.amend_all([*((task.id, _unchanged(task)) for task in seen), *changes])
        except Outdated:
            return

    def ask(self, run: Run) -> bool:
        """Proofs that failed and that nobody is left to mend: a person is asked about them."""
        held = [task for task in self._store.held(run.id) if task.spec.patient]
        why = "nobody is left who could plan what is missing"
        if self._store.run(run.id).paused:
            return False
        if held:
            self._decide([(task.id, self._asking(why)) for task in held], held)
        return bool(held)

    # -------------------------------------------------------------- tasks on their own

    def _round(self, run: Run, held: Sequence[Task]) -> list[Change]:
        head = self._workspace.head(run)
        chosen = next_round(held, head)
        granted = [(task.id, _granting(head, "")) for task in chosen.rerun]
        return [*granted, *((task.id, self._asking(_not_rerun(task))) for task in chosen.ask)]

    def _asking(self, why: str) -> Callable[[Task], Sequence[Event]]:
        return lambda task: not_rerun(task, why, moment(self._clock)) if task.held else ()

    # -------------------------------------------------------------- groups

    def _group(self, run: Run, group: Task, held: Sequence[Task]) -> list[Change]:
        rows = [row for row in self._store.rows(run.id) if row.parent == group.id]
        done = [row for row in rows if row.state is State.DONE]
        failed = [task.id for task in held]
        needs = self._store.needs(run.id)
        # The subtasks of an optional group are optional for the run, and yet parts of the group.
        required = {row.id for row in rows if row.required or not group.spec.required}
        choice = choose(group, failed, [row.id for row in done], needs, required)
        started = RecoveryStarted(
            choice.strategy, tuple(failed), tuple(row.id for row in done), _why(choice)
        )
        match choice.strategy:
            case Strategy.RETRY_FAILED_ONLY:
                head = self._workspace.head(self._workspace.open_line(run, group.id))
                again = [(one, _granting(head, choice.strategy.value)) for one in failed]
                return [(group.id, lambda _: (started,)), *again]
            case Strategy.ROLLBACK_AND_RETRY:
                return self._rolled_back(run, group, done, held, started)
            case Strategy.PARTIAL_COMMIT:
                done_ids = {row.id for row in done}
                dropped = [t for t in left_out(group, failed, needs) if t not in done_ids]
                told = RecoveryStarted(
                    choice.strategy, tuple(dropped), started.succeeded_subtasks, started.why
                )
                leaving = [(one, _drop) for one in dropped]
                return [(group.id, lambda _: (told,)), *leaving]
            case Strategy.ESCALATE:
                asked = [(one, self._asking(choice.reason)) for one in failed]
                return [(group.id, lambda _: (started,)), *asked]

    def _rolled_back(
        self,
        run: Run,
        group: Task,
        done: Sequence[Row],
        failed: Sequence[Task],
        started: RecoveryStarted,
    ) -> list[Change]:
        """The branch first: cut off before the rest is recorded, it is found rolled back.

        Its head is seen before the tasks are looked at once more: what another worker landed
        there since it rolled the group back itself is not taken off.
        """
        head = self._workspace.head(self._workspace.open_line(run, group.id))
        for seen in (group, *failed):
            _unchanged(seen)(self._store.task(seen.id))
        before, to = self._workspace.roll_back(run, group.id, head)
        files = self._workspace.files_between(before, to)
        restored = Note(
            "SNAPSHOT_RESTORE",
            {
                "snapshot_id": before,
                "restored_files": [p for s, p in files if s != "D"][:FILES_TOLD_MAX],
                "deleted_files": [p for s, p in files if s == "D"][:FILES_TOLD_MAX],
            },
        )
        why = "rolled back with its group"
        taken = [(row.id, _unlanding(to, why)) for row in done]
        again = [(one.id, _granting(to, Strategy.ROLLBACK_AND_RETRY.value)) for one in failed]
        return [(group.id, lambda _: (started, restored)), *taken, *again]


def _unchanged(seen: Task) -> Callable[[Task], Sequence[Event]]:
    def decide(now: Task) -> Sequence[Event]:
        if now != seen:
            raise Outdated(seen.id)
        return ()

    return decide


def _unlanding(head: str, why: str) -> Callable[[Task], Sequence[Event]]:
    return lambda task: (Unlanded(head, why),) if task.state is State.DONE else ()


def _granting(head: str, strategy: str) -> Callable[[Task], Sequence[Event]]:
    why = Why("8.3" if strategy else "8.4", {"head": head, "strategy": strategy})
    return lambda task: (RerunGranted(head, strategy, why),) if task.held else ()


def _not_rerun(task: Task) -> str:
    if not task.began_at:
        return "its work was never begun"
    return "no other task has landed since it began"


def _drop(task: Task) -> Sequence[Event]:
    why = "left out: its group lands without it"
    return () if task.state.final else (CancelRequested(why), Cancelled(why))


def _why(choice: Choice) -> Why:
    return Why("8.3", {"reason": choice.reason}, (choice.otherwise,))
