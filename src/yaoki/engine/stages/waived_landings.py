"""Compares a failing check with the landings for which a person waived it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator

from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.decide.baseline import command_key
from yaoki.core.decide.escalation import AGENTLESS_KINDS
from yaoki.core.decide.waived_failures import weigh_waived
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec, Finding, Outcome, Run, Task, TaskId, Verdict
from yaoki.engine.stages.baseline_comparison import BaselineComparison
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, Workspace, without_undone


class WaivedLandings:
    """Used when a check of an agent's work has failed.

    A final check and a group blame a landing instead (engine/stages/bisect.py).
    """

    def __init__(self, workspace: Workspace, find_task: Callable[[TaskId], Task]) -> None:
        self._workspace, self._find_task = workspace, find_task
        self._lock = threading.Lock()
        # Landings without any waiver; neither changes, so each is read once.
        self._plain: BoundedCache[tuple[TaskId, str], bool] = BoundedCache()

    def weigh(
        self,
        run: Run,
        check: ProofCheck,
        finding: Finding,
        facts: CheckFacts,
        comparison: BaselineComparison,
    ) -> Finding:
        """Failures that a person waived for landed work do not count.

        A joint commit is compared with the branch below it, where the failure must still be: the
        work that is taken along is not landed.
        """
        task = check.task
        if finding.outcome is not Outcome.FAILED or task.spec.kind in AGENTLESS_KINDS:
            return finding
        steps = list(self._steps(run, check.spec))
        if not steps or check.claim.stop_reason():
            return finding
        base = comparison.baseline(check, facts, facts.verified_below)
        landings = {}
        for landed, commit in steps:
            place = check.folder.with_name(f"{check.folder.name}-landed-{commit[:12]}")
            at_landing = replace(check, folder=place)
            landings[landed.spec.name] = comparison.baseline(at_landing, facts, commit)
        return weigh_waived(finding, base, landings, task.spec.fixes)

    def landed_since(
        self, run: Run, task: Task, verdict: Verdict, members: Collection[TaskId]
    ) -> str:
        """The first of these members of the merge queue that has landed and for which a person
        waived a check that fails here; empty if there is none.
        """
        failing = {finding.check for finding in verdict.all_failing}
        checks = [check for check in task.spec.checks if check.name in failing]
        steps = (step for check in checks for step in self._steps(run, check))
        return next((landed.spec.name for landed, _ in steps if landed.id in members), "")

    def _steps(self, run: Run, check: CheckSpec) -> Iterator[tuple[Task, str]]:
        """The landed tasks for which a person waived the check, and the commits of the branch."""
        for step in without_undone(self._workspace.branches.list_landings(run)):
            with self._lock:
                is_plain = (step.task_id, step.commit) in self._plain
            if is_plain:
                continue
            task = self._find_task(step.task_id)
            if task.landed_commit == step.commit and not task.waivers:
                with self._lock:
                    self._plain[task.id, step.commit] = True
            elif _has_waived(task, check):
                yield task, step.branch_commit


def _has_waived(task: Task, check: CheckSpec) -> bool:
    """The waiver is about a command: a check of the same name may run another one."""
    if check.name not in task.waivers:
        return False
    key = command_key(check)
    return any(own.name == check.name and command_key(own) == key for own in task.proof_spec.checks)
