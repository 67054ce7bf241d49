"""`ports.RunBranches`: the run branch, its drift, and what landed on it."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.adapters.git.history import LandingHistory
from yaoki.adapters.git.ref_names import target_branch_ref
from yaoki.adapters.git.refs import Refs, refuse_checked_out
from yaoki.adapters.workspace.branches.run_branch import RunBranch
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.mode import RemoteMode
from yaoki.core.model import Run
from yaoki.errors import BranchMovedExternally
from yaoki.ports import LandedStep


class GitRunBranches:
    def __init__(
        self, *, refs: Refs, mode: RemoteMode, branch: RunBranch, history: LandingHistory
    ) -> None:
        self._refs, self._mode, self._branch, self._history = refs, mode, branch, history

    @translates_os_errors
    def open_run_branch(self, run: Run) -> None:
        """Create the run branch at the run's base unless it exists or existed once."""
        self._mode.push_pending()
        self._mode.run_once(run.id, lambda: self._branch.open(run))

    @translates_os_errors
    def push_existing_run(self, run: Run) -> None:
        """Push the branch of a run that started before there was a remote."""
        self._branch.push_existing_run(run)

    @translates_os_errors
    def head(self, run: Run) -> str:
        return self._branch.head(run).sha

    @translates_os_errors
    def branch_contains(self, run: Run, commit: str) -> bool:
        head = self._branch.head(run).sha
        is_here = bool(commit) and self._mode.has_commit(commit)
        return is_here and self._refs.is_ancestor(commit, head)

    @translates_os_errors
    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """The given commits that the run branch does not contain."""
        return self._branch.missing_commits(run, commits)

    @translates_os_errors
    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """The landings on the target branch, oldest first."""
        return self._history.list_landings(run)

    @translates_os_errors
    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with only these landings; empty when they conflict."""
        return self._history.combine_landings(base, chosen)

    # -------------------------------------------------------------- drift

    @translates_os_errors
    def describe_drift(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""
        return self._branch.describe_drift(run)

    @translates_os_errors
    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchMovedExternally` unless the branch is where yaoki put it and contains all
        of `landed`.
        """
        self._branch.refuse_drift(run, landed)

    @translates_os_errors
    def refuse_checked_out(self, run: Run) -> None:
        """Raise `BranchMovedExternally` while the run branch is checked out."""
        ref = target_branch_ref(run)
        refuse_checked_out(self._mode.run_refs, ref, error_type=BranchMovedExternally)

    @translates_os_errors
    def way_back(self, run: Run, commit: str) -> str:
        """The command by which a person moves the run branch there."""
        return self._branch.way_back(run, commit)
