"""Bisects the landings of a branch for the one that broke a check, in restored proof rooms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from yaoki.core.bisect import find_partners, first_red
from yaoki.core.decide.baseline import KNOWN_FAILURES, as_baseline, weigh
from yaoki.core.decide.waived_failures import is_explained
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    CheckRunPurpose,
    CheckSpec,
    Finding,
    Outcome,
    Run,
    Task,
    TaskId,
    Verdict,
)
from yaoki.core.model.check_types import FILE_CHECKS
from yaoki.core.model.stage_report import BisectResult
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.required_checks import CommitToVerify
from yaoki.engine.stages.proof_room import ProofSession, ProofSessions
from yaoki.engine.stages.secrets import passed_variables
from yaoki.ports import LandedStep, Workspace, commit_facts, without_undone


class InconclusiveCheck(Exception):
    """A check run gave no clear result, so no landing can be named."""


class LandingBisection:
    """Used by the verify stage when a final check or a group's own checks fail."""

    def __init__(
        self, workspace: Workspace, sessions: ProofSessions, find_task: Callable[[TaskId], Task]
    ) -> None:
        self._workspace, self._sessions, self._find_task = workspace, sessions, find_task

    def find_culprit(
        self, branch: Run, task: Task, verdict: Verdict, home: Path, claim: ClaimContext
    ) -> BisectResult | None:
        """The landing that broke the check; None unless one can be named with certainty."""
        check = _failing_check(task, verdict)
        steps: Sequence[LandedStep] = self._workspace.branches.list_landings(branch)
        if check is None or not steps:
            return None
        with self._sessions.session(branch, task, home, claim) as session:
            probe = _Probe(session, branch, task, check, home, claim)
            try:
                branch, steps = self._since_last_pass(branch, steps, check, probe)
                result = self._bisect(branch, steps, probe) if steps else None
                if result is None or not self._is_waived(result.culprit, check):
                    return result
                return self._waived_result(result, verdict, branch, steps, probe)
            except InconclusiveCheck:
                return None

    def find_waived(
        self,
        run: Run,
        task: Task,
        verdict: Verdict,
        commit: CommitToVerify,
        home: Path,
        claim: ClaimContext,
    ) -> tuple[str, ...]:
        """The tasks whose waiver explains why the first failing check fails on the commit.

        It does only if the check passes on the commit without their landings, and has no failure
        that it did not have at one of them.
        """
        check = _failing_check(task, verdict)
        if check is None:
            return ()
        steps = without_undone(self._workspace.branches.list_landings(run))
        steps = [step for step in steps if step.task_id not in commit.without]
        waived = [step for step in steps if self._is_waived(step.task_id, check)]
        rest = [step.commit for step in steps if step not in waived]
        other = self._workspace.branches.combine_landings(commit.base, rest) if waived else ""
        if not other:
            return ()
        with self._sessions.session(run, task, home, claim) as session:
            probe = _Probe(session, run, task, check, home, claim)
            try:
                if probe.fails(other) or not probe.is_explained(verdict, waived):
                    return ()
            except InconclusiveCheck:
                return ()
        return tuple(self._find_task(step.task_id).spec.name for step in waived)

    def is_finally_waived(
        self,
        run: Run,
        task: Task,
        verdict: Verdict,
        commit: CommitToVerify,
        home: Path,
        claim: ClaimContext,
    ) -> bool:
        """Did a person accept this failure of the first failing check on the head of the run?

        It fails there as well.  Where failures have names, there is no new one.  Otherwise the
        cause is not what the base got since the run began.
        """
        check, accepted = _failing_check(task, verdict), commit.final_waivers
        if check is None or check.name not in accepted.checks:
            return False
        with self._sessions.session(run, task, home, claim) as session:
            probe = _Probe(session, run, task, check, home, claim)
            try:
                before = probe.run(accepted.commit, "final-head")
                if before.outcome is not Outcome.FAILED:
                    return False
                failing = next(one for one in verdict.all_failing if one.check == check.name)
                weighed = weigh(failing, as_baseline(before), ())
                if KNOWN_FAILURES in weighed.params:
                    return weighed.outcome is Outcome.PASSED
                return not probe.fails(commit.base) or probe.fails(run.base)
            except InconclusiveCheck:
                return False

    def _since_last_pass(
        self, branch: Run, steps: Sequence[LandedStep], check: CheckSpec, probe: _Probe
    ) -> tuple[Run, Sequence[LandedStep]]:
        """The landings since the check last passed; none when it never did.

        A task's own check fails at the run's base and passed when that task landed.
        """
        if not probe.fails(branch.base):
            return branch, steps
        own = [n for n, step in enumerate(steps, start=1) if self._has_check(step, check)]
        for n in reversed(own):
            passed = steps[n - 1].branch_commit
            if not probe.fails(passed):
                later = [step for step in steps[n:] if step.branch_commit != passed]
                return replace(branch, base=passed), later
        return branch, ()

    def _has_check(self, step: LandedStep, check: CheckSpec) -> bool:
        task = self._find_task(step.task_id) if step.task_id else None
        return task is not None and any(own.name == check.name for own in task.spec.checks)

    def _is_waived(self, task_id: TaskId, check: CheckSpec) -> bool:
        return bool(task_id) and check.name in self._find_task(task_id).waivers

    def _waived_result(
        self,
        result: BisectResult,
        verdict: Verdict,
        branch: Run,
        steps: Sequence[LandedStep],
        probe: _Probe,
    ) -> BisectResult | None:
        """The waiver explains the failure only if the check passes without the waived landings, and
        has no failure that it did not have at one of them.

        Otherwise another landing may have broken it as well, and a person decides.
        """
        left = without_undone(steps)
        waived = [step for step in left if self._is_waived(step.task_id, probe.check)]
        rest = [step.commit for step in left if step not in waived]
        commit = self._workspace.branches.combine_landings(branch.base, rest)
        if not commit or probe.fails(commit) or not probe.is_explained(verdict, waived):
            return None
        return replace(result, waived_for=self._find_task(result.culprit).spec.name)

    def _bisect(
        self, branch: Run, steps: Sequence[LandedStep], probe: _Probe
    ) -> BisectResult | None:
        if any(step.undoes or step.joint_commit for step in steps):
            return self._bisect_rebuilt(branch, without_undone(steps), probe)
        number = first_red(len(steps), lambda n: probe.fails(steps[n - 1].commit))
        return self._result(branch, steps, number, probe)

    def _bisect_rebuilt(
        self, branch: Run, steps: Sequence[LandedStep], probe: _Probe
    ) -> BisectResult | None:
        """After an undo the history contains failing commits, and a joint commit lands several
        tasks at once, so the remaining landings are combined again, one by one.
        """

        def fails(n: int) -> bool:
            commit = self._workspace.branches.combine_landings(
                branch.base, [s.commit for s in steps[:n]]
            )
            if not commit:
                raise InconclusiveCheck
            return probe.fails(commit)

        if not steps or not fails(len(steps)):
            return None
        return self._result(branch, steps, first_red(len(steps), fails), probe)

    def _result(
        self, branch: Run, steps: Sequence[LandedStep], number: int, probe: _Probe
    ) -> BisectResult | None:
        culprit = steps[number - 1]
        waived = self._is_waived(culprit.task_id, probe.check)
        if not culprit.task_id or not (waived or self._find_task(culprit.task_id).can_be_reverted):
            # Naming it again and again would change nothing: a person decides.
            return None
        partners = find_partners(
            number, lambda chosen: self._fails_together(branch, steps, (*chosen, number), probe)
        )
        names = tuple(steps[n - 1].task_id for n in partners if steps[n - 1].task_id)
        return BisectResult(culprit.task_id, names, culprit.commit, probe.count)

    def _fails_together(
        self, branch: Run, steps: Sequence[LandedStep], numbers: Sequence[int], probe: _Probe
    ) -> bool | None:
        commits = [steps[n - 1].commit for n in numbers]
        commit = self._workspace.branches.combine_landings(branch.base, commits)
        return probe.fails(commit) if commit else None


