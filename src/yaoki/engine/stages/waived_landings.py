"""Compares a failing check with the landings for which a person waived it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from yaoki.core.decide.baseline import command_key
from yaoki.core.decide.escalation import AGENTLESS_KINDS
from yaoki.core.decide.waived_failures import weigh_waived
from yaoki.core.model import CheckSpec, Finding, Outcome, Run, Task, TaskId
from yaoki.engine.stages.baseline_comparison import BaselineComparison
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, Workspace, without_undone


class WaivedLandings:
    """Used when a check of an agent's work has failed.

    A final check and a group blame a landing instead (engine/stages/bisect.py).
    """

    def __init__(
        self,
        workspace: Workspace,
        comparison: BaselineComparison,
        find_task: Callable[[TaskId], Task],
    ) -> None:
        self._workspace, self._comparison, self._find_task = workspace, comparison, find_task

    def weigh(self, run: Run, check: ProofCheck, finding: Finding, facts: CheckFacts) -> Finding:
        """Failures that a person waived for work below this task do not count."""
        task = check.task
        if finding.outcome is not Outcome.FAILED or task.spec.kind in AGENTLESS_KINDS:
            return finding
        commits = dict(self._landings(run, check))
        if not commits or check.claim.stop_reason():
            return finding
        base = self._comparison.baseline(check, facts, facts.onto)
        landings = {}
        for name, commit in commits.items():
            place = check.folder.with_name(f"{check.folder.name}-landed-{commit[:12]}")
            landed = replace(check, folder=place)
            landings[name] = self._comparison.baseline(landed, facts, commit)
        return weigh_waived(finding, base, landings, task.spec.fixes)

    def _landings(self, run: Run, check: ProofCheck) -> Iterator[tuple[str, str]]:
        """The tasks for which a person waived the check, each with the commit of its landing.

        A task ahead in the merge queue counts as well: what is built on it lands only after it.
        """
        steps = without_undone(self._workspace.branches.list_landings(run))
        for step in steps:
            task = self._find_task(step.task_id)
            if _has_waived(task, check.spec):
                yield task.spec.name, step.branch_commit
        landed = {step.task_id for step in steps}
        for task_id in sorted({*check.claim.queue.members()} - landed - {check.task.id}):
            task = self._find_task(task_id)
            if task.work.verified_commit and _has_waived(task, check.spec):
                yield task.spec.name, task.work.verified_commit


def _has_waived(task: Task, check: CheckSpec) -> bool:
    """The waiver is about a command: a check of the same name may run another one."""
    if check.name not in task.waivers:
        return False
    key = command_key(check)
    return any(own.name == check.name and command_key(own) == key for own in task.proof_spec.checks)
