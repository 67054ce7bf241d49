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
from yaoki.adapters.git.diff import read_changes
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.history import LandingHistory
from yaoki.adapters.git.new_content import contains_text, read_new_content
from yaoki.adapters.git.refs import SAVED_WORK, SNAPSHOTS, Refs, candidate_ref
from yaoki.adapters.git.repository import GitRepository, open_repository
from yaoki.adapters.git.size_bounds import DEFAULT_BOUNDS, SizeBounds
from yaoki.adapters.git.tree_view import read_tree_view
from yaoki.adapters.git.trees import TreeBuilder, printable_path
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.adapters.workspace.branches.base_merge import BaseMerge
from yaoki.adapters.workspace.branches.bundle import RunRefArchive
from yaoki.adapters.workspace.branches.group_branch import GroupBranches
from yaoki.adapters.workspace.branches.landing import BranchLanding
from yaoki.adapters.workspace.branches.merge_queue import MergeQueue
from yaoki.adapters.workspace.branches.run_branch import RunBranch
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.preparation import WorktreePreparation
from yaoki.adapters.workspace.protect.fingerprints import (
    find_edited_files,
    hash_checkout,
    hash_protected_files,
)
from yaoki.adapters.workspace.remote.mode import open_remote_mode
from yaoki.adapters.workspace.worktrees.agent_repository import AgentRepositories
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.included_files import filter_ignored
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles
from yaoki.adapters.workspace.worktrees.prepared_worktrees import PreparedWorktreePool
from yaoki.adapters.workspace.worktrees.saved_work import WorkSaver
from yaoki.adapters.workspace.worktrees.snapshots import RestoreResult, Snapshot, Snapshots
from yaoki.adapters.workspace.worktrees.work_elsewhere import WorkElsewhere
from yaoki.core.leaks import Leak, LeakSearch
from yaoki.core.model import Run, Task
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.ports import (
    Candidate,
    CommittedAttempt,
    IgnoredFile,
    LandedStep,
    MergeResult,
    PreparedWorktree,
    QueueMembers,
    SandboxFolders,
    SavedWork,
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
        repo: Path | GitRepository,
        root: Path,
        *,
        include: bool = True,
        remote: str = "",
        ahead_from_files: int = 0,
        saved_bytes: int = SAVED_BYTES,
        sandbox: Callable[[], Sandbox | None] = lambda: None,
        bounds: SizeBounds = DEFAULT_BOUNDS,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.repository = open_repository(repo) if isinstance(repo, Path) else repo
        self.root = root.resolve()
        self.filters = Filters(sandbox)
        self._git = Git(self.repository.common_dir, filters=self.filters)
        self._refs = Refs(self._git)
        self._commits = Commits(self._git)
        self._content = TreeBuilder(self._git, self.root / ".index", bounds)
        self._worktrees = Worktrees(self._git, self.root)
        self._sharing = open_remote_mode(
            self._git, self.repository, remote, self.root / ".unpushed", warn
        )
        self._spares = PreparedWorktreePool(self._worktrees, self.root, ahead_from_files)
        rest = (self._commits, self._content, self._worktrees)
        self._leavings = LeftoverFiles(self._git)
        self._elsewhere = WorkElsewhere(self._git, self._refs, self._content)
        self._ignored = IgnoredFileStore(
            self._git, self._leavings, self.root / ".prepared", saved_bytes
        )
        self._lent = AgentRepositories(self._git, self._refs, self.root, sandbox)
        self._keeping = WorkSaver(self._refs, *rest, self._ignored, self._lent)
        lines = self._sharing.run_refs
        self._branch = RunBranch(self._git, lines)
        self._preparing = WorktreePreparation(
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
        self._train = MergeQueue(lines, self._branch, warn)
        self._landing = BranchLanding(lines, *rest, self._keeping, self._branch, self._train)
        self._snapshots = Snapshots(self._git, self._refs, *rest, self._keeping)
        self._merging = BaseMerge(self._sharing.branch_refs, self._commits, self._branch)
        self._lines = GroupBranches(lines, self._branch, self._commits)
        self._history = LandingHistory(self._git, lines, self._commits)
        self._released = 0

    # -------------------------------------------------------------- the run branch

    @translates_os_errors
    def open_run_branch(self, run: Run) -> None:
        """Make the run branch at the run's base unless it is there, or was there once."""
        self._sharing.push_pending()
        self._sharing.run_once(run.id, lambda: self._branch.open(run))

    @translates_os_errors
    def push_existing_run(self, run: Run) -> None:
        """Push the branch of a run that was begun before there was a remote."""
        self._branch.push_existing_run(run)

    @translates_os_errors
    def head(self, run: Run) -> str:
        return self._branch.head(run).sha

    @translates_os_errors
    def describe_drift(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""
        return self._branch.describe_drift(run)

    @translates_os_errors
    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """Raise `BranchStrayed` unless the branch is where yaoki put it and holds all of these."""
        self._branch.refuse_drift(run, landed)

    @translates_os_errors
    def refuse_checked_out(self, run: Run) -> None:
        """Raise `BranchStrayed` while somebody has the run branch checked out."""
        self._landing.refuse_checked_out(run)

    @translates_os_errors
    def way_back(self, run: Run, commit: str) -> str:
        """The command by which a person puts the run branch there."""
        return self._branch.way_back(run, commit)

    @translates_os_errors
    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of these commits the run branch does not hold."""
        return self._branch.missing_commits(run, commits)

    @translates_os_errors
    def branch_contains(self, run: Run, commit: str) -> bool:
        """Does the run branch already have this commit?"""
        head = self.head(run)
        return (
            bool(commit)
            and self._sharing.has_commit(commit)
            and self._refs.is_ancestor(commit, head)
        )

    # -------------------------------------------------------------- the lines of groups

    @translates_os_errors
    def open_group_branch(self, run: Run, group: str) -> Run:
        """The run seen from the group's own branch, which is made unless it is there."""
        return self._lines.open(run, group)

    @translates_os_errors
    def refresh_group_branch(self, run: Run, group: str) -> Run:
        """The line, with what landed on the run branch since merged in where that is clean."""
        return self._lines.refresh(run, group)

    @translates_os_errors
    def roll_back_group_branch(self, run: Run, group: str, head: str) -> tuple[str, str]:
        """Take a group's branch from `head` to the run branch; what it held stays on a ref."""
        return self._lines.roll_back(run, group, head)

    @translates_os_errors
    def close_group_branch(self, run: Run, group: str) -> None:
        """Delete a group's branch once the run branch holds it."""
        self._lines.close(run, group)

    @translates_os_errors
    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """What landed on the line, oldest first."""
        return self._history.list_landings(run)

    @translates_os_errors
    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        """A commit of `base` with just these landings; empty when they do not fit together."""
        return self._history.combine_landings(base, chosen)

    @translates_os_errors
    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(status, path) of every file that differs."""
        self._sharing.fetch_commits(old, new)
        found = self._content.diff_trees(old, new)
        return tuple((change.status, printable_path(change.path)) for change in found)

    # -------------------------------------------------------------- the stages of a task

    @translates_os_errors
    def prepare(self, run: Run, task: Task, attempt: int) -> PreparedWorktree:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""
        return self._preparing.prepare(run, task)

    @property
    def prepares_ahead(self) -> bool:
        """Does making a worktree take so long that some should be ready?"""
        return self._spares.is_worthwhile

    @translates_os_errors
    def prepare_ahead(self, run: Run, wanted: int) -> None:
        """Make worktrees until so many are ready, if that is worth while."""
        self._spares.fill(self.head(run), wanted)

    @translates_os_errors
    def drop_prepared_worktrees(self) -> None:
        """Remove what only this process could have used."""
        self._spares.remove_own()

    @translates_os_errors
    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt:
        """Commit everything the agent left on the task's branch and under a private ref."""
        with self._sharing.push_afterwards(task.id):
            return self._keeping.commit_attempt(run, task)

    @translates_os_errors
    def create_agent_repository(self, task_id: str, worktree: Path) -> SandboxFolders | None:
        """What the agent of a task has for itself in the sandbox: a repository to commit to.

        None for whoever works elsewhere, as a judge does.
        """
        found = self._worktrees.find(task_id)
        return self._lent.create(found) if found.is_usable and found.path == worktree else None

    @translates_os_errors
    def build_candidate(
        self, run: Run, task: Task, queue_members: QueueMembers = frozenset
    ) -> Candidate:
        """Merge onto the run branch's head and put the worktree at the result."""
        self._sharing.push_pending()
        self._sharing.require_work(task)
        return self._landing.build_candidate(run, task, queue_members)

    @translates_os_errors
    def is_in_merge_queue(self, run: Run, commit: str, queue_members: QueueMembers) -> bool:
        """May the run branch still come to this commit, by landings of riders alone?"""
        return commit in {car.sha for car in self._train.read(run, queue_members).candidates}

    @translates_os_errors
    def rebuild_worktree(self, task: Task) -> bool:
        """Make a worktree that is gone, or of no use, again at its work; true when it was made."""
        return self._preparing.rebuild_worktree(task)

    @translates_os_errors
    def has_path(self, commit: str, path: str) -> bool:
        """Is there a file or folder of this name in the commit?"""
        plain = path.removeprefix("./").rstrip("/")
        return "\n" not in plain and self._git.look_up(f"{commit}:{plain}")[0] is not None

    @translates_os_errors
    def find_leaks(self, old: str, new: str, search: LeakSearch) -> tuple[Leak, ...]:
        """Secrets in all that the newer commit brings: contents, names and words."""
        self._sharing.fetch_commits(old, new)
        return search.find(read_new_content(self._git, old, new))

    @translates_os_errors
    def contains_text(self, commit: str, value: str) -> bool:
        """Does a file of the commit hold this text?"""
        return contains_text(self._git, commit, value)

    @translates_os_errors
    def read_changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""
        self._sharing.fetch_commits(old, new)
        return read_changes(self._git, old, new)

    @translates_os_errors
    def tree_view(self, commit: str) -> TreeView:
        """The tracked files of a commit, read from its objects."""
        self._sharing.fetch_commits(commit)
        return read_tree_view(self._git, commit)

    @translates_os_errors
    def commit_with_files_of(self, commit: str, other: str, paths: Sequence[str]) -> str:
        """A commit with these paths as another has them; paths that it lacks are left out."""
        with self._content.temporary_index("mixed") as index:
            tree = self._content.mix_trees(index, commit, other, paths)
        return self._commits.make(tree, [commit], "files of another commit\n")

    @translates_os_errors
    def ignored_sources(self, task: Task, since: float) -> tuple[str, ...]:
        """Sources that were written since then and that git ignores; none once it is all gone."""
        found = self._worktrees.find(task.id)
        return self._leavings.ignored_sources(found, since) if found.admin and found.exists else ()

    @translates_os_errors
    def ignored_folders(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of these folders that the user's checkout has and git ignores."""
        there = [name for name in names if (self.repository.top / name).is_dir()]
        return filter_ignored(self._git, self.repository, there)

    @translates_os_errors
    def edited_files(self, since: float) -> tuple[str, ...]:
        """The tracked files of the user's checkout that changed or went since that instant."""
        return find_edited_files(self._git, self.repository, since)

    @translates_os_errors
    def ignored_files_too_large(self, task: Task) -> tuple[str, ...]:
        """Ignored files of the task's worktree that nobody saves when it goes."""
        return self._keeping.ignored_files_too_large(task)

    @translates_os_errors
    def find_work_elsewhere(self, task: Task) -> tuple[str, ...]:
        """Where else an agent worked that changed nothing on the task's branch."""
        return self._elsewhere.describe_places(self._worktrees.find(task.id))

    @translates_os_errors
    def uncommitted_files(self, task: Task, since: float) -> tuple[IgnoredFile, ...]:
        """Ignored files that were written since that instant; none once it is all gone."""
        found = self._worktrees.find(task.id)
        return self._leavings.uncommitted_files(found, since) if found.is_usable else ()

    @translates_os_errors
    def copy_uncommitted_files(self, task: Task, names: Sequence[str], to: Path) -> None:
        """Copy such files into another folder, never over one that is there."""
        top = self._worktrees.require(task.id).path
        for name in names:
            target = to / name
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(top / name, target, follow_symlinks=False)

    @translates_os_errors
    def record_setup_files(self, task: Task) -> None:
        """Note the ignored files that set-up made."""
        self._ignored.record_setup_files(self._worktrees.require(task.id))

    @translates_os_errors
    def protected_state(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        """What a check must leave as it is, by a name for people, with a hash."""
        found = self._worktrees.find(task.id)
        return {
            **self.hash_protected_files(task.id),
            **self._leavings.protected_state(found, strict=strict),
        }

    @translates_os_errors
    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`; returns the head it then has."""
        if not self._sharing.has_commit(commit):
            # Proven on a machine that is gone: whoever lands it must have it, so prove it again.
            return self.head(run)
        return self._landing.land(run, commit, onto)

    @translates_os_errors
    def remove_worktree(self, task: Task, *, continued_elsewhere: bool = False) -> None:
        """Remove the worktree and the branch of a task once refs that stay hold all of it.

        `elsewhere`: another machine is at it, and the branch at the remote is that machine's.
        """
        with self._sharing.push_afterwards(task.id, finished=not continued_elsewhere):
            self._preparing.remove_worktree(task, "late")
            self._keeping.delete_task_refs(task, candidate_ref(task.id))
        self._lent.delete_folder(task.id)
        self._released += 1
        if self._released % PACK_EVERY == 0:
            # Each landing leaves a few refs; as a file each they would slow every look at them.
            self._git.run("pack-refs", "--all")

    # -------------------------------------------------------------- snapshots and kept work

    @translates_os_errors
    def take_snapshot(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        """Keep the worktree's whole content under refs/yaoki/snapshots; returns its id."""
        with self._sharing.push_afterwards(task.id):
            return self._snapshots.take(task, attempt, untouched=untouched)

    @translates_os_errors
    def list_snapshots(self) -> list[Snapshot]:
        self._sharing.fetch_all_below(SNAPSHOTS)
        return self._snapshots.list_all()

    @translates_os_errors
    def restore_snapshot(self, snapshot_id: str, task: Task) -> RestoreResult:
        """Put the task's worktree back; what it holds now is kept first."""
        self._sharing.fetch_snapshot(snapshot_id)
        with self._sharing.push_afterwards(task.id):
            return self._snapshots.restore(snapshot_id, task)

    @translates_os_errors
    def expire_snapshots(self, older_than: datetime, needed: Collection[str]) -> list[str]:
        gone = self._snapshots.expire(older_than, needed)
        self._sharing.delete_snapshots(gone)
        return [snapshot.id for snapshot in gone]

    @translates_os_errors
    def list_run_branches(self) -> tuple[str, ...]:
        """The branches of runs that are here, whether a store knows them or not."""
        listed = self._refs.list_refs(RUN_BRANCHES)
        names = (ref.name.removeprefix("refs/heads/") for ref in listed)
        return tuple(sorted(name for name in names if RUN_NAME.fullmatch(name)))

    @translates_os_errors
    def list_saved_work(self) -> list[SavedWork]:
        self._sharing.fetch_all_below(SAVED_WORK, SNAPSHOTS)
        return self._keeping.list_saved_work()

    @translates_os_errors
    def recover_to_branch(self, ref: str, branch: str) -> str:
        """A new branch at kept work; never one that is there already."""
        return self._keeping.recover_to_branch(ref, branch)

    # -------------------------------------------------------------- the end of a run

    @translates_os_errors
    def merge(
        self,
        run: Run,
        *,
        message: str = "",
        into: str = "",
        force_ref: bool = False,
        approve: Callable[[MergeResult], None],
    ) -> MergeResult:
        """Move the base branch, or `into`, to hold the run; never under a checkout unasked."""
        return self._merging.merge(run, message, into, force_ref, approve)

    @translates_os_errors
    def undo(self, run: Run, landed: str, task_id: str, approve: Callable[[str, str], None]) -> str:
        """Take a landed task back on the run branch; returns the branch's new head."""
        self._sharing.fetch_commits(landed)
        return self._landing.undo(run, landed, task_id, approve)

    @translates_os_errors
    def ref_archive(self) -> RunRefArchive:
        """The way out for the refs of finished runs, at the remote as well."""
        return RunRefArchive(self.repository.common_dir, self.root, self._sharing)

    # -------------------------------------------------------------- looking

    @translates_os_errors
    def hash_protected_files(self, task_id: str = "") -> Mapping[str, str]:
        """Hashes of what an agent must never change: git config and hooks, by name."""
        admin = self._worktrees.find(task_id).admin if task_id else None
        return hash_protected_files(self._git, self.repository, self._sharing.name, admin)

    @translates_os_errors
    def hash_checkout(self) -> Mapping[str, str]:
        """Hashes of the user's HEAD, index and tracked files, by name."""
        return hash_checkout(self._git, self.repository)

    @translates_os_errors
    def tasks_with_worktree(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""
        return self._worktrees.list_ids()

    @translates_os_errors
    def worktree_host(self, machine: str) -> str:
        """Where a worktree is: on this machine, and in which of its clones if several share."""
        return self._sharing.worktree_host(machine)

    @translates_os_errors
    def catch_up_with_remote(self) -> None:
        """Push what could not be pushed when it was kept; ask for a remote that was away.

        Worktrees that a killed process had made for nobody go.
        """
        self._spares.remove_orphans()
        self._content.drop_cached_indexes_except(self.tasks_with_worktree())
        self._lent.delete_orphans(self.tasks_with_worktree())
        if self._sharing.problem:
            self._sharing.check_reachable()
        self._sharing.push_pending()

    @translates_os_errors
    def remote_problem(self) -> str:
        """Empty unless the remote did not answer when it was last asked; then one sentence."""
        return self._sharing.problem

    @translates_os_errors
    def check_remote(self) -> str:
        """What people call the remote, which has just answered; empty when there is none."""
        self._sharing.check_reachable()
        return self._sharing.display_name

    @translates_os_errors
    def is_pushed(self, commit: str) -> bool:
        """Does a branch of a remote, as far as this repository knows, hold the work?

        Commits of an agent become one of ours; then the branch stands at the same files.
        """
        asked = ("for-each-ref", "--format=%(tree)%00")
        if self._git.read_names(*asked, "--contains", commit, "refs/remotes"):
            return True
        tree = self._git.read_text("rev-parse", f"{commit}^{{tree}}")
        return tree in {name.strip() for name in self._git.read_names(*asked, "refs/remotes")}

    @translates_os_errors
    def is_reachable(self, commit: str) -> bool:
        """Is there any ref that keeps this commit?"""
        return bool(self._refs.read_commits(commit)[0] and self._refs.refs_containing(commit))

    @translates_os_errors
    def diff(self, old: str, new: str, *, stat: bool = False) -> str:
        """The difference as text, cut at a bound and saying so."""
        self._sharing.fetch_commits(old, new)
        form = ("--stat=100",) if stat else ("-p",)
        options = ("-r", *form, "--no-ext-diff", "--no-textconv", "--no-color")
        out = self._git.run("diff-tree", *options, old, new, "--").out
        text = out[:DIFF_BYTES_MAX].decode("utf-8", "replace")
        cut = len(out) - DIFF_BYTES_MAX
        return text if cut <= 0 else f"{text}\n… {cut} more bytes: git diff {old} {new}\n"
