"""The last proof of a run: `done_when`, and every check that a later landing may have broken.

It is a task like any other, added when all others are done.
"""

from __future__ import annotations

from dataclasses import replace

from yaoki.core.model import FINAL_CHECK_NAME, Run, State, TaskSpec
from yaoki.engine.required_checks import CheckSet, RequiredChecks, is_final_check
from yaoki.ports import Store, TaskRow, Workspace

FINAL_CHECK_GOAL = "Prove on the run branch that everything that landed still holds."


class FinalCheckStep:
    """A new one whenever the run branch is not where the last one looked."""

    def __init__(self, store: Store, workspace: Workspace) -> None:
        self._store, self._workspace = store, workspace
        self._standing = RequiredChecks(store)

    def advance(self, run: Run) -> bool:
        """Add the proof unless it is there, nothing asks for it, or it could not pass anyway."""
        if run.cancel_requested:
            return False
        rows = self._store.rows(run.id)
        proofs = [row for row in rows if is_final_check(row)]
        if not _all_done([row for row in rows if row not in proofs]):
            return False
        last = proofs[-1] if proofs else None
        head = self._workspace.branches.head(run)
        if last is not None and self._looked_at(last) == head:
            return False
        spec = self._spec(
            run, f"{FINAL_CHECK_NAME}-{len(proofs) + 1}" if proofs else FINAL_CHECK_NAME, head
        )
        if not spec.checks:
            return False
        failed = last is not None and (last.awaiting_rerun or last.state is State.ESCALATED)
        replaces = {spec.name: str(last.id)} if last is not None and failed else {}
        return bool(self._store.add_tasks(run.id, [spec], unless=spec.name, replaces=replaces))

    def _looked_at(self, proof: TaskRow) -> str:
        """The commit it proved, or failed on."""
        return proof.landed_commit or self._store.task(proof.id).work.base

    def _spec(self, run: Run, name: str, head: str) -> TaskSpec:
        """What the plan asks for at the end, then what nobody has seen pass on this head."""
        asked = {check: run.catalogue.checks[check] for check in run.done_when}
        open_ = self._standing.not_known_to_pass(run, head)
        checks = {**asked, **{check.name: check for check in open_.checks}}
        standing: CheckSet = replace(open_, checks=tuple(checks.values()))
        patient = bool(run.planner or run.continuous)
        return replace(
            standing.as_task_spec(run, name, FINAL_CHECK_GOAL), defers_escalation=patient
        )


def _all_done(rows: list[TaskRow]) -> bool:
    settled = {State.DONE, State.REPLACED}
    landed = {row.id for row in rows if row.state is State.DONE}
    # What a group has landed without is missing from the run, and no reason to prove nothing.
    return all(row.state in settled or row.parent in landed for row in rows if row.required)
