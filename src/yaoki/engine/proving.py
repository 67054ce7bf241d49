"""Proof of one exact commit: what must hold of any change, then every check, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from yaoki.core.baseline import KNOWN, command_key, unmatched, weigh
from yaoki.core.change import Claims
from yaoki.core.integrity import NAME as WEAKER
from yaoki.core.integrity import counted, fewer
from yaoki.core.model import (
    BUILT_IN,
    DONE_WHEN,
    CheckSpec,
    Finding,
    Outcome,
    Run,
    Task,
    TaskKind,
)
from yaoki.engine.hold import Hold
from yaoki.engine.own_findings import aimless, built_in, unfit
from yaoki.ports import Baselines, Candidate, Checker, Quality, Workspace

Facts = Mapping[str, Any]
# Programs whose first word is the script they run.
_READS = re.compile(r"(?:ba|da|z|k)?sh|python[\d.]*|node|ruby|perl|php|Rscript|lua|tclsh|bun")
# Checks that start a program, which could change something.
RUNNING = frozenset({"command", "judge", "python"})


class Proving:
    """Asked by the verify stage."""

    def __init__(
        self, workspace: Workspace, checker: Checker, baselines: Baselines, quality: Quality
    ) -> None:
        self._workspace, self._checker, self._baselines = workspace, checker, baselines
        self._quality = quality

    def findings(
        self, run: Run, task: Task, candidate: Candidate, home: Path, hold: Hold
    ) -> tuple[Finding, ...]:
        """Everything that was found; what goes too far is not checked any further."""
        strayed = tuple(built_in(task, candidate)) or self._criteria(task, candidate)
        if strayed:
            given = handed(run, task)
            return tuple(self._checker.masked(finding, given) for finding in strayed)
        checked = tuple(self._checked(run, task, candidate, home, hold))
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

    def _criteria(self, task: Task, candidate: Candidate) -> tuple[Finding, ...]:
        """The quality of the change itself, before any command is asked about it."""
        # The subtasks of a group were judged one by one.
        if task.spec.kind in {TaskKind.CHECK, TaskKind.GROUP} or not candidate.changed:
            return ()
        changes = self._workspace.changes(candidate.onto, candidate.commit)
        worktree = Path(task.work.worktree)
        claims = Claims(
            files_expected=tuple(c.path for c in task.spec.checks if c.file.get("exists")),
            said=task.work.exit.said if task.work.exit else "",
            kind=task.spec.kind,
            report="" if task.spec.kind is not TaskKind.REPORT else "told",
        )
        judged = self._quality.judge(changes, claims, exists=lambda p: _inside(worktree, p))
        found = [f for f in judged if f.check in task.spec.quality]
        if not task.spec.allow_weaker_tests:
            programs = [word for check in task.spec.checks for word in _programs(check)]
            weaker = self._quality.weakened(changes, programs)
            found += [weaker] if weaker is not None else []
        return tuple(f for f in found if f.check not in task.waivers)

    def _checked(
        self, run: Run, task: Task, candidate: Candidate, home: Path, hold: Hold
    ) -> Iterator[Finding]:
        """In order; the first failing required check stops the list."""
        if task.spec.kind is TaskKind.REPORT:
            yield self._reported(task, candidate)
        told: list[Finding] = []
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
            facts = {**fixed, "findings": tuple(told)}
            finding = self._weighed(task, spec, home / f"{n}-{spec.name}", facts, hold)
            if finding.fault:
                hold.warn(f"check {spec.name}: its output was not understood: {finding.fault}")
            told.append(finding)
            yield finding
            if not finding.settled:
                return
            less = self._fewer(task, spec, finding, home / f"{n}-{spec.name}", facts, hold)
            if less is not None:
                yield less
                return
        yield from self._aims(run, task, told, home, {**fixed, "findings": ()}, hold)

    def _weighed(
        self, task: Task, spec: CheckSpec, folder: Path, facts: Facts, hold: Hold
    ) -> Finding:
        """A failure is looked at twice, and held against the base if the check is a guard.

        Each look is at the same tree: what the one before left, ignored files and all, is gone.
        """
        runs = spec.type == "command"
        before = self._workspace.ignored(task) if runs else frozenset()
        finding = self._looked(task, spec, folder, facts, hold)
        if finding.outcome is Outcome.FAILED and not hold.why():
            finding = self._again(task, spec, folder, facts, hold, (finding, before))
        if runs and finding.outcome in {Outcome.FAILED, Outcome.BROKEN}:
            self._workspace.put_back(task, facts["commit"], before)
        return finding

    def _again(
        self,
        task: Task,
        spec: CheckSpec,
        folder: Path,
        facts: Facts,
        hold: Hold,
        seen: tuple[Finding, frozenset[str]],
    ) -> Finding:
        finding, before = seen
        if spec.rerun and spec.type == "command":
            self._workspace.put_back(task, facts["commit"], before)
            again = self._looked(task, spec, folder.with_name(f"{folder.name}-again"), facts, hold)
            if again.outcome is Outcome.PASSED:
                words = f"flaky: failed, then passed on the same commit ({finding.message})"
                return replace(finding, outcome=Outcome.FLAKY, message=words)
        if spec.baseline != KNOWN or hold.why():
            return finding
        self._workspace.put_back(task, facts["commit"], before)
        base = self._baseline(task, spec, folder, facts, hold, facts["onto"])
        return weigh(finding, base, task.spec.fixes)

    def _looked(
        self, task: Task, spec: CheckSpec, folder: Path, facts: Facts, hold: Hold
    ) -> Finding:
        """One look, that must have been no more than a look.

        A check that changes files proves nothing of the commit, and must not serve the next one.
        The plan or the judge is to blame for that, never the agent whose work it looked at.
        """
        strict, runs = spec.type == "judge", spec.type in RUNNING
        marks = self._workspace.marks(task, strict=strict) if runs else {}
        finding = self._check(task, spec, folder, facts, hold)
        now = self._workspace.marks(task, strict=strict) if runs else {}
        touched = sorted(name for name in {*marks, *now} if marks.get(name) != now.get(name))
        changed = self._workspace.settle(task, facts["commit"]) if runs else ()
        good = finding.outcome in {Outcome.PASSED, Outcome.FLAKY}
        if touched:
            words = "what must be left alone was, by it or somebody beside it, changed while it ran"
            return unfit(finding, words, touched)
        if changed and good:
            words = "the check itself changed files, so it proves nothing"
            return unfit(finding, words, changed)
        return finding

    def _check(
        self, task: Task, spec: CheckSpec, folder: Path, facts: Facts, hold: Hold
    ) -> Finding:
        place = Path(task.work.worktree)
        return self._checker.check(spec, place, folder, facts=facts, stop=lambda: bool(hold.why()))

    def _baseline(
        self, task: Task, spec: CheckSpec, folder: Path, facts: Facts, hold: Hold, onto: str
    ) -> Finding:
        """What the check says of a commit without this task; run once per commit."""
        key = command_key(spec)
        kept = self._baselines.baseline(onto, key)
        if kept is not None:
            return kept
        before = self._workspace.ignored(task)
        self._workspace.visit(task, onto)
        base = self._check(task, spec, folder.with_name(f"{folder.name}-base"), facts, hold)
        self._workspace.put_back(task, facts["commit"], before)
        if base.outcome in {Outcome.PASSED, Outcome.FAILED}:
            self._baselines.keep_baseline(onto, key, base)
        return base

    def _fewer(
        self,
        task: Task,
        spec: CheckSpec,
        finding: Finding,
        folder: Path,
        facts: Facts,
        hold: Hold,
    ) -> Finding | None:
        """A green check that runs fewer tests than it did without this task; None when it does not.

        What passed here is the base of whatever builds on this commit, so nobody asks again.
        """
        change = task.spec.kind not in {TaskKind.CHECK, TaskKind.GROUP} and facts["changed"]
        if not change or not counted(finding):
            return None
        if finding.outcome is Outcome.PASSED and KNOWN not in finding.params:
            self._baselines.keep_baseline(facts["commit"], command_key(spec), finding)
        if task.spec.allow_weaker_tests or WEAKER in task.waivers or hold.why():
            return None
        return fewer(finding, self._baseline(task, spec, folder, facts, hold, facts["onto"]))

    def _aims(
        self,
        run: Run,
        task: Task,
        told: Sequence[Finding],
        home: Path,
        facts: Facts,
        hold: Hold,
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
                    bases.append(self._baseline(task, spec, folder, facts, hold, commit))
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


def _inside(worktree: Path, path: str) -> bool:
    """Is this path of the repository there?  One that leads elsewhere is not."""
    place = (worktree / path).resolve()
    return place.is_relative_to(worktree.resolve()) and place.exists()


def _programs(check: CheckSpec) -> tuple[str, ...]:
    """The scripts a check starts; the files it only looks at are the task's own business."""
    words = check.argv or tuple(check.shell.split())
    program = PurePosixPath(words[0]).name if words else ""
    return words[1:2] if _READS.fullmatch(program) else words[:1]


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
        "changed": candidate.changed,
        "scope": task.spec.scope,
        "branch": run.branch,
        "handed": handed(run, task),
        "dirty": (),
        "merged": True,
        "pushed": pushed,
    }


def handed(run: Run, task: Task) -> tuple[str, ...]:
    """The variables that agents of the run are given: what they wrote of them a check may tell."""
    agents = (*run.catalogue.agents.values(), *task.spec.agents)
    return tuple(sorted({name for agent in agents for name in agent.pass_env}))
