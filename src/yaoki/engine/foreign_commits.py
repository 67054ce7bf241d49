"""Finds commits on the run branch that no task landed.

Anybody who may write refs can imitate our commits.  But a verified commit is recorded in the store
before it lands, so a commit that the store does not know was made by somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.core.evidence import RECONCILED, RunEvidence
from yaoki.core.model import Run, Stage, State, StoreMismatch
from yaoki.core.text import format_count
from yaoki.errors import BranchMovedExternally, NotNow

if TYPE_CHECKING:
    from yaoki.ports import JournalReads, LandedStep, TaskRow, Workspace

PAGE = 1000


def refuse_foreign_commits(store: JournalReads, workspace: Workspace, run: Run) -> None:
    """Raise `BranchMovedExternally` at the first commit that the store does not know.

    Read the branch before the store: a commit that lands in between is recorded by then.
    """
    if run.merged_commit and workspace.branches.missing_commits(run, [run.base]):
        return  # the branch of a merged run belongs to the user, who deleted it
    steps = workspace.branches.list_landings(run)
    known, foreign = _compare(store, run, steps)
    if foreign:
        raise _refusal(workspace, run, steps, foreign[0], known)


def accept_foreign_commit(
    store: JournalReads, workspace: Workspace, run: Run, commit: str, how: str = ""
) -> None:
    """Record that a person accepts this foreign commit; any other commit is refused."""
    _, foreign = _compare(store, run, workspace.branches.list_landings(run))
    if commit not in {step.commit for step in foreign}:
        first = foreign[0].commit if foreign else ""
        raise NotNow(
            f"{run.branch} has no foreign commit {commit[:12]} to accept",
            hint=f"yaoki answer {run.id} go" + (f" --accept {first}" if first else ""),
        )
    repair = {
        "mismatch": StoreMismatch.FOREIGN_COMMIT,
        "commit": commit,
        "repair": "accepted by a person",
        "how": how,
    }
    store.note(run.id, RECONCILED, repair)


def _compare(
    store: JournalReads, run: Run, steps: Sequence[LandedStep]
) -> tuple[set[str], list[LandedStep]]:
    """The commits that the store knows, and the steps that it does not."""
    rows = store.rows(run.id)
    known = _commits_of_tasks(store, rows)
    if all(step.commit in known for step in steps):
        return known, []
    past = _read_evidence(store, run)
    known |= past.known_commits
    # An undo moves the branch before it is recorded, and its worker may have been killed then.
    undone = known if past.has_reverts or any(row.undo_requested for row in rows) else set()
    foreign = [step for step in steps if not (step.commit in known or step.undoes in undone)]
    return known, [] if past.was_repaired else foreign


def _commits_of_tasks(store: JournalReads, rows: Sequence[TaskRow]) -> set[str]:
    """The commits that tasks landed, and those that are landing now.

    A task without changes counts as landed at a commit that it did not make: skip it.
    """
    own = {row.landed_commit for row in rows if row.landed_commit and row.landed_commit != row.onto}
    landing = (row for row in rows if row.state is State.ACTIVE and row.stage == Stage.LAND)
    return own | {store.task(row.id).work.verified_commit for row in landing}


def _read_evidence(store: JournalReads, run: Run) -> RunEvidence:
    """Read only when a commit needs an explanation: a journal is long."""
    evidence, after = RunEvidence(), 0
    while entries := store.journal(run_id=run.id, after=after, limit=PAGE):
        for entry in entries:
            evidence.add(entry)
        after = entries[-1].seq
    return evidence


def _refusal(
    workspace: Workspace,
    run: Run,
    steps: Sequence[LandedStep],
    foreign: LandedStep,
    known: set[str],
) -> BranchMovedExternally:
    at = [step.commit for step in steps].index(foreign.commit)
    before = steps[at - 1].commit if at else run.base
    message = f"{run.branch} contains {foreign.commit[:12]}, which no task of the run landed"
    later = sum(step.commit in known for step in steps[at + 1 :])
    if not later:
        return BranchMovedExternally(
            message, restore_command=workspace.branches.way_back(run, before)
        )
    built = format_count(later, "landing is", "landings are")
    accept = f"to accept it: yaoki answer {run.id} go --accept {foreign.commit}"
    hint = f"look at it: git show {foreign.commit}; {accept}; otherwise: yaoki cancel {run.id}"
    return BranchMovedExternally(f"{message}; {built} built on it", hint=hint)
