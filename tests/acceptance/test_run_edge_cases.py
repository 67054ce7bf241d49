"""Edge cases of whole runs: groups, bisection, replacements, iterations, budgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, waits_for, writes

ONCE = {"retry": {"max_retries": 0}}


def landed_files(project: Project) -> set[str]:
    names = project.git("ls-tree", "-r", "--name-only", project.status()["run_branch"]).split()
    return set(names) - {"README", "yaoki.toml"}


def a_group(script: dict[str, Any], tasks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    names = [task["id"] for task in tasks]
    full = {n: [writes(f"{n}.txt")] for n in names}
    checks = {n: file_contains(f"{n}.txt") for n in names}
    inside = [{"goal": f"Do {t['id']}.", "checks": [t["id"]], **t} for t in tasks]
    group = {"id": "g", "kind": "group", "tasks": inside, "checks": [names[0]], **more}
    return a_plan({**full, **script}, [group], checks)


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "3.3")
def test_a_subtask_starts_from_the_landing_of_the_outside_task_it_needs(
    project: Project, tmp_path: Path
) -> None:
    """The group's branch was cut before `outside` landed."""
    marker = tmp_path / "go"
    plan = a_group({}, [{"id": "a"}, {"id": "b", "needs": ["outside"]}], partial=False)
    scenario = plan["agents"]["actor"]["options"]["scenario"]["tasks"]
    scenario["outside"] = [[waits_for(marker), *writes("outside.txt")]]
    plan["tasks"].append({"id": "outside", "goal": "x", "checks": ["outside"]})
    plan["checks"]["outside"] = file_contains("outside.txt")
    plan["checks"]["b"] = {"shell": "grep -qx good b.txt && grep -qx good outside.txt"}

    run = project.start("run", project.plan(plan), "--quiet")
    wait_until(
        lambda: "TASK_LANDED" in project.event_names("a"), "a has landed on the group's branch"
    )
    marker.touch()
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 0, out
    assert project.task("b")["attempt"] == 1


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "0.4")
def test_two_tasks_that_break_the_final_check_are_each_found_and_sent_back_once(
    project: Project,
) -> None:
    """After the first revert earlier commits still fail; only current landings are examined."""
    names = ["t1", "t2", "t3"]
    bad = {n: [writes(f"{n}.txt", f"good\nbad {n}\n"), writes(f"{n}.txt")] for n in ("t1", "t3")}
    plan = a_plan(
        {**{n: [writes(f"{n}.txt")] for n in names}, **bad},
        [{"id": n, "checks": [n]} for n in names],
        {
            **{n: file_contains(f"{n}.txt") for n in names},
            "clean": {"shell": "! grep -q bad t*.txt"},
        },
        done_when=["clean"],
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "1")

    assert done.code == 0, done.out + done.err
    attempts = {n: project.task(n)["attempt"] for n in names}
    assert attempts == {"t1": 2, "t2": 1, "t3": 2}


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.2", "1.3", "2.2")
def test_a_replacement_that_would_need_itself_is_refused(project: Project, tmp_path: Path) -> None:
    plan = a_plan(
        {"a": [writes("a.txt", "bad\n")], "s": [writes("s.txt")]},
        [{"id": "a", "checks": ["a"], **ONCE}, {"id": "s", "checks": ["s"], "needs": ["a"]}],
        {"a": file_contains("a.txt"), "s": file_contains("s.txt")},
    )
    assert project.yaoki("plan", "submit", project.plan(plan)).code == 0
    for name, needs in (("own.json", ["a"]), ("cross.json", ["s"])):
        file = tmp_path / name
        file.write_text(
            json.dumps({"tasks": [{"id": "r", "goal": "x", "needs": needs, "replaces": "a"}]})
        )

        refused = project.yaoki("plan", "extend", str(file))

        assert refused.code == 2, refused.out
        assert "in a circle" in refused.err
    assert project.task("a")["state"] == "WAITING"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "0.3", "10.4")