class _Probe:
    """Runs one check on many commits, each judged once."""

    def __init__(
        self,
        session: ProofSession,
        branch: Run,
        task: Task,
        check: CheckSpec,
        home: Path,
        claim: ClaimContext,
    ) -> None:
        self._session, self.check = session, check
        self._home, self._claim, self._variables = home, claim, passed_variables(branch, task)
        self._results: dict[str, bool] = {}
        self.count = 0

    def fails(self, commit: str) -> bool:
        if commit not in self._results:
            self._results[commit] = self._fails_twice(commit)
        return self._results[commit]

    def _fails_twice(self, commit: str) -> bool:
        """A failure counts only if it happens twice: a flaky check must not name a culprit."""
        self.count += 1
        if self._outcome(commit, f"look-{self.count}") is Outcome.PASSED:
            return False
        if self._outcome(commit, f"look-{self.count}-again") is Outcome.PASSED:
            raise InconclusiveCheck
        return True

    def is_explained(self, verdict: Verdict, landings: Sequence[LandedStep]) -> bool:
        """Is each failure of the check in the verdict one of these landings, too?"""
        failing = next(one for one in verdict.all_failing if one.check == self.check.name)
        found = [
            as_baseline(self.run(step.branch_commit, f"landing-{n}"))
            for n, step in enumerate(landings)
        ]
        return is_explained(failing, found)

    def _outcome(self, commit: str, name: str) -> Outcome:
        return self.run(commit, name).outcome

    def run(self, commit: str, name: str) -> Finding:
        """One run of the check that passed or failed; its logs are in the folder `name`."""
        if self._claim.stop_reason():
            raise InconclusiveCheck
        facts = commit_facts(commit, self._claim.environment, self._variables)
        finding = self._session.run_check(
            self.check, commit, self._home / name, facts, purpose=CheckRunPurpose.BISECTION
        )
        if finding.outcome not in {Outcome.PASSED, Outcome.FAILED}:
            raise InconclusiveCheck
        return finding


def _failing_check(task: Task, verdict: Verdict) -> CheckSpec | None:
    finding = verdict.first_failing
    if finding is None or finding.outcome is not Outcome.FAILED:
        return None
    checks = (check for check in task.spec.checks if check.name == finding.check)
    return next((check for check in checks if check.type in FILE_CHECKS), None)
