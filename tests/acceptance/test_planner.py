"""A goal becomes a plan, an unmet done_when a replan, within bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project, a_plan, file_contains, writes

GOAL = "Make both files good"


def answer_with(answer: Any) -> list[Any]:
    return [{"say": "Here is the plan."}, {"say": json.dumps(answer)}]


def a_task(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "goal": f"Do {name}.", "checks": [name], **more}


def write_planner_settings(
    project: Project, script: dict[str, Any], checks: dict[str, Any]
) -> None:
    """Settings with a worker and a planner, both scripted."""
    scenario = project.folder / "scenario.json"
    scenario.write_text(json.dumps({"tasks": script}))
    lines = ['agent = "actor"', 'planner = "thinker"', SETTINGS]
    for name in ("actor", "thinker"):
        lines.append(f'[agents.{name}]\npreset = "scripted"')
        lines.append(f'options = {{scenario = "{scenario}"}}')
    for name, check in checks.items():
        lines.append(f"[checks.{name}]\nshell = {json.dumps(check['shell'])}")
    project.settings("\n".join(lines))


BOTH = {"one": file_contains("one.txt"), "two": file_contains("two.txt")}


@pytest.mark.acceptance
@pytest.mark.spec("2.3", "9.3", "9.2", "12.1", "10.5")
def test_a_goal_is_planned_run_replanned_and_done(project: Project) -> None:
    """The first plan forgets `two`; the unmet done_when asks the planner once more."""
    first = {"tasks": [a_task("one")], "reason": "one is missing"}
    second = {"tasks": [a_task("two", needs=["one"])], "reason": "two was forgotten"}
    write_planner_settings(
        project,
        {
            "plan": [answer_with(first)],
            "replan-1": [answer_with(second)],
            "one": [writes("one.txt")],
            "two": [writes("two.txt")],
        },
        BOTH,
    )

    shown = project.yaoki("run", GOAL, "--quiet")
    status = project.status()

    assert "1 of 2 tasks done; nothing landed on " in shown.out
    assert shown.code == 4, "a plan waits for somebody's yes"
    assert status["status"] == "PAUSED"
    assert {t["name"]: t["state"] for t in status["tasks"]} == {"plan": "DONE", "one": "WAITING"}
    assert f"yaoki answer {status['run']} go" in shown.out

    project.yaoki("answer", status["run"], "go")
    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    status = project.status()
    states = {t["name"]: t["state"] for t in status["tasks"]}
    assert states == {
        "plan": "DONE",
        "one": "DONE",
        "done_when": "REPLACED",
        "replan-1": "DONE",
        "two": "DONE",
        "done_when-2": "DONE",
    }
    prompt = project.prompt(project.task("replan-1"), 1)
    assert "done_when" in prompt
    assert "two.txt does not hold good" in prompt or "check two" in prompt or "two:" in prompt
    assert "ESCALATE_EXECUTED" not in project.event_names(), "the planner mended it"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("2.3", "9.3", "0.4")
def test_a_planner_that_never_succeeds_stops_after_three_rounds(project: Project) -> None:
    useless = {"tasks": [a_task("again", checks=["one"])], "reason": "try"}
    script: dict[str, Any] = {
        "plan": [answer_with({"tasks": [a_task("one")], "reason": "x"})],
        "one": [writes("one.txt")],
        "default": [writes("one.txt", "good\n")],
    }
    for n in (1, 2, 3, 4):
        name = f"again{n}"
        script[f"replan-{n}"] = [answer_with({**useless, "tasks": [a_task(name, checks=["one"])]})]
        script[name] = ["nothing"]
    write_planner_settings(project, script, BOTH)

    done = project.yaoki("run", GOAL, "--yes", "--quiet")

    assert done.code == 4, done.out + done.err
    made = [t["name"] for t in project.status()["tasks"]]
    assert [name for name in made if name.startswith("replan")] == [
        "replan-1",
        "replan-2",
        "replan-3",
    ]
    assert project.yaoki("resume", "--quiet").code == 4, "a restart does not begin a fourth"
    assert not any(t["name"] == "replan-4" for t in project.status()["tasks"])


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("2.3", "1.4", "0.6")
def test_an_invalid_plan_is_sent_back_with_its_errors_at_most_twice(project: Project) -> None:
    """Unknown checks, unknown needs, cycles and a foreign id are each reported by name."""
    bad = {
        "tasks": [
            a_task("one", needs=["abcdefgh-7"], checks=["oen"]),
            {"id": "two", "goal": "Do two.", "colour": "red"},
            a_task("five", kind="group"),
            a_task("three", needs=["four"]),
            a_task("four", needs=["three"]),
        ]
    }
    write_planner_settings(project, {"plan": [answer_with(bad)], "default": ["nothing"]}, BOTH)

    done = project.yaoki("run", GOAL, "--yes", "--quiet")

    assert done.code == 4, done.out + done.err
    plan = project.task("plan")
    assert (plan["state"], plan["attempt"]) == ("ESCALATED", 3)
    prompt = project.prompt(plan, 2)
    for words in (
        "unknown check 'oen'; did you mean 'one'?",
        "needs 'abcdefgh-7', which is not a task here",
        "unknown key 'colour'",
        "kind 'group' is not one of",
    ):
        assert words in prompt, words


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("2.3")
def test_a_planner_may_report_that_the_goal_is_impossible(project: Project) -> None:
    write_planner_settings(
        project, {"plan": [answer_with({"tasks": [], "impossible": "no such thing"})]}, BOTH
    )

    done = project.yaoki("run", GOAL, "--yes", "--quiet")

    assert done.code == 4
    assert "no such thing" in project.task("plan")["question"]


@pytest.mark.acceptance
@pytest.mark.spec("2.3", "0.6")
def test_a_goal_without_a_planner_is_refused_with_the_line_to_add(project: Project) -> None:
    refused = project.yaoki("run", GOAL)

    assert refused.code == 2
    assert 'planner = "NAME"' in refused.err


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "9.2", "8.5", "5.2")
def test_the_planner_replaces_a_failed_task(project: Project) -> None:
    """The planner gets the failure; its replacement revives the waiting dependents."""
    answer = {"tasks": [{**a_task("better", checks=["one"]), "replaces": "one"}], "reason": "x"}
    plan = a_plan(
        {
            "one": [writes("one.txt", "bad\n")],
            "two": [writes("two.txt")],
            "better": [writes("one.txt")],
            "replan-1": [answer_with(answer)],
        },
        [
            {"id": "one", "checks": ["one"], "retry": {"max_retries": 0}},
            {"id": "two", "checks": ["two"], "needs": ["one"]},
        ],
        BOTH,
        planner="actor",
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    states = {t["name"]: t["state"] for t in project.status()["tasks"]}
    last = states.pop("done_when")
    assert states == {"one": "REPLACED", "two": "DONE", "better": "DONE", "replan-1": "DONE"}
    assert last == "DONE"
    prompt = project.prompt(project.task("replan-1"), 1)
    assert "one.txt does not hold good" in prompt
    assert "may be replaced" in prompt
    assert "TASK_REVIVED" in project.event_names("one")


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.2", "2.6", "12.1")
def test_a_person_extends_and_completes_a_run_with_the_commands_of_the_planner(
    project: Project, tmp_path: Path
) -> None:
    plan = a_plan(
        {"one": [writes("one.txt", "bad\n")], "two": [writes("two.txt")]},
        [
            {"id": "one", "checks": ["one"], "retry": {"max_retries": 0}},
            {"id": "late", "kind": "check", "checks": ["two"], "required": False},
        ],
        BOTH,
    )
    project.yaoki("run", project.plan(plan), "--quiet")
    more = tmp_path / "more.yaml"
    more.write_text("tasks:\n  - {id: two, goal: Do two., checks: [two], agent: actor}\n")
    broken = tmp_path / "broken.yaml"
    broken.write_text("tasks:\n  - {id: two, gaol: Do two.}\n")

    refused = project.yaoki("plan", "extend", str(broken))
    early = project.yaoki("plan", "complete")
    added = project.yaoki("plan", "extend", str(more), "--json")
    done = project.yaoki("resume", "--quiet")

    assert (refused.code, "did you mean 'goal'?" in refused.err) == (2, True), refused.err
    assert (early.code, "one (ESCALATED)" in early.err) == (6, True), early.err
    assert added.document["revision"] == 2
    assert done.code == 4
    assert project.task("two")["state"] == "DONE"
    project.yaoki("answer", "one", "abort")
    assert project.yaoki("plan", "complete", "--json").document["status"] == "CANCELLED"
