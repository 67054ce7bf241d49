"""Why a run is not merged, and the commands that help."""

from __future__ import annotations

from yaoki.core.model import Finding, Outcome, Run, Verdict
from yaoki.errors import CheckoutObstructed, NotNow
from yaoki.ports import MergeResult


def refuse_without_branch(run: Run, into: str) -> None:
    if not (into or run.base_branch):
        raise NotNow(
            f"run {run.id} started from commit {run.base[:10]}, not from a branch",
            hint=f"name the branch to merge into: yaoki merge {run.id} --into BRANCH",
        )


def name_remedy(obstructed: CheckoutObstructed, again: str, *, is_proven: bool) -> NotNow:
    """git runs no check, so its command is named only for a head that is proven."""
    by_hand = f", or: {obstructed.by_hand}" if is_proven and obstructed.by_hand else ""
    return NotNow(str(obstructed), hint=f"{obstructed.remedy}, then: {again}{by_hand}")


def refuse_unchecked(run: Run, merge: MergeResult) -> NotNow:
    return NotNow(
        f"{merge.branch} has moved, and no check can verify the merge: "
        "every check of the run is waived, belongs to undone work, or cannot be repeated",
        hint=f"look at it: git diff {merge.onto[:12]} {merge.commit[:12]}; "
        f"then merge it as it is: yaoki merge {run.id} --partial --unproven",
    )


def choose_failing(verdict: Verdict) -> Finding | None:
    """A failure before a timeout: only the failure says that the work is wrong."""
    failing = verdict.all_failing
    return next((one for one in failing if not proves_nothing(one)), verdict.first_failing)


def proves_nothing(finding: Finding) -> bool:
    """Did the check not finish, or not even start?  Then it says nothing about the work."""
    return finding.is_late or finding.outcome is Outcome.BROKEN


def refuse_unfinished_check(
    run: Run, merge: MergeResult, check: Finding, again: str, *, is_empty: bool
) -> NotNow:
    """Name what the check needs, and never the landed tasks: nothing speaks against them.

    `is_empty`: no task is landed, because all of them were undone.
    """
    name, recheck = check.check, f"then: yaoki plan recheck {run.id}, and: {again}"
    what = f"check {name} could not run"
    change = f"change {name} in the plan or yaoki.toml"
    remedy = f"fix what {name} needs, then: {again}; or {change}, {recheck}"
    if check.is_late:
        what = f"check {name} did not finish within its timeout"
        remedy = f"raise the timeout of {name} in the plan or yaoki.toml, {recheck}"
    moved = f"{merge.branch} has moved, and {what} on the merge"
    where = f"{run.branch}, where no task is landed" if is_empty else "the landed tasks"
    sentence = moved if merge.how == "merge" else f"{what} on {where}"
    hint = f"{remedy}; or merge it as it is: {again} --unproven"
    return NotNow(f"{sentence}: {check.message}", hint=hint)


def refuse_merge(
    run: Run, merge: MergeResult, failure: str, again: str, *, check_of_plan: bool, is_empty: bool
) -> NotNow:
    """Either the base has changed, or one of the landed tasks is wrong, or the check is, or it
    needs work that was undone.

    `again` is the command of this merge.  `is_empty`: no task is landed.
    """
    anyway = f"or merge it as it is: {again} --unproven"
    if check_of_plan:
        wrong = "if the check itself is wrong, change it in the plan or yaoki.toml, then"
        anyway = f"{wrong}: yaoki plan recheck {run.id}; {anyway}"
    if merge.how == "merge":
        sentence = f"{merge.branch} has moved, and the merge fails: {failure}"
        remedy = f"merge {merge.branch} into the run's work by hand and check it"
    elif is_empty:
        sentence = f"no task is landed on {run.branch}, and it fails: {failure}"
        changes = f"git diff {merge.onto[:12]} {merge.commit[:12]}"
        remedy = f"look at what the merge changes: {changes}"
    else:
        sentence = f"the landed tasks fail together: {failure}"
        remedy = _name_way_back(run)
    return NotNow(sentence, hint=f"{remedy}; {anyway}")


def _name_way_back(run: Run) -> str:
    """No worker continues a cancelled run, so nothing can be undone in it."""
    if run.cancel_requested:
        return "the run was cancelled, so revert the task that breaks it by hand after the merge"
    return "undo the task that breaks it: yaoki undo TASK"
