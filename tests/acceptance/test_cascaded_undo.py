"""What people read of a task whose landing was reverted because they undid another one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes

pytestmark = pytest.mark.acceptance


@pytest.mark.spec("10.3", "12.1", "12.4")
def test_work_that_was_reverted_with_other_work_is_shown_and_said_to_be(project: Project) -> None:
    """The diff said that it had changed nothing, and `why` that it had landed."""
    plan = a_plan(
        {name: [writes(f"{name}.txt")] for name in ("one", "two")},
        [
            {"id": "one", "checks": ["one"]},
            {"id": "two", "needs": ["one"], "checks": ["two"]},
        ],
        {name: file_contains(f"{name}.txt") for name in ("one", "two")},
    )
    assert project.yaoki("run", project.plan(plan)).code == 0
    one, two = project.task("one"), project.task("two")
    undone = project.yaoki("undo", "one", "--cascade")

    asked = project.yaoki("why", "two").out
    diff = project.yaoki("diff", "two")
    given_up = project.yaoki("answer", "one", "abort")
    blocked, undone_why = project.yaoki("why", "two").out, project.yaoki("why", "one").out
    report, summary = project.yaoki("report").out, project.yaoki("resume").out

    assert (undone.code, given_up.code) == (0, 0), undone.err + given_up.err
    landed = f"landed {two['landed'][:10]}; reverted since: {one['id']}, on which it depends,"
    for words in (asked, blocked):
        assert f"{landed} was undone" in " ".join(words.split())
    assert (diff.code, "+good" in diff.out) == (0, True), diff.err
    assert f"landed {one['landed'][:10]}; reverted since: a person undid it" in undone_why
    assert f"WAITING: one ({one['id']}) was undone" in blocked
    assert "needs one, which was undone" in report
    assert "one: undo (command line; also of two)\n" in report
    assert "blocked by one, which was undone: two" in " ".join(summary.split())


@pytest.mark.spec("8.2", "10.3", "10.4")
def test_undone_work_comes_back_into_the_worktree_by_the_command_of_the_question(
    project: Project,
) -> None:
    """The run branch contains the work and its reversal, so that a merge would bring nothing."""
    script = {"one": [writes("one.txt"), [{"say": "done"}]]}
    tasks = [{"id": "one", "checks": ["one"], "retry": {"max_retries": 0}}]
    plan = a_plan(script, tasks, {"one": file_contains("one.txt")})
    assert project.yaoki("run", project.plan(plan)).code == 0
    assert project.yaoki("undo", "one").code == 0
    assert project.yaoki("answer", "one", "retry", "again").code == 0

    asked = project.yaoki("resume")
    task = project.task("one")
    ref = f"refs/yaoki/work/{task['id']}/1"
    folder = next(project.home.glob(f"worktrees/*/{task['id']}"))
    branch = project.yaoki("recover", "one", "--attempt", "1", "--branch", "back")
    project.git("-C", str(folder), *GIT_IDENTITY, "cherry-pick", ref)
    picked = (folder / "one.txt").read_text()
    answered = project.yaoki("answer", "one", "done")
    resumed = project.yaoki("resume", "--quiet")

    assert asked.code == 4, asked.out + asked.err
    words = f"to begin with the work of attempt 1: git cherry-pick {ref}"
    assert words in " ".join(asked.out.split())
    assert f"to take it into another branch: git cherry-pick {ref}" in " ".join(branch.out.split())
    assert picked == "good\n"
    assert answered.code == 0, answered.err
    assert resumed.code == 0, resumed.out + resumed.err
    assert project.git("show", f"{project.status()['run_branch']}:one.txt") == "good"


@pytest.mark.spec("10.4", "3.5")
def test_an_agent_continues_work_of_a_person_that_was_undone_with_another_task(
    project: Project,
) -> None:
    """The person's answer was about work that is gone from the worktree."""
    script = {"one": [writes("one.txt")], "two": [[{"say": "done"}], writes("two.txt")]}
    tasks: list[dict[str, Any]] = [
        {"id": "one", "checks": ["one"]},
        {"id": "two", "needs": ["one"], "checks": ["two"], "retry": {"max_retries": 0}},
    ]
    checks = {name: file_contains(f"{name}.txt") for name in ("one", "two")}
    assert project.yaoki("run", project.plan(a_plan(script, tasks, checks))).code == 4
    two = project.task("two")["id"]
    (folder,) = project.home.glob(f"worktrees/*/{two}")
    (folder / "two.txt").write_text("good\n")
    assert project.yaoki("answer", "two", "done").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert project.yaoki("undo", "one", "--cascade").code == 0

    assert project.yaoki("answer", "one", "retry").code == 0
    resumed = project.yaoki("resume")

    assert resumed.code == 0, resumed.out + resumed.err
    assert "as a person left it" not in resumed.out
    assert project.status()["status"] == "DONE"
