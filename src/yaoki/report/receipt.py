"""The receipt: what landed and what proved it, in a form that can be verified with git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.ports import BranchStep
from yaoki.report.canonical import seal

SCHEMA = 1
FORM = "yaoki-receipt"
# Landed on the run branch itself: with a commit of its own, or with that of another task.
ON_BRANCH = frozenset({"LANDED", "TOGETHER"})
Data = dict[str, Any]


class GitFacts(Protocol):
    """Facts from git alone, without yaoki's own records."""

    def trees(self, commits: Sequence[str]) -> Mapping[str, str]:
        """The tree of each commit that exists."""

    def first_parents(self, base: str, head: str) -> Sequence[BranchStep]:
        """The first parents of `head` back to `base`, oldest first."""

    def reachable(self, base: str, head: str) -> frozenset[str]:
        """Every commit of `head` that `base` does not have."""

    def refs_containing(self, commit: str, ref: str) -> Sequence[str]:
        """The refs from which the commit can be reached: this one, or any."""


@dataclass(frozen=True, slots=True)
class RunBranchState:
    """The run branch as git has it, or why it cannot be read."""

    head: str = ""
    steps: tuple[BranchStep, ...] = ()
    trees: Mapping[str, str] = field(default_factory=dict)
    commits: frozenset[str] = frozenset()
    unreadable_because: str = ""
    is_deleted: bool = False


def read_run_branch(git: GitFacts, base: str, head: str, landed: Sequence[str]) -> RunBranchState:
    """The first-parent steps from base to head, and the tree of each landed commit."""
    steps = tuple(git.first_parents(base, head))
    trees = {step.commit: step.tree for step in steps}
    more = [commit for commit in {base, head, *landed} if commit and commit not in trees]
    inside = git.reachable(base, head) | {base}
    return RunBranchState(head, steps, {**trees, **git.trees(more)}, inside)


def make_receipt(document: Mapping[str, Any], branch: RunBranchState) -> Data:
    """Made from the report's document, so that both agree."""
    run, trees = document["run"], branch.trees
    places = {step.commit: n for n, step in enumerate(branch.steps, start=1)}
    places |= {
        part: n for n, step in enumerate(branch.steps, start=1) for _, part in step.companions
    }
    return seal(
        {
            "as_of": document["as_of"],
            "base": {"commit": run["base"], "tree": trees.get(run["base"])},
            "form": FORM,
            "goal": run["goal"],
            "head": {"commit": branch.head, "tree": trees.get(branch.head)},
            "landed": [_landed(task, places) for task in document["tasks"] if task["proof"]],
            "line": [_step(step) for step in branch.steps],
            "made_by": document["made_by"],
            "plan": document["plan"],
            "run": run["run"],
            "run_branch": run["run_branch"],
            "schema": SCHEMA,
            "status": run["status"],
            "tasks": document["numbers"]["tasks"],
        }
    )


def _step(step: BranchStep) -> Data:
    """The kind of a step: LANDED, UNDONE, or OTHER for a commit that yaoki did not make."""
    what = "UNDONE" if step.undoes else "LANDED" if step.task else "OTHER"
    names = {"task": step.task or None, "undoes": next(iter(step.undoes), None)}
    companions = [{"commit": commit, "task": task} for task, commit in step.companions]
    more: Data = {"with": companions} if companions else {}
    if len(step.undoes) > 1:
        more["also_undoes"] = list(step.undoes[1:])
    return {"commit": step.commit, "tree": step.tree, "what": what, **names, **more}


def _landed(task: Mapping[str, Any], places: Mapping[str, int]) -> Data:
    proof = task["proof"]
    return {
        "attempt": task["attempt"],
        "checks": [_check(check) for check in proof["checks"]],
        "commit": proof["commit"],
        "how": proof["how"],
        "kind": task["kind"],
        "name": task["name"],
        "step": places.get(proof["commit"]) if proof["how"] in ON_BRANCH else None,
        "task": task["id"],
        "tree": proof["tree"],
    }


def _check(check: Mapping[str, Any]) -> Data:
    names = ("check", "type", "identity", "outcome", "required", "exit_code", "outputs")
    optional = ("fail_to_pass", "hidden", "reused", "mutants", "quarantined")
    more = {name: check[name] for name in optional if check[name]}
    # Only whole numbers, because they have one spelling.
    return {**{name: check[name] for name in names}, **more, "ms": round(check["seconds"] * 1000)}
