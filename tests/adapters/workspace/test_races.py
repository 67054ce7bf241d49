"""Files that another process removes between listing and reading, and translated OS errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PosixPath

import pytest

from tests.adapters.workspace.clones import clones
from tests.repositories import World, a_world, approve, git, land_task, run_attempt, write
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.ref_names import recorded_head_ref
from yaoki.adapters.git.refs import GitCommit, Refs
from yaoki.adapters.workspace.attempt_worktrees import GitAttemptWorktrees
from yaoki.adapters.workspace.branches.group_branch import GitGroupBranches
from yaoki.adapters.workspace.branches.landing import GitLandings
from yaoki.adapters.workspace.branches.run_branch import RunBranch
from yaoki.adapters.workspace.commit_contents import GitCommitContents
from yaoki.adapters.workspace.protected_files import GitProtectedFiles
from yaoki.adapters.workspace.recovery import WorkRecovery
from yaoki.adapters.workspace.remote.mode import RemoteStatus, open_remote_mode
from yaoki.adapters.workspace.run_branches import GitRunBranches
from yaoki.adapters.workspace.uncommitted_work import GitUncommittedWork
from yaoki.core.model import Run
from yaoki.errors import GitFailed

ROLES = (
    GitRunBranches,
    GitGroupBranches,
    GitLandings,
    GitAttemptWorktrees,
    GitUncommittedWork,
    GitCommitContents,
    GitProtectedFiles,
    WorkRecovery,
    RemoteStatus,
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


class VanishingPath(PosixPath):
    """A git folder whose worktrees another process removes between the listing and the reading."""

    def glob(self, pattern: str) -> Iterator[Path]:  # type: ignore[override]
        for found in list(super().glob(pattern)):
            if pattern.startswith("worktrees/"):
                found.unlink()
            yield found


# -------------------------------------------------------------- a neighbour removes its own


@pytest.mark.spec("8.1", "13.1")
def test_a_concurrently_removed_worktree_has_no_checkout(world: World) -> None:
    """The code review churned worktrees beside a landing: one call in a hundred raised an
    bare OSError, and three of those escalate the task.
    """
    git(world.repo, "worktree", "add", "-q", "-b", "side", "../side")
    refs = Refs(Git(VanishingPath(world.repo / ".git")))

    assert refs.checkouts_of("refs/heads/side") == []


@pytest.mark.spec("13.1", "8.2")
def test_a_concurrently_removed_push_record_is_ignored(
    tmp_path: Path,
) -> None:
    """Another thread pushed the work and removed the record after this one had listed it."""
    one = clones(tmp_path, 1).worlds[0]
    run_attempt(one, one.task(), lambda at: write(at, new="new\n"))
    (one.root / ".unpushed" / "ab12cd34-9").symlink_to(tmp_path / "nowhere")

    one.workspace.branches.open_run_branch(one.run)


# -------------------------------------------------------------- a neighbour lands meanwhile


class RacedBranch(RunBranch):
    """A run branch on which a neighbour lands right after each reading."""

    neighbour: Callable[[], object] = staticmethod(lambda: None)

    def head_and_recorded_head(self, run: Run) -> tuple[GitCommit, GitCommit | None]:
        heads = super().head_and_recorded_head(run)
        self.neighbour()
        return heads


@pytest.mark.spec("0.2", "3.4")
def test_a_landing_that_loses_a_race_is_no_lost_commit(world: World) -> None:
    """git moves two refs one after the other, and this one came between the two moves."""
    git_of_world = Git(world.repo / ".git")
    mode = open_remote_mode(
        git_of_world, world.workspace.repository, "", world.root / ".unpushed", lambda _: None
    )
    branch = RacedBranch(git_of_world, mode)
    old = branch.head(world.run).sha
    first, second = (
        git(world.repo, "commit-tree", f"{old}^{{tree}}", "-p", old, "-m", f"{n}\n\nYaoki-Run: x")
        for n in (1, 2)
    )
    git(world.repo, "update-ref", recorded_head_ref(world.run), first)

    def land_first() -> None:
        branch.neighbour = lambda: None
        assert branch.move(world.run, first, old, "test")

    branch.neighbour = land_first

    assert branch.move(world.run, second, old, "test") is False
    assert branch.head(world.run).sha == first


# -------------------------------------------------------------- errors that are named


def unreadable_head(world: World) -> None:
    git(world.repo, "worktree", "add", "-q", "--detach", "../side")
    head = world.repo / ".git" / "worktrees" / "side" / "HEAD"
    head.unlink()
    head.mkdir()


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(
    "act",
    [
        lambda w, task: w.workspace.landings.land(w.run, task.landed_commit, w.run.base),
        lambda w, _: w.workspace.branches.refuse_checked_out(w.run),
        lambda w, _: w.workspace.landings.merge(w.run, approve=approve),
        lambda w, task: w.workspace.landings.undo(w.run, {task.id: task.landed_commit}, approve),
    ],
    ids=["land", "refuse_checked_out", "merge", "undo"],
)
def test_an_unreadable_git_file_is_a_git_failure(
    world: World, act: Callable[[World, object], object]
) -> None:
    """A bare OSError counts as an internal error, and the third one escalates the task."""
    task = land_task(world, world.task(), lambda at: write(at, new="new\n"))
    git(world.repo, "switch", "-q", "--detach")
    unreadable_head(world)

    with pytest.raises(GitFailed, match="Is a directory"):
        act(world, task)


@pytest.mark.spec("4.2")
def test_every_public_method_of_a_role_translates_os_errors() -> None:
    """Half of the methods did not; a new method must not forget it."""
    public = [
        (role.__name__, name, member)
        for role in ROLES
        for name, member in vars(role).items()
        if not name.startswith("_") and callable(member)
    ]

    bare = {f"{role}.{name}" for role, name, member in public if not hasattr(member, "__wrapped__")}

    assert len(public) > 40
    assert bare == set()
