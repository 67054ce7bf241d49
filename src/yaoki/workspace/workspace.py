"""`GitWorkspace`: what the engine asks of git, each request a few calls to the rooms beside."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from yaoki.core.change import Change
from yaoki.core.model import Kind, Run, Task
from yaoki.ports import Candidate, Kept, LandedStep, Merged, Place, SavedWork
from yaoki.system import birth
from yaoki.workspace.branch import RunBranch
from yaoki.workspace.changes import changes
from yaoki.workspace.commits import Commits
from yaoki.workspace.content import Content, readable
from yaoki.workspace.git import Git
from yaoki.workspace.guards import guards
from yaoki.workspace.history import History
from yaoki.workspace.include import copy_included
from yaoki.workspace.keeping import Keeping
from yaoki.workspace.landing import Landing
from yaoki.workspace.leavings import Leavings
from yaoki.workspace.lines import Lines
from yaoki.workspace.merging import Merging
from yaoki.workspace.refs import Commit, Refs, candidate_ref, task_ref
from yaoki.workspace.repository import open_repository
from yaoki.workspace.snapshots import Restored, Snapshot, Snapshots
from yaoki.workspace.told import told
from yaoki.workspace.worktrees import Worktree, Worktrees

LOOK = re.compile(r"look-(\d+)-[0-9a-f]{8}")
DIFF_BYTES_MAX = 1 << 20


class GitWorkspace:
    """`ports.Workspace` over the git command."""

    def __init__(self, repo: Path, root: Path, *, include: bool = True) -> None:
        self.repository = open_repository(repo)
        self.root = root.resolve()
        self._include = include
        self._git = Git(self.repository.common_dir)
        self._refs = Refs(self._git)
        self._commits = Commits(self._git)
        self._content = Content(self._git, self.root / ".index")
        self._worktrees = Worktrees(self._git, self.root)
        shared = (self._refs, self._commits, self._content, self._worktrees)
        self._keeping = Keeping(*shared)
        self._branch = RunBranch(self._git, self._refs)
        self._landing = Landing(*shared, self._keeping, self._branch)
        self._snapshots = Snapshots(self._git, *shared, self._keeping)
        self._merging = Merging(self._refs, self._commits, self._branch)
        self._lines = Lines(self._refs, self._branch)
        self._history = History(self._git, self._refs, self._commits)
        self._leavings = Leavings(self._git)

    # -------------------------------------------------------------- the run branch

    def open_run(self, run: Run) -> None:
        """Make the run branch at the run's base unless it is there, or was there once."""
        self._branch.open(run)

    def head(self, run: Run) -> str:
        return self._branch.head(run).sha

    def intact(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""
        return self._branch.intact(run)

    def lacks(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of these commits the run branch does not hold."""
        return self._branch.lacks(run, commits)

    def holds(self, run: Run, commit: str) -> bool:
        """Does the run branch already have this commit?"""
        return bool(commit) and self._refs.contains(commit, self.head(run))

    # -------------------------------------------------------------- the lines of groups

    @told
    def open_line(self, run: Run, group: str) -> Run:
        """The run seen from the group's own branch, which is made unless it is there."""
        return self._lines.open(run, group)

    @told
    def roll_back(self, run: Run, group: str) -> tuple[str, str]:
        """Take a group's branch back to the run branch; what it held stays on a ref."""
        return self._lines.roll_back(run, group)

    @told
    def close_line(self, run: Run, group: str) -> None:
        """Delete a group's branch once the run branch holds it."""
        self._lines.close(run, group)

    @told
    def landings(self, run: Run) -> tuple[LandedStep, ...]:
        """What landed on the line, oldest first."""
        return self._history.landings(run)

    @told
    def combination(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with just these landings; empty when they do not fit together."""
        return self._history.combination(base, chosen)

    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(status, path) of every file that differs."""
        found = self._content.between(old, new)
        return tuple((change.status, readable(change.path)) for change in found)

    # -------------------------------------------------------------- the stages of a task

    @told
    def prepare(self, run: Run, task: Task, attempt: int) -> Place:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""
        found = self._worktrees.find(task.id)
        head = self._standing(found)
        if task.take_over and found.usable:
            head = head or self._refs.commit(task_ref(task.id), f"the branch of {task.id}")
            return self._again(run, task, found, head)
        if head is None or task.fresh_next or task.attempt == 0:
            return self._fresh(run, task)
        return self._again(run, task, found, head)

    def _standing(self, found: Worktree) -> Commit | None:
        """The HEAD of a worktree that can be used as it is."""
        return self._refs.commits(found.head)[0] if found.usable else None

    def _fresh(self, run: Run, task: Task) -> Place:
        head = self._branch.head(run)
        made = self._make(task, head.sha)
        return Place(made.path, head.sha, head.tree, fresh=True)

    def _make(self, task: Task, commit: str) -> Worktree:
        """A new worktree; what the old one held is secured before it goes."""
        self._clear(task)
        made = self._worktrees.add(task.id, commit)
        if self._include:
            copy_included(self._git, self.repository, made.path)
        return made

    def _again(self, run: Run, task: Task, found: Worktree, head: Commit) -> Place:
        """The worktree as it stands; a conflict is put into it for the agent to resolve.

        Never over what a person did there: their files, and a merge they began, are the work.
        """
        self._worktrees.repair(found)
        run_head = self.head(run)
        if not task.take_over:
            self._worktrees.forget_merge(found)
            if task.feedback and task.feedback.kind is Kind.CONFLICT:
                head = self._with_markers(task, found, head, run_head)
        base = self._commits.base(head.sha, run_head) or task.work.base or run.base
        return Place(found.path, base, head.tree, fresh=False)

    def _with_markers(self, task: Task, found: Worktree, head: Commit, run_head: str) -> Commit:
        """Merge the run branch in, markers and all, unless it is in there already."""
        if self._refs.contains(run_head, head.sha):
            return head
        work = task.work.head or head.sha
        merged = self._commits.merge(work, run_head)
        words = self._commits.message(f"{task.spec.name}: the run branch merged in", task)
        commit = self._commits.make(merged.tree, [work, run_head], words)
        self._keeping.secure(task)
        self._worktrees.put(found, commit)
        return Commit(commit, merged.tree, (work, run_head))

    @told
    def keep(self, run: Run, task: Task) -> Kept:
        """Commit everything the agent left on the task's branch and under a private ref."""
        return self._keeping.keep(run, task)

    @told
    def candidate(self, run: Run, task: Task) -> Candidate:
        """Merge onto the run branch's head and put the worktree at the result."""
        return self._landing.candidate(run, task)

    @told
    def rebuild(self, task: Task) -> bool:
        """Make a worktree that is gone, or of no use, again at its work; true when it was made."""
        found = self._worktrees.find(task.id)
        if self._standing(found):
            self._worktrees.repair(found)
            return False
        self._make(task, self._keeping.left(task))
        return True

    @told
    @contextmanager
    def aside(self, commit: str) -> Iterator[Path]:
        """A worktree for looking only, gone afterwards; one that a killed process left goes now."""
        for name in self.worktrees():
            owner = LOOK.fullmatch(name)
            if owner and not birth(int(owner[1])):
                self._worktrees.remove(name)
        name = f"look-{os.getpid()}-{uuid4().hex[:8]}"
        try:
            yield self._worktrees.aside(name, commit)
        finally:
            self._worktrees.remove(name)

    def changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""
        return changes(self._git, old, new)

    def visit(self, task: Task, commit: str) -> None:
        """Put the task's worktree at another commit; all it held is on its branch already."""
        self._worktrees.put(self._worktrees.need(task.id), commit)

    @told
    def settle(self, task: Task, commit: str) -> tuple[str, ...]:
        """Put the worktree back at `commit`; returns the tracked files that were not as there."""
        return self._worktrees.settle(self._worktrees.need(task.id), commit)

    @told
    def ignored(self, task: Task) -> frozenset[str]:
        """What git ignores in the worktree, file by file."""
        return self._leavings.ignored(self._worktrees.need(task.id))

    @told
    def put_back(self, task: Task, commit: str, ignored: frozenset[str]) -> None:
        """The worktree at `commit`, without any ignored file but these."""
        found = self._worktrees.need(task.id)
        self._worktrees.put(found, commit)
        self._leavings.remove(found, self._leavings.ignored(found) - ignored)

    @told
    def marks(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        """What a check must leave as it is, by a name for people, with a hash."""
        found = self._worktrees.find(task.id)
        return {**guards(self._git), **self._leavings.marks(found, strict=strict)}

    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`; returns the head it then has."""
        return self._landing.land(run, commit, onto)

    @told
    def release(self, task: Task) -> None:
        """Remove the worktree and the branch of a task once refs that stay hold all of it."""
        self._clear(task, "late")
        self._keeping.tidy(task, candidate_ref(task.id))

    def _clear(self, task: Task, why: str = "") -> None:
        """Remove the worktree after all it holds was secured."""
        self._keeping.secure(task, why)
        self._worktrees.remove(task.id)
        self._content.forget(task.id)

    # -------------------------------------------------------------- snapshots and kept work

    @told
    def snapshot(self, task: Task, attempt: int) -> str:
        """Keep the worktree's whole content under refs/yaoki/snapshots; returns its id."""
        return self._snapshots.take(task, attempt)

    def snapshots(self) -> list[Snapshot]:
        return self._snapshots.listed()

    @told
    def restore(self, snapshot_id: str, task: Task) -> Restored:
        """Put the task's worktree back; what it holds now is kept first."""
        return self._snapshots.restore(snapshot_id, task)

    def expire_snapshots(self, older_than: datetime, needed: Collection[str]) -> list[str]:
        return self._snapshots.expire(older_than, needed)

    def saved(self) -> list[SavedWork]:
        return self._keeping.saved()

    def recover(self, ref: str, branch: str) -> str:
        """A new branch at kept work; never one that is there already."""
        return self._keeping.recover(ref, branch)

    # -------------------------------------------------------------- the end of a run

    def merge(
        self, run: Run, *, message: str = "", into: str = "", force_ref: bool = False
    ) -> Merged:
        """Move the base branch, or `into`, to hold the run; never under a checkout unasked."""
        return self._merging.merge(run, message, into, force_ref)

    def undo(self, run: Run, landed: str, task_id: str) -> str:
        """Take a landed task back on the run branch; returns the branch's new head."""
        return self._landing.undo(run, landed, task_id)

    # -------------------------------------------------------------- looking

    @told
    def guards(self) -> Mapping[str, str]:
        """Hashes of what an agent must never change: git config and hooks, by name."""
        return guards(self._git)

    def worktrees(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""
        return self._worktrees.ids()

    def pushed(self, commit: str) -> bool:
        """Does a branch of a remote, as far as this repository knows, hold the commit?"""
        found = self._git.names(
            "for-each-ref", "--format=%(refname)%00", "--contains", commit, "refs/remotes"
        )
        return bool(found)

    def reachable(self, commit: str) -> bool:
        """Is there any ref that keeps this commit?"""
        return bool(self._refs.commits(commit)[0] and self._refs.holding(commit))

    def diff(self, old: str, new: str, *, stat: bool = False) -> str:
        """The difference as text, cut at a bound and saying so."""
        form = ("--stat=100",) if stat else ("-p",)
        options = ("-r", *form, "--no-ext-diff", "--no-textconv", "--no-color")
        out = self._git.run("diff-tree", *options, old, new, "--").out
        text = out[:DIFF_BYTES_MAX].decode("utf-8", "replace")
        cut = len(out) - DIFF_BYTES_MAX
        return text if cut <= 0 else f"{text}\n… {cut} more bytes: git diff {old} {new}\n"
