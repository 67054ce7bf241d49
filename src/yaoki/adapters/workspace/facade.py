"""`GitWorkspace`: what the engine asks of git, each request a few calls to the rooms beside."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.diff import changes
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.history import History
from yaoki.adapters.git.new_content import mentions, parts
from yaoki.adapters.git.refs import SNAPSHOTS, WORK, Refs, candidate_ref
from yaoki.adapters.git.repository import open_repository
from yaoki.adapters.git.tree_view import tree_view
from yaoki.adapters.git.trees import Content, readable
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.adapters.workspace.branches.base_merge import Merging
from yaoki.adapters.workspace.branches.bundle import Archiving
from yaoki.adapters.workspace.branches.group_branch import Lines
from yaoki.adapters.workspace.branches.landing import Landing
from yaoki.adapters.workspace.branches.merge_queue import Train
from yaoki.adapters.workspace.branches.run_branch import RunBranch
from yaoki.adapters.workspace.os_errors import told
from yaoki.adapters.workspace.protect.agent_repository import AgentRepositories
from yaoki.adapters.workspace.protect.fingerprints import checkout, edited, guards
from yaoki.adapters.workspace.remote.mode import open_sharing
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.included_files import ignored
from yaoki.adapters.workspace.worktrees.leftover_files import Leavings
from yaoki.adapters.workspace.worktrees.preparation import Preparing
from yaoki.adapters.workspace.worktrees.prepared_worktrees import Spares
from yaoki.adapters.workspace.worktrees.saved_work import Keeping
from yaoki.adapters.workspace.worktrees.size_bounds import USUAL, Bounds
from yaoki.adapters.workspace.worktrees.snapshots import Restored, Snapshot, Snapshots
from yaoki.adapters.workspace.worktrees.work_elsewhere import WorkElsewhere
from yaoki.core.leaks import Leak, LeakSearch
from yaoki.core.model import Run, Task
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.ports import (
    Candidate,
    Kept,
    LandedStep,
    Lent,
    Merged,
    Place,
    Riders,
    SavedWork,
    Uncommitted,
)

DIFF_BYTES_MAX = 1 << 20
PACK_EVERY = 100
SAVED_BYTES = 64 << 20
RUN_BRANCHES = "refs/heads/yaoki"
RUN_NAME = re.compile(r"yaoki/[a-z0-9]{8}")


class GitWorkspace:
    """`ports.Workspace` over the git command."""

    def __init__(
        self,
        repo: Path,
        root: Path,
        *,
        include: bool = True,
        remote: str = "",
        ahead_from_files: int = 0,
        saved_bytes: int = SAVED_BYTES,
        sandbox: Callable[[], Sandbox | None] = lambda: None,
        bounds: Bounds = USUAL,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.repository = open_repository(repo)
        self.root = root.resolve()
        self.filters = Filters(sandbox)
        self._git = Git(self.repository.common_dir, filters=self.filters)
        self._refs = Refs(self._git)
        self._commits = Commits(self._git)
        self._content = Content(self._git, self.root / ".index", bounds)
        self._worktrees = Worktrees(self._git, self.root)
        self._sharing = open_sharing(
            self._git, self.repository, remote, self.root / ".unpushed", warn
        )
        self._spares = Spares(self._worktrees, self.root, ahead_from_files)
        rest = (self._commits, self._content, self._worktrees)
        self._leavings = Leavings(self._git)
        self._elsewhere = WorkElsewhere(self._git, self._refs, self._content)
        self._ignored = IgnoredFileStore(
            self._git, self._leavings, self.root / ".prepared", saved_bytes
        )
        self._lent = AgentRepositories(self._git, self._refs, self.root, sandbox)
        self._keeping = Keeping(self._refs, *rest, self._ignored, self._lent)
        lines = self._sharing.lines
        self._branch = RunBranch(self._git, lines)
        self._preparing = Preparing(
            self._git,
            self.repository,
            self._refs,
            *rest,
            self._spares,
            self._keeping,
            self._branch,
            self._sharing,
            self._ignored,
            include=include,
        )
        self._train = Train(lines, self._branch, warn)
        self._landing = Landing(lines, *rest, self._keeping, self._branch, self._train)
        self._snapshots = Snapshots(self._git, self._refs, *rest, self._keeping)
        self._merging = Merging(self._sharing.branches, self._commits, self._branch)
        self._lines = Lines(lines, self._branch, self._commits)
        self._history = History(self._git, lines, self._commits)
        self._released = 0

    # -------------------------------------------------------------- the run branch

    @told
    def open_run(self, run: Run) -> None:
        """Make the run branch at the run's base unless it is there, or was there once."""
        self._sharing.catch_up()
        self._sharing.once(run.id, lambda: self._branch.open(run))

    @told
    def bring_along(self, run: Run) -> None:
        """Push the branch of a run that was begun before there was a remote."""
        self._branch.bring_along(run)

    @told
    def head(self, run: Run) -> str:
        return self._branch.head(run).sha

    @told
    def intact(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""
        return self._branch.intact(run)

    @told
    def refuse_strayed(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchStrayed` unless the branch is where yaoki put it and holds all of these."""
        self._branch.refuse_strayed(run, landed)

    @told
    def refuse_held(self, run: Run) -> None:
        """Raise `BranchStrayed` while somebody has the run branch checked out."""
        self._landing.refuse_held(run)

    @told
    def way_back(self, run: Run, commit: str) -> str:
        """The command by which a person puts the run branch there."""
        return self._branch.way_back(run, commit)

    @told
    def lacks(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of these commits the run branch does not hold."""
        return self._branch.lacks(run, commits)

    @told
    def holds(self, run: Run, commit: str) -> bool:
        """Does the run branch already have this commit?"""
        head = self.head(run)
        return bool(commit) and self._sharing.here(commit) and self._refs.contains(commit, head)

    # -------------------------------------------------------------- the lines of groups

    @told
    def open_line(self, run: Run, group: str) -> Run:
        """The run seen from the group's own branch, which is made unless it is there."""
        return self._lines.open(run, group)

    @told
    def refresh_line(self, run: Run, group: str) -> Run:
        """The line, with what landed on the run branch since merged in where that is clean."""
        return self._lines.refresh(run, group)

    @told
    def roll_back(self, run: Run, group: str, head: str) -> tuple[str, str]:
        """Take a group's branch from `head` to the run branch; what it held stays on a ref."""
        return self._lines.roll_back(run, group, head)

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

    @told
    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(status, path) of every file that differs."""
        self._sharing.near(old, new)
        found = self._content.between(old, new)
        return tuple((change.status, readable(change.path)) for change in found)

    # -------------------------------------------------------------- the stages of a task

    @told
    def prepare(self, run: Run, task: Task, attempt: int) -> Place:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""
        return self._preparing.prepare(run, task)

    @property
    def works_ahead(self) -> bool:
        """Does making a worktree take so long that some should be ready?"""
        return self._spares.worth

    @told
    def ahead(self, run: Run, wanted: int) -> None:
        """Make worktrees until so many are ready, if that is worth while."""
        self._spares.make(self.head(run), wanted)

    @told
    def leave(self) -> None:
        """Remove what only this process could have used."""
        self._spares.drop()

    @told
    def keep(self, run: Run, task: Task) -> Kept:
        """Commit everything the agent left on the task's branch and under a private ref."""
        with self._sharing.owing(task.id):
            return self._keeping.keep(run, task)

    @told
    def lend(self, task_id: str, worktree: Path) -> Lent | None:
        """What the agent of a task has for itself in the sandbox: a repository to commit to.

        None for whoever works elsewhere, as a judge does.
        """
        found = self._worktrees.find(task_id)
        return self._lent.lend(found) if found.usable and found.path == worktree else None

    @told
    def candidate(self, run: Run, task: Task, riders: Riders = frozenset) -> Candidate:
        """Merge onto the run branch's head and put the worktree at the result."""
        self._sharing.catch_up()
        self._sharing.need(task)
        return self._landing.candidate(run, task, riders)

    @told
    def coming(self, run: Run, commit: str, riders: Riders) -> bool:
        """May the run branch still come to this commit, by landings of riders alone?"""
        return commit in {car.sha for car in self._train.seen(run, riders).cars}

    @told
    def rebuild(self, task: Task) -> bool:
        """Make a worktree that is gone, or of no use, again at its work; true when it was made."""
        return self._preparing.rebuild(task)

    @told
    def tracks(self, commit: str, path: str) -> bool:
        """Is there a file or folder of this name in the commit?"""
        plain = path.removeprefix("./").rstrip("/")
        return "\n" not in plain and self._git.named(f"{commit}:{plain}")[0] is not None

    @told
    def leaks(self, old: str, new: str, search: LeakSearch) -> tuple[Leak, ...]:
        """Secrets in all that the newer commit brings: contents, names and words."""
        self._sharing.near(old, new)
        return search.leaks(parts(self._git, old, new))

    @told
    def mentions(self, commit: str, value: str) -> bool:
        """Does a file of the commit hold this text?"""
        return mentions(self._git, commit, value)

    @told
    def changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""
        self._sharing.near(old, new)
        return changes(self._git, old, new)

    @told
    def tree_view(self, commit: str) -> TreeView:
        """The tracked files of a commit, read from its objects."""
        self._sharing.near(commit)
        return tree_view(self._git, commit)

    @told
    def with_files_of(self, commit: str, other: str, paths: Sequence[str]) -> str:
        """A commit with these paths as another has them; paths that it lacks are left out."""
        with self._content.index("mixed") as index:
            tree = self._content.mixed(index, commit, other, paths)
        return self._commits.make(tree, [commit], "files of another commit\n")

    @told
    def hidden(self, task: Task, since: float) -> tuple[str, ...]:
        """Sources that were written since then and that git ignores; none once it is all gone."""
        found = self._worktrees.find(task.id)
        return self._leavings.hidden(found, since) if found.admin and found.there else ()

    @told
    def ignored_folders(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of these folders that the user's checkout has and git ignores."""
        there = [name for name in names if (self.repository.top / name).is_dir()]
        return ignored(self._git, self.repository, there)

    @told
    def edited_files(self, since: float) -> tuple[str, ...]:
        """The tracked files of the user's checkout that changed or went since that instant."""
        return edited(self._git, self.repository, since)

    @told
    def too_large(self, task: Task) -> tuple[str, ...]:
        """Ignored files of the task's worktree that nobody saves when it goes."""
        return self._keeping.too_large(task)

    @told
    def elsewhere(self, task: Task) -> tuple[str, ...]:
        """Where else an agent worked that changed nothing on the task's branch."""
        return self._elsewhere.places(self._worktrees.find(task.id))

    @told
    def uncommitted(self, task: Task, since: float) -> tuple[Uncommitted, ...]:
        """Ignored files that were written since that instant; none once it is all gone."""
        found = self._worktrees.find(task.id)
        return self._leavings.uncommitted(found, since) if found.usable else ()

    @told
    def bring_uncommitted(self, task: Task, names: Sequence[str], to: Path) -> None:
        """Copy such files into another folder, never over one that is there."""
        top = self._worktrees.need(task.id).path
        for name in names:
            target = to / name
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(top / name, target, follow_symlinks=False)

    @told
    def mark_prepared(self, task: Task) -> None:
        """Note the ignored files that set-up made."""
        self._ignored.mark_prepared(self._worktrees.need(task.id))

    @told
    def marks(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        """What a check must leave as it is, by a name for people, with a hash."""
        found = self._worktrees.find(task.id)
        return {**self.guards(task.id), **self._leavings.marks(found, strict=strict)}

    @told
    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`; returns the head it then has."""
        if not self._sharing.here(commit):
            # Proven on a machine that is gone: whoever lands it must have it, so prove it again.
            return self.head(run)
        return self._landing.land(run, commit, onto)

    @told
    def release(self, task: Task, *, elsewhere: bool = False) -> None:
        """Remove the worktree and the branch of a task once refs that stay hold all of it.

        `elsewhere`: another machine is at it, and the branch at the remote is that machine's.
        """
        with self._sharing.owing(task.id, over=not elsewhere):
            self._preparing.clear(task, "late")
            self._keeping.tidy(task, candidate_ref(task.id))
        self._lent.clear(task.id)
        self._released += 1
        if self._released % PACK_EVERY == 0:
            # Each landing leaves a few refs; as a file each they would slow every look at them.
            self._git.run("pack-refs", "--all")

    # -------------------------------------------------------------- snapshots and kept work

    @told
    def snapshot(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Keep the worktree's whole content under refs/yaoki/snapshots; returns its id."""
        with self._sharing.owing(task.id):
            return self._snapshots.take(task, attempt, untouched=untouched)

    @told
    def snapshots(self) -> list[Snapshot]:
        self._sharing.gather(SNAPSHOTS)
        return self._snapshots.listed()

    @told
    def restore(self, snapshot_id: str, task: Task) -> Restored:
        """Put the task's worktree back; what it holds now is kept first."""
        self._sharing.bring_snapshot(snapshot_id)
        with self._sharing.owing(task.id):
            return self._snapshots.restore(snapshot_id, task)

    @told
    def expire_snapshots(self, older_than: datetime, needed: Collection[str]) -> list[str]:
        gone = self._snapshots.expire(older_than, needed)
        self._sharing.forget(gone)
        return [snapshot.id for snapshot in gone]

    @told
    def run_branches(self) -> tuple[str, ...]:
        """The branches of runs that are here, whether a store knows them or not."""
        listed = self._refs.listed(RUN_BRANCHES)
        names = (ref.name.removeprefix("refs/heads/") for ref in listed)
        return tuple(sorted(name for name in names if RUN_NAME.fullmatch(name)))

    @told
    def saved(self) -> list[SavedWork]:
        self._sharing.gather(WORK, SNAPSHOTS)
        return self._keeping.saved()

    @told
    def recover(self, ref: str, branch: str) -> str:
        """A new branch at kept work; never one that is there already."""
        return self._keeping.recover(ref, branch)

    # -------------------------------------------------------------- the end of a run

    @told
    def merge(
        self,
        run: Run,
        *,
        message: str = "",
        into: str = "",
        force_ref: bool = False,
        approve: Callable[[Merged], None],
    ) -> Merged:
        """Move the base branch, or `into`, to hold the run; never under a checkout unasked."""
        return self._merging.merge(run, message, into, force_ref, approve)

    @told
    def undo(self, run: Run, landed: str, task_id: str, approve: Callable[[str, str], None]) -> str:
        """Take a landed task back on the run branch; returns the branch's new head."""
        self._sharing.near(landed)
        return self._landing.undo(run, landed, task_id, approve)

    @told
    def archiving(self) -> Archiving:
        """The way out for the refs of finished runs, at the remote as well."""
        return Archiving(self.repository.common_dir, self.root, self._sharing)

    # -------------------------------------------------------------- looking

    @told
    def guards(self, task_id: str = "") -> Mapping[str, str]:
        """Hashes of what an agent must never change: git config and hooks, by name."""
        admin = self._worktrees.find(task_id).admin if task_id else None
        return guards(self._git, self.repository, self._sharing.name, admin)

    @told
    def checkout(self) -> Mapping[str, str]:
        """Hashes of the user's HEAD, index and tracked files, by name."""
        return checkout(self._git, self.repository)

    @told
    def worktrees(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""
        return self._worktrees.ids()

    @told
    def host(self, machine: str) -> str:
        """Where a worktree is: on this machine, and in which of its clones if several share."""
        return self._sharing.host(machine)

    @told
    def catch_up(self) -> None:
        """Push what could not be pushed when it was kept; ask for a remote that was away.

        Worktrees that a killed process had made for nobody go.
        """
        self._spares.sweep()
        self._content.sweep(self.worktrees())
        self._lent.sweep(self.worktrees())
        if self._sharing.away:
            self._sharing.answers()
        self._sharing.catch_up()

    @told
    def away(self) -> str:
        """Empty unless the remote did not answer when it was last asked; then one sentence."""
        return self._sharing.away

    @told
    def meets(self) -> str:
        """What people call the remote, which has just answered; empty when there is none."""
        self._sharing.answers()
        return self._sharing.shown

    @told
    def pushed(self, commit: str) -> bool:
        """Does a branch of a remote, as far as this repository knows, hold the work?

        Commits of an agent become one of ours; then the branch stands at the same files.
        """
        asked = ("for-each-ref", "--format=%(tree)%00")
        if self._git.names(*asked, "--contains", commit, "refs/remotes"):
            return True
        tree = self._git.text("rev-parse", f"{commit}^{{tree}}")
        return tree in {name.strip() for name in self._git.names(*asked, "refs/remotes")}

    @told
    def reachable(self, commit: str) -> bool:
        """Is there any ref that keeps this commit?"""
        return bool(self._refs.commits(commit)[0] and self._refs.holding(commit))

    @told
    def diff(self, old: str, new: str, *, stat: bool = False) -> str:
        """The difference as text, cut at a bound and saying so."""
        self._sharing.near(old, new)
        form = ("--stat=100",) if stat else ("-p",)
        options = ("-r", *form, "--no-ext-diff", "--no-textconv", "--no-color")
        out = self._git.run("diff-tree", *options, old, new, "--").out
        text = out[:DIFF_BYTES_MAX].decode("utf-8", "replace")
        cut = len(out) - DIFF_BYTES_MAX
        return text if cut <= 0 else f"{text}\n… {cut} more bytes: git diff {old} {new}\n"
