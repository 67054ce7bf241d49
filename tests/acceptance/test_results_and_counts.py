"""Regression tests for wrong results and wrong counts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import SETTINGS, Project


def shell(words: str) -> dict[str, Any]:
    """An agent that is one line of shell and ignores its prompt."""
    return {"command": ["sh", "-c", words], "prompt": "argument"}


def event_data(project: Project, task: str, event: str) -> list[dict[str, Any]]:
    return [entry["data"] for entry in project.events(task) if entry["event"] == event]


def landed_files(project: Project) -> set[str]:
    held = project.git("ls-tree", "-r", "--name-only", project.status()["run_branch"]).split()
    return set(held) - {"README", "yaoki.toml"}


# ------------------------------------------------------------------ a failed part of a group


def a_group(second: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Two subtasks; the second one never passes its check.  A group whose subtask is required is
    tested with the other groups.
    """
    good, bad = shell("echo 1 > g1.txt"), shell("date +%N > no.txt")
    subtasks = [
        {"id": "g1", "goal": "x", "agent": "good", "checks": ["c1"]},
        {"id": "g2", "goal": "x", "agent": "bad", "checks": ["c2"], **second},
    ]
    return {
        "goal": "x",
        "agents": {"good": good, "bad": bad},
        "checks": {
            "c1": {"shell": "test -f g1.txt"},
            "c2": {"shell": "test -f g2.txt"},
            "some": {"shell": "ls g*.txt"},
        },
        "tasks": [
            {"id": "grp", "goal": "x", "kind": "group", "checks": ["some"], "tasks": subtasks}
            | more
        ],
    }


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("16.9", "8.3", "9.4", "10.1")
def test_a_run_is_done_if_its_group_lands_without_an_optional_subtask(project: Project) -> None:
    """The entries of its journal name the subtask."""
    done = project.yaoki("run", project.plan(a_group({"required": False})), "--quiet")

    assert done.code == 0, done.out + done.err
    assert landed_files(project) == {"g1.txt"}
    assert "g2 was left out of its group" in done.out
    (complete,) = event_data(project, "grp", "RECOVERY_COMPLETE")
    assert (complete["recovered_subtasks"], complete["final_status"]) == ([], "PARTIAL")
    for name, subtask in (("g1", project.task("g1")["id"]), ("grp", None)):
        assert {entry["subtask"] for entry in project.events(name)} == {subtask}, name


# ------------------------------------------------------------------ an agent's own word of failure


def plan_of_one(words: str, **more: Any) -> dict[str, Any]:
    """A plan with one shell agent and a check that its work passes."""
    return {
        "goal": "x",
        "agents": {"m": shell(words)},
        "agent": "m",
        "checks": {"lint": {"shell": "test -f notes.txt"}},
        "tasks": [{"id": "t", "goal": "write the notes", **more}],
    }


NOTES = "echo sorry $$ > notes.txt; "
SAYS_FAILED = {
    "command": f"{sys.executable} -m yaoki result --status failed --summary 'cannot do it'",
    "file": """echo '{"status": "failed", "summary": "cannot do it"}' > $YAOKI_RESULT""",
    "not-json": "echo 'failed: cannot do it' > $YAOKI_RESULT",
}


CANNOT = "test_a wants 3, the task says 4"
SAYS_CONFLICT = f"{sys.executable} -m yaoki result --status conflict --summary '{CANNOT}'"


@pytest.mark.acceptance
@pytest.mark.spec("16.8")
def test_passing_checks_do_not_overrule_an_agent_that_reports_failure(project: Project) -> None:
    plan = plan_of_one(f"{NOTES}{SAYS_FAILED['command']}; exit 0", retry={"max_retries": 1})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    task = project.task("t")
    assert (task["state"], task["landed"]) == ("ESCALATED", None)
    (retried,) = event_data(project, "t", "RETRY_DECISION")
    failure = retried["failure"]
    assert (failure["kind"], failure["pattern"]) == ("INCOMPLETE", "agent-failed")
    assert "cannot do it" in project.prompt(task, 2), "tried again with the agent's own words"
    assert "cannot do it" in task["question"]
    assert landed_files(project) == set()
    assert "cannot do it" in project.yaoki("report").out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("16.8", "10.4")
