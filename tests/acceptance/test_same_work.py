"""A task whose changes have all landed with another task; that says nothing about its own goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, waits_for, writes

pytestmark = pytest.mark.acceptance
CHECKS = {"ok": {"shell": "test -s README"}}


def plan_with_twin(marker: Path, *later: list[Any], **fields: Any) -> dict[str, Any]:
    """`twin` makes the change of `first` and ends after that has landed; `later` follows."""
    script = {
        "first": [writes("version.txt", "2\n")],
        "signal": [[{"run": ["touch", str(marker)]}, *writes("signal.txt")]],
        "twin": [[*writes("version.txt", "2\n"), waits_for(marker)], *later],
    }
    tasks: list[dict[str, Any]] = [
        {"id": "first", "checks": ["ok"]},
        {"id": "twin", "checks": ["ok"], **fields},
        {"id": "signal", "checks": ["ok"], "needs": ["first"]},
    ]
    return a_plan(script, tasks, CHECKS)


@pytest.mark.spec("3.5", "0.1", "10.3")
def test_a_task_whose_changes_landed_with_another_is_asked_for_its_own_and_then_a_person_is(
    project: Project,
) -> None:
    says = [{"say": "The version is 2 already."}]
    plan = plan_with_twin(project.folder / "landed", says)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    twin = project.task("twin")
    assert (twin["state"], twin["attempt"]) == ("ESCALATED", 2)
    question = twin["question"]
    assert "first" in question, "which task landed the same changes"
    assert 'The agent says: "The version is 2 already."' in question
    prompt = project.query("logs", "twin", "--attempt", "2", "--prompt").out
    assert "everything that was changed has already landed with first" in prompt
    assert project.yaoki("answer", "twin", "waive").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert project.task("twin")["state"] == "DONE"


@pytest.mark.spec("3.5", "3.3", "3.4")
def test_a_task_whose_changes_landed_with_another_lands_what_it_adds_then(
    project: Project,
) -> None:
    plan = plan_with_twin(project.folder / "landed", writes("own.txt"))

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.task("twin")["attempt"] == 2
    branch = project.status()["run_branch"]
    assert project.git("show", f"{branch}:own.txt") == "good"


@pytest.mark.spec("3.5")
def test_a_task_that_may_change_nothing_is_done_when_another_landed_its_changes(
    project: Project,
) -> None:
    plan = plan_with_twin(project.folder / "landed", may_change_nothing=True)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.task("twin")["attempt"] == 1
