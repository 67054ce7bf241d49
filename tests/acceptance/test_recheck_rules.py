"""`yaoki plan recheck` takes over the keys of a task that say what yaoki requires of its change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("2.6", "10.4")]

NO_RETRY = {"max_retries": 0}


def edit_task(project: Project, name: str, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change a task in the plan file of the run."""
    file = project.folder / "plan.json"
    plan = json.loads(file.read_text())
    edit(next(task for task in plan["tasks"] if task["id"] == name))
    file.write_text(json.dumps(plan))


def said(text: str) -> str:
    return " ".join(text.split())


def run_that_deletes_a_test(project: Project) -> str:
    """`early` has landed; `late` asks, because it deleted a test."""
    (project.repo / "test_it.py").write_text("def test_one():\n    assert 1\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a test")
    acts = {
        "early": [writes("early.txt")],
        "late": [[{"delete": ["test_it.py"]}, *writes("a.txt")]],
    }
    tasks: list[dict[str, Any]] = [
        {"id": "early", "checks": ["early"]},
        {"id": "late", "needs": ["early"], "checks": ["a"], "retry": NO_RETRY},
    ]
    checks = {"early": file_contains("early.txt"), "a": file_contains("a.txt")}
    ran = project.yaoki("run", project.plan(a_plan(acts, tasks, checks)), "--quiet")
    assert ran.code == 4, ran.out + ran.err
    return str(project.status()["run"])


@pytest.mark.full
def test_a_permission_that_the_question_names_is_taken_over(prepared: Prepared) -> None:
    project, run = prepared.after(run_that_deletes_a_test)
    question = project.task("late")["question"]
    assert f"allow_weaker_tests: true and a scope, then: yaoki plan recheck {run}." in question
    allowed = {"allow_weaker_tests": True, "scope": ["a.txt", "test_it.py"]}
    edit_task(project, "late", lambda task: task.update(allowed))

    answered = project.yaoki("answer", "late", "retry")
    still = project.yaoki("resume", "--quiet")
    taken = project.yaoki("plan", "recheck", run)
    asked = project.task("late")["question"]
    done = project.yaoki("answer", "late", "done")
    ended = project.yaoki("resume")

    assert "note: scope, allow_weaker_tests differ in the plan" in said(answered.out)
    assert f"to apply the changes: yaoki plan recheck {run}" in said(answered.out)
    assert still.code == 4
    assert taken.code == 0, taken.err
    assert f"run {run}: revision 2, rules for 1 task" in said(taken.out)
    assert "late: scope, allow_weaker_tests taken over" in taken.out
    assert "late: answer done to verify the work as it is with the new rules" in said(taken.out)
    assert asked.startswith("Its rules were changed after that (revision 2): ")
    assert (done.code, "note: " in done.out) == (0, False), done.out
    assert ended.code == 0, ended.out + ended.err
    assert "waived" not in ended.out
    (revised,) = event_data(project.events(), "PLAN_RECHECKED")
    assert revised["rules"] == {"late": ["scope", "allow_weaker_tests"]}
    words = "the rules of late (scope, allow_weaker_tests) were taken over from the changed plan"
    assert f"revision 2: {words}\n" in project.yaoki("report").out
    assert project.yaoki("doctor").out.count("BAD") == 0
    assert project.yaoki("verify", run, "--replay").code == 0


def test_keys_that_only_a_new_run_applies_are_named(prepared: Prepared) -> None:
    """Landed work keeps the rules that accepted it."""
    project, run = prepared.after(run_that_deletes_a_test)
    edit_task(project, "early", lambda task: task.update(goal="other", scope=["early.txt"]))
    edit_task(project, "late", lambda task: task.update(timeout="2h"))

    refused = project.yaoki("plan", "recheck", run)
    answered = project.yaoki("answer", "late", "retry")
    edit_task(project, "late", lambda task: task.update(scope=["a.txt"]))
    taken = project.yaoki("plan", "recheck", run, "--json")

    kept = "early (goal, scope), late (timeout)"
    assert refused.code == 6
    assert f"only a new run applies what else changed: {kept}" in said(refused.err)
    assert "note: timeout differs in the plan or yaoki.toml" in said(answered.out)
    assert "only a new run applies this" in said(answered.out)
    assert taken.document["rules"] == {"late": ["scope"]}
    assert taken.document["ignored"] == {"early": ["goal", "scope"], "late": ["timeout"]}
    assert project.yaoki("doctor").out.count("BAD") == 0


@pytest.mark.full
def test_rules_of_a_task_that_waits_are_taken_over_in_both_directions(project: Project) -> None:
    """A stricter rule holds as well: the work that was allowed is refused."""
    tasks: list[dict[str, Any]] = [
        {"id": "first", "checks": ["never"], "retry": NO_RETRY},
        {"id": "loose", "needs": ["first"], "checks": ["loose"], "red": True, "retry": NO_RETRY},
        {"id": "strict", "needs": ["first"], "checks": ["strict"], "retry": NO_RETRY},
    ]
    checks = {
        "never": {"shell": "false"},
        "loose": file_contains("loose.txt"),
        "strict": file_contains("strict.txt"),
    }
    acts = {name: [writes(f"{name}.txt")] for name in ("first", "loose", "strict")}
    plan = project.plan(a_plan(acts, tasks, checks))
    assert project.yaoki("run", plan, "--quiet").code == 4
    edit_task(project, "loose", lambda task: task.pop("red"))
    edit_task(project, "strict", lambda task: task.update(scope=["src/**"]))

    taken = project.yaoki("plan", "recheck")
    assert project.yaoki("answer", "first", "waive").code == 0
    ended = project.yaoki("resume")

    assert "loose: red taken over" in taken.out
    assert "strict: scope taken over" in taken.out
    assert ended.code == 4
    assert project.task("loose")["state"] == "DONE"
    assert "outside the task's scope" in project.task("strict")["question"]


@pytest.mark.full
def test_a_waiver_of_a_built_in_check_ends_with_its_rule(prepared: Prepared) -> None:
    """The person who waived it saw the work under the earlier rule."""
    project, _ = prepared.after(run_that_deletes_a_test)
    assert project.yaoki("answer", "late", "waive").code == 0
    edit_task(project, "late", lambda task: task.update(scope=["a.txt"]))

    assert project.yaoki("plan", "recheck").code == 0
    ended = project.yaoki("resume", "--quiet")

    assert ended.code == 4, ended.out
    assert "check scope" in project.task("late")["question"]
