"""What somebody else did to the run branch, in one sentence, and the command that puts it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import Commit, Move, Refs, branch_of, mark_of, work_ref
from yaoki.core.bounded_cache import Recent
from yaoki.core.counting import count
from yaoki.core.model import Run
from yaoki.errors import BranchStrayed

SUBJECT_MAX = 100


@dataclass(frozen=True, slots=True)
class Strayed:
    """How the branch differs from what yaoki made it; `lacks` when only commits are missing.

    `back` is where it belongs, `way` the command that puts it there; `look` shows what differs.
    """

    sentence: str
    way: str
    lacks: bool
    back: str = ""
    look: str = ""

    @property
    def error(self) -> BranchStrayed:
        return BranchStrayed(self.sentence, way=self.way)


class Straying:
    """Holds branch and mark against each other, and both against what was seen before.

    Whoever has both refs set back deceives the mark.  So the last head that was good is kept in
    mind, and at the beginning and the end of a run the store says what landed.
    """

    def __init__(self, git: Git, refs: Refs) -> None:
        self._git, self._refs = git, refs
        self._known: Recent[str, str] = Recent()

    # -------------------------------------------------------------- what was seen before

    def know(self, run: Run, head: str) -> None:
        """A group's branch may be rolled back, so nothing is kept in mind of one."""
        if not run.line:
            self._known[branch_of(run)] = head

    def knows(self, run: Run) -> str:
        return self._known.get(branch_of(run), "")

    def forgets(self, run: Run, head: str) -> bool:
        """Would a branch at `head` lack what it was seen to hold?"""
        known = self.knows(run)
        return bool(known) and not self._refs.contains(known, head)

    def beyond(self, commits: Sequence[str], head: Commit) -> tuple[str, ...]:
        """Which of the commits cannot be reached from the head.

        Git walks only what the head lacks, never the whole history behind it.
        """
        here = [one.name for one in self._git.named(*(f"{c}^{{commit}}" for c in commits)) if one]
        asked = "".join(f"{line}\n" for line in (*here, f"^{head.sha}")).encode()
        lacked = set(self._git.text("rev-list", "--stdin", given=asked).split()) if here else set()
        held = set(here) - lacked
        return tuple(commit for commit in commits if commit not in held)

    # -------------------------------------------------------------- looking

    def look(
        self,
        run: Run,
        head: Commit | None,
        mark: Commit | None,
        landed: Sequence[str] = (),
    ) -> Strayed | None:
        """Nothing when all is well.

        A mark one landing ahead of its branch is a landing on its way, or cut off by a kill and
        about to be repeated, unless somebody knows that it was landed.
        """
        if head is None:
            lost = mark is not None or landed or self.knows(run)
            return self.gone(run, mark, landed) if lost else None
        beside = mark is not None and (head.sha == mark.sha or head.sha in mark.parents[:1])
        if mark is not None and not beside:
            return self.differing(run, head, mark)
        if self._foreign(run, head):
            words = f"{run.branch} stands at {head.sha[:12]}, which yaoki did not make"
            return self._back(run, head, mark, words, landed)
        if self.forgets(run, head.sha) or (landed and self.beyond(landed, head)):
            return self.lacking(run, head, mark, landed)
        self.know(run, head.sha)
        return None

    def _foreign(self, run: Run, head: Commit) -> bool:
        """Branch and mark can be moved together, by an agent for one; what we land names the run.

        Where there is no line of a group the branch begins at the base, which is the user's.
        """
        return not (run.line or head.run == run.id or head.sha == run.base)

    def gone(self, run: Run, mark: Commit | None, landed: Sequence[str] = ()) -> Strayed:
        back = self._place(run, mark, landed)
        words = f"the run branch {run.branch} is gone"
        way = self._way(run, None, mark, back)
        return Strayed(f"{words}; its last commit was {back[:12]}", way, True, back)

    def differing(self, run: Run, head: Commit, mark: Commit | None) -> Strayed | None:
        """What somebody else put on the branch, or took from it."""
        if mark is None or head.sha == mark.sha:
            return None
        if foreign := self._subjects(mark.sha, head.sha):
            words = f"{run.branch} holds commits that yaoki did not land: {_told(foreign)}"
            return self._back(run, head, mark, words)
        return self.lacking(run, head, mark)

    def lacking(
        self, run: Run, head: Commit, mark: Commit | None, landed: Sequence[str] = ()
    ) -> Strayed:
        back = self._place(run, mark, landed)
        missing = self._subjects(head.sha, back) if self._refs.commits(back)[0] else []
        words = f"{run.branch} lacks commits that yaoki landed: {_told(missing)}"
        way = self._way(run, None, mark, back)
        look = f"git log {run.branch}..{back[:12]}"
        return Strayed(words, way, True, back, look)

    def _back(
        self, run: Run, head: Commit, mark: Commit | None, words: str, landed: Sequence[str] = ()
    ) -> Strayed:
        """What stands there now gets a branch of its own first: it is somebody's work."""
        own = mark if mark is not None and mark.sha != head.sha else None
        back = self._place(run, own, landed)
        way = self._way(run, head, mark, back)
        return Strayed(words, way, False, back, f"git log {back[:12]}..{run.branch}")

    # -------------------------------------------------------------- the way back

    def _place(self, run: Run, mark: Commit | None, landed: Sequence[str]) -> str:
        """Where the branch belongs: at the mark, unless that lacks what is known to have landed."""
        known = self._refs.commits(self.knows(run))[0]
        if mark is not None and not self.forgets(run, mark.sha) and self._whole(landed, mark):
            return mark.sha
        if known is not None and self._whole(landed, known):
            return known.sha
        seen = known or mark
        return self._last(landed) or (seen.sha if seen else run.base)

    def _whole(self, landed: Sequence[str], head: Commit) -> bool:
        return not (landed and self.beyond(landed, head))

    def _last(self, landed: Sequence[str]) -> str:
        """Of the landings that are here the one that builds on all others."""
        self._refs.bring(*landed)
        commits = self._refs.commits(*landed) if landed else []
        here = [commit.sha for commit in commits if commit]
        if not here:
            return landed[-1] if landed else ""
        given = "\n".join(here).encode()
        return self._git.text("rev-list", "--topo-order", "-1", "--stdin", given=given)

    def way_back(self, run: Run, head: Commit, mark: Commit | None, back: str) -> str:
        """What was seen after `back` is no more to be kept in mind than on the branch."""
        self.know(run, back)
        return self._way(run, head, mark, back)

    def _way(self, run: Run, aside: Commit | None, mark: Commit | None, back: str) -> str:
        """The command for a person; `aside` is what stands there now and is not to be lost."""
        moves, held = [Move(branch_of(run), back)], []
        if aside is not None:
            name = f"by-hand-{run.line or run.id}-{aside.sha[:8]}"
            moves.insert(0, Move(f"refs/heads/{name}", aside.sha))
            held.append(branch_of(run))
        if mark is not None and mark.sha == back:
            held.append(mark_of(run))
        else:
            moves.append(Move(mark_of(run), back))
            if aside is None or not self._refs.contains(back, aside.sha):
                held.append(_saved(run, back))
        return self._refs.by_hand(*moves, held=held)

    def save(self, run: Run, found: Strayed) -> None:
        """No collection of garbage takes the way back away; where it names the ref, others need it
        there, whatever holds the commit here.
        """
        there = self._refs.commits(found.back)[0] if found.back else None
        if there is None:
            return
        ref = _saved(run, found.back)
        if ref in found.way or not self._refs.holding(found.back):
            self._refs.move(Move(ref, found.back), why="yaoki: the run branch was moved")

    def _subjects(self, old: str, new: str) -> list[str]:
        """The first lines of the commits that only `new` has, oldest first."""
        args = ("--reverse", "--no-commit-header", "--format=%h %s", f"{old}..{new}")
        lines = self._git.text("rev-list", *args).split("\n")
        return [line.partition(" ")[2] for line in lines if line]


def _saved(run: Run, back: str) -> str:
    return work_ref(run.line or run.id, f"0-landed-{back[:8]}")


def _told(subjects: list[str]) -> str:
    number = count(len(subjects), "commit")
    return f"{number}, first {subjects[0][:SUBJECT_MAX]!r}" if subjects else number
