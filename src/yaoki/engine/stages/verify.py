"""The third stage: the work merged with the target branch, and every check run on that commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from secrets import token_hex

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    FINAL_CHECK_NAME,
    Finding,
    Outcome,
    Run,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
    Verdict,
    Work,
)
from yaoki.core.model.stage_report import (
    BisectResult,
    CandidateVerified,
    JointCandidateFailed,
    MergeConflicted,
    StageDeferred,
    StageFaulted,
    StageReport,
)
from yaoki.engine.claim_context import (
    ClaimContext,
    ClaimSuperseded,
    StopReason,
    WriteNote,
    unclaimed_context,
)
from yaoki.engine.required_checks import CommitToVerify
from yaoki.engine.stages.bisect import LandingBisection
from yaoki.engine.stages.candidate_checks import CandidateVerifier
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.engine.stages.predecessor_wait import PredecessorWait
from yaoki.engine.stages.prepare import PrepareStage
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.engine.stages.race_judge import RaceJudgeStages
from yaoki.engine.stages.same_work import SameWork
from yaoki.engine.stages.waived_landings import WaivedLandings
from yaoki.ports import Candidate, Workspace


class VerifyStage:
    """Builds the candidate of a task and judges it."""

    def __init__(
        self,
        workspace: Workspace,
        processes: AttemptProcesses,
        prepare: PrepareStage,
        verifier: CandidateVerifier,
        bisection: LandingBisection,
        queue: PredecessorWait,
        plan_task: PlanTaskStages,
        race_judge: RaceJudgeStages,
        waived_landings: WaivedLandings,
        same_work: SameWork,
    ) -> None:
        self._workspace, self._processes, self._prepare = workspace, processes, prepare
        self._verifier, self._bisection = verifier, bisection
        self._queue, self._plan_task, self._race_judge = queue, plan_task, race_judge
        self._waived_landings, self._same_work = waived_landings, same_work

    def verify(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        folder = self._processes.folder(task, task.attempt)
        if task.spec.kind is TaskKind.PLAN:
            return self._plan_task.verify(run, task, folder)
        if task.spec.kind is TaskKind.JUDGE:
            return self._race_judge.verify(task, folder)
        environment = self._prepare.task_environment(task)
        if isinstance(environment, StageDeferred):
            return environment
        claim = replace(claim, environment=environment)
        # A verdict on a branch that somebody else moved says nothing about what landed.
        self._workspace.branches.refuse_drift(run)
        if fault := self._restore_worktree(run, task, claim):
            return fault
        ahead = claim.queue.members()
        candidate = self._workspace.landings.build_candidate(
            run, task, claim.queue.members, claim.queue.companions
        )
        if candidate.conflicts:
            deferred = self._queue.discard_if_predecessor_failed(
                run, task, candidate.predecessor, claim
            )
            if deferred:
                return deferred
            self._workspace.landings.withdraw_candidate(run, task)
            return MergeConflicted(
                candidate.conflicts, candidate.onto, task.work.tree, candidate.conflict_markers
            )
        reviewed = self._verifier.review(run, task, candidate)
        if reviewed.findings and reviewed.is_checked and task.work.is_queued:
            return self._leave_queue(run, task, reviewed.findings)
        findings = self._verifier.verify_reviewed(
            run, task, candidate, reviewed, folder / "checks", claim
        )
        if claim.stop_reason() is StopReason.LOST:
            raise ClaimSuperseded
        verdict = Verdict(findings)
        is_same = self._same_work.is_same(task, candidate)
        may_land = verdict.passed and not _is_refuted(task) and not is_same
        if not may_land and (
            deferred := self._queue.discard_if_predecessor_failed(
                run, task, candidate.predecessor, claim
            )
        ):
            return deferred
        if not verdict.passed and (
            name := self._waived_landings.landed_since(run, task, verdict, ahead)
        ):
            words = f"{name} landed meanwhile with a check that a person waived; verified again"
            return StageDeferred(words, timedelta(0))
        if candidate.companions and not verdict.passed:
            return _joint_failure(candidate, verdict)
        verdict, culprit = self._blame(run, task, verdict, folder / "blame", claim)
        if not verdict.passed or _is_refuted(task):
            self._workspace.landings.withdraw_candidate(run, task)
        return self._report(run, task, candidate, verdict, culprit)

    def _leave_queue(self, run: Run, task: Task, findings: Sequence[Finding]) -> StageDeferred:
        """Work that is rejected already is checked apart from the merge queue: whatever is built
        on it would be verified in vain.
        """
        self._workspace.landings.withdraw_candidate(run, task)
        names = ", ".join(dict.fromkeys(finding.check for finding in findings))
        words = f"{names} failed, so its checks run outside the merge queue"
        return StageDeferred(words, timedelta(0), avoids_queue=True)

    def _restore_worktree(self, run: Run, task: Task, claim: ClaimContext) -> StageFaulted | None:
        """A worktree that somebody deleted is built again, and set up again."""
        if not self._workspace.worktrees.rebuild_worktree(task):
            return None
        return self._prepare.set_up(run, task, task.attempt, Path(task.work.worktree), claim)

    def _report(
        self,
        run: Run,
        task: Task,
        candidate: Candidate,
        verdict: Verdict,
        culprit: BisectResult | None,
    ) -> CandidateVerified:
        landed = self._same_work.has_landed(run, task, candidate)
        is_same = not landed and self._same_work.is_same(task, candidate)
        elsewhere = (
            ()
            if candidate.changed or landed
            else self._workspace.uncommitted.find_work_elsewhere(task)
        )
        return CandidateVerified(
            verdict,
            candidate.commit,
            candidate.onto,
            candidate.changed,
            landed,
            culprit,
            elsewhere,
            task.check_revision_number,
            self._count_lines(task, candidate, verdict),
            self._same_work.landed_with(run, task) if is_same else (),
        )

    def _count_lines(self, task: Task, candidate: Candidate, verdict: Verdict) -> int | None:
        """The size of the diff, where a race compares it."""
        if not task.race_task or not verdict.passed:
            return None
        return self._workspace.contents.count_changed_lines(candidate.onto, candidate.commit)

    def _blame(
        self, run: Run, task: Task, verdict: Verdict, home: Path, claim: ClaimContext
    ) -> tuple[Verdict, BisectResult | None]:
        """The culprit of the first failing check that no person waived for the culprit.

        In a final check, a check that a person waived for it counts as waived there as well.
        """
        for n, _ in enumerate(verdict.all_failing):
            culprit = self._find_culprit(run, task, verdict, home / str(n), claim)
            if culprit is None or not culprit.waived_for:
                return verdict, culprit
            if task.spec.kind is TaskKind.GROUP:
                return verdict, None
            verdict = _accept_waived(verdict, culprit.waived_for, claim)
        return verdict, None

    def _find_culprit(
        self, run: Run, task: Task, verdict: Verdict, home: Path, claim: ClaimContext
    ) -> BisectResult | None:
        """Bisect only where several landings are verified together: a final check, or a group.

        Everywhere else the task's own work is the cause.
        """
        final = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(FINAL_CHECK_NAME)
        group = task.spec.kind is TaskKind.GROUP
        if verdict.passed or claim.stop_reason() or not (final or group):
            return None
        branch = self._workspace.groups.open_group_branch(run, task.id) if group else run
        return self._bisection.find_culprit(branch, task, verdict, home, claim)

    def verify_commit(
        self, run: Run, spec: TaskSpec, commit: CommitToVerify, note: WriteNote
    ) -> Verdict:
        """Verify a commit that no task made (a merge or an undo) with the checks of `spec`.

        A check that a person waived for landed work counts as waived, if it passes without that.
        """
        task = Task(TaskId(f"{run.id}-proof"), run.id, 0, spec, work=Work(base=commit.onto))
        # Nobody has claimed it, so another process may verify the same commit at the same time.
        name = f"{spec.name}-{commit.commit[:12]}-{token_hex(4)}"
        home = self._processes.folder(task, 0) / name
        candidate = Candidate(commit.commit, commit.onto, "", reverted=commit.reverted)
        claim = unclaimed_context(note)
        # A merge is compared with the branch it goes to, where others may have removed tests.
        compared = replace(run, base=commit.base)
        verdict = Verdict(self._verifier.verify(compared, task, candidate, home, claim))
        for n, _ in enumerate(verdict.all_failing):
            place = home / f"waived-{n}"
            names = self._bisection.find_waived(run, task, verdict, commit, place, claim)
            if names:
                verdict = _waive_first(verdict, f"waived for {', '.join(names)} by a person")
            elif self._bisection.is_finally_waived(run, task, verdict, commit, place, claim):
                verdict = _waive_first(verdict, "waived for the final check by a person")
            else:
                return verdict
        return verdict


def _is_refuted(task: Task) -> bool:
    """Does the agent report that it failed?  Then passing checks do not land its work."""
    return task.work.exit is not None and task.work.exit.reports_failure


def _joint_failure(candidate: Candidate, verdict: Verdict) -> JointCandidateFailed:
    failing = verdict.first_failing
    words = f"{failing.check}: {failing.message}" if failing else ""
    return JointCandidateFailed(candidate.commit, candidate.companions, words)


def _accept_waived(verdict: Verdict, name: str, claim: ClaimContext) -> Verdict:
    """The first failing finding becomes one that a person waived for the task `name`."""
    failing = verdict.first_failing
    assert failing is not None
    words = f"waived for {name} by a person; it fails on the final head"
    claim.warn(f"check {failing.check} was {words}")
    return _waive_first(verdict, words)


def _waive_first(verdict: Verdict, words: str) -> Verdict:
    failing = verdict.first_failing
    assert failing is not None
    waived = replace(failing, outcome=Outcome.WAIVED, message=f"{words}: {failing.message}")
    return Verdict(tuple(waived if one is failing else one for one in verdict.findings))
