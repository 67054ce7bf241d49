"""Flaky checks, failures of the base, and failures that a task must fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    Project,
    a_plan,
    file_contains,
    tap_script,
    writes,
)
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
@pytest.mark.spec("6.5", "12.4")
def test_a_check_that_passes_when_rerun_is_flaky_and_is_not_rerun_with_rerun_false(
    project: Project, tmp_path: Path
) -> None:
    """`a` and `b` have a check that fails once; that of `b` is not asked again."""

    def fails_once(name: str) -> dict[str, Any]:
        mark = tmp_path / f"{name}.once"
        first = f"{{ touch {mark}; echo first; exit 1; }}"
        return {"shell": f"test -e {mark} && echo second look || {first}"}

    checks = {"a": fails_once("a"), "b": {**fails_once("b"), "rerun": False}}
    script = {name: [writes(f"{name}.txt")] for name in checks}
    tasks = [{"id": name, "checks": [name]} for name in checks]

    # In parallel, `a` may be verified again because `b` landed first.
    plan = project.plan(a_plan(script, tasks, checks))
    done = project.yaoki("run", plan, "--parallel", "1", "--quiet")

    assert done.code == 0, done.out + done.err
    assert (project.task("a")["attempt"], project.task("b")["attempt"]) == (1, 2)
    (finished,) = event_data(project.events("a"), "CHECK_FINISHED")
    assert (finished["outcome"], "then passed" in finished["message"]) == ("FLAKY", True)
    logs = project.yaoki("logs", "a", "--check", "a")
    again = project.yaoki("logs", "a", "--check", "a", "--execution", "1-a-again-1")
    assert (logs.out, again.out) == ("first\n", "second look\n"), "the failure that made it flaky"


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
def test_a_failure_of_the_base_does_not_fail_a_task_unless_the_task_must_fix_it(
    project: Project,
) -> None:
    """`b` must fix what `a` is excused from."""
    checks = red_base(project, baseline="known")
    mends = [{"write": {"b.txt": "good\n", "old.txt": "good\n"}}]
    script = {"a": [writes("a.txt")], "b": [writes("b.txt"), mends]}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["tests", "good"]},
        {"id": "b", "checks": ["tests"], "needs": ["a"], "fixes": ["*test_old*"]},
    ]

    done = project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet")

    assert done.code == 0, done.out + done.err
    assert (project.task("a")["attempt"], project.task("b")["attempt"]) == (1, 2)
    finished = event_data(project.events("a"), "CHECK_FINISHED")
    told = next(d for d in finished if d["check"] == "tests")
    assert told["outcome"] == "PASSED"
    assert " on the base: " in told["message"]
    assert "test_old" in told["message"]
    assert "test_old" in project.prompt(project.task("b"), 2)


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
    assert "tests fails, which is known and does not count: 1 test failed" in " ".join(
        shown.out.split()
    )
    assert "FAILED good" in shown.out
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
def test_a_failed_setup_leaves_the_check_undecided_at_the_base(project: Project) -> None:
    """Formerly its exit code was ignored, and a check without its set-up was shown as failed."""
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["one"], "setup": [["sh", "-c", "echo no network >&2; exit 3"]]},
        {"id": "b", "checks": ["two"]},
        {"id": "c", "checks": ["three"], "setup": [["no-such-tool"]]},
    ]
    checks = {
        "one": file_contains("one.txt"),
        "two": {"shell": "ls README"},
        "three": file_contains("three.txt"),
    }
    plan = project.plan(a_plan({}, tasks, checks))

    document = project.yaoki("plan", plan, "--baseline", "--json").document

    found = {b["check"]: b for b in document["baseline"]}
    outcomes = {name: b["outcome"] for name, b in found.items()}
    assert outcomes == {"one": "BROKEN", "two": "PASSED", "three": "BROKEN"}
    assert "ended with code 3: no network" in found["one"]["message"]
    assert "cannot run no-such-tool" in found["three"]["message"]


@pytest.mark.spec("6.4", "16.5")
def test_only_new_failures_are_sent_back_to_the_agent(project: Project) -> None:
    """Also of so many failures that a prompt lists only the first."""
    olds = (f"\n    def test_old_{n}(self):\n        self.fail('{n}')\n" for n in range(30))
    (project.repo / "test_more.py").write_text(TESTS.partition("    def")[0] + "".join(olds))
    checks = red_base(project, baseline="known")
    checks["tests"]["run"].append("test_more")
    breaks = [{"write": {"a.txt": "good\n", "new.txt": "broken\n"}}]
    mends = [{"write": {"new.txt": "good\n"}}]

    code, task, entries = run_one_task(project, {"a": [breaks, mends]}, {}, checks=checks)

    assert (code, task["attempt"]) == (0, 2)
    prompt = project.prompt(task, 2)
    assert "test_new" in prompt
    assert "test_old" not in prompt
    told = [one for one in event_data(entries, "CHECK_FINISHED") if one["check"] == "tests"]
    assert told[-1]["known_count"] == 31
    assert "PASSED, 1 test, 31 known failures" in project.query("why", "a").out


@pytest.mark.full
@pytest.mark.spec("5.4", "5.5", "12.1")
def test_a_wait_of_hours_delays_every_task_of_the_account_and_pauses_the_run_across_a_restart(
    project: Project,
) -> None:
    """`c` has the account of `a` and never starts; `b` has another one and lands."""
    limit = [{"rate_limit": {"retry_after": 30_000}}]
    script = {"a": [limit, writes("a.txt")], "b": [writes("b.txt")], "c": [writes("c.txt")]}
    tasks: list[dict[str, Any]] = [{"id": name, "checks": [name]} for name in script]
    tasks[1]["agent"] = "second"
    plan = a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in script})
    plan["agents"]["second"] = {**plan["agents"]["actor"], "account": "another"}
    plan["agents"]["actor"]["concurrency"] = 1

    first = project.yaoki("run", project.plan(plan))
    again = project.yaoki("resume")

    assert (first.code, again.code) == (5, 5), first.out + first.err
    assert "  waiting: a: next try at " in first.out
    states = {t["name"]: (t["state"], t["attempt"]) for t in project.status()["tasks"]}
    assert states == {"a": ("WAITING", 1), "b": ("DONE", 1), "c": ("WAITING", 0)}
    assert "18.6" in project.yaoki("why", "a").out


@pytest.mark.spec("6.4", "0.1")
def test_a_missed_coverage_is_new_beside_a_known_failure(project: Project) -> None:
    missed = "FAIL Required test coverage of 90% not reached. Total coverage: 57.14%"
    tests = tap_script(old="grep -q good old.txt", new="true")
    (project.repo / "tests.sh").write_text(f"test ! -e more.txt || echo '{missed}'\n{tests}")
    (project.repo / "old.txt").write_text("bad\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a failing test")
    checks = {"tests": {"run": ["sh", "tests.sh"], "baseline": "known"}}
    tasks = [
        {"id": name, "checks": ["tests"], "retry": {"max_retries": 0}} for name in ("more", "other")
    ]
    script = {name: [writes(f"{name}.txt")] for name in ("more", "other")}

    done = project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet")

    assert done.code == 4, done.out + done.err
    assert project.task("other")["state"] == "DONE"
    assert f"coverage: {missed}" in project.task("more")["question"]
