"""Proof of one exact commit: what must hold of any change, then every check, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from yaoki.core.baseline import KNOWN, command_key, weigh
from yaoki.core.change import Claims
from yaoki.core.model import DONE_WHEN, CheckSpec, Finding, Item, Outcome, Run, Task, TaskKind
from yaoki.core.scope import outside
from yaoki.engine.hold import Hold
from yaoki.ports import Baselines, Candidate, Checker, Quality, Workspace

Facts = Mapping[str, Any]


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
        strayed = tuple(_built_in(task, candidate)) or self._criteria(task, candidate)
        if strayed:
            return strayed
        checked = tuple(self._checked(run, task, candidate, home, hold))
        return (*checked, *self._empty_words(task, candidate, checked))

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
        wanted = {"Q5", "Q6"}.intersection(task.spec.quality)
        return tuple(f for f in judged if f.check in wanted and f.check not in task.waivers)

    def _criteria(self, task: Task, candidate: Candidate) -> tuple[Finding, ...]:
        """The quality of the change itself, before any command is asked about it."""
        if task.spec.kind is TaskKind.CHECK or not candidate.changed:
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
        fixed["diff"] = lambda: self._workspace.diff(old, candidate.commit)
        for n, spec in enumerate(task.spec.checks, start=1):
            if spec.name in task.waivers:
                yield Finding(spec.name, Outcome.WAIVED, message="waived by a person")
                continue
            facts = {**fixed, "findings": tuple(told)}
            finding = self._weighed(task, spec, home / f"{n}-{spec.name}", facts, hold)
            finding = self._only_looked(task, finding, facts)
            told.append(finding)
            yield finding
            if not finding.settled:
                return

    def _weighed(
        self, task: Task, spec: CheckSpec, folder: Path, facts: Facts, hold: Hold
    ) -> Finding:
        """A failure is looked at twice, and held against the base if the check is a guard."""
        finding = self._check(task, spec, folder, facts, hold)
        if finding.outcome is not Outcome.FAILED or hold.why():
            return finding
        if spec.rerun and spec.type == "command":
            again = self._check(task, spec, folder.with_name(f"{folder.name}-again"), facts, hold)
            if again.outcome is Outcome.PASSED:
                words = f"flaky: failed, then passed on the same commit ({finding.message})"
                return replace(finding, outcome=Outcome.FLAKY, message=words)
        if spec.baseline != KNOWN or hold.why():
            return finding
        return weigh(finding, self._baseline(task, spec, folder, facts, hold), task.spec.fixes)

    def _only_looked(self, task: Task, finding: Finding, facts: Facts) -> Finding:
        """A check that changes files proves nothing of the commit, and must not serve the next."""
        changed = self._workspace.settle(task, facts["commit"])
        if not changed or finding.outcome not in {Outcome.PASSED, Outcome.FLAKY}:
            return finding
        words = f"the check itself changed files, so it proves nothing: {', '.join(changed[:5])}"
        items = tuple(Item(path, "changed by the check") for path in changed)
        return replace(finding, outcome=Outcome.FAILED, message=words, items=items)

    def _check(
        self, task: Task, spec: CheckSpec, folder: Path, facts: Facts, hold: Hold
    ) -> Finding:
        place = Path(task.work.worktree)
        return self._checker.check(spec, place, folder, facts=facts, stop=lambda: bool(hold.why()))

    def _baseline(
        self, task: Task, spec: CheckSpec, folder: Path, facts: Facts, hold: Hold
    ) -> Finding:
        """What the check says of the run branch without this task; run once per commit."""
        onto, key = facts["onto"], command_key(spec)
        kept = self._baselines.baseline(onto, key)
        if kept is not None:
            return kept
        self._workspace.visit(task, onto)
        base = self._check(task, spec, folder.with_name(f"{folder.name}-base"), facts, hold)
        self._workspace.visit(task, facts["commit"])
        if base.outcome in {Outcome.PASSED, Outcome.FAILED}:
            self._baselines.keep_baseline(onto, key, base)
        return base

    @staticmethod
    def _reported(task: Task, candidate: Candidate) -> Finding:
        """A report is there when an agent that came to its own end said or wrote something."""
        exit_ = task.work.exit
        written = exit_.report_bytes if exit_ else 0
        if exit_ is not None and exit_.clean and (written or candidate.changed):
            return Finding("report", Outcome.PASSED, message=f"{written} bytes of report")
        why = "no report was written" if not written else "the agent did not come to its own end"
        return Finding("report", Outcome.FAILED, pattern="no-change", message=why)


def _inside(worktree: Path, path: str) -> bool:
    """Is this path of the repository there?  One that leads elsewhere is not."""
    place = (worktree / path).resolve()
    return place.is_relative_to(worktree.resolve()) and place.exists()


def _programs(check: CheckSpec) -> tuple[str, ...]:
    """The scripts a check starts; the files it only looks at are the task's own business."""
    words = check.argv or tuple(check.shell.split())
    shell = words[:1] in {("sh",), ("bash",)}
    return words[1:2] if shell else words[:1]


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
        "dirty": (),
        "merged": True,
        "pushed": pushed,
    }


def _built_in(task: Task, candidate: Candidate) -> Iterator[Finding]:
    """What must hold of any change, whatever the plan checks.

    Only failures are findings here: that nothing was deleted proves nothing.
    """
    if candidate.markers and "conflict-markers" not in task.waivers:
        yield _failing("conflict-markers", "merge-conflict", "conflict markers", candidate.markers)
    strays = outside(candidate.changed, task.spec.scope) if task.spec.scope else ()
    if strays and "scope" not in task.waivers:
        found = _failing("scope", "out-of-scope", "changes outside the declared scope", strays)
        params = {"outsideFiles": list(strays[:100]), "scope": list(task.spec.scope)}
        yield replace(found, params=params)
    too_many = candidate.deleted * 2 > candidate.tracked and candidate.tracked > 0
    allowed = task.spec.allow_mass_deletion or "mass-deletion" in task.waivers
    if too_many and not allowed:
        words = f"{candidate.deleted} of {candidate.tracked} tracked files deleted"
        numbers = {"deleted": candidate.deleted, "tracked": candidate.tracked}
        yield Finding(
            "mass-deletion", Outcome.FAILED, pattern="mass-deletion", message=words, params=numbers
        )


def _failing(name: str, pattern: str, words: str, paths: tuple[str, ...]) -> Finding:
    return Finding(
        name,
        Outcome.FAILED,
        pattern=pattern,
        message=f"{words}: {', '.join(paths[:5])}" + (" …" if len(paths) > 5 else ""),
        items=tuple(Item(path, words) for path in paths),
    )
