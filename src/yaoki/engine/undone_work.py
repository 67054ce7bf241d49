"""The work that the run branch has taken back: what its tasks had checked, and what it landed."""

from __future__ import annotations

from itertools import groupby

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Run, State, Task
from yaoki.engine.required_checks import (
    CheckSet,
    CommitToVerify,
    RequiredChecks,
    VerifyCommit,
)
from yaoki.ports import CompletionStore, RevertedLanding, Workspace


class UndoneWork:
    """Used by `MergeCommand`."""

    def __init__(self, store: CompletionStore, workspace: Workspace, verify: VerifyCommit) -> None:
        self._store, self._workspace, self._verify = store, workspace, verify
        self._required_checks = RequiredChecks(store)

    def checks(self, run: Run) -> CheckSet:
        """The checks of the tasks that were undone, besides those of landed work.

        A task that has landed again is one of these.
        """
        landed = self._required_checks.of_landed(run)
        every = self._required_checks.of_landed(run, also=self._tasks(run))
        # A task that was given up as well keeps the checks that it had; the run has newer ones.
        checks = tuple(run.revised_checks.get(one.name, one) for one in every.checks)
        return self.add_setup(run, replace(landed, checks=checks))

    def add_setup(self, run: Run, checks: CheckSet) -> CheckSet:
        """These checks, also with the set-up of the undone tasks that could start again now.

        The set-up of the run does not end with the tasks that have it.  That of a task whose needs
        are undone may read their work.
        """
        needs = self._store.needs(run.id)
        done = {row.id for row in self._store.rows(run.id) if row.state is State.DONE}
        specs = [task.spec for task in self._tasks(run) if done.issuperset(needs.get(task.id, ()))]
        setup = (*checks.setup, *(command for spec in specs for command in spec.setup))
        inputs = (*checks.setup_inputs, *(glob for spec in specs for glob in spec.setup_inputs))
        return replace(
            checks,
            setup=tuple(dict.fromkeys(setup)),
            setup_inputs=tuple(dict.fromkeys(inputs)),
        )

    def _tasks(self, run: Run) -> list[Task]:
        steps = self._workspace.branches.list_landings(run)
        undone = {step.undoes for step in steps}
        reverted = {step.task_id for step in steps if step.commit in undone}
        rows = self._store.rows(run.id)
        undone_ids = [row.id for row in rows if row.id in reverted and not row.landed_commit]
        return [self._store.task(one) for one in undone_ids]

    def landings_taken_back(self, run: Run, onto: str) -> tuple[RevertedLanding, ...]:
        """The landings that the commit `onto` contains and that a merge of the run reverts there.

        Where others landed with the same commit, it is made again with these alone.
        """
        branches = self._workspace.branches
        new = branches.list_landings(replace(run, base=onto))
        undone = {step.undoes for step in new} - {step.commit for step in new}
        found, before, steps = [], run.base, branches.list_landings(run)
        for commit, group in groupby(steps, key=lambda step: step.branch_commit):
            landings = [step for step in group if step.task_id]
            kept = [step.commit for step in landings if step.commit not in undone]
            if len(kept) < len(landings):
                without = branches.combine_landings(before, kept)
                found += [RevertedLanding(commit, without)] if without else []
            before = commit
        return tuple(found)

    def keep_telling(self, run: Run, checks: CheckSet) -> CheckSet:
        """Those that pass where the run began: they can also pass without the undone work.

        The others prove that work alone, so their failure without it says nothing.
        """
        if not checks.checks:
            return checks
        spec = checks.as_task_spec(run, "undone", "Verify the base without the undone work.")
        verdict = self._verify(
            run,
            spec,
            CommitToVerify(run.base, run.base, run.base),
            lambda name, data: self._store.note(run.id, name, data),
        )
        passing = {finding.check for finding in verdict.findings if finding.is_acceptable}
        return replace(checks, checks=tuple(c for c in checks.checks if c.name in passing))
