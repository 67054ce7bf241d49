"""Worktrees that yaoki registers are those that git would register."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import a_world, git
from yaoki.adapters.git.command import Git
from yaoki.adapters.workspace.worktrees.registration import ADD, WorktreeRegistration


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = a_world(tmp_path).repo
    git(repo, "branch", "one")
    git(repo, "branch", "two")
    return repo


def files_of(admin: Path, name: str) -> dict[str, str]:
    """The files of git's folder about the worktree, without the name in them."""
    files = (file for file in admin.iterdir() if file.is_file())
    return {file.name: file.read_text().replace(name, "NAME") for file in files}


def add_both(repo: Path, tmp_path: Path, what: str) -> tuple[dict[str, str], ...]:
    """The same worktree by git and by yaoki."""
    registration = WorktreeRegistration(Git(repo / ".git"))
    theirs, ours = tmp_path / "one", tmp_path / "two"
    if what == "branch":
        git(repo, *ADD, str(theirs), "one")
        registration.add_on_branch(ours, "two")
    else:
        commit = git(repo, "rev-parse", "HEAD")
        git(repo, *ADD, "--detach", str(theirs), commit)
        registration.add_detached(ours, commit)
    admins = repo / ".git" / "worktrees"
    return tuple(
        files_of(admins / path.name, path.name) | {".git": (path / ".git").read_text()[:8]}
        for path in (theirs, ours)
    )


@pytest.mark.spec("3.1")
@pytest.mark.parametrize("what", ["branch", "detached"])
def test_the_files_are_those_of_git(repo: Path, tmp_path: Path, what: str) -> None:
    theirs, ours = add_both(repo, tmp_path, what)

    own_extras = set(theirs) - set(ours)
    assert own_extras <= {"ORIG_HEAD", "index"}, "what a checkout writes"
    assert {name: theirs[name] for name in ours} == ours
    git(tmp_path / "two", "reset", "-q", "--hard")
    assert git(tmp_path / "two", "status", "--porcelain") == ""
    assert "worktree " + str(tmp_path / "two") in git(repo, "worktree", "list", "--porcelain")


@pytest.mark.parametrize("taken", ["the name", "an extension"])
def test_git_decides_where_its_layout_could_differ(repo: Path, tmp_path: Path, taken: str) -> None:
    if taken == "the name":
        (repo / ".git" / "worktrees" / "two").mkdir(parents=True)
    else:
        git(repo, "config", "core.repositoryFormatVersion", "1")
        git(repo, "config", "extensions.worktreeConfig", "true")
        git(repo, "config", "--worktree", "user.name", "theirs")

    WorktreeRegistration(Git(repo / ".git")).add_on_branch(tmp_path / "two", "two")

    git(tmp_path / "two", "reset", "-q", "--hard")
    assert git(tmp_path / "two", "status", "--porcelain", "--branch") == "## two"
    if taken == "an extension":
        assert (repo / ".git" / "worktrees" / "two" / "config.worktree").exists()


def test_a_registration_that_fails_leaves_nothing(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        WorktreeRegistration(Git(repo / ".git")).add_on_branch(tmp_path / "gone" / "two", "two")

    assert list((repo / ".git" / "worktrees").iterdir()) == []
