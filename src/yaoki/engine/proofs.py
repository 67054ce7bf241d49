"""`done_when` proven on the run branch: a task like any other, added when all others are done."""

from __future__ import annotations

from dataclasses import replace

from yaoki.core.model import DONE_WHEN, Policy, Run, Spec, State, TaskKind
from yaoki.ports import Row, Store, Workspace


class Proofs:
    """A new one whenever the run branch is not where the last one looked."""

    def __init__(self, store: Store, workspace: Workspace) -> None:
        self._store, self._workspace = store, workspace

    def settle(self, run: Run) -> bool:
        """Add the proof unless it is there, nothing asks for it, or it could not pass anyway."""
        if not run.done_when or run.cancel_wanted:
            return False
        rows = self._store.rows(run.id)
        proofs = [row for row in rows if is_proof(row)]
        if not _all_done([row for row in rows if row not in proofs]):
            return False
        last = proofs[-1] if proofs else None
        if last is not None and self._looked_at(last) == self._workspace.head(run):
            return False
        name = f"{DONE_WHEN}-{len(proofs) + 1}" if proofs else DONE_WHEN
        failed = last is not None and (last.held or last.state is State.ESCALATED)
        replaces = {name: str(last.id)} if last is not None and failed else {}
        return bool(self._store.add(run.id, [_spec(run, name)], unless=name, replaces=replaces))

    def _looked_at(self, proof: Row) -> str:
        """The commit it proved, or failed on."""
        return proof.landed or self._store.task(proof.id).work.base


def is_proof(row: Row) -> bool:
    return row.name.startswith(DONE_WHEN)


def _all_done(rows: list[Row]) -> bool:
    settled = {State.DONE, State.REPLACED}
    return all(row.state in settled for row in rows if row.required)


def _spec(run: Run, name: str) -> Spec:
    checks = tuple(run.catalogue.checks[check] for check in run.done_when)
    return Spec(
        name=name,
        goal="Prove on the run branch that the plan's done_when holds.",
        kind=TaskKind.CHECK,
        checks=tuple(replace(check, required=True) for check in checks),
        policy=run.catalogue.policies.get("default", Policy(rules={})),
        language=run.language,
        patient=bool(run.planner or run.continuous),
    )
