"""A merge whose check exceeds its timeout or cannot run: nobody knows whether the work is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes

pytestmark = pytest.mark.acceptance


@pytest.mark.full
@pytest.mark.spec("9.6", "0.1", "10.4")
def test_a_check_of_a_partial_merge_without_a_result_proves_nothing_against_the_landed_tasks(
    project: Project,
) -> None:
    """First it cannot run, then it is late."""
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
        "other": file_contains("early.txt"),
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

    tool.rename(project.folder / "gone")
    unable = refusal()
    assert "check whole could not run on the landed tasks" in unable
    assert f"fix what whole needs, then: yaoki merge {run} --partial; or change whole" in unable
    assert "fail together" not in unable
    assert "undo" not in unable
    (project.folder / "gone").rename(tool)
    late = {"shell": "sleep 1.5", "timeout": "1s"}
    recheck(whole=late, other={"shell": "test -s missing.txt"})
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
    recheck(whole={"run": [str(tool)]})
    assert project.yaoki("merge", "--partial").code == 0
