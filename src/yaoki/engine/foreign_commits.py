"""A step of the run branch that no task landed.

Whoever may write refs and commits can write them as we do.  What was proven, and so may land,
stands in the store before it lands; a branch that holds more was made by somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from yaoki.core.machine.events import Judged, LandingReverted, UndoCompleted
from yaoki.core.model import Run, Stage, State
from yaoki.errors import BranchMovedExternally, NotNow
from yaoki.ports import JournalEntry, LandedStep, Store, TaskRow, Workspace

PAGE = 1000
RECONCILED = "RECONCILED"
FOREIGN_COMMIT = "foreign step"


def refuse_foreign_commits(store: Store, workspace: Workspace, run: Run) -> None:
    """Raise `BranchMovedExternally` at the first step that the store does not know.

    The branch is read first: what lands in between is proven by then, and known.
    """
    if run.merged_commit and workspace.branches.missing_commits(run, [run.base]):
        return  # it was the user's, who has deleted it
    steps = workspace.branches.list_landings(run)
    known, strange = _looked(store, run, steps)
    if strange:
        raise _refusal(workspace, run, steps, strange[0], known)


def accept_foreign_commit(
    store: Store, workspace: Workspace, run: Run, commit: str, how: str = ""
) -> None:
    """Write down that a person takes this step as it is; what is not strange needs no yes."""
    _, strange = _looked(store, run, workspace.branches.list_landings(run))
    if commit not in {step.commit for step in strange}:
        named = strange[0].commit if strange else ""
        raise NotNow(
            f"{run.branch} holds no step {commit[:12]} that is to be accepted",
            hint=f"yaoki answer {run.id} go" + (f" --accept {named}" if named else ""),
        )
    repair = {
        "mismatch": FOREIGN_COMMIT,
        "commit": commit,
        "repair": "accepted by a person",
        "how": how,
    }
    store.note(run.id, RECONCILED, repair)


def _looked(
    store: Store, run: Run, steps: Sequence[LandedStep]
) -> tuple[set[str], list[LandedStep]]:
    """What the store knows, and the steps that it does not."""
    rows = store.rows(run.id)
    known = _known(store, rows)
    if all(step.commit in known for step in steps):
        return known, []
    past = _past(store, run)
    known |= past.made
    # Whoever takes work back moves the branch first, and may have been killed then.
    undone = known if past.undid or any(row.undo_requested for row in rows) else set()
    strange = [step for step in steps if not (step.commit in known or step.undoes in undone)]
    return known, [] if past.repaired else strange


def _known(store: Store, rows: Sequence[TaskRow]) -> set[str]:
    """What stands there for a task, and what is landing now.

    Who landed nothing of his own stands at what he found, which proves nothing of that.
    """
    own = {row.landed_commit for row in rows if row.landed_commit and row.landed_commit != row.onto}
    landing = (row for row in rows if row.state is State.ACTIVE and row.stage == Stage.LAND)
    return own | {store.task(row.id).work.verified_commit for row in landing}


@dataclass(slots=True)
class _Past:
    """What the journal tells of commits that no task stands for any more.

    `undid`: some work was taken back; of several steps that does only the last is told.  After a
    repair of the store what landed last may be missing in it, and is found on the branch.
    """

    made: set[str] = field(default_factory=set)
    undid: bool = False
    repaired: bool = False

    def learn(self, entry: JournalEntry) -> None:
        data = entry.data
        match entry.event:
            case Judged.NAME if data.get("passed") and data.get("commit") != data.get("onto"):
                self.made.add(str(data["commit"]))
            case UndoCompleted.NAME | LandingReverted.NAME:
                self.made.add(str(data.get("commit") or data.get("head") or ""))
                self.undid = True
            case event if event == RECONCILED and data.get("mismatch") == "corrupt store":
                self.repaired = True
            case event if event == RECONCILED and data.get("mismatch") == FOREIGN_COMMIT:
                self.made.add(str(data["commit"]))


def _past(store: Store, run: Run) -> _Past:
    """Asked only when something is to be explained: a journal is long."""
    past, after = _Past(), 0
    while entries := store.journal(run_id=run.id, after=after, limit=PAGE):
        for entry in entries:
            past.learn(entry)
        after = entries[-1].seq
    return past


def _refusal(
    workspace: Workspace,
    run: Run,
    steps: Sequence[LandedStep],
    strange: LandedStep,
    known: set[str],
) -> BranchMovedExternally:
    at = [step.commit for step in steps].index(strange.commit)
    before = steps[at - 1].commit if at else run.base
    words = f"{run.branch} holds {strange.commit[:12]}, which no task of the run landed"
    upon = sum(step.commit in known for step in steps[at + 1 :])
    if not upon:
        return BranchMovedExternally(
            words, restore_command=workspace.branches.way_back(run, before)
        )
    stand = f"{upon} landing{' stands' if upon == 1 else 's stand'} on it"
    take = f"if it may stay: yaoki answer {run.id} go --accept {strange.commit}"
    leave = f"if not: yaoki cancel {run.id}"
    hint = f"look: git show {strange.commit}; {take}; {leave}"
    return BranchMovedExternally(f"{words}; {stand}", hint=hint)
