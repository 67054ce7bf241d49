"""State folders are private to the user and not chosen by a repository."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10")]


def a_simple_plan(project: Project) -> str:
    return project.plan(
        a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": file_contains("a.txt")})
    )


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.full
def test_other_users_cannot_read_store_journal_or_worktrees(project: Project) -> None:
    assert project.yaoki("run", a_simple_plan(project), "--quiet").code == 0

    assert mode(project.repo / ".yaoki") == 0o700
    assert {mode(root) for root in (project.home / "worktrees").iterdir()} == {0o700}


def test_a_readable_state_folder_is_made_private(project: Project) -> None:
    (project.repo / ".yaoki").mkdir(mode=0o755)

    assert project.yaoki("run", a_simple_plan(project), "--quiet").code == 0

    assert mode(project.repo / ".yaoki") == 0o700


def test_a_committed_link_does_not_redirect_the_store(project: Project) -> None:
    """A committed link led it to any folder of the user's."""
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    (project.repo / ".yaoki").symlink_to(elsewhere)
    project.git("add", "-f", ".yaoki")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a link")

    done = project.yaoki("run", a_simple_plan(project), "--quiet")

    assert done.code != 0
    assert ".yaoki is a symbolic link" in done.err
    assert list(elsewhere.iterdir()) == []
