"""Regression tests for wrong results and wrong counts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

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
    """Two subtasks; the second one never passes its check."""
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
@pytest.mark.spec("16.9", "8.3")
@pytest.mark.parametrize("second", [{}, {"required": True}])
def test_a_group_does_not_land_without_a_required_subtask(
    project: Project, second: dict[str, Any]
) -> None:
    """By default nothing of the group lands, and a person is asked about the subtask."""
    done = project.yaoki("run", project.plan(a_group(second)), "--quiet")

    assert done.code == 4, done.out + done.err
    assert landed_files(project) == set()
    assert project.task("g2")["required"] is True
    assert project.task("g2")["state"] == "ESCALATED"
    assert event_data(project, "grp", "RECOVERY_COMPLETE") == []


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("16.9", "12.1")
def test_a_run_whose_partial_group_lacks_a_required_subtask_exits_with_3(project: Project) -> None:
    """The plan allows a partial group; the run still names the missing subtask."""
    done = project.yaoki("run", project.plan(a_group({}, partial=True)), "--quiet")

    assert done.code == 3, done.out + done.err
    assert landed_files(project) == {"g1.txt"}
    assert "g2 was left out of its group" in done.out
    assert project.status()["status"] == "CANCELLED"
    (complete,) = event_data(project, "grp", "RECOVERY_COMPLETE")
    assert complete == {
        "strategy": "PARTIAL_COMMIT",
        "recovered_subtasks": [],
        "left_out_subtasks": [project.task("g2")["id"]],
        "final_status": "PARTIAL",
    }
    verdict = project.yaoki("report", "--json").document["verdict"]
    assert "without being done" in verdict
    assert "1 part of a group failed and was left out" in verdict


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("16.9", "9.4")
def test_a_run_is_done_if_its_group_lands_without_an_optional_subtask(project: Project) -> None:
    done = project.yaoki("run", project.plan(a_group({"required": False})), "--quiet")

    assert done.code == 0, done.out + done.err
    assert landed_files(project) == {"g1.txt"}
    assert "g2 was left out of its group" in done.out
    (complete,) = event_data(project, "grp", "RECOVERY_COMPLETE")
    assert (complete["recovered_subtasks"], complete["final_status"]) == ([], "PARTIAL")


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
    "other-word": """echo '{"status": "Error", "summary": "cannot do it"}' > $YAOKI_RESULT""",
    "not-json": "echo 'failed: cannot do it' > $YAOKI_RESULT",
}


@pytest.mark.quick_cases(1)
@pytest.mark.acceptance
@pytest.mark.spec("16.8")
@pytest.mark.parametrize("form", SAYS_FAILED)
@pytest.mark.parametrize("code", [0, 1])
def test_passing_checks_do_not_overrule_an_agent_that_reports_failure(
    project: Project, form: str, code: int
) -> None:
    """The checks pass, but the agent says that it failed: it is tried again with its own words."""
    plan = plan_of_one(f"{NOTES}{SAYS_FAILED[form]}; exit {code}", retry={"max_retries": 1})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    task = project.task("t")
    assert done.code == 4, done.out + done.err
    assert (task["state"], task["landed"]) == ("ESCALATED", None)
    assert landed_files(project) == set()
    (retried,) = event_data(project, "t", "RETRY_DECISION")
    assert (retried["failure"]["kind"], retried["failure"]["pattern"]) == (
        "INCOMPLETE",
        "agent-failed",
    )
    assert "cannot do it" in project.prompt(task, 2)
    assert "cannot do it" in task["question"]
    assert "cannot do it" in project.yaoki("report").out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("16.8", "10.4")
def test_a_person_may_accept_work_that_its_agent_reported_as_failed(project: Project) -> None:
    plan = plan_of_one(f"{NOTES}{SAYS_FAILED['command']}", retry={"max_retries": 0})
    project.yaoki("run", project.plan(plan), "--quiet")

    project.yaoki("answer", "t", "done")
    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert landed_files(project) == {"notes.txt"}


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("16.8")
def test_a_reported_conflict_is_escalated_at_once_with_both_sides(project: Project) -> None:
    why = "test_a wants 3, the task says 4"
    call = f"{sys.executable} -m yaoki result --status conflict --summary '{why}'"
    plan = plan_of_one(f"{NOTES}{call}")

    done = project.yaoki("run", project.plan(plan), "--quiet")

    task = project.task("t")
    assert done.code == 4, done.out + done.err
    assert (task["state"], task["attempt"], task["reason"]) == ("ESCALATED", 1, "NEEDS_HUMAN")
    assert "write the notes" in task["question"]
    assert why in task["question"]
    assert event_data(project, "t", "RETRY_DECISION") == []
    assert landed_files(project) == set()


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("4.2")
def test_a_nonzero_exit_code_is_shown_wherever_the_task_is_shown(project: Project) -> None:
    done = project.yaoki("run", project.plan(plan_of_one(f"{NOTES}exit 3")), "--quiet")

    assert done.code == 0, done.out + done.err
    assert "exit code 3" in done.out
    assert project.task("t")["agent_ended"] == "exit code 3"
    for words in (("status",), ("why", "t"), ("report",)):
        assert "exit code 3" in project.yaoki(*words).out, words
    page = project.folder / "report.html"
    project.yaoki("report", "--output", str(page))
    assert "exit code 3" in page.read_text()


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
    for n in range(1, 6):
        plan["tasks"].append(
            {"id": f"o{n}", "goal": "x", "agent": "other", "checks": ["some"], "needs": before}
        )
        before = [f"o{n}"]

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert agents_of(project, "t") == ["small", "small", "small", "large"]
    assert done.code == 0, done.out + done.err


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("4.6", "5.6")
def test_the_next_agent_of_the_chain_starts_after_three_identical_failures(
    project: Project,
) -> None:
    """The small agent leaves something else each time and never passes; the large one does."""
    done = project.yaoki(
        "run", project.plan(plan_with_agent_chain("date +%N > same.txt")), "--quiet"
    )

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
@pytest.mark.parametrize("most", [0, 1])
def test_an_agent_that_kills_its_shim_uses_up_its_own_retries(project: Project, most: int) -> None:
    """The worker lives, so no crash cut the agent off: its own retries bound it."""
    ran = project.folder / "ran"
    dies = shell("echo ran >> $COUNT; kill -9 $PPID; sleep 1") | {"env": {"COUNT": str(ran)}}
    plan = {
        "goal": "x",
        "agents": {"m": dies},
        "agent": "m",
        "checks": {"c": {"shell": "test -f never"}},
        "tasks": [{"id": "t", "goal": "x", "retry": {"max_retries": most}}],
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert ran.read_text().splitlines() == ["ran"] * (most + 1)
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


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "0.1")
def test_a_users_task_named_like_a_replan_is_not_treated_as_one(
    project: Project,
) -> None:
    """It fails for good: it stays the user's question, and the planner gets all its rounds."""
    plan = plan_with_planner(
        project,
        {"tasks": [], "impossible": "nothing can be done", "reason": "no"},
        checks={"good": {"shell": "test -f good.txt"}, "never": {"shell": "test -f never"}},
        tasks=[
            {"id": "replan-parser", "goal": "x", "agent": "bad", "checks": ["never"]}
            | {"retry": {"max_retries": 0}},
            {"id": "replan-1", "goal": "x", "checks": ["good"]},
        ],
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert project.task("replan-parser")["state"] == "ESCALATED"
    assert project.task("replan-1")["state"] == "DONE"
    assert (project.folder / "asked").exists(), "the planner was asked"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "2.2")
