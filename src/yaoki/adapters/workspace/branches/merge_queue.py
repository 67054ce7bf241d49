"""The train of a line: candidates built on each other, from the head of its branch on.

Its ref names the last one.  Whoever rides puts a candidate there by compare-and-swap, so no two
build on the same; whose task is at its proof no longer has fallen out, and all behind it with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import takewhile

from yaoki.adapters.git.refs import GitCommit, RefMove, Refs, merge_queue_ref, target_branch_ref
from yaoki.adapters.workspace.branches.run_branch import RACES_MAX, RunBranch
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Run, TaskId
from yaoki.errors import GitFailed, RemoteUnreachable
from yaoki.ports import QueueMembers

QUEUE_MAX = 100


@dataclass(frozen=True, slots=True)
class QueueState:
    """The head, the candidates that may still land on it, oldest first, and where the ref is."""

    head: GitCommit
    candidates: tuple[GitCommit, ...]
    tip: str

    def predecessor_of(self, rider: TaskId) -> GitCommit:
        """What this rider builds on; where it rides already it keeps its place."""
        ahead = tuple(takewhile(lambda car: car.task != rider, self.candidates))
        return ahead[-1] if ahead else self.head


class MergeQueue:
    """Reads the train and adds to it."""

    def __init__(self, refs: Refs, branch: RunBranch, warn: Callable[[str], None]) -> None:
        self._refs, self._branch, self._warn = refs, branch, warn

    def read(self, run: Run, queue_members: QueueMembers) -> QueueState:
        """The train as it is at one instant, or nearly: who lands meanwhile is no rider any more,
        and must not look as if it had fallen out.
        """
        head, tip = self._ends(run)
        for _ in range(RACES_MAX):
            cars = self._cars(head, tip)
            # Asked last: whoever added a car did so as a rider.
            live = _live(cars, queue_members() if cars else ())
            before = head
            if len(live) == len(cars) or before == (head := self._ends(run)[0]):
                break
        return QueueState(before, live, tip.sha if tip else "")

    def _ends(self, run: Run) -> tuple[GitCommit, GitCommit | None]:
        head, tip = self._refs.read_commits(target_branch_ref(run), merge_queue_ref(run))
        return head or self._branch.head(run), tip

    def _cars(self, head: GitCommit, tip: GitCommit | None) -> list[GitCommit]:
        """From the head on; none when the train was left by those who came before."""
        cars: list[GitCommit] = []
        car = tip
        while car and car.sha != head.sha and len(cars) < QUEUE_MAX:
            cars.insert(0, car)
            car = self._refs.read_commits(car.parents[0])[0] if car.parents else None
        return cars if car and car.sha == head.sha else []

    def add(self, run: Run, seen: QueueState, commit: str) -> bool:
        """False when somebody else was quicker; who rides there already stays."""
        if any(car.sha == commit for car in seen.candidates):
            return True
        return self._tried(lambda: self._refs.move(RefMove(merge_queue_ref(run), commit, seen.tip)))

    def restart(self, run: Run, commit: str) -> None:
        """Whatever stands there: what it names may be gone, so that nobody can move it away."""
        self._tried(lambda: self._refs.overwrite(RefMove(merge_queue_ref(run), commit)))

    def _tried(self, act: Callable[[], bool]) -> bool:
        """Who cannot add to the train is proven where it stands, and lands if nobody else does."""
        try:
            return act()
        except RemoteUnreachable:
            raise
        except GitFailed as failed:
            self._warn(f"what lands together is proven one by one: {failed.sentence}")
            return True


def _live(cars: Iterable[GitCommit], riders: Collection[TaskId]) -> tuple[GitCommit, ...]:
    """Up to the first that has fallen out."""
    return tuple(takewhile(lambda car: car.task in riders, cars))
