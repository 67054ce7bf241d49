"""What somebody else did to the run branch, in one sentence, and the command that puts it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import (
    GitCommit,
    RefMove,
    Refs,
    recorded_head_ref,
    target_branch_ref,
    work_ref,
)
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.model import Run
from yaoki.core.text import format_count
from yaoki.errors import BranchMovedExternally

SUBJECT_MAX = 100


@dataclass(frozen=True, slots=True)
class BranchDrift:
    """How the branch differs from what yaoki made it; `lacks` when only commits are missing.

    `back` is where it belongs, `way` the command that puts it there; `look` shows what differs.
    """

    sentence: str
    restore_command: str
    only_lacks_commits: bool
    restore_commit: str = ""
    inspect_command: str = ""

    @property
    def error(self) -> BranchMovedExternally:
        return BranchMovedExternally(self.sentence, restore_command=self.restore_command)


class DriftDetector:
    """Holds branch and mark against each other, and both against what was seen before.

    Whoever has both refs set back deceives the mark.  So the last head that was good is kept in
    mind, and at the beginning and the end of a run the store says what landed.
    """

    def __init__(self, git: Git, refs: Refs) -> None:
        self._git, self._refs = git, refs
        self._known: BoundedCache[str, str] = BoundedCache()

    # -------------------------------------------------------------- what was seen before

    def remember_head(self, run: Run, head: str) -> None:
        """A group's branch may be rolled back, so nothing is kept in mind of one."""
        if not run.target_group:
            self._known[target_branch_ref(run)] = head

    def remembered_head(self, run: Run) -> str:
        return self._known.get(target_branch_ref(run), "")

    def lacks_remembered_head(self, run: Run, head: str) -> bool:
        """Would a branch at `head` lack what it was seen to hold?"""
        known = self.remembered_head(run)
        return bool(known) and not self._refs.is_ancestor(known, head)

    def not_reachable_from(self, commits: Sequence[str], head: GitCommit) -> tuple[str, ...]:
        """Which of the commits cannot be reached from the head.

        Git walks only what the head lacks, never the whole history behind it.
        """
        here = [one.name for one in self._git.look_up(*(f"{c}^{{commit}}" for c in commits)) if one]
        asked = "".join(f"{line}\n" for line in (*here, f"^{head.sha}")).encode()
        lacked = (
            set(self._git.read_text("rev-list", "--stdin", stdin=asked).split()) if here else set()
        )
        held = set(here) - lacked
        return tuple(commit for commit in commits if commit not in held)

    # -------------------------------------------------------------- looking

    def find_drift(
        self,
        run: Run,
        head: GitCommit | None,
        mark: GitCommit | None,
        landed: Sequence[str] = (),
    ) -> BranchDrift | None:
        """Nothing when all is well.

        A mark one landing ahead of its branch is a landing on its way, or cut off by a kill and
        about to be repeated, unless somebody knows that it was landed.
        """
        if head is None:
            lost = mark is not None or landed or self.remembered_head(run)
            return self.describe_missing_branch(run, mark, landed) if lost else None
        beside = mark is not None and (head.sha == mark.sha or head.sha in mark.parents[:1])
        if mark is not None and not beside:
            return self.describe_difference(run, head, mark)
        if self._foreign(run, head):
            words = f"{run.branch} stands at {head.sha[:12]}, which yaoki did not make"
            return self._back(run, head, mark, words, landed)
        if self.lacks_remembered_head(run, head.sha) or (
            landed and self.not_reachable_from(landed, head)
        ):
            return self.describe_missing_commits(run, head, mark, landed)
        self.remember_head(run, head.sha)
        return None

    def _foreign(self, run: Run, head: GitCommit) -> bool:
        """Branch and mark can be moved together, by an agent for one; what we land names the run.

        Where there is no line of a group the branch begins at the base, which is the user's.
        """
        return not (run.target_group or head.run == run.id or head.sha == run.base)

    def describe_missing_branch(
        self, run: Run, mark: GitCommit | None, landed: Sequence[str] = ()
    ) -> BranchDrift:
        back = self._place(run, mark, landed)
        words = f"the run branch {run.branch} is gone"
        way = self._way(run, None, mark, back)
        return BranchDrift(f"{words}; its last commit was {back[:12]}", way, True, back)

    def describe_difference(
        self, run: Run, head: GitCommit, mark: GitCommit | None
    ) -> BranchDrift | None:
        """What somebody else put on the branch, or took from it."""
        if mark is None or head.sha == mark.sha:
            return None
        if foreign := self._subjects(mark.sha, head.sha):
            words = f"{run.branch} holds commits that yaoki did not land: {_told(foreign)}"
            return self._back(run, head, mark, words)
        return self.describe_missing_commits(run, head, mark)

    def describe_missing_commits(
        self, run: Run, head: GitCommit, mark: GitCommit | None, landed: Sequence[str] = ()
    ) -> BranchDrift:
        back = self._place(run, mark, landed)
        missing = self._subjects(head.sha, back) if self._refs.read_commits(back)[0] else []
        words = f"{run.branch} lacks commits that yaoki landed: {_told(missing)}"
        way = self._way(run, None, mark, back)
        look = f"git log {run.branch}..{back[:12]}"
        return BranchDrift(words, way, True, back, look)

    def _back(
        self,
        run: Run,
        head: GitCommit,
        mark: GitCommit | None,
        words: str,
        landed: Sequence[str] = (),
    ) -> BranchDrift:
        """What stands there now gets a branch of its own first: it is somebody's work."""
        own = mark if mark is not None and mark.sha != head.sha else None
        back = self._place(run, own, landed)
        way = self._way(run, head, mark, back)
        return BranchDrift(words, way, False, back, f"git log {back[:12]}..{run.branch}")

    # -------------------------------------------------------------- the way back

    def _place(self, run: Run, mark: GitCommit | None, landed: Sequence[str]) -> str:
        """Where the branch belongs: at the mark, unless that lacks what is known to have landed."""
        known = self._refs.read_commits(self.remembered_head(run))[0]
        if (
            mark is not None
            and not self.lacks_remembered_head(run, mark.sha)
            and self._whole(landed, mark)
        ):
            return mark.sha
        if known is not None and self._whole(landed, known):
            return known.sha
        seen = known or mark
        return self._last(landed) or (seen.sha if seen else run.base)

    def _whole(self, landed: Sequence[str], head: GitCommit) -> bool:
        return not (landed and self.not_reachable_from(landed, head))

    def _last(self, landed: Sequence[str]) -> str:
        """Of the landings that are here the one that builds on all others."""
        self._refs.fetch_commits(*landed)
        commits = self._refs.read_commits(*landed) if landed else []
        here = [commit.sha for commit in commits if commit]
        if not here:
            return landed[-1] if landed else ""
        given = "\n".join(here).encode()
        return self._git.read_text("rev-list", "--topo-order", "-1", "--stdin", stdin=given)

    def way_back(self, run: Run, head: GitCommit, mark: GitCommit | None, back: str) -> str:
        """What was seen after `back` is no more to be kept in mind than on the branch."""
        self.remember_head(run, back)
        return self._way(run, head, mark, back)

    def _way(self, run: Run, aside: GitCommit | None, mark: GitCommit | None, back: str) -> str:
        """The command for a person; `aside` is what stands there now and is not to be lost."""
        moves, held = [RefMove(target_branch_ref(run), back)], []
        if aside is not None:
            name = f"by-hand-{run.target_group or run.id}-{aside.sha[:8]}"
            moves.insert(0, RefMove(f"refs/heads/{name}", aside.sha))
            held.append(target_branch_ref(run))
        if mark is not None and mark.sha == back:
            held.append(recorded_head_ref(run))
        else:
            moves.append(RefMove(recorded_head_ref(run), back))
            if aside is None or not self._refs.is_ancestor(back, aside.sha):
                held.append(_saved(run, back))
        return self._refs.manual_command(*moves, source_refs=held)

    def save_restore_commit(self, run: Run, found: BranchDrift) -> None:
        """No collection of garbage takes the way back away; where it names the ref, others need it
        there, whatever holds the commit here.
        """
        there = self._refs.read_commits(found.restore_commit)[0] if found.restore_commit else None
        if there is None:
            return
        ref = _saved(run, found.restore_commit)
        if ref in found.restore_command or not self._refs.refs_containing(found.restore_commit):
            self._refs.move(
                RefMove(ref, found.restore_commit), why="yaoki: the run branch was moved"
            )

    def _subjects(self, old: str, new: str) -> list[str]:
        """The first lines of the commits that only `new` has, oldest first."""
        args = ("--reverse", "--no-commit-header", "--format=%h %s", f"{old}..{new}")
        lines = self._git.read_text("rev-list", *args).split("\n")
        return [line.partition(" ")[2] for line in lines if line]


def _saved(run: Run, back: str) -> str:
    return work_ref(run.target_group or run.id, f"0-landed-{back[:8]}")


def _told(subjects: list[str]) -> str:
    number = format_count(len(subjects), "commit")
    return f"{number}, first {subjects[0][:SUBJECT_MAX]!r}" if subjects else number