def test_an_agents_report_of_failure_or_conflict_stands_until_a_person_accepts_the_work(
    project: Project,
) -> None:
    """Reported in a file, with exit code 0 or 1; a conflict is not tried again.  What the file may
    contain is tested with its reader.
    """
    ends = {"file": 0, "not-json": 1}
    says = {form: f"{SAYS_FAILED[form]}; exit {code}" for form, code in ends.items()}
    says["conflict"] = SAYS_CONFLICT
    plan = {
        "goal": "x",
        "agents": {
            name: shell(f"echo sorry $$ > {name}.txt; {words}") for name, words in says.items()
        },
        "checks": {name: {"shell": f"test -f {name}.txt"} for name in says},
        "tasks": [
            {"id": name, "goal": "write the notes", "agent": name, "checks": [name]}
            | {"retry": {"max_retries": int(name == "conflict")}}
            for name in says
        ],
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert landed_files(project) == set()
    for name in ends:
        (asked,) = event_data(project, name, "ESCALATE_DECISION")
        failure = asked["failure"]
        assert (failure["kind"], failure["pattern"]) == ("INCOMPLETE", "agent-failed")
        assert "cannot do it" in project.task(name)["question"]
    task = project.task("conflict")
    assert (task["state"], task["attempt"], task["reason"]) == ("ESCALATED", 1, "NEEDS_HUMAN")
    assert "write the notes" in task["question"]
    assert CANNOT in task["question"]
    assert event_data(project, "conflict", "RETRY_DECISION") == []
    project.yaoki("answer", "file", "done")
    project.yaoki("resume", "--quiet")
    assert landed_files(project) == {"file.txt"}


def run_with_odd_ends(project: Project) -> str:
    """A run of two tasks that land: an agent ended with code 3, and one exceeded its time limit
    at first; what the run said.
    """
    busy = "while test $YAOKI_ATTEMPT = 1; do echo busy; sleep 0.1; done; echo ok > busy.txt"
    plan = plan_of_one(f"{NOTES}exit 3")
    plan["agents"]["busy"] = shell(busy)
    plan["checks"]["busy"] = {"shell": "test -f busy.txt"}
    task = {"id": "busy", "goal": "x", "agent": "busy", "checks": ["busy"]}
    plan["tasks"][0]["checks"] = ["lint"]
    plan["tasks"].append({**task, "timeout": "3s", "hang": "2s"})
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert done.code == 0, done.out + done.err
    return done.out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("4.2")
def test_a_nonzero_exit_code_is_shown_wherever_the_task_is_shown(prepared: Prepared) -> None:
    project, out = prepared.after(run_with_odd_ends)

    assert "exit code 3" in out
    assert project.task("t")["agent_ended"] == "exit code 3"
    for words in (("status",), ("why", "t"), ("report",)):
        assert "exit code 3" in project.query(*words).out, words
    page = project.folder / "report.html"
    project.yaoki("report", "--output", str(page))
    assert "exit code 3" in page.read_text()


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("7.4", "7.2")
def test_the_prompt_after_a_timeout_names_the_limit_and_the_time_used(prepared: Prepared) -> None:
    project, _ = prepared.after(run_with_odd_ends)

    prompt = project.prompt(project.task("busy"), 2)

    assert "Time limit: 3 s" in prompt
    assert "Time used: " in prompt


# ------------------------------------------------------------------ futile tries


def agents_of(project: Project, task: str) -> list[str]:
    return [data["agent"] for data in event_data(project, task, "ATTEMPT_STARTED")]


def plan_with_agent_chain(small: str, **more: Any) -> dict[str, Any]:
    return {
        "goal": "chain",
        "agents": {"small": shell(small), "large": shell("echo ok > good.txt"), **more},
        "checks": {"good": {"shell": "test -f good.txt"}},
        "tasks": [
            {"id": "t", "goal": "make good.txt", "agent": ["small", "large"], "checks": ["good"]}
            | {"priority": 5}
        ],
    }


@pytest.mark.acceptance
@pytest.mark.spec("18.2", "4.6")
def test_an_identical_failure_is_recognised_while_other_tasks_land(project: Project) -> None:
    """Another task lands during each try of `small`, so no two of its trees are the same."""
    landed = "test $(git log --oneline --first-parent {branch} | wc -l) -gt $YAOKI_ATTEMPT"
    branch = "refs/heads/yaoki/$YAOKI_RUN"
    waits = f"for i in $(seq 600); do {landed.format(branch=branch)} && break; sleep 0.05; done"
    plan = plan_with_agent_chain(
        f"{waits}; echo same > same.txt", other=shell("echo x > $YAOKI_TASK_NAME.txt")
    )
    plan["checks"]["some"] = {"shell": "test -f README"}
    before: list[str] = []
    for n in range(1, 4):
        plan["tasks"].append(
            {"id": f"o{n}", "goal": "x", "agent": "other", "checks": ["some"], "needs": before}
        )
        before = [f"o{n}"]

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert agents_of(project, "t") == ["small", "small", "small", "large"]
    assert done.code == 0, done.out + done.err


# ------------------------------------------------------------------ lost runs


@pytest.mark.acceptance
@pytest.mark.spec("18.7", "10.6")
def test_a_lost_agent_run_counts_in_budget_and_report(project: Project) -> None:
    """The agent kills its shim, so its exit is never recorded."""
    ran = project.folder / "ran"
    dies = shell("echo ran >> $COUNT; kill -9 $PPID; sleep 1") | {"env": {"COUNT": str(ran)}}
    plan = {
        "goal": "x",
        "budget": {"attempts": 2},
        "agents": {"m": dies},
        "agent": "m",
        "checks": {"c": {"shell": "test -f never"}},
        "tasks": [{"id": "t", "goal": "x"}],
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 5, done.out + done.err
    assert ran.read_text().splitlines() == ["ran", "ran"]
    assert "2 of 2 attempts of the run are used" in done.out
    assert project.status()["untold"] == 2, "unknown is not zero"
    numbers = project.yaoki("report", "--json").document["numbers"]
    assert (numbers["agent_runs"], numbers["cost"], numbers["cost_untold"]) == (2, None, 2)
    assert "with 2 runs of agents" in project.yaoki("report").out


@pytest.mark.spec("5.1", "3.7", "0.4")
def test_an_agent_that_kills_its_shim_uses_up_its_own_retries(project: Project) -> None:
    """The worker lives, so no crash cut the agent off: its own retries bound it."""
    ran = project.folder / "ran"
    dies = shell("echo ran >> $COUNT; kill -9 $PPID; sleep 1") | {"env": {"COUNT": str(ran)}}
    plan = {
        "goal": "x",
        "agents": {"m": dies},
        "agent": "m",
        "checks": {"c": {"shell": "test -f never"}},
        "tasks": [{"id": "t", "goal": "x", "retry": {"max_retries": 1}}],
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert ran.read_text().splitlines() == ["ran", "ran"]
    (entry,) = [e["data"] for e in project.events("t") if e["event"] == "ESCALATE_DECISION"]
    assert entry["failure"]["kind"] == "INCOMPLETE"
    assert "the shim that runs the agent was killed" in project.yaoki("why", "t").out


# ------------------------------------------------------------------ tasks of the run itself


def plan_with_planner(project: Project, answer: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A plan with a planner that always gives this answer, and leaves a mark when it is asked."""
    file = project.folder / "answer.json"
    file.write_text(json.dumps(answer))
    return {
        "goal": "x",
        "agents": {
            "bad": shell("date +%N > no.txt"),
            "good": shell("echo ok > good.txt"),
            "thinker": shell(f"echo asked >> {project.folder}/asked; cat {file}"),
        },
        "agent": "good",
        "planner": "thinker",
        **more,
    }


def asks_for_another_plan(project: Project, word: str) -> dict[str, Any]:
    """A judge that rejects the task itself."""
    judged = {"pass": False, "reason": f"wrong: {word}", "missing": ["x"], "next": word}
    file = project.folder / f"{word}.json"
    file.write_text(json.dumps(judged))
    return shell(f"cat {file}")


NEXT = ("replan", "impossible")


def judged_tasks(project: Project, plan: dict[str, Any]) -> None:
    """Add a task for each word with which a judge ends the retries."""
    for word in NEXT:
        plan["agents"][f"critic-{word}"] = asks_for_another_plan(project, word)
        ask = {"agent": f"critic-{word}", "ask": "It is good."}
        plan["checks"][f"review-{word}"] = {"judge": ask}
        task = {"id": f"judged-{word}", "goal": "x", "agent": "judged"}
        plan["tasks"].append({**task, "checks": [f"review-{word}"]})
    plan["agents"]["judged"] = shell("echo x > $YAOKI_TASK_NAME.txt")


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "0.1", "5.7", "6.7")
def test_the_planner_is_informed_of_every_failure_that_no_retry_can_mend(project: Project) -> None:
    """Also of a user's task that is named like a replan, and stays the user's question."""
    unsafe = f"{sys.executable} -m yaoki result --status failed --summary half --no-retry-safe"
    plan = plan_with_planner(
        project,
        {"tasks": [], "impossible": "nothing can be done", "reason": "no"},
        checks={"good": {"shell": "test -f good.txt"}, "never": {"shell": "test -f never"}},
        tasks=[
            {"id": "replan-parser", "goal": "x", "agent": "bad", "checks": ["never"]}
            | {"retry": {"max_retries": 0}},
            {"id": "replan-1", "goal": "x", "checks": ["good"]},
            {"id": "unsafe", "goal": "x", "agent": "unsafe", "checks": ["never"]},
        ],
    )
    plan["agents"]["unsafe"] = shell(unsafe)
    judged_tasks(project, plan)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert project.task("replan-parser")["state"] == "ESCALATED"
    assert project.task("replan-1")["state"] == "DONE"
    assert agents_of(project, "unsafe") == ["unsafe"], "no further try"
    for word in NEXT:
        assert agents_of(project, f"judged-{word}") == ["judged"], "no further try"
        assert f"wrong: {word}" in project.task(f"judged-{word}")["question"]
    assert (project.folder / "asked").exists(), "the planner was asked"
    (planned,) = [task for task in project.status()["tasks"] if task["kind"] == "plan"]
    prompt = project.prompt(planned, 1)
    for words in ("replan-parser", "unsafe", *(f"wrong: {word}" for word in NEXT)):
        assert words in prompt, words


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "0.5", "2.2")
def test_a_continuous_run_says_why_it_stopped(project: Project) -> None:
    """A user's phase that is named like an iteration belongs to the first one."""
    grow = {"id": "grow", "goal": "x", "checks": ["some"]}
    plan = {
        "goal": "x",
        "agents": {"m": shell("echo line >> count.txt")},
        "agent": "m",
        "checks": {
            "some": {"shell": "test -s count.txt"},
            "never": {"shell": "test -f never.txt"},
        },
        "phases": [{"id": "iteration-2", "tasks": [grow]}],
        "done_when": ["never"],
        "continuous": {"max_iterations": 2},
    }
    limit = "2 iterations, which is the limit"

    project.yaoki("run", project.plan(plan), "--quiet")
    project.yaoki("resume", "--quiet")

    names = [task["name"] for task in project.status()["tasks"] if task["kind"] == "change"]
    assert names == ["grow", "grow-i2"]
    entries = [e["data"] for e in project.events() if e["event"] == "ITERATION_FINISHED"]
    assert [(data["iteration"], data["decision"]) for data in entries] == [(1, "next"), (2, "stop")]
    assert entries[-1]["reason"] == limit
    branch = project.git("rev-parse", project.status()["run_branch"])
    assert (entries[-1]["commit"], entries[-1]["head"]) == ("committed", branch)
    assert project.status()["last_iteration"]["reason"] == limit
    assert limit in project.yaoki("status").out
    assert limit in project.yaoki("report").out


# ------------------------------------------------------------------ system faults


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.4", "4.8", "1.3", "9.7", "4.2")
def test_a_task_whose_setup_always_fails_is_escalated_without_a_rerun(project: Project) -> None:
    """The failure mentions git, and is not classified as a git error for that."""
    plan = plan_of_one(NOTES) | {"setup": [["git", "no-such-command"]]}
    plan |= {"done_when": ["lint"], "continuous": {"max_iterations": 1, "max_failures": 2}}

    done = project.yaoki("run", project.plan(plan), "--quiet")

    task = project.task("t")
    assert done.code == 4, done.out + done.err
    assert (task["state"], task["reason"]) == ("ESCALATED", "SYSTEM_ERROR_TRANSIENT")
    assert "RERUN_GRANTED" not in project.event_names("t")
    assert "RERUN_HELD" in project.event_names("t")
    entries = [e["data"] for e in project.events() if e["event"] == "ITERATION_FINISHED"]
    assert [data["commit"] for data in entries] == ["nothing to commit"]


# ------------------------------------------------------------------ counts and words


def failing_plan(**more: Any) -> dict[str, Any]:
    """One task that leaves something else each time and never passes."""
    plan = plan_of_one("date +%N > no.txt", **more)
    return plan | {"checks": {"never": {"shell": "test -f never.txt"}}}


@pytest.mark.acceptance
@pytest.mark.spec("10.1", "5.2")
def test_failure_types_list_every_failed_attempt_in_order(project: Project) -> None:
    """Held for its re-run and then asked about, a failure is counted once."""
    project.yaoki("run", project.plan(failing_plan(retry={"max_retries": 1})), "--quiet")

    (asked,) = event_data(project, "t", "ESCALATE_DECISION")
    assert asked["failure_summary"]["total_attempts"] == 2
    assert asked["failure_summary"]["failure_types"] == ["QUALITY_FAILURE"] * 2


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("5.6", "2.1", "9.2", "10.1")
def test_a_task_may_choose_the_failures_to_retry_and_its_replacement_counts_anew(
    project: Project,
) -> None:
    hint = {"QUALITY_FAILURE": {"modification_hint": "Look at never.txt.", "max_retries": 1}}
    plan = failing_plan(retry={"cause_specific": hint})
    only = failing_plan(retry={"retryable_failures": ["TIMEOUT"]})
    wrong = failing_plan(retry={"retryable_failures": ["FATAL_ERROR"]})
    plan["tasks"].append({**only["tasks"][0], "id": "only"})

    project.yaoki("run", project.plan(plan), "--quiet")
    hinted, tried = project.prompt(project.task("t"), 2), project.task("only")["attempt"]
    added = project.yaoki("plan", "add-retry-task", "--retry-of", "t")
    project.yaoki("resume", "--quiet")
    refused = project.yaoki("validate", project.plan(wrong))

    assert "Look at never.txt." in hinted
    assert tried == 1
    assert (refused.code, "FATAL_ERROR is never retried" in refused.err) == (2, True)
    assert added.code == 0, added.out + added.err
    (asked,) = event_data(project, "t-r2", "ESCALATE_DECISION")
    assert asked["failure_summary"]["total_attempts"] == 2
    assert asked["failure_summary"]["failure_types"] == ["QUALITY_FAILURE"] * 2


@pytest.mark.acceptance
@pytest.mark.spec("10.4", "7.5")
def test_a_waived_check_does_not_count_as_fixed(project: Project) -> None:
    project.yaoki("run", project.plan(failing_plan(retry={"max_retries": 1})), "--quiet")
    project.yaoki("answer", "t", "waive", "--check", "never")

    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    (told,) = event_data(project, "t", "RETRY_SUCCESS")
    assert told["cured"] == ""
    assert told["waived"] == "never"
    assert (told["retry_count"], told["total_attempts"]) == (2, 2)


@pytest.mark.acceptance
@pytest.mark.spec("10.3", "15")
def test_a_message_length_over_the_limit_is_refused(project: Project) -> None:
    project.settings(f"{SETTINGS}\n[escalate]\nmax_message_length = 501\n")

    refused = project.yaoki("validate", project.plan(plan_of_one(NOTES)))

    assert refused.code == 2
    assert "max_message_length" in refused.err
    assert "500" in refused.err
