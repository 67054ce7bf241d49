"""A merge whose check exceeds its timeout or cannot run: nobody knows whether the work is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes

pytestmark = pytest.mark.acceptance


@pytest.mark.full
@pytest.mark.spec("9.6", "0.1", "10.4")
def test_a_late_check_of_a_partial_merge_proves_nothing_against_the_landed_tasks(
    project: Project,
) -> None:
    tasks: list[dict[str, Any]] = [
        {"id": "early", "checks": ["good"]},
        {"id": "late", "needs": ["early"], "checks": ["never"], "retry": {"max_retries": 0}},
    ]
    checks = {
        "good": file_contains("early.txt"),
        "never": {"shell": "false"},
        "whole": {"shell": "sleep 1.5", "timeout": "1s"},
        "other": {"shell": "test -s missing.txt"},
    }
    script = {"early": [writes("early.txt")], "late": [writes("late.txt")]}
    plan = a_plan(script, tasks, checks, done_when=["whole", "other"])
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert project.yaoki("answer", "late", "abort").code == 0
    run = project.status()["run"]

    def refusal() -> str:
        refused = project.yaoki("merge", "--partial")
        assert refused.code == 6, refused.out
        return " ".join(refused.err.split())

    def recheck(**changed: Any) -> None:
        plan["checks"] |= changed
        project.plan(plan)
        assert project.yaoki("plan", "recheck").code == 0

    both = refusal()
    assert "the landed tasks fail together: check other" in both
    assert "undo the task that breaks it: yaoki undo TASK" in both
    recheck(other=file_contains("early.txt"))
    slow = refusal()
    assert "check whole did not finish within its timeout on the landed tasks" in slow
    assert "raise the timeout of whole in the plan or yaoki.toml, then: " in slow
    assert f"yaoki plan recheck {run}, and: yaoki merge {run} --partial; or merge it as" in slow
    assert "fail together" not in slow
    assert "undo" not in slow
    project.git(*GIT_IDENTITY, "commit", "-qm", "meanwhile", "--allow-empty")
    assert "main has moved, and check whole did not finish within its timeout" in refusal()
    recheck(whole={"shell": "sleep 1.5", "timeout": "30s"})
    assert project.yaoki("merge", "--partial").code == 0


@pytest.mark.full
@pytest.mark.spec("9.6", "0.1", "10.4")
def test_a_check_that_cannot_run_at_a_partial_merge_proves_nothing_against_the_landed_tasks(
    project: Project,
) -> None:
    tool = project.folder / "tool"
    tool.write_text("#!/bin/sh\ntest -s early.txt\n")
    tool.chmod(0o755)
    tasks: list[dict[str, Any]] = [
        {"id": "early", "checks": ["good"]},
        {"id": "late", "needs": ["early"], "checks": ["never"], "retry": {"max_retries": 0}},
    ]
    checks = {
        "good": file_contains("early.txt"),
        "never": {"shell": "false"},
        "whole": {"run": [str(tool)]},
    }
    script = {"early": [writes("early.txt")], "late": [writes("late.txt")]}
    plan = a_plan(script, tasks, checks, done_when=["whole"])
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert project.yaoki("answer", "late", "abort").code == 0
    run = project.status()["run"]
    tool.rename(project.folder / "gone")

    refused = project.yaoki("merge", "--partial")

    assert refused.code == 6, refused.out
    words = " ".join(refused.err.split())
    assert "check whole could not run on the landed tasks" in words
    assert f"fix what whole needs, then: yaoki merge {run} --partial; or change whole" in words
    assert "fail together" not in words
    assert "undo" not in words
    (project.folder / "gone").rename(tool)
    assert project.yaoki("merge", "--partial").code == 0
