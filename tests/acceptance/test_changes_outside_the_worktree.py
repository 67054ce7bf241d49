"""Changes that an agent without the sandbox makes outside its worktree are reported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13", "14.3")]


def run_script(project: Project, script: str) -> tuple[str, str, list[str]]:
    """One task whose agent does this; the run's output, and what CHECKOUT_CHANGED names."""
    act: dict[str, Any] = {"run": ["sh", "-ec", script]}
    plan = a_plan({"a": [[*writes("a.txt"), act]]}, [{"id": "a"}], {"a": file_contains("a.txt")})
    done = project.yaoki("run", project.plan(plan), "--base", "main")
    assert done.code == 0, done.out + done.err
    entries = [e["data"] for e in project.events("a") if e["event"] == "CHECKOUT_CHANGED"]
    assert len(entries) <= 1
    message, what = (entries[0]["message"], entries[0]["what"]) if entries else ("", [])
    return done.out, message, what


@pytest.mark.full
def test_moved_refs_new_tags_and_pushes_are_reported_by_name(project: Project) -> None:
    """Unverified work leaves the worktree while the user has another branch checked out."""
    project.git("init", "-q", "--bare", str(project.folder / "origin"))
    project.git("remote", "add", "origin", str(project.folder / "origin"))
    project.git("push", "-q", "origin", "main")
    project.git("checkout", "-q", "-b", "dev")
    was = project.git("rev-parse", "main")
    commit = f"git add .; git {' '.join(GIT_IDENTITY)} commit -qm x"
    moves = "git update-ref refs/heads/main HEAD; git tag t1; git push -q origin HEAD:main"

    said, message, what = run_script(project, f"{commit}; {moves}")

    assert what == [
        f"checkout/refs/heads/main (was {was[:12]})",
        f"checkout/refs/remotes/origin/main (was {was[:12]})",
        "checkout/refs/tags/t1 (new)",
    ]
    assert "your refs, your checkout or your own settings changed while the agent" in message
    for face in (said, project.query("report").out, project.query("why", "a").out):
        assert "refs/tags/t1" in "".join(face.split("\n")), face


def test_a_new_untracked_file_in_the_checkout_is_reported_by_name(project: Project) -> None:
    (project.repo / "mine.txt").write_text("there before\n")

    _, _, what = run_script(project, f"echo x > {project.repo}/stray.txt; mkdir {project.repo}/new")

    assert what == ["checkout/untracked new", "checkout/untracked stray.txt"]


@pytest.mark.full
def test_an_ignored_file_and_the_agents_own_commits_are_not_reported(project: Project) -> None:
    (project.repo / ".gitignore").write_text("*.log\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    commit = f"git add .; git {' '.join(GIT_IDENTITY)} commit -qm x"

    _, _, what = run_script(
        project, f"echo x > {project.repo}/a.log; {commit}; git pack-refs --all"
    )

    assert what == []
