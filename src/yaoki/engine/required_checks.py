"""What must hold on the head of a run: the required checks of everything that has landed.

Each task is proven when it lands; a later landing may break what an earlier one proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from yaoki.core.decide.baseline import KNOWN_FAILURES, command_key
from yaoki.core.model import (
    FINAL_CHECK_NAME,
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
from yaoki.ports import BaselineReads, TaskRow

# A judge costs money and may change its mind; what git knows of a task is not of the head.
REPEATABLE_CHECK_TYPES = frozenset({"command", "file", "python"})
# Proves a commit of a run with the checks of a task: (run, task, commit, what it builds on).
VerifyCommit = Callable[[Run, TaskSpec, str, str], Verdict]


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
    """Reads the store: which checks stand, and of which the verdict on a commit is known."""

    def __init__(self, store: BaselineReads) -> None:
        self._store = store

    def of_landed(self, run: Run, without: frozenset[TaskId] = frozenset()) -> CheckSet:
        """The checks of what has landed; `without` are tasks whose work is to be taken back."""
        tasks = list(self._landed(run, without))
        named = {check.name: check for task in tasks for check in _lasting(task)}
        setup = dict.fromkeys(command for task in tasks for command in task.spec.setup)
        inputs = dict.fromkeys(glob for task in tasks for glob in task.spec.setup_inputs)
        return CheckSet(tuple(named.values()), tuple(setup), tuple(inputs))

    def not_known_to_pass(self, run: Run, commit: str) -> CheckSet:
        """Those of which nobody knows that they pass on this commit."""
        standing = self.of_landed(run)
        open_ = tuple(c for c in standing.checks if not self.is_known_to_pass(c, standing, commit))
        return replace(standing, checks=open_)

    def is_known_to_pass(self, check: CheckSpec, standing: CheckSet, commit: str) -> bool:
        """A guard is never known: what it says depends on the base as well."""
        found = self._store.baseline(commit, command_key(check, standing.setup))
        passed = found is not None and found.outcome is Outcome.PASSED
        return passed and check.baseline != KNOWN_FAILURES

    def _landed(self, run: Run, without: frozenset[TaskId]) -> Iterator[Task]:
        rows = self._store.rows(run.id)
        proofs = {row.id for row in rows if is_final_check(row)}
        for row in rows:
            if row.state is State.DONE and row.landed_commit and row.id not in without | proofs:
                yield self._store.task(row.id)


def is_final_check(row: TaskRow) -> bool:
    """A proof of the whole run, which lands nothing of its own."""
    return row.kind == TaskKind.CHECK and row.name.startswith(FINAL_CHECK_NAME)


def _lasting(task: Task) -> Iterator[CheckSpec]:
    """Not what a person waived, nor what the plan lets pass."""
    for check in task.spec.checks:
        if (
            check.required
            and check.type in REPEATABLE_CHECK_TYPES
            and check.name not in task.waivers
        ):
            yield check


def describe_first_failure(verdict: Verdict) -> str:
    """The first thing that does not hold, in a few words."""
    finding: Finding | None = verdict.first_failing
    return f"check {finding.check}: {finding.message}" if finding else "no check passed"
