"""`GitWorkspace`: builds the roles of `ports.Workspace` over one repository, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.history import LandingHistory
from yaoki.adapters.git.joint_commits import JointCommits
from yaoki.adapters.git.refs import Refs
from yaoki.adapters.git.repository import GitRepository, open_repository
from yaoki.adapters.git.size_bounds import DEFAULT_BOUNDS, SizeBounds
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.adapters.workspace.attempt_worktrees import GitAttemptWorktrees
from yaoki.adapters.workspace.branches.group_branch import GitGroupBranches
from yaoki.adapters.workspace.branches.landing import GitLandings
from yaoki.adapters.workspace.branches.merge_queue import MergeQueue
from yaoki.adapters.workspace.commit_contents import GitCommitContents
from yaoki.adapters.workspace.parts import build_parts
from yaoki.adapters.workspace.preparation import WorktreePreparation
from yaoki.adapters.workspace.protected_files import GitProtectedFiles
from yaoki.adapters.workspace.recovery import WorkRecovery
from yaoki.adapters.workspace.remote.mode import RemoteStatus, open_remote_mode
from yaoki.adapters.workspace.run_branches import GitRunBranches
from yaoki.adapters.workspace.uncommitted_work import GitUncommittedWork
from yaoki.adapters.workspace.worktrees.agent_repository import AgentRepositories
from yaoki.adapters.workspace.worktrees.prepared_worktrees import PreparedWorktreePool
from yaoki.adapters.workspace.worktrees.work_elsewhere import WorkElsewhere

SAVED_BYTES = 64 << 20


class GitWorkspace:
    """`ports.Workspace` over the git command, with two more roles for `app`.

    `recovery` gives saved work back to people; `remote` reports on the shared remote.
    """

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
        git = Git(self.repository.common_dir, filters=self.filters)
        mode = open_remote_mode(git, self.repository, remote, self.root / ".unpushed", warn)
        trees = TreeBuilder(git, self.root / ".index", bounds)
        agents = AgentRepositories(git, Refs(git), self.root, sandbox)
        parts = build_parts(self.repository, self.root, git, mode, trees, agents, saved_bytes)
        queue = MergeQueue(
            mode.run_refs, parts.branch, JointCommits(mode.run_refs, parts.commits), warn
        )
        self.branches = GitRunBranches(
            refs=parts.refs,
            mode=mode,
            branch=parts.branch,
            history=LandingHistory(git, mode.run_refs, parts.commits),
        )
        self.groups = GitGroupBranches(mode.run_refs, parts.branch, parts.commits)
        self.landings = GitLandings(
            mode=mode,
            commits=parts.commits,
            trees=trees,
            worktrees=parts.worktrees,
            saver=parts.saver,
            branch=parts.branch,
            queue=queue,
        )
        pool = PreparedWorktreePool(parts.worktrees, self.root, ahead_from_files)
        preparation = WorktreePreparation(parts, pool, self.filters, include=include)
        self.worktrees = GitAttemptWorktrees(parts, pool, preparation)
        self.uncommitted = GitUncommittedWork(
            git=git,
            repository=self.repository,
            worktrees=parts.worktrees,
            leftovers=parts.leftovers,
            elsewhere=WorkElsewhere(git, parts.refs, trees),
        )
        self.contents = GitCommitContents(
            git=git, refs=parts.refs, commits=parts.commits, trees=trees, mode=mode
        )
        self.protection = GitProtectedFiles(
            git=git,
            repository=self.repository,
            worktrees=parts.worktrees,
            leftovers=parts.leftovers,
            remote_name=mode.name,
        )
        self.recovery = WorkRecovery(
            common_dir=self.repository.common_dir,
            root=self.root,
            refs=parts.refs,
            mode=mode,
            snapshots=parts.snapshots,
            saved_refs=parts.saved_refs,
        )
        self.remote = RemoteStatus(mode)
