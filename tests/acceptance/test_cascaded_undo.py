"""What people read of a task whose landing was reverted because they undid another one."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

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
