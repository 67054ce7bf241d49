"""Flaky checks, failures of the base, and failures that a task must fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data, run_one_task

pytestmark = pytest.mark.acceptance

TESTS = """\
import unittest


class Old(unittest.TestCase):
    def test_old(self):
        self.assertEqual(open("old.txt").read(), "good\\n")

    def test_new(self):
        self.assertEqual(open("new.txt").read(), "good\\n")
"""


@pytest.mark.full
@pytest.mark.spec("6.5")
def test_a_check_that_passes_when_rerun_is_flaky_and_does_not_fail_the_task(
    project: Project, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    shaky = {"shell": f"test -e {once} || {{ touch {once}; exit 1; }}"}

    code, task, entries = run_one_task(
        project, {"a": [writes("a.txt")]}, {}, checks={"shaky": shaky}
    )

    assert (code, task["attempt"]) == (0, 1)
    assert [d["outcome"] for d in event_data(entries, "CHECK_FINISHED")] == ["FLAKY"]
    assert "then passed" in event_data(entries, "CHECK_FINISHED")[0]["message"]


@pytest.mark.full
@pytest.mark.spec("6.5")
def test_a_check_with_rerun_false_is_not_rerun(project: Project, tmp_path: Path) -> None:
    once = tmp_path / "once"
    shaky = {"shell": f"test -e {once} || {{ touch {once}; exit 1; }}", "rerun": False}

    code, task, _ = run_one_task(project, {"a": [writes("a.txt")]}, {}, checks={"shaky": shaky})

    assert (code, task["attempt"]) == (0, 2)


def red_base(project: Project, **check: Any) -> dict[str, Any]:
    """test_old fails at the base; test_new passes unless a task breaks it."""
    (project.repo / "test_it.py").write_text(TESTS)
    (project.repo / "old.txt").write_text("bad\n")
    (project.repo / "new.txt").write_text("good\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "red")
    run = ["python3", "-m", "unittest", "-q", "test_it"]
    return {
        "tests": {"run": run, "pattern": "test-failed", **check},
        "good": file_contains("a.txt"),
    }


@pytest.mark.full
@pytest.mark.spec("6.4")
def test_a_failure_of_the_base_is_reported_and_does_not_fail_the_task(project: Project) -> None:
    checks = red_base(project, baseline="known")

    code, task, entries = run_one_task(project, {"a": [writes("a.txt")]}, {}, checks=checks)

    assert (code, task["attempt"]) == (0, 1)
    told = next(d for d in event_data(entries, "CHECK_FINISHED") if d["check"] == "tests")
    assert told["outcome"] == "PASSED"
    assert "at the base already" in told["message"]
    assert "test_old" in told["message"]


@pytest.mark.full
@pytest.mark.spec("6.4")
def test_the_plan_shows_checks_that_fail_at_the_base_and_the_tasks_they_affect(
    project: Project,
) -> None:
    checks = red_base(project, baseline="known")
    plan = project.plan(a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], checks))

    shown = project.yaoki("plan", plan, "--baseline")
    document = project.yaoki("plan", plan, "--baseline", "--json").document

    assert shown.code == 0, shown.err
    assert "FAILED tests: 1 test failed" in shown.out
    assert "affects a" in shown.out
    assert {b["check"]: b["outcome"] for b in document["baseline"]} == {
        "tests": "FAILED",
        "good": "FAILED",
    }
    assert not (project.repo / ".yaoki").exists(), "looking stores nothing"
    assert project.git("worktree", "list").count("\n") == 0


@pytest.mark.full
@pytest.mark.spec("6.4", "0.6")
def test_each_check_at_the_base_runs_with_the_setup_of_its_task(project: Project) -> None:
    """Formerly only the set-up of the first task ran, and the checks of the second failed."""
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["one"], "setup": [["sh", "-c", "echo good > one.txt"]]},
        {"id": "b", "checks": ["two"], "setup": [["sh", "-c", "echo good > two.txt"]]},
        {"id": "c", "checks": ["bare"]},
    ]
    checks = {
        "one": file_contains("one.txt"),
        "two": file_contains("two.txt"),
        "bare": {"shell": "! test -e one.txt"},
        "end": {"shell": "test -e one.txt && test -e two.txt"},
    }
    plan = project.plan(a_plan({}, tasks, checks, done_when=["end"]))

    document = project.yaoki("plan", plan, "--baseline", "--json").document

    found = {b["check"]: b["outcome"] for b in document["baseline"]}
    assert found == dict.fromkeys(checks, "PASSED")


@pytest.mark.full
@pytest.mark.spec("6.4", "4.8", "0.6")
@pytest.mark.parametrize(
    ("setup", "words"),
    [
        (["sh", "-c", "echo no network >&2; exit 3"], "ended with 3: no network"),
        (["no-such-tool"], "cannot run no-such-tool"),
    ],
)
def test_a_failed_setup_leaves_the_check_undecided_at_the_base(
    project: Project, setup: list[str], words: str
) -> None:
    """Formerly its exit code was ignored, and a check without its set-up was shown as failed."""
    first: dict[str, Any] = {"id": "a", "checks": ["one"], "setup": [setup]}
    tasks = [first, {"id": "b", "checks": ["two"]}]
    plan = project.plan(
        a_plan({}, tasks, {"one": file_contains("one.txt"), "two": {"shell": "ls README"}})
    )

    document = project.yaoki("plan", plan, "--baseline", "--json").document

    found = {b["check"]: b for b in document["baseline"]}
    assert {name: b["outcome"] for name, b in found.items()} == {"one": "BROKEN", "two": "PASSED"}
    assert words in found["one"]["message"]


@pytest.mark.spec("6.4")
def test_only_new_failures_are_sent_back_to_the_agent(project: Project) -> None:
    checks = red_base(project, baseline="known")
    breaks = [{"write": {"a.txt": "good\n", "new.txt": "broken\n"}}]
    mends = [{"write": {"new.txt": "good\n"}}]

    code, task, _ = run_one_task(project, {"a": [breaks, mends]}, {}, checks=checks)

    assert (code, task["attempt"]) == (0, 2)
    prompt = project.prompt(task, 2)
    assert "test_new" in prompt
    assert "test_old" not in prompt


@pytest.mark.full
@pytest.mark.spec("6.4")
@pytest.mark.parametrize(
    ("check", "task"), [({"baseline": "known"}, {"fixes": ["*test_old*"]}), ({}, {})]
)
def test_a_failure_that_the_task_must_fix_is_not_excused_by_the_base(
    project: Project, check: dict[str, Any], task: dict[str, Any]
) -> None:
    checks = red_base(project, **check)
    mends = [{"write": {"a.txt": "good\n", "old.txt": "good\n"}}]

    code, ended, _ = run_one_task(project, {"a": [writes("a.txt"), mends]}, task, checks=checks)

    assert (code, ended["attempt"]) == (0, 2)
    assert "test_old" in project.prompt(ended, 2)


@pytest.mark.full
@pytest.mark.spec("5.4", "12.1")
def test_a_task_with_a_wait_of_hours_pauses_the_run_across_a_restart(project: Project) -> None:
    limit = [{"rate_limit": {"retry_after": 30_000}}]
    script = {"a": [limit, writes("a.txt")], "b": [[{"sleep": 0.2}, *writes("b.txt")]]}
    checks = {"good": file_contains("a.txt"), "other": file_contains("b.txt")}
    tasks = [{"id": "a", "checks": ["good"]}, {"id": "b", "checks": ["other"], "agent": "second"}]
    plan = a_plan(script, tasks, checks)
    plan["agents"]["second"] = {**plan["agents"]["actor"], "account": "another"}

    first = project.yaoki("run", project.plan(plan))
    again = project.yaoki("resume")

    assert (first.code, again.code) == (5, 5), first.out + first.err
    assert "  waiting: a: next try in " in first.out
    states = {t["name"]: (t["state"], t["attempt"]) for t in project.status()["tasks"]}
    assert states == {"a": ("WAITING", 1), "b": ("DONE", 1)}
    assert "5.4" in project.yaoki("why", "a").out
