"""What landed on a line, in order, and how it would look without some of it."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits, message
from yaoki.adapters.git.refs import Refs, branch_of
from yaoki.core.model import Run, TaskId
from yaoki.ports import LandedStep

_TRAILER = "%(trailers:key=Yaoki-{},valueonly,separator=%x2C)"
_FORM = "%x00".join(("%H", _TRAILER.format("Task"), _TRAILER.format("Undo")))


class History:
    """Looks along the first parents of a branch; makes combinations without any checkout."""

    def __init__(self, git: Git, refs: Refs, commits: Commits) -> None:
        self._git, self._refs, self._commits = git, refs, commits

    def landings(self, run: Run) -> tuple[LandedStep, ...]:
        """Oldest first, from the line's base on; a step that is no landing has no task."""
        line = f"{run.base}..{self._refs.named(branch_of(run))}"
        args = ("--first-parent", "--reverse", f"--format={_FORM}", line)
        rows = (line.split("\0") for line in self._git.text("log", *args).split("\n") if line)
        return tuple(
            LandedStep(TaskId("" if undo else task), sha, undo) for sha, task, undo in rows
        )

    def combination(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with just these landings, in order; empty when they do not fit."""
        made = base
        for landing in chosen:
            step = self._refs.commit(landing, "a landed commit")
            before = self._refs.commit(step.parents[0], "the commit before it")
            here = self._refs.commit(made, "the combination")
            # Three commits without a past: git's base of the merge is then exactly the first.
            root = self._commits.make(before.tree, [], message("before"))
            sides = [
                self._commits.make(tree, [root], message("side")) for tree in (here.tree, step.tree)
            ]
            merged = self._commits.merge(*sides)
            if merged.conflicts:
                return ""
            made = self._commits.make(merged.tree, [made], message("combination"))
        return made
