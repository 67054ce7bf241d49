"""The question about a change of comments: the end of its agent, and the possible answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan

pytestmark = pytest.mark.acceptance
COMMENT = {"write": {"note.py": "# a comment\n"}}


FAILED_ENDS: dict[str, tuple[list[Any], str]] = {
    "exit-code": (
        [{"complain": "Error: flux capacitor is empty."}, {"exit": 1}],
        "The agent ended with exit code 1: Error: flux capacitor is empty.",
    ),
    "limit": (
        [{"complain": "Error: context window exceeded"}, {"exit": 1}],
        "ended with exit code 1: Error: context window exceeded.",
    ),
    "signal": ([{"die": "KILL"}], "The agent was killed by signal 9."),
}


@pytest.mark.full
@pytest.mark.spec("10.3", "10.4", "3.5")
def test_the_question_about_a_trivial_change_names_the_failed_agent_and_only_possible_answers(
    project: Project,
) -> None:
    tasks = [{"id": name, "checks": ["ok"], "retry": {"max_retries": 0}} for name in FAILED_ENDS]
    script = {name: [[COMMENT, *acts]] for name, (acts, _) in FAILED_ENDS.items()}
    plan = a_plan(script, tasks, {"ok": {"shell": "test -s README"}})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    for name, (_, end) in FAILED_ENDS.items():
        task = project.task(name)
        question = task["question"]
        assert question.startswith(f"{name}: only blank lines, comments or empty files were")
        assert end in question
        assert "does not say why" not in question
        assert task["choices"] == ["retry", "done", "abort"]
        assert "waive" not in question
        assert question.endswith(" Try again, take over or abort?")
        why = " ".join(project.query("why", name).out.split())
        assert end.rstrip(".").removeprefix("The ") in why
    assert project.yaoki("answer", "signal", "waive").code != 0


@pytest.mark.spec("10.3", "10.4", "3.5")
def test_the_question_about_a_trivial_change_quotes_an_agent_that_ended_cleanly(
    project: Project,
) -> None:
    tasks = [{"id": "a", "checks": ["ok"], "retry": {"max_retries": 0}}]
    acts = [COMMENT, {"say": "The README is complete."}]
    plan = a_plan({"a": [acts]}, tasks, {"ok": {"shell": "test -s README"}})

    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    task = project.task("a")
    assert 'The agent says: "The README is complete."' in task["question"]
    assert task["question"].endswith(" Accept it as done (waive), try again, take over or abort?")
    assert project.yaoki("answer", "a", "waive").code == 0
    assert project.yaoki("resume", "--quiet").code == 0


@pytest.mark.spec("3.5", "10.3")
def test_a_file_check_tells_comments_that_are_the_task_from_those_that_are_not(
    project: Project,
) -> None:
    """`asked` fails without its comment, `not-asked` passes without one."""
    checks = {
        "ok": {"shell": "test -s README"},
        "comment": {"file": {"path": "note.py", "contains": "# a comment"}},
        "readme": {"file": {"path": "README", "exists": True}},
    }
    tasks: list[dict[str, Any]] = [
        {"id": "asked", "checks": ["ok", "comment"]},
        {"id": "not-asked", "checks": ["readme"], "retry": {"max_retries": 0}},
    ]
    acts = {"asked": [[COMMENT]], "not-asked": [[{"write": {"other.py": "# a comment\n"}}]]}

    done = project.yaoki("run", project.plan(a_plan(acts, tasks, checks)), "--quiet")

    assert done.code == 4, done.out + done.err
    assert {t["name"]: t["state"] for t in project.status()["tasks"]} == {
        "asked": "DONE",
        "not-asked": "ESCALATED",
    }
