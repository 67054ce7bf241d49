"""Every execution of a check is counted, and those on the base and in vain are named."""

from __future__ import annotations

import sys

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    WITHOUT_PLUGINS,
    Project,
    a_plan,
    writes,
)

pytestmark = pytest.mark.acceptance


def counted_check(project: Project, command: str) -> str:
    """The command, with a line in a file outside the repository for each execution."""
    return f"echo x >> {project.folder}/executions; {command}"


def count_executions(project: Project) -> int:
    return len((project.folder / "executions").read_text().split())


def with_a_failing_test(project: Project) -> str:
    """A committed test that fails; returns the command that runs it."""
    test = (
        "import unittest\n\n\nclass Old(unittest.TestCase):\n"
        "    def test_old(self):\n        self.fail('old')\n"
        "    def test_fine(self):\n        pass\n"
    )
    (project.repo / "test_it.py").write_text(test)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a failing test")
    return "python3 -m unittest -v test_it"


@pytest.mark.spec("12.1", "6.4")
def test_report_and_why_count_every_execution_of_a_check_also_on_the_base(
    project: Project,
) -> None:
    command = with_a_failing_test(project)
    checks = {
        "tests": {
            "shell": counted_check(project, command),
            "baseline": "known",
            "pattern": "test-failed",
        }
    }
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], checks)

    done = project.yaoki("run", project.plan(plan), "--quiet")
    report = project.yaoki("report", "--format", "json").document
    text = project.yaoki("report").out
    why = project.yaoki("why", "a")

    runs = report["check_runs"]
    assert done.code == 0, done.out + done.err
    assert runs["count"] == count_executions(project)
    assert runs["base"]["count"] >= 1
    assert runs["count"] == sum(part["count"] for part in runs.values() if isinstance(part, dict))
    assert f"{runs['base']['count']} on the base" in text
    assert f"{runs['count']} executions" in text
    attempt = project.query("why", "a", "--json").document["attempts"][0]
    assert f"{attempt['check_runs']} executions" in why.out
    assert attempt["check_runs"] > 1


@pytest.mark.spec("17.5", "16.5")
def test_a_check_whose_failures_are_all_known_runs_once_on_the_base_and_never_again(
    project: Project,
) -> None:
    """A re-run tells a flaky failure from a real one, and a known failure counts as neither."""
    command = with_a_failing_test(project)
    shell = counted_check(project, f"sleep 0.5; {command}")
    checks = {"tests": {"shell": shell, "baseline": "known", "pattern": "test-failed"}}
    script = {name: [writes(f"{name}.txt")] for name in "ab"}
    plan = a_plan(script, [{"id": "a"}, {"id": "b"}], checks)

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "2")
    runs = project.yaoki("report", "--format", "json").document["check_runs"]

    assert done.code == 0, done.out + done.err
    assert runs["base"]["count"] == 1, runs
    assert runs["again"]["count"] == 0, runs
    assert runs["count"] == count_executions(project)


@pytest.mark.full
@pytest.mark.spec("17.5", "6.4")
def test_a_task_takes_the_number_of_tests_before_it_from_the_task_ahead_in_the_queue(
    project: Project,
) -> None:
    """Its check ran a second time on the commit that the other task was just proving."""
    test = (
        "import unittest\n\n\nclass It(unittest.TestCase):\n    def test_it(self):\n        pass\n"
    )
    (project.repo / "test_it.py").write_text(test)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a test")
    shell = counted_check(project, "sleep 0.5; python3 -m unittest -v test_it")
    script = {name: [writes(f"{name}.txt")] for name in "ab"}
    plan = a_plan(script, [{"id": "a"}, {"id": "b"}], {"tests": {"shell": shell}})

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "2")
    runs = project.yaoki("report", "--format", "json").document["check_runs"]

    assert done.code == 0, done.out + done.err
    assert (runs["candidate"]["count"], runs["base"]["count"]) == (2, 1), runs
    assert runs["count"] == count_executions(project)


@pytest.mark.spec("17.5")
def test_tasks_that_changed_nothing_run_the_same_check_side_by_side(project: Project) -> None:
    """All have the commit of the base, and none of them waits for the check of another."""
    marks = project.folder / "marks"
    meet = (
        f"for i in $(seq 200); do test $(wc -l < {marks}) -ge 2 && exit 0; sleep 0.05; done; exit 1"
    )
    checks = {"both": {"shell": f"echo x >> {marks}; {meet}"}}
    tasks = [{"id": name, "may_change_nothing": True} for name in "ab"]
    plan = a_plan({name: [[]] for name in "ab"}, tasks, checks)

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "2", "--no-reuse")

    assert done.code == 0, done.out + done.err
    runs = project.yaoki("report", "--format", "json").document["check_runs"]
    assert runs["again"]["count"] == 0, "each saw the other at its first execution"


@pytest.mark.full
@pytest.mark.spec("12.1", "12.4")
def test_logs_show_the_failure_that_status_tells_and_name_the_other_executions(
    project: Project,
) -> None:
    """The newest execution was on the base, so `logs` showed `1 passed` for a failed suite."""
    (project.repo / "calc.py").write_text("ONE = 1\n")
    test = "from calc import ONE\n\n\ndef test_one():\n    assert ONE == 1\n"
    (project.repo / "test_calc.py").write_text(test)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a test")
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    checks = {"suite": {"run": run, "env": WITHOUT_PLUGINS, "pattern": "test-failed"}}
    task = {"id": "brk", "checks": ["suite"], "retry": {"max_retries": 0}}
    plan = a_plan({"brk": [writes("calc.py", "ONE = 2\n")]}, [task], checks)

    ran = project.yaoki("run", project.plan(plan), "--quiet")
    shown = project.yaoki("logs", "brk", "--check", "suite")
    document = project.yaoki("logs", "brk", "--check", "suite", "--json").document
    base = project.yaoki("logs", "brk", "--check", "suite", "--execution", "1-suite-onto-1")
    wrong = project.yaoki("logs", "brk", "--check", "suite", "--execution", "../../x")
    alone = project.yaoki("logs", "brk", "--execution", "1-suite-onto-1")

    assert "assert 2 == 1" in ran.out
    assert "assert 2 == 1" in shown.out
    assert "  1-suite-again-1: again, after its failure\n" in shown.err
    assert "  1-suite-onto-1: on the base\n" in shown.err
    assert f"next: yaoki logs {project.task('brk')['id']} --check suite" in shown.err
    assert document["file"].endswith("/checks/1-suite/out.log")
    listed = {one["execution"]: one for one in document["executions"]}
    assert listed["1-suite"]["is_verdict"]
    assert listed["1-suite-onto-1"]["purpose"] == "base"
    assert "1 passed" in base.out
    assert "shown: 1-suite-onto-1, on the base\n" in base.err
    assert (wrong.code, "1-suite-onto-1" in wrong.err) == (6, True), wrong.err
    assert (alone.code, "--execution needs --check" in alone.err) == (2, True), alone.err
