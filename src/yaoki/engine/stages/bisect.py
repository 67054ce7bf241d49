"""Whose landing turned a line red: found by bisection, each look in a restored proof room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from yaoki.core.bisect import find_partners, first_red
from yaoki.core.model import CheckSpec, Outcome, Run, Task, TaskId, Verdict
from yaoki.core.model.stage_report import BisectResult
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stages.proof_room import ProofSession, ProofSessions
from yaoki.engine.stages.secrets import passed_variables
from yaoki.ports import LandedStep, Workspace

# What a judge or a package says may differ from look to look, and costs money.
BISECTABLE_CHECK_TYPES = frozenset({"command", "file"})


class InconclusiveCheck(Exception):
    """A look said neither passed nor failed, so nobody is to blame."""


class LandingBisection:
    """Asked by the verify stage when a proof or a group's own checks fail."""

    def __init__(
        self, workspace: Workspace, rooms: ProofSessions, find: Callable[[TaskId], Task]
    ) -> None:
        self._workspace, self._rooms, self._find = workspace, rooms, find

    def find_culprit(
        self, line: Run, task: Task, verdict: Verdict, home: Path, hold: ClaimContext
    ) -> BisectResult | None:
        """The guilty landing, when the line's base was green and a landing can be named."""
        check = _failing(task, verdict)
        steps: Sequence[LandedStep] = self._workspace.branches.list_landings(line)
        if check is None or not steps:
            return None
        with self._rooms.session(line, task, home, hold) as session:
            look = _Look(session, line, task, check, home, hold)
            try:
                line, steps = self._since_green(line, steps, check, look)
                return self._guilty(line, steps, look) if steps else None
            except InconclusiveCheck:
                return None

    def _since_green(
        self, line: Run, steps: Sequence[LandedStep], check: CheckSpec, look: _Look
    ) -> tuple[Run, Sequence[LandedStep]]:
        """The landings since the check was last known to pass; none when it never did.

        A task's own check is red at the run's base: it passed when that task landed.
        """
        if not look.red(line.base):
            return line, steps
        own = [n for n, step in enumerate(steps, start=1) if self._owns(step, check)]
        for n in reversed(own):
            if not look.red(steps[n - 1].commit):
                return replace(line, base=steps[n - 1].commit), steps[n:]
        return line, ()

    def _owns(self, step: LandedStep, check: CheckSpec) -> bool:
        task = self._find(step.task_id) if step.task_id else None
        return task is not None and any(own.name == check.name for own in task.spec.checks)

    def _guilty(self, line: Run, steps: Sequence[LandedStep], look: _Look) -> BisectResult | None:
        if any(step.undoes for step in steps):
            return self._guilty_of_rest(line, _standing(steps), look)
        number = first_red(len(steps), lambda n: look.red(steps[n - 1].commit))
        return self._named(line, steps, number, look)

    def _guilty_of_rest(
        self, line: Run, steps: Sequence[LandedStep], look: _Look
    ) -> BisectResult | None:
        """Where work was taken back the past was red as well, so what still stands is put together
        anew, landing by landing.
        """

        def red(n: int) -> bool:
            made = self._workspace.branches.combine_landings(
                line.base, [s.commit for s in steps[:n]]
            )
            if not made:
                raise InconclusiveCheck
            return look.red(made)

        if not steps or not red(len(steps)):
            return None
        return self._named(line, steps, first_red(len(steps), red), look)

    def _named(
        self, line: Run, steps: Sequence[LandedStep], number: int, look: _Look
    ) -> BisectResult | None:
        guilty = steps[number - 1]
        if not guilty.task_id or not self._find(guilty.task_id).can_be_reverted:
            # Blaming it again and again would change nothing: a person decides.
            return None
        beside = find_partners(
            number, lambda chosen: self._together(line, steps, number, chosen, look)
        )
        names = tuple(steps[n - 1].task_id for n in beside if steps[n - 1].task_id)
        return BisectResult(guilty.task_id, names, guilty.commit, look.looked)

    def _together(
        self,
        line: Run,
        steps: Sequence[LandedStep],
        number: int,
        chosen: Sequence[int],
        look: _Look,
    ) -> bool | None:
        commits = [steps[n - 1].commit for n in (*chosen, number)]
        made = self._workspace.branches.combine_landings(line.base, commits)
        return look.red(made) if made else None


def _standing(steps: Sequence[LandedStep]) -> list[LandedStep]:
    """The landings that nobody took back."""
    gone = {step.undoes for step in steps}
    return [step for step in steps if step.task_id and step.commit not in gone]


class _Look:
    """One check on many commits, each judged once."""

    def __init__(
        self,
        session: ProofSession,
        line: Run,
        task: Task,
        check: CheckSpec,
        home: Path,
        hold: ClaimContext,
    ) -> None:
        self._session, self._check = session, check
        self._home, self._hold, self._handed = home, hold, passed_variables(line, task)
        self._seen: dict[str, bool] = {}
        self.looked = 0

    def red(self, commit: str) -> bool:
        if commit not in self._seen:
            self._seen[commit] = self._fails(commit)
        return self._seen[commit]

    def _fails(self, commit: str) -> bool:
        """A failure counts only if it is seen twice: chance must not blame anybody."""
        self.looked += 1
        if self._outcome(commit, f"look-{self.looked}") is Outcome.PASSED:
            return False
        if self._outcome(commit, f"look-{self.looked}-again") is Outcome.PASSED:
            raise InconclusiveCheck
        return True

    def _outcome(self, commit: str, name: str) -> Outcome:
        if self._hold.stop_reason():
            raise InconclusiveCheck
        facts: dict[str, Any] = {
            "environment": self._hold.environment,
            "handed": self._handed,
            "commit": commit,
            "base": commit,
            "onto": commit,
            "changed": (),
            "scope": (),
        }
        finding = self._session.run_check(self._check, commit, self._home / name, facts)
        if finding.outcome not in {Outcome.PASSED, Outcome.FAILED}:
            raise InconclusiveCheck
        return finding.outcome


def _failing(task: Task, verdict: Verdict) -> CheckSpec | None:
    finding = verdict.first_failing
    if finding is None or finding.outcome is not Outcome.FAILED:
        return None
    named = (check for check in task.spec.checks if check.name == finding.check)
    return next((check for check in named if check.type in BISECTABLE_CHECK_TYPES), None)
