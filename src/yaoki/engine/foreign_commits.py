"""Finds commits on the run branch that no task landed.

Anybody who may write refs can imitate our commits.  But a verified commit is recorded in the store
before it lands, so a commit that the store does not know was made by somebody else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from yaoki.core.evidence import RECONCILED, RunEvidence
from yaoki.core.model import Run, Stage, State, StoreMismatch
from yaoki.core.text import format_count
from yaoki.errors import BranchMovedExternally, NotNow

if TYPE_CHECKING:
    from yaoki.ports import JournalReads, LandedStep, TaskRow, Workspace

PAGE = 1000


def refuse_foreign_commits(
    store: JournalReads, workspace: Workspace, run: Run, accepted: Collection[str] = ()
) -> None:
    """Raise `BranchMovedExternally` for commits that the store does not know.

    Read the branch before the store: a commit that lands in between is recorded by then.
    `accepted` are commits that a person accepts with this very command.
    """
    if run.merged_commit and workspace.branches.missing_commits(run, [run.base]):
        return  # the branch of a merged run belongs to the user, who deleted it
    steps = workspace.branches.list_landings(run)
    known, foreign = _compare(store, run, steps)
    if not set(foreign) <= set(accepted):
        raise _refusal(workspace, run, steps, foreign, known)


def refuse_acceptance(
    store: JournalReads, workspace: Workspace, run: Run, commits: Sequence[str]
) -> None:
    """Refuse to accept any commit but a foreign one that a landing is built on.

    No landing needs a foreign commit at the head of the branch, so that one is put back instead.
    """
    steps = workspace.branches.list_landings(run)
    known, foreign = _compare(store, run, steps)
    for commit in commits:
        if commit not in foreign:
            sentence = f"{run.branch} has no foreign commit {commit[:12]} to accept"
        elif not _count_later_landings(steps, commit, known):
            reason = "no landing is built on it, so it cannot be accepted"
            sentence = f"{_describe(run, [commit])}; {reason}"
        else:
            continue
        go = f"yaoki answer {run.id} go"
        remedy = _refusal(workspace, run, steps, foreign, known).remedy if foreign else go
        raise NotNow(sentence, hint=remedy)


def record_acceptance(store: JournalReads, run: Run, commits: Sequence[str], how: str = "") -> None:
    """Record that a person accepts these foreign commits."""
    for commit in commits:
        repair = {
            "mismatch": StoreMismatch.FOREIGN_COMMIT,
            "commit": commit,
            "repair": "accepted by a person",
            "how": how,
        }
        store.note(run.id, RECONCILED, repair)


def _compare(
    store: JournalReads, run: Run, steps: Sequence[LandedStep]
) -> tuple[set[str], Sequence[str]]:
    """The commits that the store knows, and those of the branch that it does not, oldest first."""
    rows = store.rows(run.id)
    known = _commits_of_tasks(store, rows)
    if all(step.commit in known for step in steps):
        return known, ()
    past = _read_evidence(store, run)
    known |= past.known_commits
    if past.was_repaired:
        return known, ()
    # An undo moves the branch before it is recorded, and its worker may have been killed then.
    undone = known if past.has_reverts or any(row.undo_requested for row in rows) else set()
    foreign = [step for step in steps if not (step.commit in known or step.undoes in undone)]
    return known, list(dict.fromkeys(step.commit for step in foreign))


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
    foreign: Sequence[str],
    known: set[str],
) -> BranchMovedExternally:
    """Name the commits at the head first: only without them can the others be accepted."""
    at_head = [one for one in foreign if not _count_later_landings(steps, one, known)]
    if at_head:
        at = [step.commit for step in steps].index(at_head[0])
        restore_command = workspace.branches.way_back(run, steps[at - 1].commit if at else run.base)
        return BranchMovedExternally(_describe(run, at_head), restore_command=restore_command)
    later = _count_later_landings(steps, foreign[0], known)
    built = format_count(later, "landing is", "landings are")
    these = "it" if len(foreign) == 1 else "them"
    accept = f"yaoki answer {run.id} go " + " ".join(f"--accept {one}" for one in foreign)
    hint = (
        f"look at {these}: git show {' '.join(foreign)}; to accept {these}: {accept}; "
        f"otherwise: yaoki cancel {run.id}"
    )
    return BranchMovedExternally(f"{_describe(run, foreign)}; {built} built on {these}", hint=hint)


def _describe(run: Run, foreign: Sequence[str]) -> str:
    more = f" and {format_count(len(foreign) - 1, 'other commit')}" if foreign[1:] else ""
    return f"{run.branch} contains {foreign[0][:12]}{more}, which no task of the run landed"


def _count_later_landings(steps: Sequence[LandedStep], commit: str, known: set[str]) -> int:
    commits = [step.commit for step in steps]
    return sum(later in known for later in commits[commits.index(commit) + 1 :])
