"""What landed on a line, in order, and how it would look without some of it."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits, compose_message
from yaoki.adapters.git.refs import Refs, target_branch_ref
from yaoki.core.model import Run, TaskId
from yaoki.ports import LandedStep

_TRAILER = "%(trailers:key=Yaoki-{},valueonly,separator=%x2C)"
_FORM = "%x00".join(("%H", _TRAILER.format("Task"), _TRAILER.format("Undo")))


class LandingHistory:
    """Looks along the first parents of a branch; makes combinations without any checkout."""

    def __init__(self, git: Git, refs: Refs, commits: Commits) -> None:
        self._git, self._refs, self._commits = git, refs, commits

    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """Oldest first, from the line's base on; a step that is no landing has no task."""
        line = f"{run.base}..{self._refs.revision_of(target_branch_ref(run))}"
        args = ("--first-parent", "--reverse", f"--format={_FORM}", line)
        rows = (line.split("\0") for line in self._git.read_text("log", *args).split("\n") if line)
        return tuple(
            LandedStep(TaskId("" if undo else task), sha, undo) for sha, task, undo in rows
        )

    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with just these landings, in order; empty when they do not fit."""
        made = base
        for landing in chosen:
            step = self._refs.require_commit(landing, "a landed commit")
            before = self._refs.require_commit(step.parents[0], "the commit before it")
            here = self._refs.require_commit(made, "the combination")
            # Three commits without a past: git's base of the merge is then exactly the first.
            root = self._commits.make(before.tree, [], compose_message("before"))
            sides = [
                self._commits.make(tree, [root], compose_message("side"))
                for tree in (here.tree, step.tree)
            ]
            merged = self._commits.merge(*sides)
            if merged.conflicts:
                return ""
            made = self._commits.make(merged.tree, [made], compose_message("combination"))
        return made
