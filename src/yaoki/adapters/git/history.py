"""The first parents of a branch: what landed, in order, and combinations of some landings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.adapters.git.commits import Commits, compose_message
from yaoki.adapters.git.joint_commits import JOINT_PARENTS, own_base
from yaoki.adapters.git.ref_names import target_branch_ref
from yaoki.adapters.git.refs import BranchRefs, require_commit
from yaoki.core.model import Run, TaskId
from yaoki.ports import BranchStep, LandedStep

if TYPE_CHECKING:
    from yaoki.adapters.git.command import Git

_TRAILER = "%(trailers:key=Yaoki-{},valueonly,unfold,separator=%x2C)"
_UNDO_FORM = "%x00".join(_TRAILER.format(key) for key in ("Undo", "Task"))
_FORM = "%x00".join(("%H", "%T", "%P", *(_TRAILER.format(key) for key in ("Run", "Task", "Undo"))))


def read_first_parents(git: Git, base: str, head: str) -> tuple[BranchStep, ...]:
    """The commits after `base` up to `head`, oldest first."""
    args = ("--first-parent", "--reverse", f"--format={_FORM}", f"{base}..{head}", "--")
    rows = [row.split("\0") for row in git.read_text("log", *args).split("\n") if row]
    joined = _read_joined(git, rows)
    return tuple(_make_step(row, joined) for row in rows)


def read_undone_landings(git: Git, base: str, head: str) -> dict[str, str]:
    """The landings that commits after `base` up to `head` revert, each with its task."""
    options = ("--first-parent", "--grep=^Yaoki-Undo: ", f"--format={_UNDO_FORM}")
    text = git.read_text("log", *options, f"{base}..{head}", "--")
    rows = (line.split("\0") for line in text.split("\n") if line.strip("\0"))
    return {
        landed: task
        for undone, tasks in rows
        for landed, task in zip(undone.split(","), tasks.split(","), strict=False)
    }


def _make_step(row: Sequence[str], joined: Mapping[str, Sequence[str]]) -> BranchStep:
    """The first task of a commit is the one that it was made for."""
    commit, tree, parents, run, tasks, undo = row
    undoes = tuple(undo.split(",")) if undo else ()
    task, *others = [""] if undoes else tasks.split(",")
    companions = zip(others, joined.get(commit, ()), strict=False)
    return BranchStep(commit, tree, parents.partition(" ")[0], run, task, undoes, tuple(companions))


def _read_joined(git: Git, rows: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    """The commits of the other tasks that each joint commit lands."""
    joins = {
        parents.split(" ")[1]: commit
        for commit, _, parents, _, tasks, undo in rows
        if "," in tasks and not undo and parents.count(" ") == JOINT_PARENTS - 1
    }
    if not joins:
        return {}
    text = git.read_text("log", "--no-walk=unsorted", "--format=%H %P", *joins, "--")
    found = (line.split(" ") for line in text.split("\n") if line)
    return {joins[join]: parts for join, _, *parts in found}


class LandingHistory:
    """Lists landings and combines some of them, without a checkout."""

    def __init__(self, git: Git, refs: BranchRefs, commits: Commits) -> None:
        self._git, self._refs, self._commits = git, refs, commits

    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """Oldest first, from the branch's base on; a step that is no landing has no task."""
        head = require_commit(self._refs, target_branch_ref(run), run.branch).sha
        steps = read_first_parents(self._git, run.base, head)
        return tuple(landed for step in steps for landed in _landed_steps(step))

    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with only these landings, in order; empty when they conflict."""
        result = base
        for landing in chosen:
            step = require_commit(self._refs, landing, "a landed commit")
            before = require_commit(self._refs, own_base(step), "the commit before it")
            current = require_commit(self._refs, result, "the combination")
            # Two commits on a common root: git's merge base is then exactly that root.
            root = self._commits.make(before.tree, [], compose_message("before"))
            sides = [
                self._commits.make(tree, [root], compose_message("side"))
                for tree in (current.tree, step.tree)
            ]
            merged = self._commits.merge(*sides)
            if merged.conflicts:
                return ""
            result = self._commits.make(merged.tree, [result], compose_message("combination"))
        return result


def _landed_steps(step: BranchStep) -> Iterator[LandedStep]:
    """The tasks that land with a joint commit precede the one that it was made for."""
    for task_id, part in step.companions:
        yield LandedStep(TaskId(task_id), part, joint_commit=step.commit)
    for undone in step.undoes or ("",):
        yield LandedStep(TaskId(step.task), step.commit, undone)
