"""`GitWorkspace`: builds the roles of `ports.Workspace` over one repository, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.history import LandingHistory
from yaoki.adapters.git.refs import Refs
from yaoki.adapters.git.repository import open_repository
from yaoki.adapters.git.size_bounds import DEFAULT_BOUNDS, SizeBounds
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.adapters.workspace.attempt_worktrees import GitAttemptWorktrees
from yaoki.adapters.workspace.branches.group_branch import GitGroupBranches
from yaoki.adapters.workspace.branches.landing import GitLandings
from yaoki.adapters.workspace.branches.merge_queue import MergeQueue
from yaoki.adapters.workspace.branches.run_branch import RunBranch
from yaoki.adapters.workspace.commit_contents import GitCommitContents
from yaoki.adapters.workspace.preparation import WorktreePreparation
from yaoki.adapters.workspace.protected_files import GitProtectedFiles
from yaoki.adapters.workspace.recovery import WorkRecovery
from yaoki.adapters.workspace.remote.mode import open_remote_mode
from yaoki.adapters.workspace.remote.status import RemoteStatus
from yaoki.adapters.workspace.run_branches import GitRunBranches
from yaoki.adapters.workspace.uncommitted_work import GitUncommittedWork
from yaoki.adapters.workspace.worktrees.agent_repository import AgentRepositories
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles
from yaoki.adapters.workspace.worktrees.prepared_worktrees import PreparedWorktreePool
from yaoki.adapters.workspace.worktrees.saved_refs import SavedRefs
from yaoki.adapters.workspace.worktrees.saved_work import WorkSaver
from yaoki.adapters.workspace.worktrees.snapshots import Snapshots
from yaoki.adapters.workspace.worktrees.work_elsewhere import WorkElsewhere

SAVED_BYTES = 64 << 20


class GitWorkspace:
    """`ports.Workspace` over the git command, with two more roles for `app`.

    `recovery` gives saved work back to people; `remote` reports on the shared remote.
    """

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
        bounds: SizeBounds = DEFAULT_BOUNDS,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.repository, self.root = open_repository(repo), root.resolve()
        self.filters = Filters(sandbox)
        git = Git(self.repository.common_dir, filters=self.filters)
        refs, commits = Refs(git), Commits(git)
        trees = TreeBuilder(git, self.root / ".index", bounds)
        worktrees, leftovers = Worktrees(git, self.root), LeftoverFiles(git)
        mode = open_remote_mode(git, self.repository, remote, self.root / ".unpushed", warn)
        branch = RunBranch(git, mode)
        ignored = IgnoredFileStore(git, leftovers, self.root / ".prepared", saved_bytes)
        agent_repositories = AgentRepositories(git, refs, self.root, sandbox)
        saved_refs = SavedRefs(refs, commits)
        saver = WorkSaver(
            refs=refs,
            commits=commits,
            trees=trees,
            worktrees=worktrees,
            ignored=ignored,
            agent_repositories=agent_repositories,
            saved_refs=saved_refs,
        )
        snapshots = Snapshots(
            git=git, refs=refs, commits=commits, trees=trees, worktrees=worktrees, saver=saver
        )
        pool = PreparedWorktreePool(worktrees, self.root, ahead_from_files)
        preparation = WorktreePreparation(
            git=git,
            repository=self.repository,
            refs=refs,
            commits=commits,
            trees=trees,
            worktrees=worktrees,
            pool=pool,
            saver=saver,
            saved_refs=saved_refs,
            branch=branch,
            mode=mode,
            ignored=ignored,
            include=include,
        )
        self.branches = GitRunBranches(
            refs=refs,
            mode=mode,
            branch=branch,
            history=LandingHistory(git, mode.run_refs, commits),
        )
        self.groups = GitGroupBranches(mode.run_refs, branch, commits)
        self.landings = GitLandings(
            mode=mode,
            commits=commits,
            trees=trees,
            worktrees=worktrees,
            saver=saver,
            branch=branch,
            queue=MergeQueue(mode.run_refs, branch, warn),
        )
        self.worktrees = GitAttemptWorktrees(
            git=git,
            mode=mode,
            trees=trees,
            worktrees=worktrees,
            pool=pool,
            preparation=preparation,
            saver=saver,
            saved_refs=saved_refs,
            snapshots=snapshots,
            ignored=ignored,
            agent_repositories=agent_repositories,
            branch=branch,
        )
        self.uncommitted = GitUncommittedWork(
            git=git,
            repository=self.repository,
            worktrees=worktrees,
            leftovers=leftovers,
            elsewhere=WorkElsewhere(git, refs, trees),
        )
        self.contents = GitCommitContents(
            git=git, refs=refs, commits=commits, trees=trees, mode=mode
        )
        self.protection = GitProtectedFiles(
            git=git,
            repository=self.repository,
            worktrees=worktrees,
            leftovers=leftovers,
            remote_name=mode.name,
        )
        self.recovery = WorkRecovery(
            common_dir=self.repository.common_dir,
            root=self.root,
            refs=refs,
            mode=mode,
            snapshots=snapshots,
            saved_refs=saved_refs,
        )
        self.remote = RemoteStatus(mode)
