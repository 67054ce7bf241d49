"""Verifies one exact commit: the built-in rules for any change, then every check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from yaoki.core.decide.baseline import PASSED, weigh
from yaoki.core.decide.integrity import INTEGRITY_CHECK
from yaoki.core.decide.same_at_base import SAME_AT_BASE
from yaoki.core.decide.waived_failures import describe_waiver
from yaoki.core.forgotten_files import find_forgotten_files
from yaoki.core.hidden_checks import conceal_details
from yaoki.core.landing_notes import landing_notes
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    FINAL_CHECK_NAME,
    BaselineMode,
    CheckType,
    Finding,
    GitCheck,
    Outcome,
    Run,
    Task,
    TaskKind,
)
from yaoki.core.model.change import Change, ChangeContext
from yaoki.core.model.check_definition import DefinitionReview
from yaoki.core.model.check_types import AGENT_CHECKS, PROGRAM_CHECKS
from yaoki.core.model.outcome import DOUBTFUL_PARAM, OUTSIDE_CHANGE_PARAM, PASSED_ON_BASE_PARAM
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stages.baseline_comparison import BaselineComparison
from yaoki.engine.stages.change_review import ChangeReview, ReviewedChange
from yaoki.engine.stages.check_definition import DefinitionGuard
from yaoki.engine.stages.check_durations import CheckDurations
from yaoki.engine.stages.check_rerun import CheckRerun
from yaoki.engine.stages.missing_files import MissingFiles
from yaoki.engine.stages.missing_setup import MissingSetup
from yaoki.engine.stages.mutants import MutantRuns
from yaoki.engine.stages.negative_control import NegativeControl
from yaoki.engine.stages.own_findings import (
    report_finding,
    trivial_change_finding,
    unfit_finding,
    waived_finding,
    waived_rule_findings,
)
from yaoki.engine.stages.proof_room import SETUP, ProofCheck, ProofSession, ProofSessions
from yaoki.engine.stages.red_first import RedFirst
from yaoki.engine.stages.secrets import passed_variables
from yaoki.engine.stages.suppressions import Suppressions
from yaoki.engine.stages.verdict_reuse import VerdictReuse
from yaoki.engine.stages.waived_landings import WaivedLandings
from yaoki.engine.stages.wrong_values import WrongValues
from yaoki.ports import (
    WORKTREE_LINK,
    Candidate,
    Checker,
    CheckFacts,
    ProofStore,
    QualityCriteria,
    RevertedLanding,
    Workspace,
)

_ACCEPTED = frozenset({Outcome.PASSED, Outcome.WAIVED, Outcome.FLAKY})
# Checks that may tell a change of comments from none.
_TELLING = frozenset({CheckType.COMMAND, CheckType.FILE})


class CandidateVerifier:
    """Used by the verify stage."""

    def __init__(
        self,
        workspace: Workspace,
        checker: Checker,
        sessions: ProofSessions,
        baselines: ProofStore,
        quality: QualityCriteria,
        work_started_at: Callable[[Task], float],
        may_weaken_tests: Callable[[Run], bool],
        waived_landings: WaivedLandings,
        check_rerun: CheckRerun,
    ) -> None:
        self._may_weaken_tests = may_weaken_tests
        self._workspace, self._checker = workspace, checker
        self._comparison = BaselineComparison(baselines)
        self._waived_landings = waived_landings
        self._sessions, self._quality = sessions, quality
        self._definitions = DefinitionGuard(workspace, quality)
        self._review = ChangeReview(workspace, checker, quality, self._definitions)
        self._red_first = RedFirst(workspace, quality, self._comparison)
        self._mutants = MutantRuns(quality, checker)
        self._negative_control = NegativeControl(workspace, quality)
        self._wrong_values = WrongValues(workspace, quality)
        self._suppressions = Suppressions(workspace, quality, self._comparison)
        self._check_rerun = check_rerun
        self._missing_files = MissingFiles(workspace, work_started_at)
        self._missing_setup = MissingSetup(workspace)
        self._durations = CheckDurations(baselines)
        self._reuse = VerdictReuse(workspace, checker, baselines, baselines)

    def verify(
        self, run: Run, task: Task, candidate: Candidate, home: Path, claim: ClaimContext
    ) -> tuple[Finding, ...]:
        """All findings, so that one attempt, or one answer, can regard all of them.

        The checks run also on a change that is rejected itself, if that is safe.
        """
        reviewed = self._review.read(run, task, candidate)
        return self.verify_reviewed(run, task, candidate, reviewed, home, claim)

    def review(self, run: Run, task: Task, candidate: Candidate) -> ReviewedChange:
        """Read the change, before any check runs."""
        return self._review.read(run, task, candidate)

    def verify_reviewed(
        self,
        run: Run,
        task: Task,
        candidate: Candidate,
        reviewed: ReviewedChange,
        home: Path,
        claim: ClaimContext,
    ) -> tuple[Finding, ...]:
        if reviewed.findings and not reviewed.is_checked:
            return reviewed.findings
        with self._sessions.session(run, task, home, claim) as session:
            found = self._run_checks(run, task, candidate, home, claim, session, reviewed)
            checked = tuple(_conceal(task, finding) for finding in found)
        if reviewed.findings:
            return (*reviewed.findings, *waived_rule_findings(task), *checked)
        if reviewed.by_agent and all(finding.is_acceptable for finding in checked):
            for words in self._landing_notes(task, candidate, reviewed):
                claim.warn(words)
            checked = tuple(self._mark_same_at_base(task, candidate, reviewed, checked))
        return (
            *waived_rule_findings(task),
            *checked,
            *self._false_claims(task, candidate, checked),
        )

    def _mark_same_at_base(
        self,
        task: Task,
        candidate: Candidate,
        reviewed: ReviewedChange,
        checked: Sequence[Finding],
    ) -> Iterator[Finding]:
        """Mark the checks that are known to pass without the work.

        Nothing is known where it changes tests or the definition of a check: those of the base are
        other ones.  The verdict of an agent is about the work itself.
        """
        specs = {spec.name: spec for spec in task.spec.checks if spec.type not in AGENT_CHECKS}
        if not self._has_checks_of_base(reviewed):
            specs = {}
        before = candidate.predecessor or candidate.onto
        for finding in checked:
            spec = specs.get(finding.check)
            same = spec and self._comparison.passed_before(spec, task, finding, before)
            params = {**finding.params, SAME_AT_BASE: True} if same else finding.params
            yield replace(finding, params=params)

    def _has_checks_of_base(self, reviewed: ReviewedChange) -> bool:
        tests = self._quality.list_test_files(reviewed.changes)
        return not tests and not reviewed.definition.undecided

    def _landing_notes(
        self, task: Task, candidate: Candidate, reviewed: ReviewedChange
    ) -> Iterator[str]:
        contents = self._workspace.contents
        sizes = contents.file_sizes(candidate.commit, candidate.changed)
        base = contents.tree_view(candidate.onto).paths
        forgotten = find_forgotten_files(sizes, base, task.spec.goal, task.spec.scope)
        yield from landing_notes(reviewed.changes, sizes, forgotten)
        yield from self._suppressions.notes(task, reviewed.changes, candidate.onto)

    def _false_claims(
        self, task: Task, candidate: Candidate, checked: tuple[Finding, ...]
    ) -> tuple[Finding, ...]:
        """Q5 and Q6: nothing was changed and a check fails, whatever the agent claims.

        A check that could not run says nothing about that, and only a person can help it.
        """
        bad = [finding for finding in checked if not finding.is_acceptable]
        failing = any(finding.outcome is Outcome.FAILED for finding in bad)
        if not task.spec.kind.is_change or candidate.changed or not failing:
            return ()
        output = task.work.exit.output_tail if task.work.exit else ""
        context = ChangeContext(
            agent_output=output, changed=False, checks_passed=False, kind=task.spec.kind
        )
        findings = self._quality.judge_criteria((), context, exists=lambda _: True)
        criteria = {"Q5", "Q6"}.intersection(task.spec.quality).difference(task.waivers)
        return tuple(finding for finding in findings if finding.check in criteria)

    def _run_checks(
        self,
        run: Run,
        task: Task,
        candidate: Candidate,
        home: Path,
        claim: ClaimContext,
        session: ProofSession,
        reviewed: ReviewedChange,
    ) -> Iterator[Finding]:
        """Run every check, so that one attempt can fix all that fails.

        A judge costs an agent run and reads the results of the other checks, so it is not asked
        about work that has already failed.
        """
        if task.spec.kind is TaskKind.REPORT:
            yield report_finding(task, candidate)
        findings: list[Finding] = []
        checked: list[tuple[ProofCheck, Finding]] = []
        required: list[tuple[ProofCheck, Finding]] = []
        facts, failed = self._facts(run, task, candidate, claim), bool(reviewed.findings)
        for n, spec in self._durations.in_order(task, facts.onto):
            if spec.name in task.waivers:
                yield waived_finding(spec.name)
                continue
            if failed and (spec.type in AGENT_CHECKS or claim.stop_reason()):
                return
            check = ProofCheck(task, spec, home / f"{n}-{spec.name}", claim, session)
            with self._comparison.proving(check, facts):
                seen = replace(facts, findings=tuple(findings))
                finding = self._prove(run, check, seen, reviewed)
                if finding.is_acceptable and finding.check != SETUP and not reviewed.findings:
                    self._comparison.save_pass(check, finding, facts.commit)
            checked.append((check, finding))
            shown = conceal_details(finding, spec)
            if shown.fault:
                claim.warn(f"check {spec.name}: its output was not understood: {shown.fault}")
            if shown.outcome is Outcome.WAIVED:
                claim.warn(f"check {spec.name} was {describe_waiver(shown)}")
            findings.append(shown)
            yield shown
            if finding.check == SETUP:
                return
            if not finding.is_acceptable:
                failed = True
                continue
            fewer = self._fewer_tests(run, check, finding, facts, reviewed, candidate.reverted)
            if fewer is not None:
                failed = True
                yield conceal_details(fewer, spec)
            elif spec.required and finding.outcome in _ACCEPTED:
                required.append((check, finding))
        if failed:
            return
        yield from self._comparison.unmatched_fixes(
            run, task, findings, home, facts, claim, session
        )
        proving = [one for one in required if one[0].spec.type is CheckType.COMMAND]
        if reviewed.by_agent:
            for control in self._controls(task, proving, reviewed.changes, facts):
                yield control
                if not control.is_acceptable:
                    return
        passed = [one for one in proving if one[1].outcome is not Outcome.FLAKY]
        proofs = [check for check, _ in passed]
        yield from self._definitions.check_with_base_definition(
            proofs, reviewed.definition, facts, partial(self._weigh, run)
        )
        telling = [one for one in required if one[0].spec.type in _TELLING]
        if reviewed.is_trivial and not self._comparison.change_matters(task, telling, facts):
            yield trivial_change_finding()
        if reviewed.by_agent:
            shown_checks = [one for one in passed if one[0].spec.hidden is None]
            yield from self._red_first.findings(task, shown_checks, reviewed.changes, facts)
            yield from self._mutants.findings(task, passed, reviewed.changes, facts)
            if self._has_checks_of_base(reviewed):
                before = candidate.predecessor or candidate.onto
                self._comparison.learn_whether_same(checked, facts, before)

    def _controls(
        self,
        task: Task,
        passed: Sequence[tuple[ProofCheck, Finding]],
        changes: Sequence[Change],
        facts: CheckFacts,
    ) -> Iterator[Finding]:
        yield from self._suppressions.findings(task, passed, changes, facts)
        yield from self._negative_control.findings(task, passed, changes, facts)
        yield from self._wrong_values.findings(task, passed, changes, facts)

    def _fewer_tests(
        self,
        run: Run,
        check: ProofCheck,
        finding: Finding,
        facts: CheckFacts,
        reviewed: ReviewedChange,
        reverted: Sequence[RevertedLanding],
    ) -> Finding | None:
        """Are there fewer tests than without the task, or for a check task, than before the run?

        A task may have deleted tests that only a later check runs.  A joint commit is compared with
        the commit below it on the branch: tasks that are taken along must not lose tests either.
        A merge may lose what the `reverted` landings had brought.
        """
        task = check.task
        if any(one.check == INTEGRITY_CHECK for one in reviewed.findings):
            return None
        is_check = task.spec.kind is TaskKind.CHECK and not self._may_weaken_tests(run)
        if not reviewed.by_agent and not is_check:
            return None
        before = facts.verified_below if reviewed.by_agent else run.base

        def read_review() -> DefinitionReview:
            if reviewed.by_agent and before == facts.onto:
                return reviewed.definition
            whole = Candidate(facts.commit, before, "")
            changes = self._workspace.contents.read_changes(before, facts.commit)
            return self._definitions.review(task, whole, changes)

        return self._comparison.fewer_tests(
            check,
            finding,
            facts,
            before,
            read_review,
            partial(self._definitions.find_absent_tests, check.spec, before, facts.commit),
            () if reviewed.by_agent else reverted,
        )

    def _facts(self, run: Run, task: Task, candidate: Candidate, claim: ClaimContext) -> CheckFacts:
        # A check task changes nothing itself, so it is compared with the base of the run.
        before = run.base if task.spec.kind is TaskKind.CHECK else candidate.onto
        needs_push = any(spec.git is GitCheck.PUSHED for spec in task.spec.checks)
        known = needs_push and task.work.head
        return CheckFacts(
            commit=candidate.commit,
            base=task.work.base,
            onto=candidate.onto,
            verified_below=candidate.predecessor or candidate.onto,
            baseline_commit=before,
            changed=candidate.changed,
            scope=task.spec.scope,
            dirty=(),
            pushed=self._workspace.contents.is_pushed(task.work.head) if known else None,
            merged=True,
            run=task.run_id,
            task=task.id,
            task_name=task.spec.name,
            attempt=task.attempt,
            epoch=task.epoch,
            goal=run.goal if task.spec.name.startswith(FINAL_CHECK_NAME) else task.spec.goal,
            branch=run.branch,
            diff=lambda: self._workspace.contents.diff(before, candidate.commit),
            environment=claim.environment,
            passed_names=passed_variables(run, task),
        )

    def _prove(
        self, run: Run, check: ProofCheck, facts: CheckFacts, reviewed: ReviewedChange
    ) -> Finding:
        """Nothing that passed on a rejected change proves other work."""
        if reviewed.findings:
            return self._run_check(run, check, facts)
        key = self._reuse.key(check, facts)
        reused = self._reuse.find(run, check, key)
        return reused or self._reuse.mark(self._run_check(run, check, facts), key)

    def _run_check(self, run: Run, check: ProofCheck, facts: CheckFacts) -> Finding:
        finding = self._run_and_weigh(run, check, facts)
        self._durations.record(check.task, check.spec, finding)
        return self._missing_setup.explain(check, finding, facts.commit)

    def _run_and_weigh(self, run: Run, check: ProofCheck, facts: CheckFacts) -> Finding:
        """A failure is compared with the base if the check has a baseline, and rerun unless it is
        known there.  A check that may be at fault itself, and one that a person waived for landed
        work, are compared, too.
        """
        finding = self._run_guarded(check, facts)
        if finding.outcome is Outcome.PASSED:
            return self._check_rerun.observe_passes(check, finding, facts.commit)
        if finding.outcome is not Outcome.FAILED or check.claim.stop_reason():
            return finding
        guard = check.spec.baseline is BaselineMode.KNOWN
        if guard and (known := self._accept_known(check, finding, facts)):
            return known
        finding = self._check_rerun.rerun_failed(check, finding, facts)
        if finding.outcome is Outcome.FLAKY or check.claim.stop_reason():
            return finding
        if guard:
            self._comparison.save_failure(check, finding, facts.commit)
        if guard or finding.params.get("missingModules") or _may_blame_check(check, finding):
            base = self._comparison.baseline(check, facts, facts.baseline_commit)
            finding = weigh(finding, base, check.task.spec.fixes, guard=guard)
        finding = self._waived_landings.weigh(run, check, finding, facts, self._comparison)
        return self._missing_files.explain(check, finding, facts)

    def _accept_known(
        self, check: ProofCheck, finding: Finding, facts: CheckFacts
    ) -> Finding | None:
        """The finding if the base has all its failures, which no re-run would change."""
        weighed = self._comparison.weigh(check, finding, facts)
        if not weighed.is_acceptable:
            return None
        self._comparison.save_failure(check, finding, facts.commit)
        return self._check_rerun.observe_passes(check, weighed, facts.commit)

    def _weigh(self, run: Run, check: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        weighed = self._comparison.weigh(check, finding, facts)
        return self._waived_landings.weigh(run, check, weighed, facts, self._comparison)

    def _run_guarded(self, check: ProofCheck, facts: CheckFacts) -> Finding:
        """Run the check; it is unfit if protected files changed meanwhile.

        That is a fault of the plan or the judge, never of the agent whose work was checked.
        """
        task, spec = check.task, check.spec
        strict, runs = spec.type in AGENT_CHECKS, spec.type in PROGRAM_CHECKS
        before = self._workspace.protection.protected_state(task, strict=strict) if runs else {}
        finding = check.run_on(facts.commit, facts)
        after = self._workspace.protection.protected_state(task, strict=strict) if runs else {}
        # Nothing can be said about a deleted worktree; its commit is verified without it.
        deleted = WORKTREE_LINK in before and WORKTREE_LINK not in after
        names = {*after} if deleted else {*before, *after}
        changed = sorted(name for name in names if before.get(name) != after.get(name))
        if changed:
            reason = "protected files changed while it ran, by the check or another process"
            return unfit_finding(finding, reason, changed)
        return finding


def _may_blame_check(check: ProofCheck, finding: Finding) -> bool:
    """Did it fail beside passing tests, or before in files that the work did not change?

    The next question would doubt the check, unless it passes on the base.  Where single tests can
    run, that is known already.
    """
    if finding.params.get(DOUBTFUL_PARAM) and finding.params.get(PASSED):
        return True
    last = check.task.feedback
    if last is None or last.check != check.spec.name or PASSED_ON_BASE_PARAM in finding.params:
        return False
    return OUTSIDE_CHANGE_PARAM in last.params


def _conceal(task: Task, finding: Finding) -> Finding:
    """Comparisons with the base add findings of a hidden check, too."""
    specs = (spec for spec in task.spec.checks if spec.name == finding.check)
    spec = next(specs, None)
    return conceal_details(finding, spec) if spec else finding
