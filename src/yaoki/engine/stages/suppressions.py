"""Runs a check that passed once more, without the comments by which the work silences its tool.

Only for changes that add such a comment; any other change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.decide.suppressions import asks_for_suppressions, find_hiding, hiding_finding
from yaoki.core.model import GAMED_CHECK, CheckRunPurpose, Finding, Outcome, Task
from yaoki.core.model.change import Change
from yaoki.core.text import list_some
from yaoki.engine.stages.baseline_comparison import BaselineComparison
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, QualityCriteria, Workspace

SHOWN = 5


class Suppressions:
    """Used by a verification after its checks have passed."""

    def __init__(
        self, workspace: Workspace, quality: QualityCriteria, comparison: BaselineComparison
    ) -> None:
        self._workspace, self._quality, self._comparison = workspace, quality, comparison

    def findings(
        self,
        task: Task,
        passed: Sequence[tuple[ProofCheck, Finding]],
        changes: Sequence[Change],
        facts: CheckFacts,
    ) -> Iterator[Finding]:
        """A check that passes without them as well is not silenced."""
        if GAMED_CHECK in task.waivers or asks_for_suppressions(task.spec.goal):
            return
        tree = self._workspace.contents.tree_view(facts.onto)
        deleted = {change.path for change in changes if change.after is None}
        for check, _ in passed:
            added = self._quality.find_suppressions(changes, [check.spec], tree)
            if not added:
                continue
            texts = self._quality.remove_suppressions(changes, added)
            purpose = CheckRunPurpose.COMPARISON
            without = check.run_with(facts.commit, facts, texts, "-not-silenced", purpose=purpose)
            if without.outcome is not Outcome.FAILED or check.claim.stop_reason():
                continue
            base = self._comparison.finding_on_base(check, facts, facts.onto)
            items = find_hiding(added, without, base, deleted)
            if items and not check.claim.stop_reason():
                yield hiding_finding(check.spec.name, items, without.seconds)
                return

    def notes(self, task: Task, changes: Sequence[Change], onto: str) -> Iterator[str]:
        """The suppressions that land, for a person who wants to look at them."""
        tree = self._workspace.contents.tree_view(onto)
        added = self._quality.find_suppressions(changes, task.spec.checks, tree)
        if added:
            places = list_some([one.place for one in added], SHOWN)
            yield f"its work silences a linter, type checker or coverage: {places}"
