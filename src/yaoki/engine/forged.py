"""A step of the run branch that no task landed.

Whoever may write refs and commits can write them as we do.  What was proven, and so may land,
stands in the store before it lands; a branch that holds more was made by somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from yaoki.core.events import Judged, Undone, Unlanded
from yaoki.core.model import Run, Stage, State
from yaoki.errors import BranchStrayed
from yaoki.ports import Entry, LandedStep, Row, Store, Workspace

PAGE = 1000
REPAIRED = "RECONCILED"


def refuse_forged(store: Store, workspace: Workspace, run: Run) -> None:
    """Raise `BranchStrayed` at the first step that the store does not know.

    The branch is read first: what lands in between is proven by then, and known.
    """
    if run.merged:
        return  # the branch is the user's now, who may have deleted it
    steps = workspace.landings(run)
    rows = store.rows(run.id)
    known = _known(store, rows)
    if all(step.commit in known for step in steps):
        return
    past = _past(store, run)
    known |= past.made
    # Whoever takes work back moves the branch first, and may have been killed then.
    undone = known if past.undid or any(row.undo_wanted for row in rows) else set()
    strange = [step for step in steps if not (step.commit in known or step.undoes in undone)]
    if strange and not past.repaired:
        raise _refusal(run, steps, strange[0], known)


def _known(store: Store, rows: Sequence[Row]) -> set[str]:
    """What stands there for a task, and what is landing now.

    Who landed nothing of his own stands at what he found, which proves nothing of that.
    """
    own = {row.landed for row in rows if row.landed and row.landed != row.onto}
    landing = (row for row in rows if row.state is State.ACTIVE and row.stage == Stage.LAND)
    return own | {store.task(row.id).work.proven for row in landing}


@dataclass(slots=True)
class _Past:
    """What the journal tells of commits that no task stands for any more.

    `undid`: some work was taken back; of several steps that does only the last is told.  After a
    repair of the store what landed last may be missing in it, and is found on the branch.
    """

    made: set[str] = field(default_factory=set)
    undid: bool = False
    repaired: bool = False

    def learn(self, entry: Entry) -> None:
        data = entry.data
        match entry.event:
            case Judged.NAME if data.get("passed") and data.get("commit") != data.get("onto"):
                self.made.add(str(data["commit"]))
            case Undone.NAME | Unlanded.NAME:
                self.made.add(str(data.get("commit") or data.get("head") or ""))
                self.undid = True
            case event if event == REPAIRED and data.get("mismatch") == "corrupt store":
                self.repaired = True


def _past(store: Store, run: Run) -> _Past:
    """Asked only when something is to be explained: a journal is long."""
    past, after = _Past(), 0
    while entries := store.journal(run_id=run.id, after=after, limit=PAGE):
        for entry in entries:
            past.learn(entry)
        after = entries[-1].seq
    return past


def _refusal(
    run: Run, steps: Sequence[LandedStep], strange: LandedStep, known: set[str]
) -> BranchStrayed:
    at = [step.commit for step in steps].index(strange.commit)
    before = steps[at - 1].commit if at else run.base
    words = f"{run.branch} holds {strange.commit[:12]}, which no task of the run landed"
    upon = sum(step.commit in known for step in steps[at + 1 :])
    if not upon:
        refs = (f"refs/heads/{run.branch}", f"refs/yaoki/runs/{run.id}")
        return BranchStrayed(words, hint=" && ".join(f"git update-ref {r} {before}" for r in refs))
    stand = f"{upon} landing{' stands' if upon == 1 else 's stand'} on it"
    by_hand = f"look, then merge by hand: git switch {run.base_branch} && git merge {run.branch}"
    return BranchStrayed(f"{words}; {stand}", hint=f"git show {strange.commit}, {by_hand}")
