"""Looks for a stored verdict before a check runs, and marks a new one with its key."""

from __future__ import annotations

from yaoki.core.decide.baseline import command_key
from yaoki.core.decide.verdict_reuse import (
    as_reused,
    depends_on_inputs_alone,
    is_reusable,
    make_key,
    with_key,
)
from yaoki.core.model import Finding, Run
from yaoki.core.model.verdict_key import VerdictKey
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import Baselines, Checker, CheckFacts, Verdicts, Workspace


class VerdictReuse:
    """Used by a verification for each of its checks."""

    def __init__(
        self, workspace: Workspace, checker: Checker, verdicts: Verdicts, baselines: Baselines
    ) -> None:
        self._workspace, self._checker = workspace, checker
        self._verdicts, self._baselines = verdicts, baselines

    def key(self, check: ProofCheck, facts: CheckFacts) -> VerdictKey | None:
        """None where a verdict must not be reused: it depends on more than its inputs."""
        spec = check.spec
        # The output of set-up may contain files that are no inputs.
        if not spec.inputs or check.task.spec.setup:
            return None
        tree = self._workspace.contents.tree_view(facts.commit)
        tools = self._checker.identify_tools(spec) if depends_on_inputs_alone(spec, tree) else ""
        return make_key(spec, tree, check.session.setup_key(facts.commit), tools) if tools else None

    def find(self, run: Run, check: ProofCheck, key: VerdictKey | None) -> Finding | None:
        """The finding of the earlier proof; None if there is none, or not all of it."""
        if key is None or not run.reuse_verdicts:
            return None
        origin = self._verdicts.find_verdict(key)
        if origin is None:
            return None
        command = command_key(check.spec, check.task.spec.setup)
        stored = self._baselines.baseline(origin.commit, command)
        if stored is None or not is_reusable(stored):
            return None
        return as_reused(stored, check.spec, key, origin)

    def mark(self, finding: Finding, key: VerdictKey | None) -> Finding:
        return with_key(finding, key) if key is not None and is_reusable(finding) else finding
