"""Carries out undo requests: landed work is reverted on its branch, together with its dependents.

The request is already stored.  One commit without all of them is made and verified, then the branch
moves to it, then the tasks are recorded in one transaction.  After a crash in between, all of it is
repeated, and reverting twice equals reverting once.  A refusal leaves branch and tasks as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from yaoki.core.decide.baseline import fails_as_before
from yaoki.core.decide.rules import decide_after_revert
from yaoki.core.graph import downstream
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import Event, LandingReverted, Replaced
from yaoki.core.machine.evolution import evolve
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.request_events import UndoCompleted, UndoDropped, UndoRequested
from yaoki.core.model import Choice, Question, Run, State, Task, TaskId, Verdict
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.engine.required_checks import (
    CheckSet,
    CommitToVerify,
    RequiredChecks,
    VerifyCommit,
    describe_first_failure,
    is_final_check,
    waiver_notes,
)
from yaoki.errors import NotNow
from yaoki.ports import Clock, CompletionStore, Workspace


class RevertStep:
    """Called when no task of a run can be claimed."""

    def __init__(
        self, store: CompletionStore, workspace: Workspace, clock: Clock, verify: VerifyCommit
    ) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock
        self._verify, self._required_checks = verify, RequiredChecks(store)

    def advance(self, run: Run) -> bool:
        """True when a request was carried out, or refused and dropped."""
        requested = self._store.tasks_to_undo(run.id)
        for task in requested:
            self._revert(run, task)
        return bool(requested)

    def _revert(self, run: Run, task: Task) -> None:
        branch = self._workspace.groups.open_group_branch(run, task.parent) if task.parent else run
        dependents = self.dependents_done(task)
        reverted = (*dependents, task)
        landings = {one.id: one.landed_commit for one in reverted if _has_changes(one)}
        approve = self._approval(run, task, frozenset(one.id for one in reverted))
        try:
            head = self._workspace.landings.undo(branch, landings, approve)
        except NotNow as refused:
            if not self._are_reverted(branch, landings.values()):
                dropped = _drop(task, refused)
                self._store.amend(task.id, lambda t: dropped if t.undo_requested else ())
                return
            head = self._workspace.branches.head(branch)
        changes = [(one.id, _revert_landing(one, head, task.id)) for one in dependents]
        changes += [
            (row.id, _supersede()) for row in self._store.rows(run.id) if is_final_check(row)
        ]

        def complete(now: Task) -> Sequence[Event]:
            same = now.state is State.DONE and now.landed_commit == task.landed_commit
            return self._undo_events(run, now, task, head) if same else ()

        self._store.amend_all([*changes, (task.id, complete)])

    def _are_reverted(self, branch: Run, landings: Collection[str]) -> bool:
        """Has another worker reverted them meanwhile?"""
        steps = self._workspace.branches.list_landings(branch)
        return {step.undoes for step in steps}.issuperset(landings)

    def _approval(
        self, run: Run, task: Task, removed: frozenset[TaskId]
    ) -> Callable[[str, str], None]:
        """Verify a revert like a landing: the remaining tasks' checks must still pass.

        Skipped on a group branch, which is verified as a whole before it lands.
        """

        def approve(commit: str, head: str) -> None:
            remaining = self._required_checks.of_landed(run, without=removed)
            if task.parent or not remaining.checks:
                return
            goal = f"Verify the run branch without {task.spec.name}."
            verdict = self._verify_checks(run, remaining, goal, commit, head, removed)
            blamed = task.revert_cause is not None
            if not verdict.passed and not (
                blamed and self._failed_before(run, remaining, verdict, head)
            ):
                raise NotNow(
                    f"without {task.spec.name} the rest fails: {describe_first_failure(verdict)}",
                    hint="also undo the tasks that need it; to see what landed after it: "
                    f"git log {run.branch}",
                )
            for words in waiver_notes(verdict, f"{run.branch} without {task.spec.name}"):
                self._store.note(run.id, "WARNING", {"message": words})

        return approve

    def _failed_before(self, run: Run, checks: CheckSet, verdict: Verdict, head: str) -> bool:
        """Does every failing check fail on the head as well?

        Then the revert of a blamed landing breaks nothing: another landing has broken the check
        too, and the next final check finds that one.
        """
        failing = {one.check: one for one in verdict.findings if not one.is_acceptable}
        again = replace(checks, checks=tuple(c for c in checks.checks if c.name in failing))
        if not failing or len(again.checks) < len(failing):
            return False
        goal = "Verify the run branch before the revert."
        before = self._verify_checks(run, again, goal, head, head, frozenset())
        known = {one.check: one for one in before.findings}
        return all(
            name in known and fails_as_before(now, known[name]) for name, now in failing.items()
        )

    def _verify_checks(
        self,
        run: Run,
        checks: CheckSet,
        goal: str,
        commit: str,
        onto: str,
        removed: frozenset[TaskId],
    ) -> Verdict:
        spec = checks.as_task_spec(run, "undo", goal)
        waivers = self._required_checks.final_waivers(run)
        to_verify = CommitToVerify(commit, onto, run.base, removed, waivers)
        return self._verify(
            run, spec, to_verify, lambda name, data: self._store.note(run.id, name, data)
        )

    def dependents_done(self, task: Task) -> list[Task]:
        """The done dependents, the furthest first: each is reverted before what it depends on."""
        below = downstream(task.id, self._store.needs(task.run_id))
        tasks = [self._store.task(one) for one in reversed(below)]
        return [t for t in tasks if t.state is State.DONE and t.parent == task.parent]

    def _undo_events(self, run: Run, now: Task, asked: Task, head: str) -> Sequence[Event]:
        """The branch has been reverted, so this is recorded also if another worker, for which it
        was refused, has dropped the request of the task as it was when `asked`.
        """
        if not now.undo_requested:
            again = UndoRequested(asked.landed_commit, asked.revert_cause)
            return (again, *self._undo_events(run, evolve(now, again), asked, head))
        if now.revert_cause is None:
            question = f"{now.spec.name} was undone on {run.branch}. Try again or abort?"
            asked_again = Question(question, (Choice.RETRY, Choice.ABORT))
            return (UndoCompleted(head, asked_again, feedback_is_void=True),)
        reverted = LandingReverted(head, "a check has failed since it landed")
        return (
            reverted,
            *decide_after_revert(evolve(now, reverted), read_clock_and_chance(self._clock)),
        )


def _drop(task: Task, refused: NotNow) -> Sequence[Event]:
    """The landing stays.  The next final check fails like the one before and asks a person, who
    needs to know why the blamed task was not reverted.
    """
    cause = task.revert_cause
    if cause is None:
        return (UndoDropped(refused.sentence, refused.hint, task.landed_commit),)
    dropped = UndoDropped(refused.sentence, refused.hint)
    why = f"it was not reverted: {refused.sentence}; {refused.hint}"
    words = f"{cause.check} has failed since it landed, but {why}"
    return (dropped, JournalNote("WARNING", {"message": words}))


def _has_changes(task: Task) -> bool:
    """Did the landing of this task move the branch?"""
    return task.landed_commit != task.work.onto


def _supersede() -> Callable[[Task], Sequence[Event]]:
    """A final check of a commit that is no longer the head is replaced by a new one."""
    reason = "work was undone since: the final check runs again"

    def decide(now: Task) -> Sequence[Event]:
        return (Replaced("", reason),) if now.state is State.DONE else ()

    return decide


def _revert_landing(task: Task, head: str, cause: TaskId) -> Callable[[Task], Sequence[Event]]:
    """Only this landing: another worker may have reverted it, and it may have landed again."""
    reason = f"{cause}, on which it depends, was undone"

    def decide(now: Task) -> Sequence[Event]:
        same = now.state is State.DONE and now.landed_commit == task.landed_commit
        return (LandingReverted(head, reason),) if same else ()

    return decide
