"""The run branch and its mark: where yaoki put it, and what somebody else did to it since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from yaoki.core.model import Run
from yaoki.errors import GitFailed
from yaoki.system import SystemClock
from yaoki.workspace.git import Git
from yaoki.workspace.refs import Commit, Move, Refs, branch_of, mark_of

RACES_MAX = 5
STEADY = timedelta(milliseconds=60)
SUBJECT_MAX = 100


@dataclass(frozen=True, slots=True)
class Strayed:
    """How the branch differs from what yaoki made it; `lacks` when only commits are missing."""

    sentence: str
    hint: str
    lacks: bool


class RunBranch:
    """Makes, reads and moves the run branch; the mark tells our moves from anybody else's."""

    def __init__(self, git: Git, refs: Refs) -> None:
        self._git, self._refs, self._clock = git, refs, SystemClock()

    def open(self, run: Run) -> None:
        """Make branch and mark; a branch that was there once is never made anew.

        The branch comes first: killed in between, the mark is made where the branch is.
        """
        for _ in range(RACES_MAX):
            mark, head = self._refs.commits(mark_of(run), branch_of(run))
            if mark and head:
                return
            if mark:
                raise _gone(run, mark)
            at = head or self._refs.commit(run.base, f"the base {run.base[:12]} of {run.id}")
            moves = [Move(ref, at.sha, "") for ref in (branch_of(run), mark_of(run))]
            wanted = moves[1:] if head else self._refs.begun(run.id) or moves
            if self._refs.move(*wanted, why="yaoki: open run"):
                return
        raise GitFailed(f"{run.branch} moved {RACES_MAX} times meanwhile", transient=True)

    def both(self, run: Run) -> tuple[Commit, Commit | None]:
        """The head of the branch, which must be there, and its mark if it has one."""
        head, mark = self._refs.commits(branch_of(run), mark_of(run))
        if head is None:
            raise _gone(run, mark)
        return head, mark

    def head(self, run: Run) -> Commit:
        return self.both(run)[0]

    def move(self, run: Run, new: str, old: str, why: str) -> bool:
        """Move the branch from `old` to `new`, and the mark along wherever it was.

        git writes them in this order.  Killed in between, the branch still lacks the commit, so
        the landing is repeated; the other way round nobody would set the mark right.
        """
        return self._refs.move(Move(mark_of(run), new), Move(branch_of(run), new, old), why=why)

    def intact(self, run: Run) -> str:
        """Empty when the branch is where yaoki put it; else one sentence.

        A merged run's branch is the user's to delete.  Both refs move together, but nobody reads
        them together: only what stands still counts.  A mark one landing ahead of its branch is a
        landing on its way, or cut off by a kill and about to be repeated.
        """
        seen: tuple[Commit | None, Commit | None] | None = None
        for _ in range(RACES_MAX):
            mark, head = self._refs.commits(mark_of(run), branch_of(run))
            if mark is None or (head is None and run.merged):
                return ""
            if head is not None and (head.sha == mark.sha or head.sha in mark.parents[:1]):
                return self._foreign(run, head)
            if seen == (mark, head):
                break
            seen = (mark, head)
            self._clock.sleep(STEADY)
        if head is None:
            return _gone(run, mark).sentence
        strayed = self.strayed(run, head, mark)
        return strayed.sentence if strayed else ""

    def _foreign(self, run: Run, head: Commit) -> str:
        """Branch and mark can be moved together, by an agent for one; what we land names the run.

        Where there is no line of a group the branch begins at the base, which is the user's.
        """
        if run.line or head.run == run.id or head.sha == run.base:
            return ""
        return f"{run.branch} stands at {head.sha[:12]}, which yaoki did not make"

    def lacks(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of these commits the branch does not hold."""
        held = set(self._git.text("rev-list", self._refs.named(branch_of(run))).split())
        return tuple(commit for commit in commits if commit not in held)

    def strayed(self, run: Run, head: Commit, mark: Commit | None) -> Strayed | None:
        """What somebody else put on the branch, or took from it."""
        if mark is None or head.sha == mark.sha:
            return None
        name, last = run.branch, mark.sha[:12]
        if foreign := self._subjects(mark.sha, head.sha):
            words = f"{name} holds commits that yaoki did not land: {_told(foreign)}"
            by_hand = f"git switch {run.base_branch} && git merge {name}"
            return Strayed(words, f"look: git log {last}..{name}; merge by hand: {by_hand}", False)
        missing = self._subjects(head.sha, mark.sha)
        words = f"{name} lacks commits that yaoki landed: {_told(missing)}"
        back = f"git branch -f {name} {mark.sha}"
        return Strayed(words, f"look: git log {name}..{last}; put it back: {back}", True)

    def _subjects(self, old: str, new: str) -> list[str]:
        """The first lines of the commits that only `new` has, oldest first."""
        args = ("--reverse", "--no-commit-header", "--format=%h %s", f"{old}..{new}")
        lines = self._git.text("rev-list", *args).split("\n")
        return [line.partition(" ")[2] for line in lines if line]


def _gone(run: Run, mark: Commit | None) -> GitFailed:
    if mark is None:
        return GitFailed(f"the run branch {run.branch} is gone", hint="git log --all")
    return GitFailed(
        f"the run branch {run.branch} is gone; its last commit was {mark.sha[:12]}",
        hint=f"git branch {run.branch} {mark.sha}",
    )


def _told(subjects: list[str]) -> str:
    count = f"{len(subjects)} commit{'s' if len(subjects) != 1 else ''}"
    return f"{count}, first {subjects[0][:SUBJECT_MAX]!r}" if subjects else count
