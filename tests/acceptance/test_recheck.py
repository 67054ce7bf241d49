"""`yaoki plan recheck`: an unfit check is changed in the settings or the plan of a running run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)
from tests.acceptance.test_agent_failures import event_data

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("2.6")]

# The check rewrites a tracked file, so its result cannot be trusted.
UNFIT = "echo x >> README; test -s README"
RULES = "\n[checks.lint]\nshell = {}\n"


def start_with_unfit_check(project: Project) -> str:
    """`early` has landed with the old checks; `late` asks about the check of the settings."""
    project.settings(SETTINGS + RULES.format(json.dumps(UNFIT)))
    script = {"early": [writes("early.txt")], "late": [writes("late.txt")]}
    tasks = [
        {"id": "early", "checks": ["good"]},
        {"id": "late", "needs": ["early"], "checks": ["good", "lint"]},
    ]
    plan = a_plan(script, tasks, {"good": file_contains("early.txt")}, done_when=["lint"])
    ran = project.yaoki("run", project.plan(plan))
    assert ran.code == 4, ran.out + ran.err
    return str(project.status()["run"])


@pytest.mark.spec("10.4", "9.3", "0.5")
def test_a_changed_check_of_the_settings_is_taken_over_as_a_revision(prepared: Prepared) -> None:
    project, run = prepared.after(start_with_unfit_check)
    question = project.task("late")["question"]
    assert f"yaoki plan recheck {run}" in question
    assert project.yaoki("answer", "late", "retry").code == 0
    assert project.yaoki("resume").code == 4, "the run keeps its checks"

    project.settings(SETTINGS + RULES.format(json.dumps("test -s README")))
    early = project.yaoki("answer", "late", "done")
    assert (early.code, project.yaoki("resume").code) == (0, 4), "still with the old check"
    done = project.yaoki("plan", "recheck")

    said = " ".join(early.out.split())
    assert "note: lint differs in the plan or yaoki.toml; the run keeps what it has" in said
    assert f"to apply the changes: yaoki plan recheck {run}" in said
    assert done.code == 0, done.out + done.err
    assert f"run {run}: revision 2, checks lint for 1 task" in done.out
    assert "late: answer done to verify the work as it is with the new checks" in done.out
    assert f"next: yaoki answer {project.task('late')['id']} done" in done.out
    answered = project.yaoki("answer", "late", "done")
    assert (answered.code, "note: " in answered.out) == (0, False), answered.out
    ended = project.yaoki("resume")
    assert ended.code == 0, ended.out + ended.err
    assert len(event_data(project.events("late"), "PROMPT_SENT")) == 1, "no agent ran again"
    log = project.git("log", "--format=%s", f"yaoki/{run}").splitlines()
    assert len(log) == len(set(log)), "a landing that never was"
    assert "revision 2 of the plan; revised checks: lint" in project.yaoki("status").out
    assert project.status()["revised_checks"] == ["lint"]
    assert "checks: those of revision 2 of the plan" in project.yaoki("why", "late").out
    report = project.yaoki("report").out
    # `early` landed before, but with other checks.
    assert "revision 2: the checks lint were taken over from the changed plan\n" in report
    assert "revision 2\n" in report
    assert project.yaoki("doctor").out.count("BAD") == 0
    assert project.yaoki("verify").code == 0


@pytest.mark.full
@pytest.mark.spec("10.4", "12.3")
def test_a_question_from_before_the_recheck_is_answered_without_an_agent(
    prepared: Prepared,
) -> None:
    """It says so with each revision, and the work stays that of the agent: a person changed the
    check and no file.
    """
    project, _ = prepared.after(start_with_unfit_check)
    task = project.task("late")["id"]
    asked = project.task("late")["question"]
    before = project.query("why", "late", "--json").document["attempts"][-1]

    for number, shell in enumerate(("test -s LICENCE", "test -s README"), start=2):
        project.settings(SETTINGS + RULES.format(json.dumps(shell)))
        assert project.yaoki("plan", "recheck").code == 0

        note = (
            f"Its checks were changed after that (revision {number}): yaoki answer {task} done "
            "verifies the work as it is, without an agent."
        )
        assert project.task("late")["question"] == f"{note}\n{asked}"
    for words in (["status"], ["why", "late"], ["answer", "late"], ["resume"]):
        said = " ".join(project.yaoki(*words).out.split())
        assert said.count(note) == 1, (words, said)
        assert "after working in" not in said
    shown = project.query("answer", "late").out
    assert f"yaoki answer {task} done  # verifies the work as it is in " in shown
    assert project.yaoki("answer", "late", "done").code == 0
    ended = project.yaoki("resume")
    assert ended.code == 0, ended.out + ended.err
    assert (
        "no file changed since the last attempt; verified again because a person asked" in ended.out
    )
    assert "a person changed" not in ended.out
    assert "the work of a person" not in ended.out
    first, second = project.query("why", "late", "--json").document["attempts"]
    assert first["ended"] == before["ended"]
    assert first["ended"].startswith("needs you: ")
    assert (first["agent"], second["agent"]) == (before["agent"], None)
    assert "finished by a person" not in project.query("report", "--format", "html").out


@pytest.mark.full
@pytest.mark.spec("0.1", "16.14")
def test_what_was_proven_with_the_old_checks_is_named_and_checked_again(prepared: Prepared) -> None:
    """The changed check of `early` also counts at the end of the run."""
    project, run = prepared.after(start_with_unfit_check)
    file = project.folder / "plan.json"
    plan = json.loads(file.read_text())
    plan["checks"] |= {"good": file_contains("late.txt"), "lint": {"shell": "test -s README"}}
    file.write_text(json.dumps(plan))

    done = project.yaoki("plan", "recheck", run, "--json")

    assert done.document["revision"] == 2
    assert done.document["checks"] == ["good", "lint"]
    why = project.yaoki("why", "early").out
    assert "verified on that commit with its checks before they were revised: good PASSED" in why
    replayed = project.yaoki("verify", run, "--replay", "--json").out
    assert "early" in replayed
    assert '"FAILED"' not in replayed, "it is replayed with the checks that proved it"
    landed = project.yaoki("report").out
    assert "with its checks before they were revised" in landed
    project.yaoki("answer", "late", "retry")
    ended = project.yaoki("resume")
    assert ended.code == 0, ended.out + ended.err
    final = [task for task in project.status()["tasks"] if task["kind"] == "check"]
    checked = event_data(project.events(final[-1]["id"]), "CHECK_FINISHED")
    assert {data["check"] for data in checked} >= {"lint"}


@pytest.mark.spec("0.6", "16.10")
def test_a_recheck_is_refused_without_a_change_after_the_end_and_from_an_agent(
    prepared: Prepared,
) -> None:
    project, run = prepared.after(start_with_unfit_check)

    same = project.yaoki("plan", "recheck", run)
    agent = project.yaoki("plan", "recheck", run, env={"YAOKI_TASK": project.task("late")["id"]})
    project.git("switch", "-qc", "elsewhere")
    assert project.yaoki("cancel", run).code == 0
    assert project.yaoki("merge", run, "--partial", "--unproven").code == 0
    project.settings(SETTINGS + RULES.format(json.dumps("test -s README")))
    ended = project.yaoki("plan", "recheck", run)

    assert same.code == 6
    assert "already has the checks, the set-up and the rules of its plan" in same.err
    assert agent.code == 6
    assert "only people may do this" in agent.err
    assert ended.code == 6
    assert "is already merged" in ended.err
    assert project.status()["revision"] == 1


@pytest.mark.spec("9.6", "0.1", "10.4")
def test_a_wrong_final_check_of_a_cancelled_run_is_mended_before_its_partial_merge(
    project: Project,
) -> None:
    """`done_when` runs first in the merge, because a task was given up."""
    tasks: list[dict[str, Any]] = [
        {"id": "early", "checks": ["good"]},
        {"id": "late", "needs": ["early"], "checks": ["never"], "retry": {"max_retries": 0}},
    ]
    checks = {
        "good": file_contains("early.txt"),
        "never": {"shell": "false"},
        "whole": {"shell": "test -s missing.txt"},
    }
    plan = a_plan(
        {"early": [writes("early.txt")], "late": [writes("late.txt")]},
        tasks,
        checks,
        done_when=["whole"],
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert project.yaoki("answer", "late", "abort").code == 0
    run = project.status()["run"]
    refused = project.yaoki("merge", "--partial")
    plan["checks"] |= {"whole": {"shell": "test -s early.txt"}}
    project.plan(plan)

    mended = project.yaoki("plan", "recheck")
    merged = project.yaoki("merge", "--partial")

    hint = "if the check itself is wrong, change it in the plan or yaoki.toml, then: "
    said = " ".join(refused.err.split())
    assert refused.code == 6, refused.out
    assert f"{hint}yaoki plan recheck {run}; or merge it as it is: " in said
    assert mended.code == 0, mended.err
    assert f"run {run}: revision 2, checks whole for done_when" in mended.out
    assert f"next: yaoki merge {run} --partial" in mended.out
    assert merged.code == 0, merged.err
    assert "passed on this commit: whole" in " ".join(merged.out.split())
    (revised,) = event_data(project.events(), "PLAN_RECHECKED")
    assert (revised["checks"], bool(revised["how"])) == (["whole"], True)


@pytest.mark.spec("9.6", "0.1", "16.14")
def test_a_done_run_whose_checks_were_changed_is_merged_only_if_they_pass(project: Project) -> None:
    """Its head was proven by the earlier checks alone."""
    plan = a_plan(
        {"early": [writes("early.txt")]},
        [{"id": "early", "checks": ["good"]}],
        {"good": file_contains("early.txt")},
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 0
    plan["checks"]["good"] = {"shell": "test -s missing.txt"}
    project.plan(plan)

    rechecked = project.yaoki("plan", "recheck")
    refused = project.yaoki("merge")
    (project.repo / "README").write_text("edited\n")
    obstructed = project.yaoki("merge")
    project.git("checkout", "-q", "README")

    assert rechecked.code == 0, rechecked.err
    assert (obstructed.code, "git merge" in obstructed.err) == (6, False), "git runs no check"
    assert (refused.code, "check good: exit code 1" in refused.err) == (6, True), refused.out
    plan["checks"]["good"] = {"shell": "test -s early.txt"}
    project.plan(plan)
    assert project.yaoki("plan", "recheck").code == 0
    assert project.yaoki("merge").code == 0


@pytest.mark.spec("3.3", "11.2")
def test_checks_that_change_while_they_run_are_run_again(project: Project) -> None:
    """A verdict of the old checks does not land after the revision."""
    begun, go = project.folder / "begun", project.folder / "go"
    waits = f"touch {begun}; for i in $(seq 600); do test -f {go} && exit 0; sleep 0.05; done"
    project.settings(SETTINGS + RULES.format(json.dumps(waits)))
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a", "checks": ["lint"]}], {})
    process = project.start("run", project.plan(plan))
    wait_until(begun.exists, "the first check runs")

    project.settings(SETTINGS + RULES.format(json.dumps("test -s a.txt")))
    done = project.yaoki("plan", "recheck")
    go.touch()

    assert done.code == 0, done.out + done.err
    assert process.wait(60) == 0
    entries = project.events("a")
    names = [e["event"] for e in entries if e["event"] in {"CHECKS_REVISED", "CHECK_FINISHED"}]
    assert names == ["CHECKS_REVISED", "CHECK_FINISHED"]
    warned = [data["message"] for data in event_data(entries, "WARNING")]
    assert any("checks were changed while they ran" in words for words in warned)


@pytest.mark.spec("0.1", "16.14")
def test_a_final_check_that_passed_with_the_old_checks_is_run_again(project: Project) -> None:
    """The branch does not move after the revision: only an optional task was open."""
    script = {"early": [writes("early.txt")], "extra": [writes("extra.txt")]}
    tasks: list[dict[str, Any]] = [
        {"id": "early", "checks": ["good"]},
        {
            "id": "extra",
            "checks": ["never"],
            "required": False,
            "needs": ["early"],
            "retry": {"max_retries": 0},
        },
    ]
    checks = {"good": file_contains("early.txt"), "never": {"shell": "false"}}
    plan = a_plan(script, tasks, checks, done_when=["good"])
    project.yaoki("run", project.plan(plan))
    before = [task for task in project.status()["tasks"] if task["kind"] == "check"]
    assert [task["state"] for task in before] == ["DONE"], project.status()

    plan["checks"]["good"] = {"shell": "test -s never.txt"}
    project.plan(plan)
    assert project.yaoki("plan", "recheck").code == 0
    project.yaoki("cancel", "extra")
    ended = project.yaoki("resume")

    assert ended.code != 0, ended.out + ended.err
    finals = [task for task in project.status()["tasks"] if task["kind"] == "check"]
    assert len(finals) == 2
    assert finals[-1]["state"] != "DONE"


@pytest.mark.spec("10.4", "0.1")
def test_a_changed_check_runs_although_the_earlier_one_was_waived(project: Project) -> None:
    """The person waived a check that is no longer there."""
    checks = {"there": {"shell": "test -s a.txt"}, "good": {"shell": "test -s never.txt"}}
    task = {"id": "a", "checks": ["there", "good"], "retry": {"max_retries": 0}}
    plan = a_plan({"a": [writes("a.txt")]}, [task], checks)
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert project.yaoki("answer", "a", "waive", "--check", "good").code == 0

    plan["checks"]["good"] = {"shell": "test -s missing.txt"}
    project.plan(plan)
    assert project.yaoki("plan", "recheck").code == 0
    asked = project.yaoki("resume")

    assert asked.code == 4, asked.out + asked.err
    assert project.task("a")["landed"] is None
    assert "check good" in asked.out


@pytest.mark.spec("10.4", "9.3")
def test_a_wrong_final_check_is_run_again_by_the_command_that_recheck_names(
    project: Project,
) -> None:
    """Nobody can take a check over, so `done` is no answer to it."""
    checks = {"good": file_contains("early.txt"), "whole": {"shell": "test -s never.txt"}}
    tasks = [{"id": "early", "checks": ["good"]}]
    plan = a_plan({"early": [writes("early.txt")]}, tasks, checks, done_when=["whole"])
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    plan["checks"]["whole"] = {"shell": "test -s early.txt"}
    project.plan(plan)
    rechecked = project.yaoki("plan", "recheck")

    asked = project.task("done_when")["id"]
    assert "done_when: answer retry to run the new checks" in rechecked.out
    assert f"next: yaoki answer {asked} retry" in rechecked.out
    assert project.yaoki("answer", asked, "retry").code == 0
    ended = project.yaoki("resume")
    assert ended.code == 0, ended.out + ended.err


@pytest.mark.full
@pytest.mark.spec("10.4", "8.4")
def test_a_task_that_awaits_its_rerun_is_asked_about_when_its_checks_change(
    project: Project, tmp_path: Path
) -> None:
    """Its work may pass the new checks; nothing else has to end before."""
    gate = tmp_path / "gate"
    plan = a_plan(
        {
            "late": [writes("late.txt", "good\n"), writes("late.txt", "good\nmore\n")],
            "other": [[waits_for(gate), *writes("other.txt")]],
        },
        [
            {"id": "late", "checks": ["wrong"], "retry": {"max_retries": 1}},
            {"id": "other", "checks": ["other"]},
        ],
        {"wrong": {"shell": "test -s nowhere.txt"}, "other": file_contains("other.txt")},
    )
    run = project.start("run", project.plan(plan))
    wait_until(project.has_store, "the run is stored")
    wait_until(lambda: "RERUN_HELD" in project.event_names("late"), "late awaits its re-run")
    plan["checks"]["wrong"] = {"shell": "test -s late.txt"}
    project.plan(plan)

    rechecked = project.yaoki("plan", "recheck")

    assert rechecked.code == 0, rechecked.out + rechecked.err
    task = project.task("late")
    assert task["state"] == "ESCALATED"
    assert "Its checks were changed after that (revision 2)" in task["question"]
    answered = project.yaoki("answer", "late", "done")
    assert answered.code == 0, answered.out + answered.err
    gate.touch()
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0, out
    assert project.task("late")["state"] == "DONE"


def undo_merged(project: Project, wrong: str, right: str) -> None:
    """A merged run whose only task is undone, and then its checks are changed."""
    checks = {"good": {"shell": wrong}, "whole": {"shell": wrong}}
    tasks = [{"id": "a", "checks": ["good"]}]
    plan = a_plan({"a": [writes("a.txt")] * 2}, tasks, checks, done_when=["whole"])
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 0
    assert project.yaoki("merge").code == 0
    plan["checks"] = {name: {"shell": right} for name in checks}
    project.plan(plan)
    merged = project.yaoki("plan", "recheck")
    assert (merged.code, "is already merged" in merged.err) == (6, True), merged.out
    assert project.yaoki("undo", "a").code == 0


@pytest.mark.full
@pytest.mark.spec("10.4", "9.6")
def test_an_open_task_of_a_merged_run_gets_changed_checks(project: Project) -> None:
    undo_merged(project, "test -s a.txt", "grep -qx good a.txt")
    assert project.yaoki("answer", "a", "retry", "Say it better.").code == 0

    rechecked = project.yaoki("plan", "recheck")

    assert rechecked.code == 0, rechecked.err
    assert "revision 2, checks good, whole for " in rechecked.out
    assert project.yaoki("resume", "--quiet").code == 0
    assert "revision 2 of the plan" in project.yaoki("why", "a").out
    # Landed again, so there is a merge to make, and then there is none.
    file = project.folder / "plan.json"
    file.write_text(file.read_text().replace("grep -qx", "grep -q"))
    assert project.yaoki("plan", "recheck").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    merged = project.yaoki("merge")
    assert merged.code == 0, merged.err
    file.write_text(file.read_text().replace("grep -q", "grep -qx"))
    again = project.yaoki("plan", "recheck")
    assert (again.code, "is already merged" in again.err) == (6, True), again.out


@pytest.mark.spec("10.4", "9.6")
def test_the_merge_of_an_undo_runs_the_changed_checks(project: Project) -> None:
    """`done_when` needs the undone work, so the refusal recommends `yaoki plan recheck`."""
    undo_merged(project, "test -s a.txt", "test -s README")
    refused = project.yaoki("merge", "--partial")

    rechecked = project.yaoki("plan", "recheck")
    merged = project.yaoki("merge", "--partial")

    run = project.status()["run"]
    assert f"yaoki plan recheck {run}" in " ".join(refused.err.split())
    assert rechecked.code == 0, rechecked.err
    assert merged.code == 0, merged.err
    assert "passed on this commit: whole" in " ".join(merged.out.split())
    assert "a.txt" not in project.git("ls-tree", "--name-only", "main")
