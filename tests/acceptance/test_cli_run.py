"""A plan runs to its end: what lands, what is shown, and the prompts of the agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.project import (
    BOUND_S,
    GIT_IDENTITY,
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    tap_script,
    waits_for,
    writes,
)


@pytest.mark.acceptance
@pytest.mark.spec("0.1", "2.1", "12.1", "1.4", "1.5")
def test_a_plan_runs_to_its_end(project: Project) -> None:
    """Two tasks, one needing the other; the user's checkout is not touched."""
    plan = a_plan(
        {"one": [writes("one.txt")], "two": [writes("two.txt")]},
        [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
        {"one": file_contains("one.txt"), "two": file_contains("two.txt")},
        done_when=["one"],
    )

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    status = project.status()
    run = status["run"]
    assert (status["schema"], status["status"]) == (1, "DONE")
    assert status["run_branch"] == f"yaoki/{run}"
    assert [t["id"] for t in status["tasks"]] == [f"{run}-1", f"{run}-2", f"{run}-3"]
    assert [t["name"] for t in status["tasks"]] == ["one", "two", "done_when"]
    assert {t["state"] for t in status["tasks"]} == {"DONE"}
    landed = status["tasks"][1]["landed"]
    assert project.git("merge-base", "--is-ancestor", landed, status["run_branch"]) == ""
    assert project.show(status["run_branch"], "two.txt") == "good"
    assert project.git("status", "--porcelain") == ""
    assert "At most 38 agent runs" in done.out
    # The same count everywhere: the final check is not a task of the plan.
    report = project.yaoki("report").out
    assert "2 of 2 tasks landed" in done.out
    assert "uncommitted" not in done.out
    assert "the whole run branch was verified again after that" in done.out
    assert "both tasks are done" in report
    assert "had passed on this commit: two" in report, "done_when did not repeat it"
    assert "2/2 landed" in project.yaoki("status", "--all").out
    assert done.out.splitlines()[-1] == f"next: yaoki merge {run}"
    # `yaoki merge` leaves a checkout with changes alone; git moves it to the proven head.
    (project.repo / "README").write_text("uncommitted\n")
    assert project.status()["next"] == f"git merge --ff-only yaoki/{run}"
    project.git(*GIT_IDENTITY, "commit", "-qam", "meanwhile")
    (project.repo / "README").write_text("uncommitted again\n")
    assert project.status()["next"] == f"yaoki merge {run}", "the merge commit is not proven"
    project.git("reset", "-q", "--hard", "HEAD~1")
    assert project.yaoki("resume").code == 0, "a finished run stays finished"


@pytest.mark.spec("2.1")
def test_the_landed_commit_refers_to_the_ticket_of_its_task(project: Project) -> None:
    tasks = [{"id": "one", "ticket": "ABC-12\nYaoki-Run: x"}]
    plan = a_plan({"one": [writes("one.txt")]}, tasks, {"one": file_contains("one.txt")})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    refers = project.git(
        "log", "-1", "--format=%(trailers:key=Refs,valueonly)", project.status()["run_branch"]
    )
    assert refers == "ABC-12 Yaoki-Run: x"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("0.1", "0.5", "5.5", "7.3", "12.4")
def test_a_false_claim_is_sent_back_with_the_failing_test(project: Project) -> None:
    """The agent claims success; the second prompt names the test that fails, and why."""
    tells = 'grep -qx 42 answer.txt || { echo "# the answer is not $(cat answer.txt)"; false; }'
    (project.repo / "suite.sh").write_text(tap_script(test_answer=tells))
    project.git("add", "-A")
    project.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "a test")
    plan = a_plan(
        {
            "answer": [
                [*writes("answer.txt", "41\n"), "claim_done"],
                writes("answer.txt", "42\n"),
            ]
        },
        [{"id": "answer", "checks": ["tests"], "scope": ["answer.txt"]}],
        {"tests": {"run": ["sh", "suite.sh"], "pattern": "test-failed"}},
    )

    done = project.yaoki("run", project.plan(plan))
    why = project.yaoki("why", "answer")

    assert done.code == 0, done.out + done.err
    task = project.task("answer")
    assert (task["state"], task["attempt"]) == ("DONE", 2)
    assert "test_answer" not in project.prompt(task, 1)
    told = project.prompt(task, 2)
    assert "test_answer" in told
    assert "the answer is not 41" in told
    assert " (tests failed); retry in " in done.out
    assert "test_answer" in done.out
    # `why` names the rule, its numbers, the alternative, and the checks that passed.
    assert "rule      5.1" in why.out
    assert "count=0, maximum=3" in why.out
    assert "otherwise " in why.out
    assert "verified on that commit: tests PASSED" in why.out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("12.4")
