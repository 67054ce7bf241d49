"""The first messages that a newcomer reads name a useful next step."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    Project,
    a_plan,
    file_contains,
    remaining_output,
    waits_for,
    writes,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("15", "12.1")]
PLAN = a_plan(
    {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
)


def test_a_refused_plan_does_not_recommend_the_command_that_refused_it(project: Project) -> None:
    plan = project.plan({**PLAN, "tasks": [{"id": "a b", "goal": "x", "checks": ["a"]}]})

    done = project.query("validate", plan)

    assert done.code == 2
    assert f"yaoki validate {plan}" not in done.err
    assert f"fix it in {plan}" in done.err


def test_an_id_with_other_letters_is_refused_with_the_allowed_ones(project: Project) -> None:
    plan = project.plan({**PLAN, "tasks": [{"id": "タスク", "goal": "x", "checks": ["a"]}]})

    done = project.query("validate", plan)

    assert "a name has 1 to 64 ASCII letters, digits" in done.err


def test_a_plan_without_agents_and_checks_names_the_command_that_finds_them(
    project: Project,
) -> None:
    (project.repo / "yaoki.toml").unlink()
    (project.repo / "todo.md").write_text("- [ ] one\n- [ ] two\n")

    plan = str(project.repo / "p.yaml")

    made = project.query("plan", "import", str(project.repo / "todo.md"), "-o", plan)
    done = project.query("validate", plan)

    assert "next: yaoki init\n" in made.out
    assert Path(plan).read_text().count("goal: 'Do: one; two'\n") == 1, "no name of a file"
    assert done.code == 2
    assert done.err.rstrip().endswith("yaoki init")


def test_a_plan_without_agents_beside_settings_names_a_command_that_runs_no_check(
    project: Project,
) -> None:
    plan = project.plan({"goal": "x", "tasks": [{"id": "a", "goal": "x"}]})

    done = project.query("validate", plan)

    assert "yaoki init --dry-run --no-run shows what" in " ".join(done.err.split())


def test_doctor_without_a_check_names_the_command_that_finds_one(project: Project) -> None:
    (project.repo / "go.mod").write_text("module x\n")
    with_settings = project.query("doctor")
    (project.repo / "yaoki.toml").unlink()
    without = project.query("doctor")
    project.settings("[checks.a]\nrun = ['sh', '-c', 'exit 0']\n")
    complete = project.query("doctor")

    assert (with_settings.code, without.code, complete.code) == (0, 0, 0)
    assert with_settings.out.endswith("next: yaoki init --again\n")
    assert without.out.endswith("next: yaoki init\n")
    assert complete.out.endswith("next: yaoki run PLAN\n")


@pytest.mark.full
def test_a_second_run_of_the_same_plan_names_the_active_one(project: Project) -> None:
    marker = project.folder / "marker"
    acts = {"a": [[waits_for(marker), *writes("a.txt")]]}
    checks = {"a": file_contains("a.txt")}
    plan = project.plan(a_plan(acts, [{"id": "a", "checks": ["a"]}], checks))
    first = project.start("run", plan)
    assert first.stdout is not None
    head = first.stdout.readline()
    _lines_until_started(first)

    second = project.start("run", plan)
    lines = _lines_until_started(second)
    marker.touch()
    for process in (first, second):
        remaining_output(process)

    run = head.split()[1].rstrip(":")
    words = f"note: run {run} of the same plan is active: yaoki status {run}"
    assert words in lines
    assert [process.returncode for process in (first, second)] == [0, 0]
    again = project.yaoki("run", plan)
    assert "same plan" not in again.out


def _lines_until_started(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "attempt 1" in line:
            break
    return "".join(lines)


def test_logs_of_an_unknown_attempt_name_the_newest_attempt(project: Project) -> None:
    assert project.yaoki("run", project.plan(PLAN), "--quiet").code == 0

    done = project.query("logs", "a", "--attempt", "9")

    task = project.task("a")["id"]
    assert f"{task} has no attempt 9; its newest is 1" in done.err
    assert f"yaoki logs {task} --attempt 1" in done.err


@pytest.mark.full
def test_logs_of_a_task_that_has_not_started_say_so(project: Project) -> None:
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["ok"], "retry": {"max_retries": 0}},
        {"id": "b", "checks": ["ok"], "needs": ["a"]},
    ]
    plan = a_plan({"a": [writes("a.txt", "bad\n")]}, tasks, {"ok": file_contains("a.txt")})
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    done = project.query("logs", "b")

    task = project.task("b")["id"]
    assert f"{task} has not started yet" in done.err
    assert f"yaoki why {task}" in done.err


@pytest.mark.spec("12.1", "0.6")
def test_commands_in_messages_can_be_pasted_although_paths_have_spaces(project: Project) -> None:
    place = project.folder / "my plans"
    place.mkdir()
    (place / "good.json").write_text(json.dumps(PLAN))
    (place / "bad.json").write_text(json.dumps({**PLAN, "goals": "x"}))

    validated = project.yaoki("validate", str(place / "good.json"))
    shown = project.yaoki("plan", str(place / "good.json"))
    refused = project.yaoki("validate", str(place / "bad.json"))
    started = project.yaoki("run", str(place / "bad.json"))

    run = f"next: yaoki run '{place / 'good.json'}'"
    assert validated.out.splitlines()[-1] == run
    assert shown.out.splitlines()[-1] == run
    assert f"yaoki validate '{place / 'bad.json'}'" in started.err
    assert "1 problem found" in refused.err
    assert "fix it in" in refused.err


@pytest.mark.spec("12.1", "2.3")
def test_limits_costs_and_unchanged_work_are_told_in_plain_sentences(project: Project) -> None:
    """What a first reader stumbled over in plan, run, status, report and doctor."""
    task = {"id": "idle", "checks": ["there"], "may_change_nothing": True}
    plan = project.plan(a_plan({"idle": [[]]}, [task], {"there": {"shell": "test -f README"}}))

    shown, ran = project.yaoki("plan", plan).out, project.yaoki("run", plan).out
    again = project.yaoki("plan", plan).out
    report, health = project.yaoki("report").out, project.yaoki("doctor").out

    limit = "At most 19 agent runs (normally up to 5); each answer you give resets that limit."
    assert f"1 task. {limit}" in shown
    assert f"1 task, 2 at a time. {limit}" in ran
    assert "the base was not checked; add --baseline to run the checks on it" in shown
    assert "(no change; the branch does not move)" in ran
    assert "its last run reported no cost: cost unknown" in again
    assert "No agent reported its cost." in report
    assert "off; agents can write anywhere you can. To confine them: sandbox.mode" in health
    assert "agrees with the database (1 run checked)" in health
    assert "WAL-reset" not in health


@pytest.mark.full
@pytest.mark.spec("12.1", "16.14", "16.6")
def test_the_final_check_is_shown_as_a_verification_and_an_undo_takes_it_back(
    project: Project,
) -> None:
    """It lands nothing and has no attempts of an agent; after the undo the head of the branch is
    another commit, so the proof of the whole is no longer shown.
    """
    names = ("one", "two")
    checks = {name: file_contains(f"{name}.txt") for name in names}
    script = {name: [writes(f"{name}.txt")] for name in names}
    tasks = [{"id": name, "checks": [name]} for name in names]
    plan = project.plan(a_plan(script, tasks, checks, done_when=["one"]))

    ran = project.yaoki("run", plan).out
    assert_shown_as_verification(project, ran)
    assert "verified again" in project.yaoki("report").out
    undone = project.yaoki("undo", "two")

    status, report = project.status(), project.yaoki("report").out
    states = {task["name"]: task["state"] for task in status["tasks"]}
    assert undone.code == 0, undone.err
    assert "done_when" in undone.out
    assert (states["one"], states["two"], states["done_when"]) == ("DONE", "ESCALATED", "REPLACED")
    assert "The run needs you: 1 of 2 tasks is done and proven" in report
    assert "verified again" not in report
    assert project.yaoki("merge").code != 0, "nothing unproven is merged"


def assert_shown_as_verification(project: Project, ran: str) -> None:
    why, status = project.query("why", "done_when").out, project.query("status").out
    commit = str(project.task("done_when")["landed"])[:10]
    assert f" done_when  verified on {commit}\n" in ran, ran
    assert "does not move" not in ran
    assert f"DONE: verified on {commit}" in why
    (line,) = (line for line in status.splitlines() if " done_when " in line)
    assert commit in line
    assert "attempt" not in line


@pytest.mark.spec("2.2", "12.1")
def test_commands_of_agents_and_checks_may_be_one_line(project: Project) -> None:
    plan = {
        "goal": "x",
        "agents": {"a": {"command": "sh -c 'echo good > a.txt'"}},
        "agent": "a",
        "checks": {"there": {"run": "grep -qx 'good' a.txt"}},
        "tasks": [{"id": "a", "goal": "Write a.txt."}],
    }

    ran = project.yaoki("run", project.plan(plan), "--quiet")

    assert ran.code == 0, ran.out + ran.err
    assert "checks none in the settings; each plan must have its own" in " ".join(
        project.yaoki("doctor").out.split()
    )
