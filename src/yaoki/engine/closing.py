"""When everything rests: `done_when` is proven on the run branch, then the run is summed up.

The proof is a task like any other, added once; so it is leased, journalled, explained and answered
by the same code as all work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from yaoki.core.model import DONE_WHEN, Policy, Run, RunId, Spec, State, TaskKind
from yaoki.core.status import Status, required_done, status
from yaoki.ports import Clock, Store


class Closing:
    """Asked whenever nothing of a run can be claimed."""

    def __init__(self, store: Store, clock: Clock, head: Callable[[Run], str]) -> None:
        self._store = store
        self._clock = clock
        self._head = head

    def rests(self, run_id: RunId) -> bool:
        if not self._store.resting(run_id):
            return False
        run = self._store.run(run_id)
        if self._prove(run):
            return False
        self._sum_up(run)
        return True

    def _prove(self, run: Run) -> bool:
        """Add the proof unless it is there, nothing asks for it, or it could not pass anyway."""
        if not run.done_when or run.cancel_wanted:
            return False
        if not required_done(self._store.tally(run.id)):
            return False
        name = self._next_proof(run)
        if not name:
            return False
        checks = tuple(run.catalogue.checks[name] for name in run.done_when)
        policy = run.catalogue.policies.get("default", Policy(rules={}))
        spec = Spec(
            name=name,
            goal="Prove on the run branch that the plan's done_when holds.",
            kind=TaskKind.CHECK,
            checks=tuple(replace(check, required=True) for check in checks),
            policy=policy,
        )
        return bool(self._store.add(run.id, [spec], unless=name))

    def _next_proof(self, run: Run) -> str:
        """The name of the proof to add; empty when the branch's head is what was proven."""
        proofs = [row for row in self._store.rows(run.id) if row.name.startswith(DONE_WHEN)]
        if not proofs:
            return DONE_WHEN
        if proofs[-1].landed == self._head(run):
            return ""
        return f"{DONE_WHEN}-{len(proofs) + 1}"

    def _sum_up(self, run: Run) -> None:
        """Once per end; a run that goes on later is summed up again."""
        tally = self._store.tally(run.id)
        ended = status(tally, resting=True)
        if run.summed_at is not None or ended is Status.ESCALATED:
            return
        counts = {state.value: 0 for state in State}
        for (state, _), n in tally.items():
            counts[state.value] += n
        now_ms = round(self._clock.now().timestamp() * 1000)
        data = {"status": ended.value, "tasks": counts, "run_branch": run.branch}
        self._store.update_run(run.id, "FINAL_SUMMARY", data, summed_ms=now_ms)
