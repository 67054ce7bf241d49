"""Every execution of a check is counted, and those on the base and in vain are named."""

from __future__ import annotations

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, writes

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