def test_a_users_phase_named_like_an_iteration_belongs_to_the_first_iteration(
    project: Project,
) -> None:
    grow = {"id": "grow", "goal": "x", "checks": ["some"]}
    plan = {
        "goal": "x",
        "agents": {"m": shell("echo line >> count.txt")},
        "agent": "m",
        "checks": {
            "some": {"shell": "test -s count.txt"},
            "enough": {"shell": "test $(wc -l < count.txt) -ge 2"},
        },
        "phases": [{"id": "iteration-2", "tasks": [grow]}],
        "done_when": ["enough"],
        "continuous": {"max_iterations": 3},
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    names = [task["name"] for task in project.status()["tasks"] if task["kind"] == "change"]
    assert names == ["grow", "grow-i2"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "0.5")
def test_a_continuous_run_says_why_it_stopped(project: Project) -> None:
    plan = {
        "goal": "x",
        "agents": {"m": shell("echo line >> count.txt")},
        "agent": "m",
        "checks": {
            "some": {"shell": "test -s count.txt"},
            "never": {"shell": "test -f never.txt"},
        },
        "tasks": [{"id": "grow", "goal": "x", "checks": ["some"]}],
        "done_when": ["never"],
        "continuous": {"max_iterations": 2},
    }
    limit = "2 iterations, which is the limit"

    project.yaoki("run", project.plan(plan), "--quiet")
    project.yaoki("resume", "--quiet")

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
@pytest.mark.spec("8.4", "4.8", "1.3")
def test_a_task_whose_setup_always_fails_is_escalated_without_a_rerun(
    project: Project,
) -> None:
    plan = plan_of_one(NOTES) | {"setup": [["false"]]}

    done = project.yaoki("run", project.plan(plan), "--quiet")

    task = project.task("t")
    assert done.code == 4, done.out + done.err
    assert (task["state"], task["reason"]) == ("ESCALATED", "SYSTEM_ERROR_TRANSIENT")
    assert "RERUN_GRANTED" not in project.event_names("t")
    assert "RERUN_HELD" in project.event_names("t")


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "4.2")
def test_a_failure_message_that_mentions_git_is_not_classified_as_a_git_error(
    project: Project,
) -> None:
    plan = plan_of_one(NOTES) | {"setup": [["git", "no-such-command"]]}
    plan |= {"done_when": ["lint"], "continuous": {"max_iterations": 1, "max_failures": 2}}

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
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
@pytest.mark.spec("9.2", "10.1")
def test_a_replacement_counts_only_its_own_attempts(project: Project) -> None:
    project.yaoki("run", project.plan(failing_plan(retry={"max_retries": 1})), "--quiet")

    added = project.yaoki("plan", "add-retry-task", "--retry-of", "t")
    project.yaoki("resume", "--quiet")

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


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("7.4", "7.2")
def test_the_prompt_after_a_timeout_names_the_limit_and_the_time_used(project: Project) -> None:
    busy = "while test $YAOKI_ATTEMPT = 1; do echo busy; sleep 0.1; done"
    plan = plan_of_one(f"{busy}; echo ok > notes.txt", timeout="4s", hang="3s")

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    prompt = project.prompt(project.task("t"), 2)
    assert "Time limit: 4 s" in prompt
    assert "Time used: " in prompt


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.3", "8.4")
def test_a_rerun_is_reported_as_a_retry(project: Project) -> None:
    """It fails alone, and its one re-run passes on what another task landed meanwhile."""
    plan = {
        "goal": "x",
        "agents": {
            "slow": shell("sleep 1; echo 1 > first.txt"),
            "m": shell("date +%N > mine.txt"),
        },
        "checks": {"first": {"shell": "test -f first.txt"}},
        "tasks": [
            {"id": "a", "goal": "x", "agent": "slow", "checks": ["first"]},
            {"id": "t", "goal": "x", "agent": "m", "checks": ["first"]}
            | {"retry": {"cause_specific": {"QUALITY_FAILURE": {"max_retries": 0}}}},
        ],
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    report = project.yaoki("report", "--json").document
    assert (report["numbers"]["retries"], report["not_retried"]) == (1, [])


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("12.1", "2.3")
def test_plan_tasks_are_not_counted_as_landed_tasks(project: Project) -> None:
    answer = {"tasks": [{"id": "g", "goal": "x", "checks": ["good"]}], "reason": "one is enough"}
    plan = plan_with_planner(
        project,
        answer,
        checks={"good": {"shell": "test -f good.txt"}},
        phases=[{"id": "build", "deferred": True, "goal": "build it"}],
    )
    del plan["agents"]["bad"]

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert "1 of 1 task landed on " in done.out
    assert "; 1 plan written" in done.out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("6.7", "9.3")
@pytest.mark.parametrize("word", ["replan", "impossible"])
@pytest.mark.parametrize("planner", [True, False])
def test_a_judge_that_asks_for_another_plan_ends_the_retries(
    project: Project, word: str, planner: bool
) -> None:
    judged = {"pass": False, "reason": "the task is wrong", "missing": ["x"], "next": word}
    file = project.folder / "judged.json"
    file.write_text(json.dumps(judged))
    plan = plan_with_planner(
        project,
        {"tasks": [], "impossible": "it is not possible", "reason": "no"},
        checks={"review": {"judge": {"agent": "critic", "ask": "It is good."}}},
        tasks=[{"id": "t", "goal": "x", "checks": ["review"]}],
    )
    del plan["agents"]["bad"]
    plan["agents"]["critic"] = shell(f"cat {file}")
    if not planner:
        del plan["planner"], plan["agents"]["thinker"]

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert agents_of(project, "t") == ["good"], "no further try"
    assert (project.folder / "asked").exists() == planner
    assert "the task is wrong" in project.task("t")["question"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("5.7", "9.3")
def test_the_planner_is_informed_of_a_failure_that_is_not_safe_to_retry(project: Project) -> None:
    unsafe = f"{sys.executable} -m yaoki result --status failed --summary half --no-retry-safe"
    plan = plan_with_planner(
        project,
        {"tasks": [], "impossible": "it is not possible", "reason": "no"},
        checks={"good": {"shell": "test -f good.txt"}},
        tasks=[{"id": "t", "goal": "x", "agent": "bad"}],
    )
    plan["agents"]["bad"] = shell(unsafe)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert agents_of(project, "t") == ["bad"]
    assert (project.folder / "asked").exists()


@pytest.mark.acceptance
@pytest.mark.spec("10.3", "15")
def test_a_message_length_over_the_limit_is_refused(project: Project) -> None:
    project.settings(f"{SETTINGS}\n[escalate]\nmax_message_length = 501\n")

    refused = project.yaoki("validate", project.plan(plan_of_one(NOTES)))

    assert refused.code == 2
    assert "max_message_length" in refused.err
    assert "500" in refused.err


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.1")
def test_journal_entries_of_a_subtask_name_the_subtask(project: Project) -> None:
    project.yaoki("run", project.plan(a_group({"required": False})), "--quiet")

    for name, subtask in (("g1", project.task("g1")["id"]), ("grp", None)):
        assert {entry["subtask"] for entry in project.events(name)} == {subtask}, name


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("4.1", "15")
def test_a_list_of_retryable_failures_does_not_disable_retries_after_interruptions(
    project: Project,
) -> None:
    """The list of the first document knows five kinds; a crash is none of them."""
    kinds = '["INCOMPLETE", "QUALITY_FAILURE", "TIMEOUT", "TRANSIENT_ERROR", "RATE_LIMIT"]'
    project.settings(f"[retry]\nretryable_failures = {kinds}\n{SETTINGS}")
    dies = "test $YAOKI_ATTEMPT = 1 && kill -9 $PPID; sleep 0.1; echo ok > notes.txt"

    done = project.yaoki("run", project.plan(plan_of_one(dies)), "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.task("t")["attempt"] == 2


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("5.6", "2.1")
def test_a_task_may_choose_the_failures_to_retry_and_their_hints(project: Project) -> None:
    hint = {"QUALITY_FAILURE": {"modification_hint": "Look at never.txt.", "max_retries": 1}}
    plan = failing_plan(retry={"cause_specific": hint})
    only = failing_plan(retry={"retryable_failures": ["TIMEOUT"]})
    wrong = failing_plan(retry={"retryable_failures": ["FATAL_ERROR"]})

    project.yaoki("run", project.plan(plan), "--quiet")
    hinted = project.prompt(project.task("t"), 2)
    project.yaoki("run", project.plan(only), "--quiet")
    refused = project.yaoki("validate", project.plan(wrong))

    assert "Look at never.txt." in hinted
    assert project.task("t")["attempt"] == 1
    assert (refused.code, "FATAL_ERROR is never retried" in refused.err) == (2, True)
