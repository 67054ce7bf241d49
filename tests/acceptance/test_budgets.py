"""Budgets of agents, and the notices about them."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project, a_plan, file_contains, wait_until, writes
from tests.adapters.store.store_actions import run_sql

RECORD = """\
import json, pathlib, sys
with open(sys.argv[1], "a") as file:
    file.write(json.dumps(json.load(sys.stdin)) + "\\n")
"""


def plan_with_costs(names: str, cost: float) -> dict[str, Any]:
    """Tasks whose agent reports the cost of each run in the format of a known agent."""
    result = {"type": "result", "subtype": "success", "result": "ok", "total_cost_usd": cost}
    usage = {**result, "usage": {"input_tokens": 60, "output_tokens": 40}, "session_id": "s"}
    script = {n: [[*writes(f"{n}.txt"), {"say": json.dumps(usage)}]] for n in names}
    tasks = [
        {"id": n, "checks": [n], **({"needs": [names[i - 1]]} if i else {})}
        for i, n in enumerate(names)
    ]
    return a_plan(script, tasks, {n: file_contains(f"{n}.txt") for n in names})


def notices(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def settings(project: Project, more: str, heard: Path) -> None:
    script = project.folder / "record.py"
    script.write_text(RECORD)
    command = json.dumps([sys.executable, str(script), str(heard)])
    project.settings(f"{SETTINGS}\n{more}\n[notify]\ncommand = {command}\n")


@pytest.mark.acceptance
@pytest.mark.spec("10.6", "10.5", "0.2")
def test_a_run_pauses_at_its_budget_and_continues_when_the_same_budget_is_granted_again(
    project: Project, tmp_path: Path
) -> None:
    heard = tmp_path / "heard.jsonl"
    settings(project, "", heard)
    plan = {**plan_with_costs("abcd", 0), "budget": {"attempts": 2}}

    paused = project.yaoki("run", project.plan(plan), "--quiet")

    assert paused.code == 5, paused.out + paused.err
    status = project.status()
    assert status["status"] == "PAUSED"
    assert [t["state"] for t in status["tasks"]] == ["DONE", "DONE", "WAITING", "WAITING"]
    assert "2 of 2 attempts of the run are used" in paused.out
    assert [n["event"] for n in notices(heard)] == ["BUDGET_WARNING", "RUN_PAUSED"]
    assert project.yaoki("resume", "--quiet").code == 5, "a restart does not forget it"
    assert len(notices(heard)) == 2, "one notice for one pause"

    assert project.yaoki("answer", status["run"], "go").code == 0
    done = project.yaoki("resume", "--quiet")

    assert done.code in {0, 5}, done.out + done.err
    assert project.task("d")["state"] == "DONE"


@pytest.mark.acceptance
@pytest.mark.spec("10.4", "10.6")
def test_work_of_a_person_is_verified_although_the_budget_of_the_run_is_used_up(
    project: Project,
) -> None:
    plan = a_plan(
        {"a": [[{"write": {"a.txt": "bad\n"}}]]},
        [{"id": "a", "retry": {"max_retries": 0}}],
        {"a": file_contains("a.txt")},
        budget={"attempts": 1},
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    task_id = project.task("a")["id"]
    (worktree,) = project.home.rglob(task_id)
    (worktree / "a.txt").write_text("good\n")

    assert project.yaoki("answer", task_id, "done").code == 0
    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.event_names("a").count("PROMPT_SENT") == 1


@pytest.mark.acceptance
@pytest.mark.spec("9.6", "10.6", "0.6")
def test_a_paused_run_that_is_given_up_ends_with_its_tasks(project: Project) -> None:
    """A task that waits for its retry has a worktree, so it ends in a step of its own."""
    checks = {"a": file_contains("a.txt")}
    plan = a_plan({"a": [writes("a.txt", "bad\n")]}, [{"id": "a", "checks": ["a"]}], checks)
    paused = project.yaoki("run", project.plan({**plan, "budget": {"attempts": 1}}), "--quiet")
    assert paused.code == 5, paused.out + paused.err
    run = project.status()["run"]

    assert project.yaoki("answer", run, "abort").code == 0

    assert project.status()["status"] == "CANCELLED"
    assert project.task("a")["state"] == "CANCELLED"
    forgotten = project.yaoki("forget", run, "--force")
    assert forgotten.code == 0, forgotten.out + forgotten.err


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.6", "10.4")
def test_an_answer_in_a_paused_run_says_what_must_come_first(project: Project) -> None:
    tasks = [{"id": name, "checks": ["a"], "retry": {"max_retries": 0}} for name in ("a", "b")]
    plan = a_plan({"a": [writes("x.txt")]}, tasks, {"a": file_contains("a.txt")})
    file = project.plan({**plan, "budget": {"attempts": 1}})
    project.yaoki("run", file, "--quiet", "--parallel", "1")

    answered = project.yaoki("answer", "a", "done")

    go = f"yaoki answer {project.status()['run']} go"
    assert f"but only after the paused run continues: {go}" in answered.out, answered


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.6")
def test_a_run_warns_once_at_eighty_percent_and_the_day_counts_all_runs_together(
    project: Project,
) -> None:
    """The second run alone would use the day up as well: a midnight between the two changes
    nothing.
    """
    project.settings(f"{SETTINGS}\n[budget]\nday_attempts = 4\n")
    budget = {"attempts": 5}

    plan = {**plan_with_costs("abcd", 0), "budget": budget}
    first = project.yaoki("run", project.plan(plan), "--quiet")
    before = project.events()
    second = project.yaoki("run", project.plan(plan_with_costs("efghi", 0)), "--quiet")

    assert first.code == 0, first.out + first.err
    warned = [e["data"]["message"] for e in before if e["event"] == "BUDGET_WARNING"]
    assert warned.count("4 of 5 attempts of the run are used") == 1
    assert len([words for words in warned if "of the run" in words]) == 1
    assert second.code == 5, second.out + second.err
    assert "of the day" in second.out
    started = [e for e in (*before, *project.events()) if e["event"] == "ATTEMPT_STARTED"]
    begun = [e for e in started if e["data"]["agent"]]
    assert max(Counter(e["at"][:10] for e in begun).values()) == 4


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.6", "1.3")
def test_a_task_over_its_time_budget_is_escalated_and_its_work_is_saved(project: Project) -> None:
    plan = a_plan(
        {"slow": [[{"sleep": 0.3}, *writes("slow.txt", "bad\n")]]},
        [{"id": "slow", "checks": ["slow"], "budget": {"seconds": 0.1}}],
        {"slow": file_contains("slow.txt")},
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    task = project.task("slow")
    assert (task["reason"], task["attempt"]) == ("RESOURCE_EXHAUSTED", 1)
    asked = task["question"]
    assert re.search(r"used [0-9.]+ s of its 0\.1 s of work", asked), asked
    assert "check slow" in asked, "and what is wrong with the work, which as much again may mend"
    assert "slow" in project.yaoki("recover").out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.5", "0.2", "0.3", "8.5", "10.3")
def test_notices_are_sent_once_at_the_end_of_the_run_when_configured_and_retried(
    project: Project, tmp_path: Path
) -> None:
    """At least once: the first commands fail, a later one takes the notice.  An escalation with
    many dependents is one notice.
    """
    heard, broken = tmp_path / "heard.jsonl", tmp_path / "broken"
    settings(project, "[escalate]\nnotify_immediately = false\n", heard)
    broken.touch()
    script = project.folder / "record.py"
    script.write_text(f"import os, sys\nif os.path.exists({str(broken)!r}): sys.exit(7)\n{RECORD}")
    below = [{"id": f"d{n}", "checks": ["d"], "needs": ["bad"]} for n in range(3)]
    plan = a_plan(
        {"bad": [writes("bad.txt", "bad\n")], "default": ["nothing"]},
        [{"id": "bad", "checks": ["bad"], "retry": {"max_retries": 0}}, *below],
        {"bad": file_contains("bad.txt"), "d": file_contains("d.txt")},
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert project.yaoki("resume", "--quiet").code == 4
    assert not {"NOTICE_SENT", "NOTICE_FAILED"} & set(project.event_names())

    project.yaoki("answer", "bad", "abort")
    project.yaoki("resume", "--quiet")
    assert notices(heard) == []
    assert "NOTICE_FAILED" in project.event_names()
    broken.unlink()
    # A channel is tried again after ten seconds, which a test of the notifier counts.
    run_sql(project.database, "UPDATE outbox SET due_ms = 1 WHERE sent_ms = 0 RETURNING id")
    project.yaoki("resume", "--quiet")

    asked, ended = notices(heard)
    assert (asked["event"], ended["event"]) == ("ESCALATE_EXECUTED", "FINAL_SUMMARY")
    assert f"yaoki why {project.task('bad')['id']}" in asked["body"]
    assert project.event_names().count("NOTICE_SENT") == 2
    assert project.event_names("bad").count("NOTICE_SENT") == 1


# ------------------------------------------------------------------ a running agent


def streams(*message_ids: str) -> list[Any]:
    """Events of a known agent: 600 tokens for each of its messages."""
    usage = {"input_tokens": 500, "output_tokens": 100}
    opening = {"type": "system", "subtype": "init", "session_id": "s"}
    events = [
        {"type": "assistant", "message": {"id": each, "usage": usage}} for each in message_ids
    ]
    return [{"say": json.dumps(event)} for event in (opening, *events)]


def plan_with_stream(text: str, second: list[Any], **more: Any) -> dict[str, Any]:
    """The agent writes, reports 1,200 tokens in three events, and works on for a minute."""
    acts = [*writes("a.txt", text), *streams("m1", "m1", "m2"), {"sleep": 60}]
    checks = {"a": file_contains("a.txt")}
    return a_plan({"a": [acts, second]}, [{"id": "a", "checks": ["a"], **more}], checks)


@pytest.mark.acceptance
@pytest.mark.spec("18.7", "10.6", "1.3")
def test_a_running_agent_is_stopped_at_the_budget_of_its_task_and_its_work_is_saved(
    project: Project,
) -> None:
    plan = plan_with_stream("bad\n", [], budget={"tokens": 1000})

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 4, done.out + done.err
    assert "the agent reached the budget of its task and was stopped" in done.out
    task = project.task("a")
    assert (task["reason"], task["attempt"], task["tokens"]) == ("RESOURCE_EXHAUSTED", 1, 1200)
    assert "the task used 1,200 of its 1,000 tokens" in task["question"]
    (finished,) = [e["data"] for e in project.events() if e["event"] == "AGENT_FINISHED"]
    assert finished["exit"]["ended_by"] == "task-budget"
    assert finished["exit"]["seconds"] < 30
    assert "a" in project.yaoki("recover").out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("18.7", "10.6")
def test_a_running_agent_is_stopped_at_the_budget_of_the_run_and_continues_after_a_grant(
    project: Project,
) -> None:
    plan = {**plan_with_stream("bad\n", writes("a.txt")), "budget": {"tokens": 1000}}

    paused = project.yaoki("run", project.plan(plan), "--quiet")

    assert paused.code == 5, paused.out + paused.err
    assert "1200 of 1000 tokens of the run are used" in paused.out
    status = project.status()
    assert (status["status"], status["tasks"][0]["state"]) == ("PAUSED", "WAITING")

    assert project.yaoki("answer", status["run"], "go").code == 0
    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    task = project.task("a")
    assert (task["state"], task["attempt"]) == ("DONE", 2)
    (decision,) = project.query("why", "a", "--json").document["decisions"]
    assert decision["inputs"]["kind"] == "LOST", "no retry of the work is used"


@pytest.mark.acceptance
@pytest.mark.spec("18.7", "0.1")
def test_work_that_passes_its_checks_lands_although_its_agent_was_stopped(
    project: Project,
) -> None:
    plan = plan_with_stream("good\n", [], budget={"tokens": 1000})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.task("a")["state"] == "DONE"


# ------------------------------------------------------------------ lost agent runs


def lose_agent(project: Project, command: tuple[str, ...], started: Path) -> None:
    """Start an agent, then kill its worker, its shim and the agent itself."""
    worker = project.start(*command)
    wait_until(started.exists, "the agent works")
    worker.kill()
    worker.wait()
    for pid in started.read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    started.unlink()


def plan_with_lost_agent(
    started: Path, budget: dict[str, float], first: str = ""
) -> dict[str, Any]:
    """The agent names its shim and itself, and never ends."""
    script = f"{first}echo $PPID $$ > {started}.tmp; mv {started}.tmp {started}; exec sleep 60"
    return {
        "goal": "x",
        "agents": {"a": {"command": ["sh", "-c", script], "prompt": "argument"}},
        "checks": {"a": file_contains("a.txt")},
        "tasks": [{"id": "a", "goal": "x", "agent": "a", "checks": ["a"], "budget": budget}],
    }


@pytest.mark.acceptance
@pytest.mark.spec("18.7", "10.6")
def test_lost_agent_runs_count_in_the_attempts_of_their_task(
    project: Project, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    plan = project.plan(plan_with_lost_agent(started, {"attempts": 1}))
    lose_agent(project, ("run", plan, "--quiet"), started)

    asked = project.yaoki("resume", "--quiet")

    assert asked.code == 4, asked.out + asked.err
    task = project.task("a")
    assert (task["reason"], task["attempt"]) == ("RESOURCE_EXHAUSTED", 1)
    assert "the task used 1 of its 1 attempts" in task["question"]
    assert project.event_names("a").count("PROMPT_SENT") == 1


@pytest.mark.acceptance
@pytest.mark.spec("18.7", "10.6")
def test_the_seconds_of_a_lost_agent_run_count_in_budgets_and_the_report(
    project: Project, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    plan = plan_with_lost_agent(started, {"seconds": 0.2}, "sleep 0.3; ")
    begun_s = time.monotonic()
    lose_agent(project, ("run", project.plan(plan), "--quiet"), started)
    passed_s = time.monotonic() - begun_s

    asked = project.yaoki("resume", "--quiet")

    assert asked.code == 4, asked.out + asked.err
    task = project.task("a")
    assert (task["reason"], task["attempt"]) == ("RESOURCE_EXHAUSTED", 1)
    assert re.search(r"used [0-9.]+ s of its 0\.2 s of work", task["question"])
    (lost,) = [e["data"] for e in project.events("a") if e["event"] == "AGENT_RUN_LOST"]
    assert 0.2 <= lost["seconds"] <= passed_s
    report = project.query("report", "--format", "json").document
    assert report["time"]["agent_s"] == lost["seconds"]