def test_a_person_continues_a_continuous_run_after_a_failed_iteration(project: Project) -> None:
    more = {"append": {"count.txt": "line\n"}}
    script = {f"grow-i{n}": [[more]] for n in range(3, 9)}
    plan = a_plan(
        {"grow": [[more]], "grow-i2": [[{"write": {"count.txt": ""}}]], **script},
        [{"id": "grow", "checks": ["some"], **ONCE}],
        {
            "some": {"shell": "test -s count.txt"},
            "enough": {"shell": 'test "$(cat count.txt | wc -l)" -ge 2'},
        },
        done_when=["enough"],
        continuous={},
    )
    paused = project.yaoki("run", project.plan(plan), "--quiet")

    project.yaoki("answer", project.status()["run"], "go")
    done = project.yaoki("resume", "--quiet")

    assert (paused.code, done.code) == (4, 0), done.out + done.err
    story = project.events()
    entries = [e["data"]["iteration"] for e in story if e["event"] == "ITERATION_FINISHED"]
    assert entries == sorted(set(entries)), "each iteration is told once"
    assert project.task("grow-i2")["state"] == "REPLACED"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.5", "8.3")
def test_cancelling_a_group_ends_its_subtasks(project: Project) -> None:
    tasks: list[dict[str, Any]] = [
        {"id": "a"},
        {"id": "b", "needs": ["a"]},
        {"id": "c", "needs": ["b"]},
    ]
    plan = a_group({"b": [["hang"]]}, tasks)
    run = project.start("run", project.plan(plan), "--quiet")
    wait_until(lambda: "PROMPT_SENT" in project.event_names("b"), "b is at work")

    project.yaoki("cancel", "g")
    run.communicate(timeout=60)

    states = {n: project.task(n)["state"] for n in ("g", "b", "c")}
    assert set(states.values()) == {"CANCELLED"}
    assert "ATTEMPT_STARTED" not in project.event_names("c")


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.1", "0.4")
def test_a_phase_past_its_deadline_is_cancelled_while_it_is_planned(project: Project) -> None:
    plan = a_plan(
        {"look": [writes("look.txt")], "fill-build": [["hang"]], "last": [writes("last.txt")]},
        [],
        {n: file_contains(f"{n}.txt") for n in ("look", "last")},
        planner="actor",
    )
    plan.pop("tasks")
    plan["phases"] = [
        {"id": "first", "tasks": [{"id": "look", "goal": "x", "checks": ["look"]}]},
        {"id": "build", "needs": ["first"], "deferred": True, "deadline": "2s"},
        {
            "id": "end",
            "needs": ["build"],
            "tasks": [{"id": "last", "goal": "x", "checks": ["last"]}],
        },
    ]

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 3, done.out + done.err
    assert project.task("fill-build")["state"] == "CANCELLED"
    assert "PHASE_TIMED_OUT" in project.event_names("fill-build")


@pytest.mark.acceptance
@pytest.mark.spec("10.6")
def test_a_budget_of_attempts_holds_for_concurrent_tasks(project: Project) -> None:
    names = ["a", "b", "c", "d"]
    plan = a_plan(
        {n: [writes(f"{n}.txt")] for n in names},
        [{"id": n, "checks": [n]} for n in names],
        {n: file_contains(f"{n}.txt") for n in names},
        budget={"attempts": 2},
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "4")

    assert done.code == 5, done.out + done.err
    began = [n for n in names if "ATTEMPT_STARTED" in project.event_names(n)]
    assert len(began) == 2


@pytest.mark.acceptance
@pytest.mark.spec("0.6", "9.7")
def test_continuous_mode_without_done_when_is_refused(project: Project) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )

    refused = project.yaoki("run", project.plan(plan), "--continuous")

    assert (refused.code, "done_when" in refused.err) == (2, True)
