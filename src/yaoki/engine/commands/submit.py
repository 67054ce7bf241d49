"""A plan that passed its checks becomes a run: frozen in the store, with a branch of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from yaoki.core.model import Catalogue, ContinuousMode, Run, RunId, TaskSpec
from yaoki.errors import RemoteUnreachable, RepositoryUnusable, WorkspaceError
from yaoki.ports import Clock, Store, Workspace


@dataclass(frozen=True, slots=True)
class Submission:
    """A plan that passed its checks, ready to be frozen in the store."""

    goal: str
    specs: Sequence[TaskSpec]
    catalogue: Catalogue
    done_when: tuple[str, ...]
    source: str
    repo: str
    base_branch: str
    base: str
    parallel: int
    priority: int = 0
    planner: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    budget: Mapping[str, float] = field(default_factory=dict)
    continuous: ContinuousMode | None = None
    language: str = "en"
    approved: bool = False


class SubmitCommand:
    """`new_id` makes the name of a run; one that is taken is not used."""

    def __init__(
        self, store: Store, workspace: Workspace, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock
        self._new_id = new_id

    def submit(self, plan: Submission, request: Mapping[str, Any]) -> Run:
        """Freeze the plan as a new run; all of it or nothing."""
        run = Run(
            id=self._free_id(),
            goal=plan.goal,
            repo=plan.repo,
            base_branch=plan.base_branch,
            base=plan.base,
            created_at=self._clock.now(),
            catalogue=plan.catalogue,
            done_when=plan.done_when,
            source=plan.source,
            parallel=plan.parallel,
            priority=plan.priority,
            planner=plan.planner,
            default_agents=plan.chain,
            budget=plan.budget,
            continuous=plan.continuous,
            language=plan.language,
            approved=plan.approved,
        )
        self._store.submit(run, plan.specs, request)
        try:
            self._workspace.branches.open_run_branch(run)
        except RemoteUnreachable as away:
            # The run is stored; its first task makes the branch when the remote answers.
            self._store.note(run.id, "WARNING", {"message": away.sentence})
        except WorkspaceError as refused:
            raise RepositoryUnusable(
                f"{refused.sentence}; run {run.id} is stored all the same",
                hint=f"{refused.hint}; then yaoki resume {run.id}, or yaoki cancel {run.id}",
            ) from refused
        return run

    def _free_id(self) -> RunId:
        taken = {run.id for run in self._store.runs()}
        for _ in range(100):
            made = RunId(self._new_id())
            if made not in taken:
                return made
        raise AssertionError("a hundred ids in a row were taken")
