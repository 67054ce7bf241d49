"""Which folders are repositories, and how failures of git are reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.repositories import a_repository, a_world, git
from yaoki.adapters.git.command import (
    Git,
    GitLocation,
    explain_failure,
    git_environment,
    run_git,
)
from yaoki.adapters.git.repository import check_version
from yaoki.adapters.workspace import open_repository, resolve_base
from yaoki.errors import GitFailed, GitMissing, RepositoryUnusable


@pytest.mark.spec("0.6")
def test_a_repository_is_found_from_any_folder_in_it(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)

    found = open_repository(repo / "src")

    assert (found.top, found.common_dir, found.git_dir) == (repo, repo / ".git", repo / ".git")


@pytest.mark.spec("0.6")
def test_a_linked_worktree_of_the_user_leads_to_the_shared_folder(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    git(repo, "worktree", "add", "-q", "-b", "side", "../side")

    found = open_repository(tmp_path / "side")

    assert found.top == tmp_path / "side"
    assert found.common_dir == repo / ".git"
    assert found.git_dir == repo / ".git" / "worktrees" / "side"
    assert resolve_base(found, "")[0] == "side"


@pytest.mark.spec("0.6")
def test_a_folder_that_is_no_repository_is_refused_with_a_reason(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    git(tmp_path, "init", "-q", "empty")
    (tmp_path / "plain").mkdir()

    for folder, reason in (
        ("plain", "not in a git repository"),
        ("bare", "without working files"),
        ("empty", "no commits"),
        ("missing", "no folder"),
    ):
        with pytest.raises(RepositoryUnusable, match=reason) as refused:
            open_repository(tmp_path / folder)
        assert refused.value.hint


@pytest.mark.spec("0.6", "11.8")
def test_a_worktree_that_is_just_being_added_hides_no_commits(tmp_path: Path) -> None:
    """A process opens the repository while a worktree is added: its HEAD is not written yet."""
    repo = a_repository(tmp_path)
    git(repo, "worktree", "add", "-q", "-b", "side", "../side")
    (repo / ".git" / "worktrees" / "side" / "HEAD").write_text(f"{'0' * 40}\n")

    assert open_repository(repo).top == repo


@pytest.mark.spec("0.6")
def test_commits_on_another_branch_count_while_the_current_one_has_none(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    git(repo, "switch", "-q", "--orphan", "empty")

    assert open_repository(repo).top == repo


@pytest.mark.spec("0.6")
def test_a_missing_git_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(GitMissing, match="git is not installed"):
        open_repository(tmp_path, {"PATH": str(tmp_path)})


@pytest.mark.spec("0.6")
@pytest.mark.parametrize("said", ["git version 2.37.9", "git version 1.99", "", "busybox"])
def test_an_old_git_is_refused(said: str) -> None:
    with pytest.raises(GitMissing, match=r"2\.38 or newer"):
        check_version(said)


@pytest.mark.spec("0.6")
@pytest.mark.parametrize(
    "said", ["git version 2.38.0", "git version 2.39.5 (Apple Git-154)", "git version 3.0"]
)
def test_a_git_that_merges_without_checkout_is_accepted(said: str) -> None:
    check_version(said)


@pytest.mark.spec("2.1", "0.6")
def test_the_base_is_the_named_branch_or_the_current_one(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "branch", "other")
    repository = open_repository(repo)

    assert resolve_base(repository, "") == ("main", head)
    assert resolve_base(repository, "other") == ("other", head)
    assert resolve_base(repository, "refs/heads/other") == ("other", head)
    assert resolve_base(repository, "HEAD") == ("main", head)
    assert resolve_base(repository, head[:12]) == ("", head)
    for wrong in ("nowhere", "--all", "HEAD:README"):
        with pytest.raises(RepositoryUnusable, match="there is no branch or commit"):
            resolve_base(repository, wrong)


@pytest.mark.spec("0.6")
def test_a_detached_checkout_is_a_base_without_a_branch(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    git(repo, "checkout", "-q", "--detach")
    repository = open_repository(repo)
    commit = git(repo, "rev-parse", "HEAD")

    assert resolve_base(repository, "") == ("", commit)
    assert resolve_base(repository, "HEAD") == ("", commit)
    assert resolve_base(repository, "main")[0] == "main"


@pytest.mark.spec("4.8")
def test_a_locked_ref_is_a_transient_failure(tmp_path: Path) -> None:
    """The lock is the user's, so it is waited for and never removed, however old."""
    world = a_world(tmp_path)
    lock = world.repo / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    at = GitLocation(world.repo / ".git", world.repo)

    with pytest.raises(GitFailed, match="is locked") as failed:
        Git(world.repo / ".git").run("add", "-A", at=at)

    assert failed.value.transient
    assert str(lock) in failed.value.hint
    assert lock.exists()


