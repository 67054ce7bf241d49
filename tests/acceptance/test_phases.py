"""Phases that are filled during the run: by the planner or a person, within bounds and in time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, writes

CHECKS = {n: file_contains(f"{n}.txt") for n in ("look", "build", "last")}


def answer_with(answer: Any) -> list[Any]:
    return [{"say": json.dumps(answer)}]


def plan_with_phases(
    script: dict[str, Any], deferred: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """look, then build (deferred), then last."""
    full = {n: [writes(f"{n}.txt")] for n in ("look", "build", "last")}
    plan = a_plan({**full, **script}, [], CHECKS, **more)
    plan.pop("tasks")
    plan["phases"] = [
        {"id": "looking", "tasks": [{"id": "look", "goal": "Look.", "checks": ["look"]}]},
        {"id": "building", "needs": ["looking"], "deferred": True, **deferred},
        {
            "id": "ending",
            "needs": ["building"],
            "tasks": [{"id": "last", "goal": "End.", "checks": ["last"]}],
        },
    ]
    return plan


BUILD = {"tasks": [{"id": "build", "goal": "Build.", "checks": ["build"]}], "reason": "x"}


def landings(project: Project) -> list[str]:
    branch = project.status()["run_branch"]
    subjects = project.git("log", "--first-parent", "--reverse", "--format=%s", branch).splitlines()
    return [words.split(":")[0] for words in subjects[1:]]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.1", "2.3", "1.2", "12.1")
def test_the_planner_fills_a_deferred_phase_after_the_phases_it_needs(project: Project) -> None:
    plan = plan_with_phases({"fill-building": [answer_with(BUILD)]}, {}, planner="actor")

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert landings(project) == ["look", "build", "last"]
    assert "3 of 3 tasks landed on " in done.out
    assert "; 1 plan written" in done.out
    assert "PHASE_FILLED" in project.event_names("fill-building")


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.1", "9.2")
def test_a_person_fills_a_phase_and_a_violation_of_its_constraints_leaves_it_open(
    project: Project, tmp_path: Path
) -> None:
    plan = plan_with_phases({}, {"constraints": {"max_tasks": 1, "kinds": ["change"]}})
    asked = project.yaoki("run", project.plan(plan), "--quiet")
    file, two = tmp_path / "build.json", tmp_path / "two.json"
    file.write_text(json.dumps(BUILD))
    more = [*BUILD["tasks"], {"id": "extra", "goal": "x", "kind": "check", "checks": ["look"]}]
    two.write_text(json.dumps({"tasks": more}))

    refused = project.yaoki("plan", "submit", "--phase", "building", str(two))
    still = project.task("fill-building")["state"]
    filled = project.yaoki("plan", "submit", "--phase", "building", str(file))
    done = project.yaoki("resume", "--quiet")

    assert asked.code == 4
    assert "yaoki plan submit --phase building FILE" in asked.out
    assert refused.code == 2
    assert "2 tasks are over the limit of 1" in refused.err
    assert "kind check is not one of change" in refused.err
    assert still == "ESCALATED"
    assert filled.code == 0, filled.err
    assert done.code == 0, done.out + done.err
    assert landings(project) == ["look", "build", "last"]
    assert "PHASE_REFUSED" in project.event_names("fill-building")


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.1", "0.4")
def test_a_phase_past_its_deadline_is_cancelled_with_the_phases_that_need_it(
    project: Project,
) -> None:
    plan = plan_with_phases({}, {"deadline": "1s"})

    first = project.yaoki("run", project.plan(plan), "--quiet")
    wait_until(
        lambda: project.yaoki("resume", "--quiet").code == 3,
        "the deadline passed and it was noticed",
    )

    assert first.code in {3, 4}, first.out + first.err
    states = {t["name"]: t["state"] for t in project.status()["tasks"]}
    assert states == {"look": "DONE", "fill-building": "CANCELLED", "last": "CANCELLED"}
    assert project.event_names("fill-building").count("PHASE_TIMED_OUT") == 1


@pytest.mark.acceptance
@pytest.mark.spec("9.1", "8.5", "9.2")
def test_a_failed_phase_reopens_when_its_task_is_replaced(project: Project) -> None:
    plan = plan_with_phases(
        {"look": [writes("look.txt", "bad\n")], "look-r2": [writes("look.txt")]},
        {},
        planner="actor",
    )
    plan["agents"]["actor"]["options"]["scenario"]["tasks"]["fill-building"] = [answer_with(BUILD)]
    plan["phases"][0]["tasks"][0]["retry"] = {"max_retries": 0}
    plan["agents"]["actor"]["options"]["scenario"]["tasks"]["replan-1"] = [
        answer_with({"tasks": [], "impossible": "I do not know how"})
    ]
    project.yaoki("run", project.plan(plan), "--quiet")

    project.yaoki("plan", "add-retry-task", "--retry-of", "look")
    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert "PHASE_REOPENED" in project.event_names("look")
    assert landings(project) == ["look-r2", "build", "last"]


@pytest.mark.acceptance
@pytest.mark.spec("9.4")
def test_an_optional_failure_leaves_the_run_done_with_a_note(project: Project) -> None:
    plan = a_plan(
        {"one": [writes("look.txt")], "extra": [writes("build.txt", "bad\n")]},
        [
            {"id": "one", "checks": ["look"]},
            {"id": "extra", "checks": ["build"], "required": False, "retry": {"max_retries": 0}},
        ],
        {n: CHECKS[n] for n in ("look", "build")},
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.status()["notes"] == [project.task("extra")["id"]]
