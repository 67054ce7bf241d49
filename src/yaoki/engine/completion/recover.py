"""Recovery: the one re-run of failed tasks from the run branch, and groups with failed subtasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from yaoki.core.decide.failure_response import escalate_without_rerun
from yaoki.core.decide.recovery import (
    RecoveryDecision,
    decide_recovery,
    plan_rerun_round,
    subtasks_to_leave_out,
)
from yaoki.core.machine.events import (
    Event,
    LandingReverted,
    Rationale,
    RecoveryStarted,
    RerunGranted,
)
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.request_events import Cancelled, CancelRequested
from yaoki.core.model import RecoveryStrategy, Run, RunId, State, Task, TaskId
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.ports import Clock, CompletionStore, TaskRow, Workspace

TaskAmendment = tuple[TaskId, Callable[[Task], Sequence[Event]]]
FILES_LISTED_MAX = 100


class StaleDecision(Exception):
    """A task is no longer as it was when the decision was made."""


class RecoverStep:
    """Called when no task of a run can be claimed; each decision is one transaction."""

    def __init__(self, store: CompletionStore, workspace: Workspace, clock: Clock) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock

    def advance(self, run: Run) -> bool:
        """True when something was changed, so that the run may continue."""
        failed = self._failed_tasks(run.id)
        groups = [self._store.task(one) for one in sorted({t.parent for t in failed if t.parent})]
        ungrouped = [task for task in failed if not task.parent]
        changes = self._rerun_round(run, ungrouped) if ungrouped else []
        for group in groups:
            subtasks = [task for task in failed if task.parent == group.id]
            try:
                changes += self._recover_group(run, group, subtasks)
            except StaleDecision:
                return True
        if changes:
            self._apply(changes, [*failed, *groups])
        return bool(changes)

    def failed_outside_groups(self, run_id: RunId) -> list[Task]:
        """The failed tasks that need not wait for others: a group is recovered as a whole."""
        return [task for task in self._failed_tasks(run_id) if not task.parent]

    def rerun_or_ask(self, run: Run, failed: Sequence[Task]) -> None:
        """Start the re-runs of these tasks, or ask about them, while others wait."""
        self._apply(self._rerun_round(run, failed), failed)

    def _failed_tasks(self, run_id: RunId) -> list[Task]:
        return [
            task
            for task in self._store.tasks_awaiting_rerun(run_id)
            if not task.spec.defers_escalation
        ]

    def _apply(self, changes: Sequence[TaskAmendment], based_on: Sequence[Task]) -> None:
        """Apply all changes, or none if a task changed: another worker may have decided already."""
        try:
            guards = ((task.id, _refuse_if_changed(task)) for task in based_on)
            self._store.amend_all([*guards, *changes])
        except StaleDecision:
            return

    def escalate_final_checks(self, run: Run) -> bool:
        """Ask a person about failed final checks when no planner can fix them."""
        failed = [
            task for task in self._store.tasks_awaiting_rerun(run.id) if task.spec.defers_escalation
        ]
        reason = "no planner is left to plan the missing work"
        if self._store.run(run.id).pause_reason:
            return False
        if failed:
            self._apply([(task.id, self._escalate(reason)) for task in failed], failed)
        return bool(failed)

    # -------------------------------------------------------------- tasks without a group

    def _rerun_round(self, run: Run, failed: Sequence[Task]) -> list[TaskAmendment]:
        head = self._workspace.branches.head(run)
        refused = self._refused_accounts()
        chosen = plan_rerun_round(failed, head, refused)
        return [
            *((task.id, _grant_rerun(head, None, refused)) for task in chosen.to_rerun),
            *((task.id, self._escalate(_no_rerun_reason(task))) for task in chosen.to_escalate),
        ]

    def _refused_accounts(self) -> frozenset[str]:
        """The accounts that only a person can mend, and that no task may try yet."""
        now = self._clock.now()
        return frozenset(
            one.name
            for one in self._store.accounts()
            if one.asking_task or (one.problem.needs_person and one.until > now)
        )

    def _escalate(self, why: str) -> Callable[[Task], Sequence[Event]]:
        return lambda task: (
            escalate_without_rerun(task, why, read_clock_and_chance(self._clock))
            if task.awaiting_rerun
            else ()
        )

    # -------------------------------------------------------------- groups

    def _recover_group(
        self, run: Run, group: Task, subtasks: Sequence[Task]
    ) -> list[TaskAmendment]:
        rows = [row for row in self._store.rows(run.id) if row.parent == group.id]
        done = [row for row in rows if row.state is State.DONE]
        failed = [task.id for task in subtasks]
        needs = self._store.needs(run.id)
        # Subtasks of an optional group are optional for the run, but required for the group.
        required = {row.id for row in rows if row.required or not group.spec.required}
        decision = decide_recovery(group, failed, [row.id for row in done], needs, required)
        strategy, reason = decision.strategy, _rationale(decision)
        started = RecoveryStarted(strategy, tuple(failed), tuple(row.id for row in done), reason)
        match strategy:
            case RecoveryStrategy.RETRY_FAILED_ONLY:
                head = self._workspace.branches.head(
                    self._workspace.groups.open_group_branch(run, group.id)
                )
                refused = self._refused_accounts()
                reruns = [(one, _grant_rerun(head, strategy, refused)) for one in failed]
                return [(group.id, lambda _: (started,)), *reruns]
            case RecoveryStrategy.ROLLBACK_AND_RETRY:
                return self._roll_back(run, group, done, subtasks, started)
            case RecoveryStrategy.PARTIAL_COMMIT:
                done_ids = {row.id for row in done}
                dropped = [
                    t for t in subtasks_to_leave_out(group, failed, needs) if t not in done_ids
                ]
                partial = RecoveryStarted(
                    strategy, tuple(dropped), started.succeeded_subtasks, started.why
                )
                return [(group.id, lambda _: (partial,)), *((one, _drop) for one in dropped)]
            case RecoveryStrategy.ESCALATE:
                escalations = [(one, self._escalate(decision.reason)) for one in failed]
                return [(group.id, lambda _: (started,)), *escalations]

    def _roll_back(
        self,
        run: Run,
        group: Task,
        done: Sequence[TaskRow],
        failed: Sequence[Task],
        started: RecoveryStarted,
    ) -> list[TaskAmendment]:
        """Move the branch first: after a crash in between, it is found rolled back.

        Read its head before reading the tasks again: what another worker landed after its own
        roll-back of the group must not be removed.
        """
        head = self._workspace.branches.head(
            self._workspace.groups.open_group_branch(run, group.id)
        )
        for task in (group, *failed):
            _refuse_if_changed(task)(self._store.task(task.id))
        before, to = self._workspace.groups.roll_back_group_branch(run, group.id, head)
        files = self._workspace.contents.files_between(before, to)
        restored = JournalNote(
            "SNAPSHOT_RESTORE",
            {
                "snapshot_id": before,
                "restored_files": [p for s, p in files if s != "D"][:FILES_LISTED_MAX],
                "deleted_files": [p for s, p in files if s == "D"][:FILES_LISTED_MAX],
            },
        )
        reason = "rolled back with its group"
        reverts = [(row.id, _revert_landing(to, reason)) for row in done]
        strategy = RecoveryStrategy.ROLLBACK_AND_RETRY
        refused = self._refused_accounts()
        reruns = [(task.id, _grant_rerun(to, strategy, refused)) for task in failed]
        return [(group.id, lambda _: (started, restored)), *reverts, *reruns]


def _refuse_if_changed(before: Task) -> Callable[[Task], Sequence[Event]]:
    def decide(now: Task) -> Sequence[Event]:
        if now != before:
            raise StaleDecision(before.id)
        return ()

    return decide


def _revert_landing(head: str, why: str) -> Callable[[Task], Sequence[Event]]:
    return lambda task: (LandingReverted(head, why),) if task.state is State.DONE else ()


def _grant_rerun(
    head: str, strategy: RecoveryStrategy | None, refused_accounts: Collection[str]
) -> Callable[[Task], Sequence[Event]]:
    inputs = {"head": head, "strategy": strategy.value if strategy else ""}
    reason = Rationale("8.3" if strategy else "8.4", inputs)

    def grant(task: Task) -> Sequence[Event]:
        # Where the chain has another agent, the one that failed makes no further attempt.
        index = next(iter(task.substitutes_without(refused_accounts)), None)
        return (RerunGranted(head, strategy, reason, index),) if task.awaiting_rerun else ()

    return grant


def _no_rerun_reason(task: Task) -> str:
    if not task.first_base:
        return "its work never started"
    return "no other task has landed since it started"


def _drop(task: Task) -> Sequence[Event]:
    reason = "dropped: its group lands without it"
    return () if task.state.is_final else (CancelRequested(reason), Cancelled(reason))


def _rationale(decision: RecoveryDecision) -> Rationale:
    return Rationale("8.3", {"reason": decision.reason}, (decision.otherwise,))
