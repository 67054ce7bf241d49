"""The required checks of everything that has landed, which must pass on the head of a run.

Each task is verified when it lands, but a later landing may break an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from yaoki.core.decide.baseline import command_key
from yaoki.core.decide.integrity import INTEGRITY_CHECK
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import (
    FINAL_CHECK_NAME,
    BaselineMode,
    CheckSpec,
    Finding,
    Outcome,
    RetryPolicy,
    Run,
    State,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
    Verdict,
)
from yaoki.core.model.check_types import HEAD_CHECKS
from yaoki.engine.claim_context import WriteNote
from yaoki.ports import BaselineReads, RevertedLanding, TaskRow


@dataclass(frozen=True, slots=True)
class FinalWaivers:
    """The checks that a person waived for the final check of a run, on the head `commit`."""

    commit: str = ""
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitToVerify:
    """A commit that no task made: a merge or an undo.

    It consists of `base` and the landings of the run except those of the tasks `without`.
    `onto` is its parent.  `reverted` are landings of `base` that a merge takes back.
    """

    commit: str
    onto: str
    base: str
    without: frozenset[TaskId] = frozenset()
    final_waivers: FinalWaivers = FinalWaivers()
    reverted: tuple[RevertedLanding, ...] = ()


# Verifies a commit of a run with the checks of a task; the last argument writes to the journal.
VerifyCommit = Callable[[Run, TaskSpec, CommitToVerify, WriteNote], Verdict]


@dataclass(frozen=True, slots=True)
class CheckSet:
    """Checks, and the set-up they need."""

    checks: tuple[CheckSpec, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    setup_inputs: tuple[str, ...] = ()

    def as_task_spec(self, run: Run, name: str, goal: str) -> TaskSpec:
        """A task that only checks."""
        return TaskSpec(
            name=name,
            goal=goal,
            kind=TaskKind.CHECK,
            checks=tuple(replace(check, required=True) for check in self.checks),
            policy=run.catalogue.policies.get("default", RetryPolicy(rules={})),
            setup=self.setup,
            setup_inputs=self.setup_inputs,
            language=run.language,
        )


class RequiredChecks:
    """Reads from the store which checks are required, and which verdicts are known."""

    def __init__(self, store: BaselineReads) -> None:
        self._store = store

    def of_landed(
        self, run: Run, without: frozenset[TaskId] = frozenset(), also: Sequence[Task] = ()
    ) -> CheckSet:
        """The checks of all landed tasks except `without`, the tasks about to be undone, and those
        of other tasks.
        """
        tasks = [*self._landed_tasks(run, without), *also]
        checks = {check.name: check for task in tasks for check in _repeatable(task)}
        setup = dict.fromkeys(command for task in tasks for command in task.spec.setup)
        inputs = dict.fromkeys(glob for task in tasks for glob in task.spec.setup_inputs)
        return CheckSet(tuple(checks.values()), tuple(setup), tuple(inputs))

    def not_known_to_pass(
        self, run: Run, commit: str, final_checks: Sequence[str] = ()
    ) -> CheckSet:
        """The required and the final checks without a stored pass on this commit."""
        required = self.of_landed(run)
        named = {name: run.checks[name] for name in final_checks}
        wanted = {**{check.name: check for check in required.checks}, **named}
        checks = tuple(
            check for check in wanted.values() if not self.is_known_to_pass(check, required, commit)
        )
        return replace(required, checks=checks)

    def is_known_to_pass(self, check: CheckSpec, required: CheckSet, commit: str) -> bool:
        """A check with a baseline is never known: its verdict depends on the base as well."""
        stored = self._store.baseline(commit, command_key(check, required.setup))
        passed = stored is not None and stored.outcome is Outcome.PASSED
        return passed and check.baseline is not BaselineMode.KNOWN

    def final_waivers(self, run: Run) -> FinalWaivers:
        """The waivers of the last passed final check; none once its commit was reverted.

        A check that was revised since then is a new check, which no person has waived.
        """
        last = self._last_final_check(run)
        if last is None:
            return FinalWaivers()
        checked = {check.name: check for check in last.spec.checks}
        kept = (n for n in last.waivers if _is_same(checked.get(n), run.revised_checks.get(n)))
        return FinalWaivers(last.landed_commit, tuple(kept))

    def unproven_since_revision(self, run: Run, head: str) -> CheckSet:
        """The checks of a DONE run that a later revision brought: nothing has run them on its head.

        The final check of the head has run the others, or was not needed for them.
        """
        if run.revision == 1:
            return CheckSet()
        unknown = self.not_known_to_pass(run, head, run.done_when)
        last = self._last_final_check(run)
        if last is None or last.landed_commit != head:
            return unknown
        if not set(unknown.setup) <= set(last.spec.setup):
            return unknown
        missing = (c for c in unknown.checks if replace(c, required=True) not in last.spec.checks)
        return replace(unknown, checks=tuple(missing))

    def _last_final_check(self, run: Run) -> Task | None:
        """The newest final check, if it passed."""
        rows = [row for row in self._store.rows(run.id) if is_final_check(row)]
        passed = rows and rows[-1].state is State.DONE
        return self._store.task(rows[-1].id) if passed else None

    def allow_weaker_tests(self, run: Run) -> bool:
        """Has a task landed that may delete tests, by its plan or by a person's waiver?"""
        return any(
            task.spec.allow_weaker_tests or INTEGRITY_CHECK in task.waivers
            for task in self._landed_tasks(run, frozenset())
        )

    def _landed_tasks(self, run: Run, without: frozenset[TaskId]) -> Iterator[Task]:
        rows = self._store.rows(run.id)
        skipped = without | {row.id for row in rows if is_final_check(row)}
        for row in rows:
            if row.state is State.DONE and row.landed_commit and row.id not in skipped:
                yield self._store.task(row.id)


def is_final_check(row: TaskRow) -> bool:
    """A final check of the run, which lands no commit of its own."""
    return row.kind == TaskKind.CHECK and row.name.startswith(FINAL_CHECK_NAME)


def _is_same(checked: CheckSpec | None, revised: CheckSpec | None) -> bool:
    """A final check requires all of its checks."""
    return revised is None or checked == replace(revised, required=True)


def _repeatable(task: Task) -> Iterator[CheckSpec]:
    """The checks that can be repeated, except those that a person waived or the plan
    made optional.
    """
    for check in task.spec.checks:
        if check.required and check.type in HEAD_CHECKS and check.name not in task.waivers:
            yield check


def waiver_notes(verdict: Verdict, place: str) -> list[str]:
    """A sentence for each check that counts as waived on a commit that no task made."""
    waived = (one for one in verdict.findings if one.outcome is Outcome.WAIVED)
    return [f"check {one.check} fails on {place} and was {one.message}" for one in waived]


def describe_first_failure(verdict: Verdict) -> str:
    return describe_failure(verdict.first_failing)


def describe_failure(finding: Finding | None) -> str:
    return f"check {finding.check}: {finding.message}" if finding else "no check passed"
