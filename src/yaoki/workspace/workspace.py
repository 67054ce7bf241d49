"""`GitWorkspace`: what the engine asks of git, each request a few calls to the rooms beside."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

from yaoki.core.model import Kind, Run, Task
from yaoki.ports import Candidate, Kept, Merged, Place, SavedWork
from yaoki.system import disk_free
from yaoki.workspace.commits import Commits
from yaoki.workspace.content import Content
from yaoki.workspace.git import Git
from yaoki.workspace.guards import guards
from yaoki.workspace.include import copy_included
from yaoki.workspace.keeping import Keeping
from yaoki.workspace.landing import Landing
from yaoki.workspace.merging import Merging
from yaoki.workspace.refs import Commit, Move, Refs, branch_of, candidate_ref
from yaoki.workspace.repository import open_repository
from yaoki.workspace.snapshots import Restored, Snapshot, Snapshots
from yaoki.workspace.told import told
from yaoki.workspace.worktrees import Worktree, Worktrees

DIFF_BYTES_MAX = 1 << 20
DISK_BYTES_MIN = 512 << 20


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
        self._landing = Landing(*shared, self._keeping)
        self._snapshots = Snapshots(self._git, *shared, self._keeping)
        self._merging = Merging(self._refs, self._commits)

    # -------------------------------------------------------------- the run branch

    def open_run(self, run: Run) -> None:
        """Make the run branch at the run's base unless it is there."""
        base = self._refs.commit(run.base, f"the base {run.base[:12]} of {run.id}")
        self._refs.move(Move(branch_of(run), base.sha, ""), why="yaoki: open run")

    def head(self, run: Run) -> str:
        return self._landing.head(run).sha

    def holds(self, run: Run, commit: str) -> bool:
        """Does the run branch already have this commit?"""
        return bool(commit) and self._refs.contains(commit, self.head(run))

    # -------------------------------------------------------------- the stages of a task

    @told
    def prepare(self, run: Run, task: Task, attempt: int) -> Place:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""
        found = self._worktrees.find(task.id)
        usable = found.there and found.admin and not found.unfinished
        head = self._refs.commits(found.head)[0] if usable else None
        if head is None or task.fresh_next or task.attempt == 0:
            return self._fresh(run, task)
        return self._again(run, task, found, head)

    def _fresh(self, run: Run, task: Task) -> Place:
        """A new worktree at the run's head; what the old one held is secured before it goes."""
        head = self._landing.head(run)
        self._clear(task)
        made = self._worktrees.add(task.id, head.sha)
        if self._include:
            copy_included(self._git, self.repository, made.path)
        return Place(made.path, head.sha, head.tree, fresh=True)

    def _again(self, run: Run, task: Task, found: Worktree, head: Commit) -> Place:
        """The worktree as it stands; a conflict is put into it for the agent to resolve."""
        self._worktrees.repair(found)
        run_head = self.head(run)
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

    def visit(self, task: Task, commit: str) -> None:
        """Put the task's worktree at another commit; all it held is on its branch already."""
        self._worktrees.put(self._worktrees.find(task.id), commit)

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
        return guards(self.repository.common_dir)

    def worktrees(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""
        return self._worktrees.ids()

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

    def disk_ok(self, bytes_min: int = DISK_BYTES_MIN) -> bool:
        """Is there room for another worktree?"""
        return disk_free(self.root) >= bytes_min
