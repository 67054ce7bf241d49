"""The rerun from the run branch, dependents blocked by a failure, and their revival."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)

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
@pytest.mark.spec("8.4", "1.3", "4.6", "0.4", "10.3")
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
    report = project.yaoki("report", "--json").document
    assert (report["numbers"]["retries"], report["not_retried"]) == (2, []), "one is the re-run"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.4", "8.5", "1.3", "9.2", "10.4", "0.3")
def test_a_task_that_fails_its_rerun_blocks_its_dependents_until_a_person_answers(
    project: Project, tmp_path: Path
) -> None:
    """First with a replacement, which fails as well, and then with work of their own."""
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

    replaced = project.yaoki("plan", "add-retry-task", "--retry-of", "alone", "Again.", "--json")
    assert replaced.code == 0, replaced.err
    assert_revived(project, "alone")
    project.yaoki("resume", "--quiet")

    # The replacement's attempts are counted in its lineage, so there is no second re-run.
    heir = project.task("alone-r2")
    assert project.task("alone")["state"] == "REPLACED"
    assert "RERUN_HELD" not in project.event_names("alone-r2")
    assert heir["reason"] == "MAX_RETRIES_INTEGRATION"
    assert project.task("after")["cause"] == heir["id"]

    # The scenario's last entry repeats, so a person does the work with their own hands.
    folder = next(project.home.glob(f"worktrees/*/{heir['id']}"))
    (folder / "alone.txt").write_text("good\n")
    project.yaoki("answer", "alone-r2", "done")
    assert_revived(project, "alone-r2")
    again = project.yaoki("resume", "--quiet")

    assert again.code == 0, again.out + again.err
    assert project.task("later")["state"] == "DONE"


def assert_revived(project: Project, cause: str) -> None:
    assert [project.task(name)["reason"] for name in ("after", "later")] == [None, None]
    assert project.event_names(cause).count("TASK_REVIVED") == 1


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.4", "9.3", "10.3")
def test_after_an_idle_rerun_the_work_of_the_best_attempt_comes_into_the_worktree(
    project: Project, tmp_path: Path
) -> None:
    """The re-run began in a fresh worktree and left nothing there."""
    marker = tmp_path / "go"
    begins = [{"run": ["touch", str(marker)]}]
    plan = plan_needing_another_landing(marker, [{"say": "nothing to do"}], begins)

    run = project.yaoki("run", project.plan(plan))

    assert run.code == 4, run.out + run.err
    task = project.task("alone")
    folder = next(project.home.glob(f"worktrees/*/{task['id']}"))
    ref = f"refs/yaoki/work/{task['id']}/2"
    words = f"nothing is changed there; to begin with the work of attempt 2: git merge {ref}"
    for out in (run.out, project.yaoki("answer", "alone").out):
        assert words in " ".join(out.split()), out
    assert words in project.yaoki("report").out
    assert not (folder / "alone.txt").exists()
    project.git("-C", str(folder), *GIT_IDENTITY, "merge", "-q", ref)
    assert (folder / "alone.txt").read_text() == "worse\n"
    (folder / "alone.txt").write_text("good\n")
    assert project.yaoki("answer", "alone", "done").code == 0
    resumed = project.yaoki("resume", "--quiet")
    assert resumed.code == 0, resumed.out + resumed.err


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

    run = project.yaoki("run", project.plan(plan))

    assert run.code == 4
    assert (project.task("one")["reason"], project.task("one")["attempt"]) == ("MAX_RETRIES", 2)
    words = "no other task has landed since it started, so there is no re-run from the run branch"
    (line,) = [line for line in run.out.splitlines() if "attempt 2  needs you: " in line]
    assert line.endswith(f"(out of retries; {words})")
    assert words in " ".join(project.yaoki("why", "one").out.split())


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.4", "18.6")
def test_a_task_out_of_retries_does_not_wait_for_the_limit_of_another_one(
    project: Project,
) -> None:
    """Nothing has landed, so a person is asked at once, and can answer."""
    plan = a_plan(
        {"bad": [writes("bad.txt", "bad\n"), writes("bad.txt", "worse\n")]},
        [
            {"id": "bad", "checks": ["bad"], **FAST},
            {"id": "limited", "checks": ["limited"], "agent": "limited"},
            {"id": "after", "checks": ["after"], "needs": ["bad"]},
        ],
        {name: file_contains(f"{name}.txt") for name in ("bad", "limited", "after")},
    )
    refusal = "echo 'API Error: 429 rate_limit_error: Retry-After: 7200' >&2; exit 1"
    plan["agents"]["limited"] = {"command": ["sh", "-c", refusal]}

    run = project.start("run", project.plan(plan))
    wait_until(project.has_store, "the run is stored")
    wait_until(lambda: "ESCALATE_EXECUTED" in project.event_names("bad"), "a person is asked")

    assert awaits_rerun(project, "bad")
    assert project.task("limited")["state"] == "WAITING"
    assert project.yaoki("answer", "bad", "abort").code == 0
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
