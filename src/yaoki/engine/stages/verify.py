"""Proof of one exact commit: what must hold of any change, then every check, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from yaoki.core.decide.baseline import (
    KNOWN_FAILURES,
    as_baseline,
    command_key,
    unmatched_fixes,
    weigh,
)
from yaoki.core.decide.integrity import INTEGRITY_CHECK as WEAKER
from yaoki.core.decide.integrity import compare_tests_run, has_test_count
from yaoki.core.model import (
    BUILT_IN_CHECKS,
    FINAL_CHECK_NAME,
    NO_CHANGE_CHECK,
    Finding,
    Outcome,
    Run,
    Task,
    TaskKind,
)
from yaoki.core.model.change import Change, ChangeContext
from yaoki.core.model.check_definition import DefinitionReview, ParametrizedTests
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stages.check_definition import DefinitionGuard
from yaoki.engine.stages.check_rerun import CheckRerun
from yaoki.engine.stages.missing_files import MissingFiles
from yaoki.engine.stages.missing_setup import MissingSetup
from yaoki.engine.stages.own_findings import (
    built_in_findings,
    trivial_change_finding,
    unfit_finding,
    unmatched_fixes_finding,
)
from yaoki.engine.stages.proof_room import (
    PROGRAM_CHECK_TYPES,
    CheckFacts,
    ProofCheck,
    ProofSession,
    ProofSessions,
)
from yaoki.engine.stages.secrets import SecretGuard, passed_variables
from yaoki.ports import WORKTREE_LINK, Baselines, Candidate, Checker, QualityCriteria, Workspace

# No agent works on these.
AGENTLESS_TASK_KINDS = frozenset({TaskKind.CHECK, TaskKind.GROUP})


class CandidateVerifier:
    """Asked by the verify stage."""

    def __init__(
        self,
        workspace: Workspace,
        checker: Checker,
        rooms: ProofSessions,
        baselines: Baselines,
        quality: QualityCriteria,
        agent_started_at: Callable[[Task], float],
    ) -> None:
        """`began`: when the agent of a task's attempt was started."""
        self._workspace, self._checker, self._baselines = workspace, checker, baselines
        self._rooms, self._quality = rooms, quality
        self._definitions = DefinitionGuard(workspace, quality)
        self._second_look = CheckRerun(checker)
        self._secrecy = SecretGuard(workspace, checker)
        self._missing_files = MissingFiles(workspace, agent_started_at)
        self._missing_setup = MissingSetup(workspace)

    def verify(
        self, run: Run, task: Task, candidate: Candidate, home: Path, hold: ClaimContext
    ) -> tuple[Finding, ...]:
        """Everything that was found; what goes too far is not checked any further."""
        review, trivial = DefinitionReview(), False
        strayed = tuple(built_in_findings(task, candidate))
        # The subtasks of a group were judged one by one.
        if not strayed and candidate.changed and task.spec.kind not in AGENTLESS_TASK_KINDS:
            strayed = self._secrecy.findings(run, task, candidate)
        if not strayed and candidate.changed and task.spec.kind not in AGENTLESS_TASK_KINDS:
            changes = self._workspace.contents.read_changes(candidate.onto, candidate.commit)
            review = self._definitions.review(task, candidate, changes)
            strayed = self._criteria(task, candidate, changes, review)
            trivial = self._quality.is_trivial(changes) and len(changes) == len(candidate.changed)
        if strayed:
            given = passed_variables(run, task)
            return tuple(self._checker.mask_finding(finding, given) for finding in strayed)
        with self._rooms.session(run, task, home, hold) as session:
            checked = tuple(
                self._checked(run, task, candidate, home, hold, session, review, trivial=trivial)
            )
        return (*_let_pass(task), *checked, *self._empty_words(task, candidate, checked))

    def _empty_words(
        self, task: Task, candidate: Candidate, checked: tuple[Finding, ...]
    ) -> tuple[Finding, ...]:
        """Q5 and Q6: nothing was done, the checks fail, and what was said about it."""
        failing = any(not finding.is_acceptable for finding in checked)
        if task.spec.kind is not TaskKind.CHANGE or candidate.changed or not failing:
            return ()
        said = task.work.exit.output_tail if task.work.exit else ""
        claims = ChangeContext(
            agent_output=said, changed=False, checks_passed=False, kind=task.spec.kind
        )
        judged = self._quality.judge_criteria((), claims, exists=lambda _: True)
        wanted = {"Q5", "Q6"}.intersection(task.spec.quality).difference(task.waivers)
        # They are told beside "nothing was changed".
        short = ((f, f.message.removeprefix("nothing was changed, and ")) for f in judged)
        return tuple(replace(f, message=words) for f, words in short if f.check in wanted)

    def _criteria(
        self,
        task: Task,
        candidate: Candidate,
        changes: Sequence[Change],
        review: DefinitionReview,
    ) -> tuple[Finding, ...]:
        """The quality of the change itself, before any command is asked about it."""
        claims = ChangeContext(
            files_expected=tuple(c.path for c in task.spec.checks if c.file.get("exists")),
            agent_output=task.work.exit.output_tail if task.work.exit else "",
            kind=task.spec.kind,
            report="" if task.spec.kind is not TaskKind.REPORT else "told",
        )
        judged = self._quality.judge_criteria(
            changes, claims, exists=self._tracked(task, candidate)
        )
        found = [f for f in judged if f.check in task.spec.quality]
        found += self._definitions.weakened_findings(review)
        gamed = self._quality.find_gaming(changes)
        found += [gamed] if gamed is not None else []
        return tuple(f for f in found if f.check not in task.waivers)

    def _tracked(self, task: Task, candidate: Candidate) -> Callable[[str], bool]:
        """Is a path in the candidate?  An agent may name it from the root of its worktree."""
        top = PurePosixPath(task.work.worktree)

        def exists(name: str) -> bool:
            path = PurePosixPath(name)
            inside = path.relative_to(top) if path.is_relative_to(top) else path
            return self._workspace.contents.has_path(candidate.commit, str(inside))

        return exists

    def _checked(
        self,
        run: Run,
        task: Task,
        candidate: Candidate,
        home: Path,
        hold: ClaimContext,
        session: ProofSession,
        review: DefinitionReview,
        *,
        trivial: bool,
    ) -> Iterator[Finding]:
        """In order; the first failing required check stops the list."""
        if task.spec.kind is TaskKind.REPORT:
            yield self._reported(task, candidate)
        told: list[Finding] = []
        passed: list[ProofCheck] = []
        # A judge of the run branch looks at the whole run, for a check changes nothing itself.
        old = run.base if task.spec.kind is TaskKind.CHECK else candidate.onto
        asked = any(spec.git == "pushed" for spec in task.spec.checks)
        pushed = (
            self._workspace.contents.is_pushed(task.work.head) if asked and task.work.head else None
        )
        fixed = _facts(run, task, candidate, pushed)
        fixed["environment"] = hold.environment
        fixed["diff"] = lambda: self._workspace.contents.diff(old, candidate.commit)
        for n, spec in enumerate(task.spec.checks, start=1):
            if spec.name in task.waivers:
                yield _waived(spec.name)
                continue
            case = ProofCheck(task, spec, home / f"{n}-{spec.name}", hold, session)
            facts = {**fixed, "findings": tuple(told)}
            weighed = self._weighed(case, facts)
            finding = self._missing_setup.explain(case, weighed, candidate.commit)
            if finding.fault:
                hold.warn(f"check {spec.name}: its output was not understood: {finding.fault}")
            told.append(finding)
            yield finding
            if not finding.is_acceptable:
                return
            less = self._fewer(case, finding, facts, review.parametrized)
            if less is not None:
                yield less
                return
            if spec.type == "command" and spec.required and finding.outcome is Outcome.PASSED:
                passed.append(case)
        fixed["findings"] = ()
        yield from self._aims(run, task, told, home, fixed, hold, session)
        yield from self._definitions.check_with_base_definition(passed, review, fixed, self._known)
        if trivial and not self._mattered(task, passed, fixed):
            yield trivial_change_finding()

    def _weighed(self, case: ProofCheck, facts: CheckFacts) -> Finding:
        """A failure is looked at again, and held against the base if the check is a guard."""
        finding = self._looked(case, facts)
        if finding.outcome is not Outcome.FAILED or case.hold.stop_reason():
            return finding
        finding = self._second_look.rerun_failed(case, finding, facts)
        if finding.outcome is Outcome.FLAKY or case.hold.stop_reason():
            return finding
        guard = case.spec.baseline == KNOWN_FAILURES
        if guard or finding.params.get("missingModules"):
            base = self._baseline(case, facts, facts["before"])
            finding = weigh(finding, base, case.task.spec.fixes, guard=guard)
        return self._missing_files.explain(case, finding, facts)

    def _looked(self, case: ProofCheck, facts: CheckFacts) -> Finding:
        """One look, that must have been no more than a look.

        The plan or the judge is to blame for a check that changes something, never the agent
        whose work it looked at.
        """
        task, spec = case.task, case.spec
        strict, runs = spec.type == "judge", spec.type in PROGRAM_CHECK_TYPES
        marks = self._workspace.protection.protected_state(task, strict=strict) if runs else {}
        finding = case.run_on(facts["commit"], facts)
        now = self._workspace.protection.protected_state(task, strict=strict) if runs else {}
        # Of a worktree that somebody deleted nothing can be told; its commit is proven without it.
        deleted = WORKTREE_LINK in marks and WORKTREE_LINK not in now
        names = {*now} if deleted else {*marks, *now}
        touched = sorted(name for name in names if marks.get(name) != now.get(name))
        if touched:
            words = "what must be left alone was, by it or somebody beside it, changed while it ran"
            return unfit_finding(finding, words, touched)
        return finding

    def _baseline(self, case: ProofCheck, facts: CheckFacts, onto: str) -> Finding:
        """What the check says of a commit without this task; run once per commit."""
        key = command_key(case.spec, case.task.spec.setup)
        kept = self._baselines.baseline(onto, key)
        if kept is not None:
            return kept
        base = as_baseline(case.run_on(onto, facts, "-base"))
        if base.outcome in {Outcome.PASSED, Outcome.FAILED}:
            self._baselines.save_baseline(onto, key, base)
        return base

    def _mattered(self, task: Task, cases: Sequence[ProofCheck], facts: CheckFacts) -> bool:
        """Did blank lines or comments turn a check green?  Then they were the task."""
        if task.spec.may_change_nothing or NO_CHANGE_CHECK in task.waivers or not cases:
            return True
        bases = (self._baseline(case, facts, facts["onto"]) for case in cases)
        return any(base.outcome is not Outcome.PASSED for base in bases)

    def _known(self, case: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """A guard's failures that the base has as well are not this task's."""
        if case.spec.baseline != KNOWN_FAILURES or finding.outcome is not Outcome.FAILED:
            return finding
        base = self._baseline(case, facts, facts["before"])
        return weigh(finding, base, case.task.spec.fixes)

    def _fewer(
        self, case: ProofCheck, finding: Finding, facts: CheckFacts, folding: ParametrizedTests
    ) -> Finding | None:
        """A green check that runs fewer tests than it did without this task; None when it does not.

        What passed here is the base of whatever builds on this commit, so nobody asks again.
        """
        task, hold = case.task, case.hold
        if finding.outcome is Outcome.PASSED and KNOWN_FAILURES not in finding.params:
            key = command_key(case.spec, task.spec.setup)
            self._baselines.save_baseline(facts["commit"], key, finding)
        change = task.spec.kind not in {TaskKind.CHECK, TaskKind.GROUP} and facts["changed"]
        if not change or not has_test_count(finding):
            return None
        if task.spec.allow_weaker_tests or WEAKER in task.waivers or hold.stop_reason():
            return None
        return compare_tests_run(finding, self._baseline(case, facts, facts["onto"]), folding)

    def _aims(
        self,
        run: Run,
        task: Task,
        told: Sequence[Finding],
        home: Path,
        facts: CheckFacts,
        hold: ClaimContext,
        session: ProofSession,
    ) -> Iterator[Finding]:
        """What the task is to mend must have failed somewhere, else a wrong name would pass.

        Asked only where failures of the base were let pass: where all is green, so is the aim.
        """
        passed = next((finding for finding in told if KNOWN_FAILURES in finding.params), None)
        if passed is None or not task.spec.fixes:
            return
        guards = [spec for spec in task.spec.checks if spec.baseline == KNOWN_FAILURES]
        bases: list[Finding] = []
        # The run branch may hold the mended test already, so the run's own base counts as well.
        for commit in dict.fromkeys((facts["onto"], run.base)):
            for spec in guards:
                if unmatched_fixes(task.spec.fixes, bases) and not hold.stop_reason():
                    folder = home / f"aims-{spec.name}-{commit[:12]}"
                    case = ProofCheck(task, spec, folder, hold, session)
                    bases.append(self._baseline(case, facts, commit))
        lost = unmatched_fixes(task.spec.fixes, bases)
        if lost and not hold.stop_reason():
            yield unmatched_fixes_finding(passed, lost, bases)

    @staticmethod
    def _reported(task: Task, candidate: Candidate) -> Finding:
        """A report is there when an agent that came to its own end said or wrote something."""
        exit_ = task.work.exit
        written = exit_.report_bytes if exit_ else 0
        if exit_ is not None and exit_.ended_cleanly and (written or candidate.changed):
            return Finding("report", Outcome.PASSED, message=f"{written} bytes of report")
        how = f" (exit code {exit_.code})" if exit_ is not None and exit_.code else ""
        clean = exit_ is None or exit_.ended_cleanly
        why = "no report was written" if clean else f"the agent did not come to its own end{how}"
        return Finding("report", Outcome.FAILED, pattern="no-change", message=why)


def _waived(name: str) -> Finding:
    return Finding(name, Outcome.WAIVED, message="waived by a person")


def _let_pass(task: Task) -> tuple[Finding, ...]:
    """What must hold of any change and was let pass: it belongs into the proof as well."""
    return tuple(_waived(name) for name in task.waivers if name in BUILT_IN_CHECKS)


def _facts(run: Run, task: Task, candidate: Candidate, pushed: bool | None) -> dict[str, Any]:
    return {
        "run": task.run_id,
        "task": task.id,
        "task_name": task.spec.name,
        "attempt": task.attempt,
        "epoch": task.epoch,
        "goal": run.goal if task.spec.name.startswith(FINAL_CHECK_NAME) else task.spec.goal,
        "commit": candidate.commit,
        "base": task.work.base,
        "onto": candidate.onto,
        # A proof of the whole run changes nothing itself: it is held against the run's base.
        "before": run.base if task.spec.kind is TaskKind.CHECK else candidate.onto,
        "changed": candidate.changed,
        "scope": task.spec.scope,
        "branch": run.branch,
        "handed": passed_variables(run, task),
        "dirty": (),
        "merged": True,
        "pushed": pushed,
    }
