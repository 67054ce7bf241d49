"""A forecast is told before a run and while it goes on, and compared with what happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import Project, a_plan, file_contains, wait_until, waits_for, writes
from tests.acceptance.test_planner import BOTH, a_task, answer_with, write_planner_settings
from tests.adapters.store.store_actions import run_sql

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.9")]
COST = 0.25


def claims_cost(cost: float) -> dict[str, str]:
    result = {"type": "result", "subtype": "success", "result": "ok", "total_cost_usd": cost}
    return {"say": json.dumps({**result, "session_id": "s"})}


def plan_of(names: list[str], gate: Path | None = None) -> dict[str, Any]:
    """Each task writes its file at once; with a gate, the last one waits for it."""
    script = {name: [[*writes(f"{name}.txt"), claims_cost(COST)]] for name in names}
    if gate is not None:
        script[names[-1]] = [[waits_for(gate), *writes(f"{names[-1]}.txt"), claims_cost(COST)]]
    tasks = [{"id": name, "checks": [name]} for name in names]
    return a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in names})


def stages(project: Project) -> dict[str, str]:
    """The stage of each active task of the newest run, and the state of the others."""
    tasks = project.status()["tasks"]
    return {t["name"]: t["stage"] if t["state"] == "ACTIVE" else t["state"] for t in tasks}


def measure_attempts(project: Project) -> None:
    """Five attempts are in its journal."""
    first = project.plan(plan_of([f"old{n}" for n in range(5)]), "first.json")
    assert project.yaoki("run", first, "--quiet").code == 0


@pytest.fixture
def measured_project(prepared: Prepared) -> Project:
    project, _ = prepared.after(measure_attempts)
    return project


def test_a_plan_without_measured_attempts_has_no_forecast(project: Project) -> None:
    plan = project.plan(plan_of(["a"]))

    shown = project.yaoki("plan", plan)
    document = project.yaoki("plan", plan, "--json").document
    started = project.yaoki("run", plan)

    assert "no forecast: fewer than 5 attempts have been measured here yet" in shown.out
    assert document["forecast"] is None
    assert "forecast" not in started.out
    assert "RUN_FORECAST" not in project.event_names()
    assert project.yaoki("report", "--json").document["forecast"] is None
    assert "no run with a forecast" in project.yaoki("stats", "forecast").out


def test_a_forecast_is_told_at_the_start_and_compared_at_the_end(
    measured_project: Project,
) -> None:
    """It is on `plan`, `run`, `status` and `report`, and its start is in the journal once."""
    project, gate = measured_project, measured_project.folder / "gate"
    plan = project.plan(plan_of(["a", "b"], gate))
    shown, document = project.yaoki("plan", plan), project.yaoki("plan", plan, "--json").document

    with project.beside("run", plan) as running:
        wait_until(lambda: stages(project) == {"a": "DONE", "b": "WORK"}, "one landed, one works")
        status, while_running = project.status(), project.query("status").out
        gate.touch()
    out = running.result().out
    report = project.yaoki("report", "--json").document["forecast"]
    stats = project.yaoki("stats", "forecast", "--json").document

    assert "2 agent runs (90 %: 2), $0.50 (90 %: $0.50)" in shown.out
    assert "from 5 measured attempts" in shown.out
    assert document["forecast"]["cost"] == {"p10": 0.5, "p50": 0.5, "p90": 0.5}
    assert "forecast: done at " in out
    assert "forecast: done at " in while_running
    assert "0 more agent runs (90 %: 0), $0.25 more (90 %: $0.25)" in while_running
    assert status["forecast"]["agent_runs"]["p50"] == 2
    assert status["forecast"]["attempts"] == 6, "its own attempt counts"
    assert status["forecast"]["done_at"]["p50"] <= status["forecast"]["done_at"]["p90"]
    assert project.event_names().count("RUN_FORECAST") == 1
    told = next(e["data"] for e in project.events() if e["event"] == "RUN_FORECAST")
    assert report["told"]["seconds"]["p50"] == pytest.approx(told["seconds"]["middle"], abs=0.001)
    assert report["took"]["agent_runs"] == 2
    assert (report["took"]["runs_result"], report["took"]["cost_result"]) == ("inside", "inside")
    assert report["took"]["cost"] == 0.5
    assert report["took"]["seconds"] > 0
    assert "took" in project.yaoki("report").out
    assert stats["coverage"]["agent_runs"] == {"runs": 1, "inside": 1, "below": 0, "above": 0}
    assert stats["runs"][0]["words"] == report["words"]
    assert project.status()["forecast"] is None, "a finished run has no rest"


@pytest.mark.full
def test_a_question_is_the_end_that_was_forecast(measured_project: Project) -> None:
    project = measured_project
    script = {"a": [[{"ask": "An owl or a daruma?"}], [*writes("a.txt"), claims_cost(COST)]]}
    held = a_plan(script, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")})
    plan = project.plan(held)
    assert project.yaoki("run", plan, "--quiet").code == 4
    asked = project.yaoki("report", "--json").document["forecast"]

    project.yaoki("answer", project.task("a")["id"], "retry", "an owl")
    project.yaoki("resume", "--quiet")
    answered = project.yaoki("report", "--json").document["forecast"]

    assert asked["took"]["agent_runs"] == 1, "its end is the question"
    assert answered == asked, "what a person starts later is no part of the forecast"


@pytest.mark.full
def test_a_submitted_plan_has_its_forecast_with_its_budget_in_the_journal(
    measured_project: Project,
) -> None:
    project = measured_project
    held = plan_of(["a", "b", "c", "d"])
    plan = project.plan({**held, "budget": {"attempts": 2}})

    document = project.yaoki("plan", plan, "--json").document["forecast"]
    shown = project.yaoki("plan", plan).out
    submitted = project.yaoki("plan", "submit", plan)
    waiting = project.query("status").out

    assert document["agent_runs"]["p90"] == 2
    assert document["over_budget"] == document["asks"] == 1
    assert "a budget stops 100% of them" in shown
    assert "forecast " in submitted.out
    assert "2 agent runs (90 %: 2)" in submitted.out
    assert project.event_names().count("RUN_FORECAST") == 1
    assert "forecast, once a worker runs it: " in waiting


@pytest.mark.full
def test_a_planned_run_gets_its_forecast_when_a_person_approves_it(
    measured_project: Project,
) -> None:
    """Before that its tasks are unknown, so nothing is told that could be compared."""
    project = measured_project
    answer = {"tasks": [a_task("one"), a_task("two", needs=["one"])], "reason": "both"}
    script = {
        "plan": [answer_with(answer)],
        "one": [writes("one.txt")],
        "two": [writes("two.txt")],
    }
    write_planner_settings(project, script, BOTH)

    asked = project.yaoki("run", "Make both files good")
    before = project.event_names().count("RUN_FORECAST")
    project.yaoki("answer", project.status()["run"], "go")
    done = project.yaoki("resume", "--quiet")
    report = project.yaoki("report", "--json").document["forecast"]

    assert "tasks that are still to be planned are not counted" in asked.out
    assert "2 agent runs (90 %: 2)" in asked.out, "the plan is shown with its forecast"
    assert before == 0
    assert done.code == 0, done.out
    assert report["took"]["agent_runs"] == 2, "without that of the planner"
    assert report["took"]["runs_result"] == "inside"


@pytest.mark.spec("18.4")
def test_a_race_is_part_of_the_forecast_and_its_candidates_are_counted_once(
    measured_project: Project,
) -> None:
    """While it runs, the candidates that work are a part of their racing task."""
    project, gate = measured_project, measured_project.folder / "gate"
    plan = plan_of(["a", "b"])
    act = f"while ! test -f {gate}; do sleep 0.05; done; echo good > b.txt"
    plan["agents"]["waiting"] = {"command": ["sh", "-c", act]}
    plan["tasks"][-1] |= {"agent": "waiting", "race": {"tries": 3, "until": "all"}}
    file = project.plan(plan)
    shown = project.yaoki("plan", file)

    two_work = {"a": "DONE", "b": "WAITING", "b~1.1": "WORK", "b~1.2": "WORK", "b~1.3": "WAITING"}
    with project.beside("run", file) as running:
        wait_until(lambda: stages(project) == two_work, "two candidates work")
        status, text = project.status(), project.query("status")
        gate.touch()
    done = running.result()
    report = project.yaoki("report", "--json").document["forecast"]

    assert "4 agent runs (90 %: 4)" in shown.out
    assert "no attempt of waiting yet" in shown.out
    assert status["forecast"]["agent_runs"] == {"p10": 4, "p50": 4, "p90": 4}
    assert "forecast: done at " in text.out
    assert done.code == 0, done.out + done.err
    assert (report["took"]["agent_runs"], report["took"]["runs_result"]) == (4, "inside")


@pytest.mark.full
@pytest.mark.spec("18.4")
def test_a_run_whose_race_stopped_a_candidate_is_compared_with_its_forecast(
    measured_project: Project,
) -> None:
    project = measured_project
    plan = plan_of(["a"])
    plan["agents"] |= {
        "right": {"command": ["sh", "-c", "echo good > a.txt"]},
        "slow": {"command": ["sh", "-c", "exec sleep 300"]},
    }
    plan["tasks"][0] |= {"race": {"tries": 2, "agents": ["slow", "right"]}}

    done = project.yaoki("run", project.plan(plan))
    report = project.yaoki("report", "--json").document["forecast"]

    assert done.code == 0, done.out
    assert report["not_compared"] is None
    assert report["took"]["agent_runs"] == 2
    assert report["took"]["cost"] is None, "neither told its cost"


@pytest.mark.sqlite(why="it edits the store's own file")
def test_damaged_lines_of_an_old_run_stop_no_command(measured_project: Project) -> None:
    """`doctor` names them; every forecast does without them."""
    project = measured_project
    for seq, data in enumerate(('{"x":', "[]", '{"x": 1}')):
        run_sql(
            project.database,
            "UPDATE journal SET data = ? WHERE event = 'AGENT_FINISHED' AND seq % 3 = ?",
            data,
            seq,
        )
    run_sql(project.database, "UPDATE journal SET data = '{' WHERE event = 'ATTEMPT_STARTED'")
    gate = project.folder / "gate"
    plan = project.plan(plan_of(["a"], gate))

    shown = project.yaoki("plan", plan)
    with project.beside("run", plan) as running:
        wait_until(lambda: stages(project) == {"a": "WORK"}, "it works")
        status, stats = project.query("status"), project.yaoki("stats", "forecast")
        gate.touch()
    done = running.result()

    assert (shown.code, status.code, stats.code, done.code) == (0, 0, 0, 0), done.out + done.err
    assert "of the journal cannot be read" in shown.err
    assert "forecasts leave them out: yaoki doctor" in shown.err
    doctor = project.yaoki("doctor")
    assert doctor.code != 0
    assert "journal" in doctor.out
