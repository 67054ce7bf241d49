"""The objects over one repository that several roles of the workspace share."""

from __future__ import annotations

from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.refs import Refs
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.adapters.workspace.branches.run_branch import RunBranch
from yaoki.adapters.workspace.remote.mode import RemoteMode
from yaoki.adapters.workspace.worktrees.agent_repository import AgentRepositories
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.leftover_files import LeftoverFiles
from yaoki.adapters.workspace.worktrees.saved_refs import SavedRefs
from yaoki.adapters.workspace.worktrees.saved_work import WorkSaver
from yaoki.adapters.workspace.worktrees.snapshots import Snapshots
from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WorkspaceParts:
    """Git, its refs and trees, and the worktrees of this clone."""

    git: Git
    repository: GitRepository
    refs: Refs
    commits: Commits
    trees: TreeBuilder
    worktrees: Worktrees
    leftovers: LeftoverFiles
    ignored: IgnoredFileStore
    agent_repositories: AgentRepositories
    mode: RemoteMode
    branch: RunBranch
    saved_refs: SavedRefs
    saver: WorkSaver
    snapshots: Snapshots


def build_parts(
    repository: GitRepository,
    root: Path,
    git: Git,
    mode: RemoteMode,
    trees: TreeBuilder,
    agent_repositories: AgentRepositories,
    saved_bytes: int,
) -> WorkspaceParts:
    refs, commits = Refs(git), Commits(git)
    worktrees, leftovers = Worktrees(git, root), LeftoverFiles(git)
    ignored = IgnoredFileStore(git, leftovers, worktrees.setup_files, saved_bytes)
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
    return WorkspaceParts(
        git=git,
        repository=repository,
        refs=refs,
        commits=commits,
        trees=trees,
        worktrees=worktrees,
        leftovers=leftovers,
        ignored=ignored,
        agent_repositories=agent_repositories,
        mode=mode,
        branch=RunBranch(git, mode),
        saved_refs=saved_refs,
        saver=saver,
        snapshots=snapshots,
    )