def test_a_pipe_gets_lines_while_the_agent_works(project: Project, tmp_path: Path) -> None:
    """Lines come while the agent still works, without colours, and a reader may leave."""
    marker = tmp_path / "go"
    plan = a_plan(
        {"slow": [[waits_for(marker), *writes("a.txt")]]},
        [{"id": "slow", "checks": ["a"]}],
        {"a": file_contains("a.txt")},
    )

    worker = project.start("run", project.plan(plan))
    assert worker.stdout is not None
    lines = [worker.stdout.readline() for _ in range(4)]
    state = project.task("slow")["state"]
    worker.stdout.close()
    marker.touch()

    assert lines[0].startswith("run ")
    assert "slow  attempt 1  started in a fresh worktree with actor" in lines[3]
    assert state == "ACTIVE"
    assert "\x1b" not in "".join(lines)
    assert worker.wait(timeout=BOUND_S) == 141
    assert project.status()["status"] == "DONE", "the run goes on when nobody reads"


@pytest.mark.acceptance
@pytest.mark.spec("0.4", "2.1")
def test_the_worst_case_is_printed_before_anything_runs(project: Project) -> None:
    """1 + 3 of the content, a re-run, 3 and 5 repeats, 6 interruptions; a check has no agent."""
    plan = project.plan(
        a_plan(
            {"one": [["nothing"]]},
            [
                {"id": "one", "checks": ["a"]},
                {"id": "once", "checks": ["a"], "retry": {"max_retries": 0}},
                {"id": "prove", "kind": "check", "checks": ["a"], "needs": ["one"]},
            ],
            {"a": file_contains("a.txt")},
            budget={"attempts": 7},
        )
    )

    shown, dry = project.yaoki("plan", plan, "--json"), project.yaoki("run", plan, "--dry-run")

    tasks = {task["name"]: task["worst_case"] for task in shown.document["tasks"]}
    assert tasks["one"]["total"] == 19
    assert tasks["one"]["content"] == 4
    assert tasks["once"]["content"] == 1
    assert tasks["prove"]["total"] == 0
    assert shown.document["worst_case"]["total"] == sum(t["total"] for t in tasks.values())
    assert shown.document["worst_case"]["budget"] == 7
    assert f"At most {shown.document['worst_case']['total']} agent runs" in dry.out
    assert "the budget pauses the run after 7 agent runs" in " ".join(dry.out.split())
    assert not (project.repo / ".yaoki").exists()


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.4", "12.1")
def test_uncommitted_files_and_an_optional_failure_leave_a_note(project: Project) -> None:
    """The plan, the settings and the list of copied files take part by themselves."""
    plan = a_plan(
        {"must": [writes("a.txt")], "may": [writes("b.txt", "bad\n")]},
        [
            {"id": "must", "checks": ["a"]},
            {"id": "may", "checks": ["b"], "required": False, "retry": {"max_retries": 0}},
        ],
        {"a": file_contains("a.txt"), "b": file_contains("b.txt")},
    )
    (project.repo / "plan.json").write_text(json.dumps(plan))
    (project.repo / "yaoki.toml").write_text(SETTINGS + "\n")
    (project.repo / "README").write_text("changed\n")
    (project.repo / "new.txt").write_text("new\n")
    (project.repo / ".worktreeinclude").write_text("none.txt\n")
    project.git("add", "new.txt")

    done = project.yaoki("run", "plan.json")

    assert done.code == 0, done.out + done.err
    lines = [line for line in done.out.splitlines() if line.startswith("note: ")]
    assert lines == ["note: 2 uncommitted files are not part of this run: new.txt, README"]
    assert "note: optional may did not land" in done.out
    status = project.status()
    assert status["status"] == "DONE"
    assert status["notes"] == [project.task("may")["id"]]
