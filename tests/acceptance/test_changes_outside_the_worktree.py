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


def test_new_untracked_files_in_the_checkout_are_noted_by_name(project: Project) -> None:
    """People write notes while agents work: that is no warning."""
    (project.repo / "mine.txt").write_text("there before\n")

    said, _, what = run_script(
        project, f"echo x > {project.repo}/stray.txt; mkdir {project.repo}/new"
    )

    note = (
        "new, stray.txt appeared in your checkout while attempt 1 ran; if that was not you: "
        "git status"
    )
    assert what == []
    assert noted(project, "a") == [["new", "stray.txt"]]
    assert " ".join(said.split()).count(f"note: {note}") == 1, said
    assert "warning: " not in said
    assert note in " ".join(project.query("report").out.split())


@pytest.mark.full
@pytest.mark.parametrize(
    ("act", "what"),
    [
        ("echo x > {repo}/.mcp.json", ["checkout/untracked .mcp.json"]),
        ("echo x >> {repo}/mine.txt", ["checkout/untracked mine.txt"]),
        ("rm {repo}/mine.txt", ["checkout/untracked mine.txt"]),
        (
            "echo x > {repo}/new.txt; git tag t1",
            ["checkout/refs/tags/t1 (new)", "checkout/untracked new.txt"],
        ),
    ],
    ids=["hidden", "changed", "deleted", "beside a tag"],
)
def test_other_changes_of_untracked_files_stay_a_warning(
    project: Project, act: str, what: list[str]
) -> None:
    (project.repo / "mine.txt").write_text("there before\n")

    said, message, changed = run_script(project, act.format(repo=project.repo))

    assert changed == what
    assert "warning: " in said
    assert "changed while the agent was at work" in message
    assert noted(project, "a") == []


@pytest.mark.full
def test_a_new_file_is_noted_by_one_of_the_tasks_that_are_active(project: Project) -> None:
    """Both agents are at work when the file appears."""
    flag, stray = project.folder / "b-works", project.repo / "stray.txt"
    waits = "until test -e {}; do sleep 0.05; done"
    writes_it = ["sh", "-ec", f"{waits.format(flag)}; echo x > {stray}"]
    sees_it = ["sh", "-ec", f"touch {flag}; {waits.format(stray)}"]
    plan = a_plan(
        {
            "a": [[*writes("a.txt"), {"run": writes_it}]],
            "b": [[*writes("b.txt"), {"run": sees_it}]],
        },
        [{"id": "a", "checks": ["a"]}, {"id": "b", "checks": ["b"]}],
        {"a": file_contains("a.txt"), "b": file_contains("b.txt")},
    )

    done = project.yaoki("run", project.plan(plan), "--parallel", "2")

    assert done.code == 0, done.out + done.err
    assert [*noted(project, "a"), *noted(project, "b")] == [["stray.txt"]]


def noted(project: Project, task: str) -> list[list[str]]:
    entries = project.events(task)
    return [e["data"]["what"] for e in entries if e["event"] == "CHECKOUT_FILES_ADDED"]


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
