"""The run branch and its mark: made, read, and moved only by us."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import Commit, Move, Refs, branch_of, mark_of
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.workspace.branches.drift import Strayed, Straying
from yaoki.core.model import Run
from yaoki.errors import GitFailed

RACES_MAX = 5
STEADY = timedelta(milliseconds=60)


class RunBranch:
    """Makes, reads and moves the run branch; the mark tells our moves from anybody else's."""

    def __init__(self, git: Git, refs: Refs) -> None:
        self._git, self._refs, self._clock = git, refs, SystemClock()
        self._straying = Straying(git, refs)

    def open(self, run: Run) -> None:
        """Make branch and mark; a branch that was there once is never made anew.

        The branch comes first: killed in between, the mark is made where the branch is.
        """
        for _ in range(RACES_MAX):
            mark, head = self._refs.commits(mark_of(run), branch_of(run))
            if mark and head:
                return
            if not head and (mark or self._straying.knows(run)):
                raise self._saved(run, self._straying.gone(run, mark)).error
            at = head or self._refs.commit(run.base, f"the base {run.base[:12]} of {run.id}")
            moves = [Move(ref, at.sha, "") for ref in (branch_of(run), mark_of(run))]
            wanted = moves[1:] if head else self._refs.begun(run.id) or moves
            if self._refs.move(*wanted, why="yaoki: open run"):
                return
        raise GitFailed(f"{run.branch} moved {RACES_MAX} times meanwhile", transient=True)

    def bring_along(self, run: Run) -> None:
        """A run that was begun before there was a remote: what this repository holds of it goes
        there, as long as nothing of it is there.
        """
        if not any(self._refs.commits(mark_of(run), branch_of(run))):
            begun = self._refs.begun(run.id)
            if begun and not self._refs.move(*begun, why="yaoki: open run"):
                raise GitFailed(f"{run.branch} came to the remote meanwhile", transient=True)

    def both(self, run: Run) -> tuple[Commit, Commit | None]:
        """The head of the branch, which must be there, and its mark if it has one."""
        head, mark = self._refs.commits(branch_of(run), mark_of(run))
        if head is None:
            raise self._saved(run, self._straying.gone(run, mark)).error
        return head, mark

    def _saved(self, run: Run, found: Strayed) -> Strayed:
        """Whoever is told of the way back finds what it leads to."""
        self._straying.save(run, found)
        return found

    def head(self, run: Run) -> Commit:
        return self.both(run)[0]

    def move(self, run: Run, new: str, old: str, why: str) -> bool:
        """Move the branch from `old` to `new`, and the mark along.

        git writes the mark first.  Killed in between, the branch still lacks the commit, so the
        landing is repeated; the other way round nobody would set the mark right.
        """
        branch, mark = branch_of(run), mark_of(run)
        if not self._refs.move(Move(mark, new, old), Move(branch, new, old), why=why):
            if not self._mark_only(run, new, old):
                return False
            if not self._refs.move(Move(mark, new), Move(branch, new, old), why=why):
                return False
        self._straying.know(run, new)
        return True

    def _mark_only(self, run: Run, new: str, old: str) -> bool:
        """Is only the mark elsewhere, and nothing that landed lost by going on?"""
        head, mark = self.both(run)
        if head.sha != old:
            return False
        ahead = mark is None or old in mark.parents[:1] or self._refs.contains(mark.sha, new)
        if not ahead or self._straying.forgets(run, new):
            found = self._straying.look(run, head, mark)
            raise self._saved(run, found or self._straying.lacking(run, head, mark)).error
        return True

    def intact(self, run: Run, landed: Sequence[str] = ()) -> str:
        """Empty when the branch is where yaoki put it; else one sentence."""
        found = self._strayed(run, landed)
        return found.sentence if found else ""

    def refuse_strayed(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchStrayed` when it is not; `landed` is what the store knows to be on it."""
        if found := self._strayed(run, landed):
            raise found.error

    def _strayed(self, run: Run, landed: Sequence[str]) -> Strayed | None:
        """Branch and mark move together, but nobody reads them together: only what stands still
        counts.  A merged run's branch is the user's to delete.
        """
        seen: tuple[Commit | None, Commit | None] | None = None
        found: Strayed | None = None
        for _ in range(RACES_MAX):
            mark, head = self._refs.commits(mark_of(run), branch_of(run))
            if head is None and run.merged:
                return None
            found = self._straying.look(run, head, mark, landed)
            if found is None or seen == (mark, head):
                break
            seen = (mark, head)
            self._clock.sleep(STEADY)
        return found and self._saved(run, found)

    def lacks(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of these commits the branch does not hold; one that is gone holds none."""
        head = self._refs.commits(branch_of(run))[0]
        return self._straying.beyond(commits, head) if head else tuple(commits)

    def strayed(self, run: Run, head: Commit, mark: Commit | None) -> Strayed | None:
        """What somebody else put on the branch, or took from it; a landing that was cut off after
        its mark is neither.
        """
        found = self._straying.look(run, head, mark)
        return found and self._saved(run, found)

    def way_back(self, run: Run, commit: str) -> str:
        """The command that puts the branch there; what it holds now gets a branch of its own."""
        return self._straying.way_back(run, *self.both(run), commit)