@pytest.mark.spec("4.8", "10.4")
def test_a_worktree_that_is_deleted_under_git_is_a_transient_failure(tmp_path: Path) -> None:
    """git is started in the folder, and does not find it when it looks for its files."""
    world = a_world(tmp_path)
    env = {"GIT_DIR": str(world.repo / ".git"), "GIT_WORK_TREE": str(tmp_path / "gone")}
    words = ("reset", "--hard")

    failed = explain_failure(words, run_git(words, cwd=tmp_path, env=git_environment() | env))

    assert isinstance(failed, GitFailed)
    assert failed.transient


@pytest.mark.spec("4.8", "0.2")
def test_a_stale_lock_of_a_killed_yaoki_process_is_removed(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    lock = world.repo / ".git" / "refs" / "heads" / "yaoki" / f"{world.run.id}.lock"
    lock.touch()
    young = lock.stat().st_mtime + 3600
    os.utime(lock, (young, young))
    tree = git(world.repo, "rev-parse", "main^{tree}")
    new = git(world.repo, "commit-tree", "-m", "new", "-p", "main", tree)

    with pytest.raises(GitFailed, match="is locked"):
        world.workspace.landings.land(world.run, new, world.run.base)
    os.utime(lock, (0, 0))

    assert world.workspace.landings.land(world.run, new, world.run.base) == new


@pytest.mark.spec("0.6")
def test_a_branch_named_yaoki_is_reported_with_a_remedy(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    git(repo, "branch", "yaoki")

    with pytest.raises(RepositoryUnusable, match="a branch named 'yaoki'") as refused:
        a_world(tmp_path, repo)

    assert refused.value.hint == "git branch -m yaoki another-name"


@pytest.mark.spec("3.2")
def test_commits_have_the_users_identity_or_a_default(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    tree = git(repo, "rev-parse", "main^{tree}")
    nobody = Git(repo / ".git", {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})

    ours = nobody.read_text("commit-tree", tree, stdin=b"words")
    git(repo, "config", "user.name", "Una")
    git(repo, "config", "user.email", "una@example.org")
    users = Git(repo / ".git").read_text("commit-tree", tree, stdin=b"words")

    show = ("log", "-1", "--format=%an <%ae> %cn <%ce>")
    assert git(repo, *show, ours) == "yaoki <yaoki@localhost> yaoki <yaoki@localhost>"
    assert git(repo, *show, users) == "Una <una@example.org> Una <una@example.org>"


@pytest.mark.spec("14.2")
def test_the_callers_git_variables_do_not_reach_git(tmp_path: Path) -> None:
    """Inside a git hook GIT_DIR and GIT_INDEX_FILE are set; they must not redirect yaoki."""
    repo = a_repository(tmp_path)
    around = {**os.environ, "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_TRACE": "1"}

    assert open_repository(repo, around).top == repo
    assert Git(repo / ".git", around).run("rev-parse", "HEAD").err == b""
