"""What must hold on the head of a run: the required checks of everything that has landed.

Each task is proven when it lands; a later landing may break what an earlier one proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from yaoki.core.decide.baseline import KNOWN, command_key
from yaoki.core.model import (
    DONE_WHEN,
    CheckSpec,
    Finding,
    Outcome,
    Policy,
    Run,
    Spec,
    State,
    Task,
    TaskId,
    TaskKind,
    Verdict,
)
from yaoki.ports import Row, Store

# A judge costs money and may change its mind; what git knows of a task is not of the head.
REPEATABLE = frozenset({"command", "file", "python"})
# Proves a commit of a run with the checks of a task: (run, task, commit, what it builds on).
Prove = Callable[[Run, Spec, str, str], Verdict]


@dataclass(frozen=True, slots=True)
class Standing:
    """Checks, and the set-up they need."""

    checks: tuple[CheckSpec, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    setup_inputs: tuple[str, ...] = ()

    def spec(self, run: Run, name: str, goal: str) -> Spec:
        """A task that only checks."""
        return Spec(
            name=name,
            goal=goal,
            kind=TaskKind.CHECK,
            checks=tuple(replace(check, required=True) for check in self.checks),
            policy=run.catalogue.policies.get("default", Policy(rules={})),
            setup=self.setup,
            setup_inputs=self.setup_inputs,
            language=run.language,
        )


class StandingChecks:
    """Reads the store: which checks stand, and of which the verdict on a commit is known."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, run: Run, without: frozenset[TaskId] = frozenset()) -> Standing:
        """The checks of what has landed; `without` are tasks whose work is to be taken back."""
        tasks = list(self._landed(run, without))
        named = {check.name: check for task in tasks for check in _lasting(task)}
        setup = dict.fromkeys(command for task in tasks for command in task.spec.setup)
        inputs = dict.fromkeys(glob for task in tasks for glob in task.spec.setup_inputs)
        return Standing(tuple(named.values()), tuple(setup), tuple(inputs))

    def unproven(self, run: Run, commit: str) -> Standing:
        """Those of which nobody knows that they pass on this commit."""
        standing = self.of(run)
        open_ = tuple(c for c in standing.checks if not self.known(c, standing, commit))
        return replace(standing, checks=open_)

    def known(self, check: CheckSpec, standing: Standing, commit: str) -> bool:
        """A guard is never known: what it says depends on the base as well."""
        found = self._store.baseline(commit, command_key(check, standing.setup))
        passed = found is not None and found.outcome is Outcome.PASSED
        return passed and check.baseline != KNOWN

    def _landed(self, run: Run, without: frozenset[TaskId]) -> Iterator[Task]:
        rows = self._store.rows(run.id)
        proofs = {row.id for row in rows if is_proof(row)}
        for row in rows:
            if row.state is State.DONE and row.landed and row.id not in without | proofs:
                yield self._store.task(row.id)


def is_proof(row: Row) -> bool:
    """A proof of the whole run, which lands nothing of its own."""
    return row.kind == TaskKind.CHECK and row.name.startswith(DONE_WHEN)


def _lasting(task: Task) -> Iterator[CheckSpec]:
    """Not what a person waived, nor what the plan lets pass."""
    for check in task.spec.checks:
        if check.required and check.type in REPEATABLE and check.name not in task.waivers:
            yield check


def failing_words(verdict: Verdict) -> str:
    """The first thing that does not hold, in a few words."""
    finding: Finding | None = verdict.failing
    return f"check {finding.check}: {finding.message}" if finding else "no check passed"
