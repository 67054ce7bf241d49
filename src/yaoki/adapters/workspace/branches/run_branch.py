"""The run branch and its mark: made, read, and moved only by us."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import GitCommit, RefMove, Refs, recorded_head_ref, target_branch_ref
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.workspace.branches.drift import BranchDrift, DriftDetector
from yaoki.core.model import Run
from yaoki.errors import GitFailed

RACES_MAX = 5
STEADY = timedelta(milliseconds=60)


class RunBranch:
    """Makes, reads and moves the run branch; the mark tells our moves from anybody else's."""

    def __init__(self, git: Git, refs: Refs) -> None:
        self._git, self._refs, self._clock = git, refs, SystemClock()
        self._straying = DriftDetector(git, refs)

    def open(self, run: Run) -> None:
        """Make branch and mark; a branch that was there once is never made anew.

        The branch comes first: killed in between, the mark is made where the branch is.
        """
        for _ in range(RACES_MAX):
            mark, head = self._refs.read_commits(recorded_head_ref(run), target_branch_ref(run))
            if mark and head:
                return
            if not head and (mark or self._straying.remembered_head(run)):
                raise self._saved(run, self._straying.describe_missing_branch(run, mark)).error
            at = head or self._refs.require_commit(
                run.base, f"the base {run.base[:12]} of {run.id}"
            )
            moves = [
                RefMove(ref, at.sha, "") for ref in (target_branch_ref(run), recorded_head_ref(run))
            ]
            wanted = moves[1:] if head else self._refs.unshared_run_refs(run.id) or moves
            if self._refs.move(*wanted, why="yaoki: open run"):
                return
        raise GitFailed(f"{run.branch} moved {RACES_MAX} times meanwhile", transient=True)

    def push_existing_run(self, run: Run) -> None:
        """A run that was begun before there was a remote: what this repository holds of it goes
        there, as long as nothing of it is there.
        """
        if not any(self._refs.read_commits(recorded_head_ref(run), target_branch_ref(run))):
            begun = self._refs.unshared_run_refs(run.id)
            if begun and not self._refs.move(*begun, why="yaoki: open run"):
                raise GitFailed(f"{run.branch} came to the remote meanwhile", transient=True)

    def head_and_recorded_head(self, run: Run) -> tuple[GitCommit, GitCommit | None]:
        """The head of the branch, which must be there, and its mark if it has one."""
        head, mark = self._refs.read_commits(target_branch_ref(run), recorded_head_ref(run))
        if head is None:
            raise self._saved(run, self._straying.describe_missing_branch(run, mark)).error
        return head, mark

    def _saved(self, run: Run, found: BranchDrift) -> BranchDrift:
        """Whoever is told of the way back finds what it leads to."""
        self._straying.save_restore_commit(run, found)
        return found

    def head(self, run: Run) -> GitCommit:
        return self.head_and_recorded_head(run)[0]

    def move(self, run: Run, new: str, old: str, why: str) -> bool:
        """Move the branch from `old` to `new`, and the mark along.

        git writes the mark first.  Killed in between, the branch still lacks the commit, so the
        landing is repeated; the other way round nobody would set the mark right.
        """
        branch, mark = target_branch_ref(run), recorded_head_ref(run)
        if not self._refs.move(RefMove(mark, new, old), RefMove(branch, new, old), why=why):
            if not self._mark_only(run, new, old):
                return False
            if not self._refs.move(RefMove(mark, new), RefMove(branch, new, old), why=why):
                return False
        self._straying.remember_head(run, new)
        return True

    def _mark_only(self, run: Run, new: str, old: str) -> bool:
        """Is only the mark elsewhere, and nothing that landed lost by going on?"""
        head, mark = self.head_and_recorded_head(run)
        if head.sha != old:
            return False
        ahead = mark is None or old in mark.parents[:1] or self._refs.is_ancestor(mark.sha, new)
        if not ahead or self._straying.lacks_remembered_head(run, new):
            found = self._straying.find_drift(run, head, mark)
            raise self._saved(
                run, found or self._straying.describe_missing_commits(run, head, mark)
            ).error
        return True

    def describe_drift(self, run: Run, landed: Sequence[str] = ()) -> str:
        """Empty when the branch is where yaoki put it; else one sentence."""
        found = self._strayed(run, landed)
        return found.sentence if found else ""

    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchStrayed` when it is not; `landed` is what the store knows to be on it."""
        if found := self._strayed(run, landed):
            raise found.error

    def _strayed(self, run: Run, landed: Sequence[str]) -> BranchDrift | None:
        """Branch and mark move together, but nobody reads them together: only what stands still
        counts.  A merged run's branch is the user's to delete.
        """
        seen: tuple[GitCommit | None, GitCommit | None] | None = None
        found: BranchDrift | None = None
        for _ in range(RACES_MAX):
            mark, head = self._refs.read_commits(recorded_head_ref(run), target_branch_ref(run))
            if head is None and run.merged_commit:
                return None
            found = self._straying.find_drift(run, head, mark, landed)
            if found is None or seen == (mark, head):
                break
            seen = (mark, head)
            self._clock.sleep(STEADY)
        return found and self._saved(run, found)

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of these commits the branch does not hold; one that is gone holds none."""
        head = self._refs.read_commits(target_branch_ref(run))[0]
        return self._straying.not_reachable_from(commits, head) if head else tuple(commits)

    def find_drift(self, run: Run, head: GitCommit, mark: GitCommit | None) -> BranchDrift | None:
        """What somebody else put on the branch, or took from it; a landing that was cut off after
        its mark is neither.
        """
        found = self._straying.find_drift(run, head, mark)
        return found and self._saved(run, found)

    def way_back(self, run: Run, commit: str) -> str:
        """The command that puts the branch there; what it holds now gets a branch of its own."""
        return self._straying.way_back(run, *self.head_and_recorded_head(run), commit)
