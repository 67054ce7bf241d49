"""Continuous mode: iterate until done_when passes, within bounds that survive a restart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains

ENOUGH = {"shell": 'test "$(cat count.txt 2>/dev/null | wc -l)" -ge 3'}


def continuous_plan(script: dict[str, Any], **bounds: Any) -> dict[str, Any]:
    """Each iteration adds a line; three are enough."""
    more = {"append": {"count.txt": "line\n"}}
    full = {f"grow-i{n}": [[more]] for n in range(2, 15)}
    return a_plan(
        {"grow": [[more]], **full, **script},
        [{"id": "grow", "checks": ["some"]}],
        {"some": {"shell": "test -s count.txt"}, "enough": ENOUGH},
        done_when=["enough"],
        continuous=bounds,
    )


def iterations(project: Project) -> list[dict[str, Any]]:
    found = project.events()
    return [e["data"] for e in found if e["event"] == "ITERATION_FINISHED"]


@pytest.mark.acceptance
@pytest.mark.spec("9.7", "9.3")
def test_a_continuous_run_iterates_until_done_when_passes(project: Project) -> None:
    done = project.yaoki("run", project.plan(continuous_plan({})), "--quiet")

    assert done.code == 0, done.out + done.err
    assert [data["iteration"] for data in iterations(project)] == [1, 2, 3]
    assert iterations(project)[-1]["reason"] == "done_when holds"
    assert {data["commit"] for data in iterations(project)} == {"committed"}
    branch = project.status()["run_branch"]
    assert project.show(branch, "count.txt").split() == ["line"] * 3


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "10.4")
def test_a_continuous_run_pauses_after_a_failed_iteration_until_it_is_answered(
    project: Project,
) -> None:
    bad = {"grow-i2": [[{"write": {"count.txt": ""}}]]}
    plan = continuous_plan(bad)
    plan["tasks"][0]["retry"] = {"max_retries": 0}

    paused = project.yaoki("run", project.plan(plan), "--quiet")

    assert paused.code == 4, paused.out + paused.err
    status = project.status()
    assert status["status"] == "PAUSED"
    assert "iteration 2 failed: grow-i2" in paused.out
    assert project.yaoki("resume", "--quiet").code == 4, "nobody has answered"
    assert len(iterations(project)) == 2


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "2.3")
def test_a_planner_plans_each_iteration(project: Project) -> None:
    def says(name: str) -> list[Any]:
        task = {"id": name, "goal": "Go on.", "checks": ["some"]}
        return [{"say": json.dumps({"tasks": [task], "reason": "x"})}]

    more = [[{"append": {"count.txt": "line\n"}}]]
    script = {
        "iteration-2": [says("second")],
        "iteration-3": [says("third")],
        "second": more,
        "third": more,
    }
    plan = continuous_plan(script)
    plan["planner"] = "actor"

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    names = [t["name"] for t in project.status()["tasks"] if not t["name"].startswith("done_when")]
    assert names == ["grow", "iteration-2", "second", "iteration-3", "third"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "0.4")
def test_a_continuous_run_stops_at_its_limit_and_reports_iterations_without_changes(
    project: Project,
) -> None:
    plan = continuous_plan({f"grow-i{n}": [["nothing"]] for n in range(2, 15)}, max_iterations=3)
    plan["checks"]["some"] = file_contains("README", "hello")
    for task in plan["tasks"]:
        task["may_change_nothing"] = True

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    names = [t["name"] for t in project.status()["tasks"] if not t["name"].startswith("done_when")]
    assert names == ["grow", "grow-i2", "grow-i3"]
    nothing = "nothing to commit"
    assert [data["commit"] for data in iterations(project)] == ["committed", nothing, nothing]
