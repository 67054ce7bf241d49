"""The rerun from the run branch, dependents blocked by a failure, and their revival."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, waits_for, writes

FAST = {"retry": {"max_retries": 1}}


def awaits_rerun(project: Project, task: str) -> bool:
    return "RERUN_HELD" in project.event_names(task)


def plan_needing_another_landing(
    marker: Path, last: list[Any], begins: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """`alone` passes only on top of the landing of `other`, without declaring the dependency."""
    return a_plan(
        {
            "alone": [
                [*begins, *writes("alone.txt", "bad\n")],
                writes("alone.txt", "worse\n"),
                last,
            ],
            "other": [[waits_for(marker), *writes("other.txt")]],
            "after": [writes("after.txt")],
            "later": [writes("later.txt")],
        },
        [
            {"id": "alone", "checks": ["both"], **FAST},
            {"id": "other", "checks": ["other"]},
            {"id": "after", "checks": ["after"], "needs": ["alone"]},
            {"id": "later", "checks": ["later"], "needs": ["after"]},
        ],
        {
            "both": {"shell": "grep -qx good alone.txt && grep -qx good other.txt"},
            "other": file_contains("other.txt"),
            "after": file_contains("after.txt"),
            "later": file_contains("later.txt"),
        },
        **more,
    )


@pytest.mark.acceptance
@pytest.mark.spec("8.4", "1.3", "4.6", "0.4")
def test_a_task_that_fails_alone_passes_in_its_rerun_from_the_run_branch(
    project: Project, tmp_path: Path
) -> None:
    marker = tmp_path / "go"
    plan = project.plan(plan_needing_another_landing(marker, writes("alone.txt")))

    run = project.start("run", plan, "--quiet")
    wait_until(lambda: awaits_rerun(project, "alone"), "alone is held")
    marker.touch()
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 0, out
    task, other = project.task("alone"), project.task("other")
    story = project.events("alone")
    started = [e["data"] for e in story if e["event"] == "ATTEMPT_STARTED"]
    assert task["state"] == "DONE"
    assert [e["event"] for e in story].count("RERUN_GRANTED") == 1
    assert [data["attempt"] for data in started] == [1, 2, 3]
    assert started[-1]["base"] == other["landed"], "on the run branch's head"
    assert started[-1]["fresh"] is True
    assert project.task("later")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.4", "8.5", "1.3", "9.2", "10.4", "0.3")
@pytest.mark.parametrize("way", ["answer", "add-retry-task"])
def test_a_task_that_fails_its_rerun_blocks_its_dependents_until_a_person_answers(
    project: Project, tmp_path: Path, way: str
) -> None:
    marker = tmp_path / "go"
    # Only what lands after it began is worth a re-run.
    begins = [{"run": ["touch", str(marker)]}]
    plan = project.plan(
        plan_needing_another_landing(marker, writes("alone.txt", "still bad\n"), begins)
    )

    run = project.yaoki("run", plan, "--quiet")

    assert run.code == 4, run.out + run.err
    task = project.task("alone")
    assert (task["state"], task["reason"]) == ("ESCALATED", "MAX_RETRIES_INTEGRATION")
    for name in ("after", "later"):
        blocked = project.task(name)
        assert (blocked["reason"], blocked["cause"]) == ("DEPENDENCY_FAILED", task["id"])
    story = project.event_names("alone")
    assert story.count("ESCALATE_EXECUTED") == story.count("TASK_BLOCKED") == 1
    assert story.count("RERUN_GRANTED") == 1

    # The scenario's last entry repeats, so a person does the work with their own hands.
    if way == "answer":
        folder = next(project.home.glob(f"worktrees/*/{task['id']}"))
        (folder / "alone.txt").write_text("good\n")
        project.yaoki("answer", "alone", "done")
        heir = "alone"
    else:
        replaced = project.yaoki(
            "plan", "add-retry-task", "--retry-of", "alone", "Again.", "--json"
        )
        assert replaced.code == 0, replaced.err
        heir = "alone-r2"
    revived = [project.task(name)["reason"] for name in ("after", "later")]
    assert revived == [None, None]
    assert project.event_names("alone").count("TASK_REVIVED") == 1

    again = project.yaoki("resume", "--quiet")

    if way == "answer":
        assert again.code == 0, again.out + again.err
        assert project.task("later")["state"] == "DONE"
        return
    # The replacement's attempts are counted in its lineage, so there is no second re-run.
    assert project.task("alone")["state"] == "REPLACED"
    story = project.event_names(heir)
    assert "RERUN_HELD" not in story
    assert project.task(heir)["reason"] == "MAX_RETRIES_INTEGRATION"
    assert project.task("after")["cause"] == project.task(heir)["id"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.4")
def test_a_task_is_not_rerun_unless_another_task_has_landed(project: Project) -> None:
    """The same attempt on the same commit would only cost money."""
    plan = a_plan(
        {"one": [writes("one.txt", "bad\n")]},
        [{"id": "one", "checks": ["one"], **FAST}],
        {"one": file_contains("one.txt")},
    )

    run = project.yaoki("run", project.plan(plan), "--quiet")

    assert run.code == 4
    assert (project.task("one")["reason"], project.task("one")["attempt"]) == ("MAX_RETRIES", 2)
    assert "no other task has landed since it started" in project.yaoki("why", "one").out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.4", "1.4")
def test_five_tasks_are_rerun_per_round_in_plan_order(project: Project, tmp_path: Path) -> None:
    """Seven fail together; `landed` lands; five are re-run, then the other two."""
    marker = tmp_path / "go"
    failing = [f"t{n}" for n in range(7)]
    script: dict[str, Any] = {
        name: [writes(f"{name}.txt", "bad\n"), writes(f"{name}.txt")] for name in failing
    }
    script["other"] = [[waits_for(marker), *writes("other.txt")]]
    tasks = [{"id": n, "checks": [n]} for n in failing]
    checks = {n: file_contains(f"{n}.txt") for n in (*failing, "other")}
    plan = a_plan(script, [*tasks, {"id": "other", "checks": ["other"]}], checks)
    settings = project.repo / "yaoki.toml"
    none = "[retry.cause_specific.QUALITY_FAILURE]\nmax_retries = 0\n"
    settings.write_text(settings.read_text() + none)

    run = project.start("run", project.plan(plan), "--quiet", "--parallel", "4")
    wait_until(
        lambda: project.event_names().count("RERUN_HELD") == len(failing), "all seven are held"
    )
    marker.touch()
    out, _ = run.communicate(timeout=90)

    assert run.returncode == 0, out
    names = {task["id"]: task["name"] for task in project.status()["tasks"]}
    story = [(e["event"], names[e["task"]]) for e in project.events() if e["task"]]
    granted = [name for event, name in story if event == "RERUN_GRANTED"]
    assert granted == failing
    first_landed = min(story.index(("TASK_LANDED", name)) for name in failing)
    before = [name for event, name in story[:first_landed] if event == "RERUN_GRANTED"]
    assert before == failing[:5]
