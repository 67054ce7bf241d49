"""At rest: the one re-run from the run branch, and what becomes of groups with failed subtasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yaoki.core.decide.failure_response import escalate_without_rerun
from yaoki.core.decide.recovery import RecoveryDecision, decide_recovery, subtasks_to_leave_out
from yaoki.core.decide.rounds import plan_rerun_round
from yaoki.core.machine.events import (
    Cancelled,
    CancelRequested,
    Event,
    JournalNote,
    LandingReverted,
    Rationale,
    RecoveryStarted,
    RerunGranted,
)
from yaoki.core.model import RecoveryStrategy, Run, State, Task, TaskId
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.ports import Clock, Store, TaskRow, Workspace

TaskAmendment = tuple[TaskId, Callable[[Task], Sequence[Event]]]
FILES_TOLD_MAX = 100


class StaleDecision(Exception):
    """A task is no longer as it was when the decision was made."""


class RecoverStep:
    """Asked when nothing of a run can be claimed; every answer is one transaction."""

    def __init__(self, store: Store, workspace: Workspace, clock: Clock) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock

    def advance(self, run: Run) -> bool:
        """True when something was changed, so that the run may go on."""
        held = [
            task
            for task in self._store.tasks_awaiting_rerun(run.id)
            if not task.spec.defers_escalation
        ]
        groups = [self._store.task(one) for one in sorted({t.parent for t in held if t.parent})]
        alone = [task for task in held if not task.parent]
        changes = self._round(run, alone) if alone else []
        for group in groups:
            members = [task for task in held if task.parent == group.id]
            try:
                changes += self._group(run, group, members)
            except StaleDecision:
                return True
        if changes:
            self._decide(changes, [*held, *groups])
        return bool(changes)

    def _decide(self, changes: Sequence[TaskAmendment], seen: Sequence[Task]) -> None:
        """All of it as it was seen, or nothing: another worker may have decided meanwhile."""
        try:
            self._store.amend_all([*((task.id, _unchanged(task)) for task in seen), *changes])
        except StaleDecision:
            return

    def escalate_final_checks(self, run: Run) -> bool:
        """Proofs that failed and that nobody is left to mend: a person is asked about them."""
        held = [
            task for task in self._store.tasks_awaiting_rerun(run.id) if task.spec.defers_escalation
        ]
        why = "nobody is left who could plan what is missing"
        if self._store.run(run.id).pause_reason:
            return False
        if held:
            self._decide([(task.id, self._asking(why)) for task in held], held)
        return bool(held)

    # -------------------------------------------------------------- tasks on their own

    def _round(self, run: Run, held: Sequence[Task]) -> list[TaskAmendment]:
        head = self._workspace.branches.head(run)
        chosen = plan_rerun_round(held, head)
        granted = [(task.id, _granting(head, "")) for task in chosen.to_rerun]
        return [
            *granted,
            *((task.id, self._asking(_not_rerun(task))) for task in chosen.to_escalate),
        ]

    def _asking(self, why: str) -> Callable[[Task], Sequence[Event]]:
        return lambda task: (
            escalate_without_rerun(task, why, read_clock_and_chance(self._clock))
            if task.awaiting_rerun
            else ()
        )

    # -------------------------------------------------------------- groups

    def _group(self, run: Run, group: Task, held: Sequence[Task]) -> list[TaskAmendment]:
        rows = [row for row in self._store.rows(run.id) if row.parent == group.id]
        done = [row for row in rows if row.state is State.DONE]
        failed = [task.id for task in held]
        needs = self._store.needs(run.id)
        # The subtasks of an optional group are optional for the run, and yet parts of the group.
        required = {row.id for row in rows if row.required or not group.spec.required}
        choice = decide_recovery(group, failed, [row.id for row in done], needs, required)
        started = RecoveryStarted(
            choice.strategy, tuple(failed), tuple(row.id for row in done), _why(choice)
        )
        match choice.strategy:
            case RecoveryStrategy.RETRY_FAILED_ONLY:
                head = self._workspace.branches.head(
                    self._workspace.groups.open_group_branch(run, group.id)
                )
                again = [(one, _granting(head, choice.strategy.value)) for one in failed]
                return [(group.id, lambda _: (started,)), *again]
            case RecoveryStrategy.ROLLBACK_AND_RETRY:
                return self._rolled_back(run, group, done, held, started)
            case RecoveryStrategy.PARTIAL_COMMIT:
                done_ids = {row.id for row in done}
                dropped = [
                    t for t in subtasks_to_leave_out(group, failed, needs) if t not in done_ids
                ]
                told = RecoveryStarted(
                    choice.strategy, tuple(dropped), started.succeeded_subtasks, started.why
                )
                leaving = [(one, _drop) for one in dropped]
                return [(group.id, lambda _: (told,)), *leaving]
            case RecoveryStrategy.ESCALATE:
                asked = [(one, self._asking(choice.reason)) for one in failed]
                return [(group.id, lambda _: (started,)), *asked]

    def _rolled_back(
        self,
        run: Run,
        group: Task,
        done: Sequence[TaskRow],
        failed: Sequence[Task],
        started: RecoveryStarted,
    ) -> list[TaskAmendment]:
        """The branch first: cut off before the rest is recorded, it is found rolled back.

        Its head is seen before the tasks are looked at once more: what another worker landed
        there since it rolled the group back itself is not taken off.
        """
        head = self._workspace.branches.head(
            self._workspace.groups.open_group_branch(run, group.id)
        )
        for seen in (group, *failed):
            _unchanged(seen)(self._store.task(seen.id))
        before, to = self._workspace.groups.roll_back_group_branch(run, group.id, head)
        files = self._workspace.contents.files_between(before, to)
        restored = JournalNote(
            "SNAPSHOT_RESTORE",
            {
                "snapshot_id": before,
                "restored_files": [p for s, p in files if s != "D"][:FILES_TOLD_MAX],
                "deleted_files": [p for s, p in files if s == "D"][:FILES_TOLD_MAX],
            },
        )
        why = "rolled back with its group"
        taken = [(row.id, _unlanding(to, why)) for row in done]
        again = [
            (one.id, _granting(to, RecoveryStrategy.ROLLBACK_AND_RETRY.value)) for one in failed
        ]
        return [(group.id, lambda _: (started, restored)), *taken, *again]


def _unchanged(seen: Task) -> Callable[[Task], Sequence[Event]]:
    def decide(now: Task) -> Sequence[Event]:
        if now != seen:
            raise StaleDecision(seen.id)
        return ()

    return decide


def _unlanding(head: str, why: str) -> Callable[[Task], Sequence[Event]]:
    return lambda task: (LandingReverted(head, why),) if task.state is State.DONE else ()


def _granting(head: str, strategy: str) -> Callable[[Task], Sequence[Event]]:
    why = Rationale("8.3" if strategy else "8.4", {"head": head, "strategy": strategy})
    return lambda task: (RerunGranted(head, strategy, why),) if task.awaiting_rerun else ()


def _not_rerun(task: Task) -> str:
    if not task.first_base:
        return "its work was never begun"
    return "no other task has landed since it began"


def _drop(task: Task) -> Sequence[Event]:
    why = "left out: its group lands without it"
    return () if task.state.is_final else (CancelRequested(why), Cancelled(why))


def _why(choice: RecoveryDecision) -> Rationale:
    return Rationale("8.3", {"reason": choice.reason}, (choice.otherwise,))
