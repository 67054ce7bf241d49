"""The run branch and its recorded head: created, read, and moved only by yaoki."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.reachability import commits_not_reachable
from yaoki.adapters.git.ref_names import recorded_head_ref, target_branch_ref
from yaoki.adapters.git.refs import GitCommit, RefMove, require_commit
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.workspace.branches.drift import BranchDrift, DriftDetector
from yaoki.adapters.workspace.remote.mode import RemoteMode
from yaoki.core.model import Run
from yaoki.errors import GitFailed

RACES_MAX = 5
RETRY_PAUSE = timedelta(milliseconds=60)


class RunBranch:
    """Creates, reads and moves the run branch.

    The recorded head distinguishes yaoki's own moves from all others.
    """

    def __init__(self, git: Git, mode: RemoteMode) -> None:
        self._git, self._mode, self._refs = git, mode, mode.run_refs
        self._clock, self._drift = SystemClock(), DriftDetector(git, mode)

    def open(self, run: Run) -> None:
        """Create branch and recorded head; a branch that existed once is never created again.

        The branch comes first: after a kill in between, the record is created from the branch.
        """
        for _ in range(RACES_MAX):
            recorded, head = self._refs.read_commits(recorded_head_ref(run), target_branch_ref(run))
            if recorded and head:
                return
            if not head and (recorded or self._drift.remembered_head(run)):
                raise self._save_head(run, self._drift.describe_missing_branch(run, recorded)).error
            start = head or require_commit(
                self._refs, run.base, f"the base {run.base[:12]} of {run.id}"
            )
            moves = [
                RefMove(ref, start.sha, "")
                for ref in (target_branch_ref(run), recorded_head_ref(run))
            ]
            moves = moves[1:] if head else self._mode.unshared_run_refs(run.id) or moves
            if self._refs.move(*moves, reason="yaoki: open run"):
                return
        raise GitFailed(f"{run.branch} moved {RACES_MAX} times meanwhile", transient=True)

    def push_existing_run(self, run: Run) -> None:
        """Push the refs of a run that started before there was a remote, unless the remote has
        some of them.
        """
        if not any(self._refs.read_commits(recorded_head_ref(run), target_branch_ref(run))):
            moves = self._mode.unshared_run_refs(run.id)
            if moves and not self._refs.move(*moves, reason="yaoki: open run"):
                raise GitFailed(f"{run.branch} came to the remote meanwhile", transient=True)

    def head_and_recorded_head(self, run: Run) -> tuple[GitCommit, GitCommit | None]:
        """The head of the branch, which must exist, and the recorded head if there is one."""
        head, recorded = self._refs.read_commits(target_branch_ref(run), recorded_head_ref(run))
        if head is None:
            raise self._save_head(run, self._drift.describe_missing_branch(run, recorded)).error
        return head, recorded

    def _save_head(self, run: Run, drift: BranchDrift) -> BranchDrift:
        """Save the commit that the restore command of the message names."""
        self._drift.save_restore_commit(run, drift)
        return drift

    def head(self, run: Run) -> GitCommit:
        return self.head_and_recorded_head(run)[0]

    def move(self, run: Run, new: str, old: str, reason: str) -> bool:
        """Move the branch from `old` to `new`, together with the recorded head.

        git writes the recorded head first.  After a kill in between, the branch still lacks the
        commit, so the landing is repeated; in the other order nothing would correct the record.
        """
        branch, record = target_branch_ref(run), recorded_head_ref(run)
        if not self._refs.move(RefMove(record, new, old), RefMove(branch, new, old), reason=reason):
            if not self._only_record_differs(run, new, old):
                return False
            if not self._refs.move(RefMove(record, new), RefMove(branch, new, old), reason=reason):
                return False
        self._drift.remember_head(run, new)
        return True

    def _only_record_differs(self, run: Run, new: str, old: str) -> bool:
        """True when only the recorded head is elsewhere and the move loses nothing that landed."""
        head, recorded = self.head_and_recorded_head(run)
        if head.sha != old:
            return False
        safe = (
            recorded is None
            or old in recorded.parents[:1]
            or self._refs.is_ancestor(recorded.sha, new)
        )
        if not safe or self._drift.lacks_remembered_head(run, new):
            if self.head(run).sha != old:
                return False  # another landing moved both refs after they were read
            drift = self._drift.find_drift(run, head, recorded)
            raise self._save_head(
                run, drift or self._drift.describe_missing_commits(run, head, recorded)
            ).error
        return True

    def describe_drift(self, run: Run, landed: Sequence[str] = ()) -> str:
        """Empty when the branch is where yaoki put it; else one sentence."""
        drift = self._steady_drift(run, landed)
        return drift.sentence if drift else ""

    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchMovedExternally` on drift; `landed` is what the store says has landed."""
        if drift := self._steady_drift(run, landed):
            raise drift.error

    def _steady_drift(self, run: Run, landed: Sequence[str]) -> BranchDrift | None:
        """The drift, once two reads agree: branch and record are not read in one transaction.

        The branch of a merged run is the user's to delete.
        """
        previous: tuple[GitCommit | None, GitCommit | None] | None = None
        drift: BranchDrift | None = None
        for _ in range(RACES_MAX):
            recorded, head = self._refs.read_commits(recorded_head_ref(run), target_branch_ref(run))
            if head is None and run.merged_commit:
                return None
            drift = self._drift.find_drift(run, head, recorded, landed)
            if drift is None or previous == (recorded, head):
                break
            previous = (recorded, head)
            self._clock.sleep(RETRY_PAUSE)
        return drift and self._save_head(run, drift)

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """The given commits that the branch does not contain; a deleted branch contains none."""
        head = self._refs.read_commits(target_branch_ref(run))[0]
        return commits_not_reachable(self._git, commits, head.sha) if head else tuple(commits)

    def find_drift(
        self, run: Run, head: GitCommit, recorded: GitCommit | None
    ) -> BranchDrift | None:
        """Commits that somebody else added or removed; an interrupted landing is no drift."""
        drift = self._drift.find_drift(run, head, recorded)
        return drift and self._save_head(run, drift)

    def way_back(self, run: Run, commit: str) -> str:
        """The command that moves the branch there; the current head gets its own branch."""
        return self._drift.way_back(run, *self.head_and_recorded_head(run), commit)
