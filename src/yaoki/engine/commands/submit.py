"""Submits a plan: it becomes a run, frozen in the store, with its own branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Catalogue, ContinuousMode, Run, RunId, TaskSpec
from yaoki.errors import RemoteUnreachable, RepositoryUnusable, WorkspaceError
from yaoki.ports import Clock, RunStore, Workspace


@dataclass(frozen=True, slots=True)
class Submission:
    """A valid plan, ready to be stored as a run."""

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
    reuse_verdicts: bool = True


class SubmitCommand:
    """`new_id` generates run ids; an id in use is skipped."""

    def __init__(
        self, store: RunStore, workspace: Workspace, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._store, self._workspace, self._clock = store, workspace, clock
        self._new_id = new_id

    def submit(self, plan: Submission, request: Mapping[str, Any]) -> Run:
        """Store the plan as a new run, all or nothing."""
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
            reuse_verdicts=plan.reuse_verdicts,
        )
        self._store.submit(run, plan.specs, request)
        try:
            self._workspace.branches.open_run_branch(run)
        except RemoteUnreachable as unreachable:
            # The run is stored; its first task creates the branch when the remote answers.
            self._store.note(run.id, "WARNING", {"message": unreachable.sentence})
        except WorkspaceError as failed:
            raise RepositoryUnusable(
                f"{failed.sentence}; run {run.id} is stored nevertheless",
                hint=f"{failed.hint}; then yaoki resume {run.id}, or yaoki cancel {run.id}",
            ) from failed
        return run

    def _free_id(self) -> RunId:
        taken_ids = {run.id for run in self._store.runs()}
        for _ in range(100):
            run_id = RunId(self._new_id())
            if run_id not in taken_ids:
                return run_id
        raise AssertionError("a hundred ids in a row were taken")
