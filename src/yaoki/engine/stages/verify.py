"""Proof of one exact commit: what must hold of any change, then every check, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from yaoki.core.decide.baseline import KNOWN, command_key, of_base, unmatched, weigh
from yaoki.core.decide.integrity import NAME as WEAKER
from yaoki.core.decide.integrity import counted, fewer
from yaoki.core.model import BUILT_IN, DONE_WHEN, NO_CHANGE, Finding, Outcome, Run, Task, TaskKind
from yaoki.core.model.change import Change, Claims
from yaoki.core.model.check_definition import DefinitionReview, Folding
from yaoki.engine.claim_context import Hold
from yaoki.engine.stages.check_definition import Definitions
from yaoki.engine.stages.missing_files import MissingFiles
from yaoki.engine.stages.missing_setup import MissingSetup
from yaoki.engine.stages.own_findings import aimless, built_in, idle, unfit
from yaoki.engine.stages.proof_room import RUNNING, Case, CleanRooms, Facts, ProofSession
from yaoki.engine.stages.second_look import SecondLook
from yaoki.engine.stages.secrets import Secrecy, handed
from yaoki.ports import WORKTREE_LINK, Baselines, Candidate, Checker, Quality, Workspace

# No agent works on these.
NO_AGENT = frozenset({TaskKind.CHECK, TaskKind.GROUP})


class Proving:
    """Asked by the verify stage."""

    def __init__(
        self,
        workspace: Workspace,
        checker: Checker,
        rooms: CleanRooms,
        baselines: Baselines,
        quality: Quality,
        began: Callable[[Task], float],
    ) -> None:
        """`began`: when the agent of a task's attempt was started."""
        self._workspace, self._checker, self._baselines = workspace, checker, baselines
        self._rooms, self._quality = rooms, quality
        self._definitions = Definitions(workspace, quality)
        self._second_look = SecondLook(checker)
        self._secrecy = Secrecy(workspace, checker)
        self._missing_files = MissingFiles(workspace, began)
        self._missing_setup = MissingSetup(workspace)

    def findings(
        self, run: Run, task: Task, candidate: Candidate, home: Path, hold: Hold
    ) -> tuple[Finding, ...]:
        """Everything that was found; what goes too far is not checked any further."""
        review, trivial = DefinitionReview(), False
        strayed = tuple(built_in(task, candidate))
        # The subtasks of a group were judged one by one.
        if not strayed and candidate.changed and task.spec.kind not in NO_AGENT:
            strayed = self._secrecy.findings(run, task, candidate)
        if not strayed and candidate.changed and task.spec.kind not in NO_AGENT:
            changes = self._workspace.changes(candidate.onto, candidate.commit)
            review = self._definitions.review(task, candidate, changes)
            strayed = self._criteria(task, candidate, changes, review)
            trivial = self._quality.is_trivial(changes) and len(changes) == len(candidate.changed)
        if strayed:
            given = handed(run, task)
            return tuple(self._checker.masked(finding, given) for finding in strayed)
        with self._rooms.session(run, task, home, hold) as session:
            checked = tuple(
                self._checked(run, task, candidate, home, hold, session, review, trivial=trivial)
            )
        return (*_let_pass(task), *checked, *self._empty_words(task, candidate, checked))

    def _empty_words(
        self, task: Task, candidate: Candidate, checked: tuple[Finding, ...]
    ) -> tuple[Finding, ...]:
        """Q5 and Q6: nothing was done, the checks fail, and what was said about it."""
        failing = any(not finding.settled for finding in checked)
        if task.spec.kind is not TaskKind.CHANGE or candidate.changed or not failing:
            return ()
        said = task.work.exit.said if task.work.exit else ""
        claims = Claims(said=said, changed=False, checks_passed=False, kind=task.spec.kind)
        judged = self._quality.judge((), claims, exists=lambda _: True)
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
        claims = Claims(
            files_expected=tuple(c.path for c in task.spec.checks if c.file.get("exists")),
            said=task.work.exit.said if task.work.exit else "",
            kind=task.spec.kind,
            report="" if task.spec.kind is not TaskKind.REPORT else "told",
        )
        judged = self._quality.judge(changes, claims, exists=self._tracked(task, candidate))
        found = [f for f in judged if f.check in task.spec.quality]
        found += self._definitions.weakened(review)
        gamed = self._quality.gamed(changes)
        found += [gamed] if gamed is not None else []
        return tuple(f for f in found if f.check not in task.waivers)

    def _tracked(self, task: Task, candidate: Candidate) -> Callable[[str], bool]:
        """Is a path in the candidate?  An agent may name it from the root of its worktree."""
        top = PurePosixPath(task.work.worktree)

        def exists(name: str) -> bool:
            path = PurePosixPath(name)
            inside = path.relative_to(top) if path.is_relative_to(top) else path
            return self._workspace.tracks(candidate.commit, str(inside))

        return exists

    def _checked(
        self,
        run: Run,
        task: Task,
        candidate: Candidate,
        home: Path,
        hold: Hold,
        session: ProofSession,
        review: DefinitionReview,
        *,
        trivial: bool,
    ) -> Iterator[Finding]:
        """In order; the first failing required check stops the list."""
        if task.spec.kind is TaskKind.REPORT:
            yield self._reported(task, candidate)
        told: list[Finding] = []
        passed: list[Case] = []
        # A judge of the run branch looks at the whole run, for a check changes nothing itself.
        old = run.base if task.spec.kind is TaskKind.CHECK else candidate.onto
        asked = any(spec.git == "pushed" for spec in task.spec.checks)
        pushed = self._workspace.pushed(task.work.head) if asked and task.work.head else None
        fixed = _facts(run, task, candidate, pushed)
        fixed["environment"] = hold.environment
        fixed["diff"] = lambda: self._workspace.diff(old, candidate.commit)
        for n, spec in enumerate(task.spec.checks, start=1):
            if spec.name in task.waivers:
                yield _waived(spec.name)
                continue
            case = Case(task, spec, home / f"{n}-{spec.name}", hold, session)
            facts = {**fixed, "findings": tuple(told)}
            weighed = self._weighed(case, facts)
            finding = self._missing_setup.named(case, weighed, candidate.commit)
            if finding.fault:
                hold.warn(f"check {spec.name}: its output was not understood: {finding.fault}")
            told.append(finding)
            yield finding
            if not finding.settled:
                return
            less = self._fewer(case, finding, facts, review.folding)
            if less is not None:
                yield less
                return
            if spec.type == "command" and spec.required and finding.outcome is Outcome.PASSED:
                passed.append(case)
        fixed["findings"] = ()
        yield from self._aims(run, task, told, home, fixed, hold, session)
        yield from self._definitions.unaided(passed, review, fixed, self._known)
        if trivial and not self._mattered(task, passed, fixed):
            yield idle()

    def _weighed(self, case: Case, facts: Facts) -> Finding:
        """A failure is looked at again, and held against the base if the check is a guard."""
        finding = self._looked(case, facts)
        if finding.outcome is not Outcome.FAILED or case.hold.why():
            return finding
        finding = self._second_look.weighed(case, finding, facts)
        if finding.outcome is Outcome.FLAKY or case.hold.why():
            return finding
        guard = case.spec.baseline == KNOWN
        if guard or finding.params.get("missingModules"):
            base = self._baseline(case, facts, facts["before"])
            finding = weigh(finding, base, case.task.spec.fixes, guard=guard)
        return self._missing_files.named(case, finding, facts)

    def _looked(self, case: Case, facts: Facts) -> Finding:
        """One look, that must have been no more than a look.

        The plan or the judge is to blame for a check that changes something, never the agent
        whose work it looked at.
        """
        task, spec = case.task, case.spec
        strict, runs = spec.type == "judge", spec.type in RUNNING
        marks = self._workspace.marks(task, strict=strict) if runs else {}
        finding = case.look(facts["commit"], facts)
        now = self._workspace.marks(task, strict=strict) if runs else {}
        # Of a worktree that somebody deleted nothing can be told; its commit is proven without it.
        deleted = WORKTREE_LINK in marks and WORKTREE_LINK not in now
        names = {*now} if deleted else {*marks, *now}
        touched = sorted(name for name in names if marks.get(name) != now.get(name))
        if touched:
            words = "what must be left alone was, by it or somebody beside it, changed while it ran"
            return unfit(finding, words, touched)
        return finding

    def _baseline(self, case: Case, facts: Facts, onto: str) -> Finding:
        """What the check says of a commit without this task; run once per commit."""
        key = command_key(case.spec, case.task.spec.setup)
        kept = self._baselines.baseline(onto, key)
        if kept is not None:
            return kept
        base = of_base(case.look(onto, facts, "-base"))
        if base.outcome in {Outcome.PASSED, Outcome.FAILED}:
            self._baselines.keep_baseline(onto, key, base)
        return base

    def _mattered(self, task: Task, cases: Sequence[Case], facts: Facts) -> bool:
        """Did blank lines or comments turn a check green?  Then they were the task."""
        if task.spec.may_change_nothing or NO_CHANGE in task.waivers or not cases:
            return True
        bases = (self._baseline(case, facts, facts["onto"]) for case in cases)
        return any(base.outcome is not Outcome.PASSED for base in bases)

    def _known(self, case: Case, finding: Finding, facts: Facts) -> Finding:
        """A guard's failures that the base has as well are not this task's."""
        if case.spec.baseline != KNOWN or finding.outcome is not Outcome.FAILED:
            return finding
        base = self._baseline(case, facts, facts["before"])
        return weigh(finding, base, case.task.spec.fixes)

    def _fewer(
        self, case: Case, finding: Finding, facts: Facts, folding: Folding
    ) -> Finding | None:
        """A green check that runs fewer tests than it did without this task; None when it does not.

        What passed here is the base of whatever builds on this commit, so nobody asks again.
        """
        task, hold = case.task, case.hold
        if finding.outcome is Outcome.PASSED and KNOWN not in finding.params:
            key = command_key(case.spec, task.spec.setup)
            self._baselines.keep_baseline(facts["commit"], key, finding)
        change = task.spec.kind not in {TaskKind.CHECK, TaskKind.GROUP} and facts["changed"]
        if not change or not counted(finding):
            return None
        if task.spec.allow_weaker_tests or WEAKER in task.waivers or hold.why():
            return None
        return fewer(finding, self._baseline(case, facts, facts["onto"]), folding)

    def _aims(
        self,
        run: Run,
        task: Task,
        told: Sequence[Finding],
        home: Path,
        facts: Facts,
        hold: Hold,
        session: ProofSession,
    ) -> Iterator[Finding]:
        """What the task is to mend must have failed somewhere, else a wrong name would pass.

        Asked only where failures of the base were let pass: where all is green, so is the aim.
        """
        passed = next((finding for finding in told if KNOWN in finding.params), None)
        if passed is None or not task.spec.fixes:
            return
        guards = [spec for spec in task.spec.checks if spec.baseline == KNOWN]
        bases: list[Finding] = []
        # The run branch may hold the mended test already, so the run's own base counts as well.
        for commit in dict.fromkeys((facts["onto"], run.base)):
            for spec in guards:
                if unmatched(task.spec.fixes, bases) and not hold.why():
                    folder = home / f"aims-{spec.name}-{commit[:12]}"
                    case = Case(task, spec, folder, hold, session)
                    bases.append(self._baseline(case, facts, commit))
        lost = unmatched(task.spec.fixes, bases)
        if lost and not hold.why():
            yield aimless(passed, lost, bases)

    @staticmethod
    def _reported(task: Task, candidate: Candidate) -> Finding:
        """A report is there when an agent that came to its own end said or wrote something."""
        exit_ = task.work.exit
        written = exit_.report_bytes if exit_ else 0
        if exit_ is not None and exit_.clean and (written or candidate.changed):
            return Finding("report", Outcome.PASSED, message=f"{written} bytes of report")
        how = f" (exit code {exit_.code})" if exit_ is not None and exit_.code else ""
        clean = exit_ is None or exit_.clean
        why = "no report was written" if clean else f"the agent did not come to its own end{how}"
        return Finding("report", Outcome.FAILED, pattern="no-change", message=why)


def _waived(name: str) -> Finding:
    return Finding(name, Outcome.WAIVED, message="waived by a person")


def _let_pass(task: Task) -> tuple[Finding, ...]:
    """What must hold of any change and was let pass: it belongs into the proof as well."""
    return tuple(_waived(name) for name in task.waivers if name in BUILT_IN)


def _facts(run: Run, task: Task, candidate: Candidate, pushed: bool | None) -> dict[str, Any]:
    return {
        "run": task.run_id,
        "task": task.id,
        "task_name": task.spec.name,
        "attempt": task.attempt,
        "epoch": task.epoch,
        "goal": run.goal if task.spec.name.startswith(DONE_WHEN) else task.spec.goal,
        "commit": candidate.commit,
        "base": task.work.base,
        "onto": candidate.onto,
        # A proof of the whole run changes nothing itself: it is held against the run's base.
        "before": run.base if task.spec.kind is TaskKind.CHECK else candidate.onto,
        "changed": candidate.changed,
        "scope": task.spec.scope,
        "branch": run.branch,
        "handed": handed(run, task),
        "dirty": (),
        "merged": True,
        "pushed": pushed,
    }
