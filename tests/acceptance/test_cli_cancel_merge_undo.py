"""Cancel, stop and resume, undo, merge, recover: nothing is lost and refusals have a reason."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    BOUND_S,
    GIT_IDENTITY,
    PATIENT,
    Project,
    a_plan,
    file_contains,
    remaining_output,
    wait_until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance


def slow_plan(**more: Any) -> dict[str, Any]:
    """`quick` lands; `slow` writes a file and then runs until it is ended; `last` needs it."""
    return a_plan(
        {
            "quick": [writes("quick.txt")],
            "slow": [[*writes("slow.txt"), {"sleep": 600}], writes("slow.txt")],
            "last": [writes("last.txt")],
        },
        [
            {"id": "quick", "checks": ["quick"]},
            {"id": "slow", "checks": ["slow"]},
            {"id": "last", "checks": ["last"], "needs": ["slow"]},
        ],
        {name: file_contains(f"{name}.txt") for name in ("quick", "slow", "last")},
        **more,
    )


def slow_run(project: Project) -> subprocess.Popen[str]:
    """The worker, once the agent of `slow` is running."""
    project.settings(PATIENT)
    worker = project.start("run", project.plan(slow_plan()))
    wait_until(lambda: _is_working(project, "slow"), "slow works")
    return worker


def interrupt(worker: subprocess.Popen[str]) -> None:
    """Interrupt the worker and wait until it confirms the signal."""
    worker.send_signal(signal.SIGINT)
    assert worker.stdout is not None
    while "interrupt again" not in (line := worker.stdout.readline()):
        assert line, "the first interrupt must be told"
    assert "running agents finish first, with their checks" in line


def run_two_tasks(project: Project) -> dict[str, Any]:
    plan = a_plan(
        {"one": [writes("one.txt")], "two": [writes("two.txt")]},
        [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
        {"one": file_contains("one.txt"), "two": file_contains("two.txt")},
    )
    done = project.yaoki("run", project.plan(plan), "--json")
    assert done.code == 0, done.out + done.err
    return done.document


@pytest.mark.spec("9.5", "12.1", "8.2", "0.2")
def test_cancel_ends_waiting_and_active_tasks_and_saves_their_work(project: Project) -> None:
    """A waiting task ends at once, an active one is interrupted, a finished one is refused."""
    worker = slow_run(project)
    wait_until(lambda: _is_done(project, "quick"), "quick landed")

    waiting = project.yaoki("cancel", "last")
    finished = project.yaoki("cancel", "quick")
    whole = project.yaoki("cancel")
    again = project.yaoki("cancel")
    worker.communicate(timeout=BOUND_S)

    assert waiting.code == 0
    assert (finished.code, "is already DONE" in finished.err) == (6, True)
    assert whole.code == 0, whole.err
    assert "yaoki recover" in whole.out.splitlines()[-1]
    assert again.code == 0, "twice is once"
    assert "cancelled already; nothing was changed" in again.out
    assert worker.returncode == 3
    status = project.status()
    assert status["status"] == "CANCELLED"
    assert [t["state"] for t in status["tasks"]] == ["DONE", "CANCELLED", "CANCELLED"]
    # It ran, so the report says so, and counts what it took.
    ended = [e for e in project.events("slow") if e["event"] == "AGENT_FINISHED"]
    assert [entry["data"]["exit"]["ended_by"] for entry in ended] == ["cancel"]
    assert project.query("report", "--json").document["numbers"]["agent_runs"] == 2
    # What the interrupted agent had written is kept, and can be had as a branch.
    recovered = project.yaoki("recover", "slow", "--branch", "rescue")
    assert recovered.code == 0, recovered.err
    assert project.show("rescue", "slow.txt") == "good"
    assert project.yaoki("recover", "slow", "--branch", "rescue").code == 6
    assert project.yaoki("resume").code == 3, "a cancelled run stays cancelled"


def _is_working(project: Project, name: str) -> bool:
    runs = project.repo / ".yaoki" / "runs"
    # The agent has written its file: it is in the middle of its work.
    return any((project.home / "worktrees").glob(f"*/*/{name}.txt")) and runs.is_dir()


def _is_done(project: Project, name: str) -> bool:
    return bool(project.task(name)["state"] == "DONE")


@pytest.mark.full
@pytest.mark.spec("9.8", "12.1", "3.7")
def test_two_interrupts_stop_now_and_resume_continues(project: Project) -> None:
    worker = slow_run(project)

    interrupt(worker)
    worker.send_signal(signal.SIGINT)
    rest = remaining_output(worker)
    stopped = project.status()
    resumed = project.yaoki("resume")

    assert worker.returncode == 130
    assert "stopped; finished work is saved" in rest
    assert re.search(r"the agent was stopped on request after .*, [01] files? changed", rest), rest
    assert "interrupted: the agent was stopped on request; the next worker starts it again" in rest
    assert "LOST" not in rest
    # Of the three, `quick` may have landed before.
    assert re.search(r"  (2 tasks waiting: |3 tasks waiting: quick, )slow, last\n", rest), rest
    assert rest.splitlines()[-1] == f"next: yaoki resume {stopped['run']}"
    assert stopped["status"] == "ACTIVE"
    assert resumed.code == 0, resumed.out + resumed.err
    assert _is_done(project, "last")


@pytest.mark.spec("9.6", "0.2", "12.1")
def test_merge_never_touches_a_checkout_and_never_conflicts(prepared: Prepared) -> None:
    project, stands = prepared.after(run_two_tasks)
    run, branch = stands["run"], stands["run_branch"]
    head = project.git("rev-parse", branch)

    (project.repo / "README").write_text("edited\n")
    checked_out = project.yaoki("merge", run)
    project.git("checkout", "-q", "README")
    into_new = project.yaoki("merge", run, "--into", "release", "--json")
    project.git("switch", "-qc", "elsewhere")
    merged = project.yaoki("merge")
    already = project.yaoki("merge", "--json")

    assert (checked_out.code, f"git merge --ff-only {branch}" in checked_out.err) == (6, True)
    assert into_new.document["how"] == "created"
    assert merged.code == 0, merged.err
    assert project.git("rev-parse", "main") == head == project.git("rev-parse", "release")
    assert project.git("status", "--porcelain") == ""
    assert already.document["how"] == "already"
    assert project.status()["merged"] == head
    _conflict(project)
    conflicting = project.yaoki("merge", run, "--into", "other")
    assert (conflicting.code, "conflict: one.txt" in conflicting.err) == (6, True)


def _conflict(project: Project) -> None:
    project.git("switch", "-qc", "other", "main~2")
    (project.repo / "one.txt").write_text("another\n")
    project.git("add", "-A")
    project.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "other")
    project.git("switch", "-q", "elsewhere")


@pytest.mark.spec("9.6", "16.6", "0.1")
def test_a_partial_merge_onto_a_moved_base_is_verified_with_the_checks_of_its_tasks_as_well(
    project: Project,
) -> None:
    plan = a_plan(
        {"first": [writes("one.txt")], "second": ["nothing"]},
        [
            {"id": "first", "checks": ["one"]},
            {"id": "second", "checks": ["two"], "needs": ["first"], "retry": {"max_retries": 0}},
        ],
        {
            "one": {"shell": "test -s one.txt && ! test -e other.txt"},
            "two": file_contains("two.txt"),
            "whole": file_contains("one.txt"),
        },
        done_when=["whole"],
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    (project.repo / "other.txt").write_text("in the way\n")
    project.git("add", "other.txt")
    project.git(*GIT_IDENTITY, "commit", "-qm", "meanwhile")

    refused = project.yaoki("merge", "--partial")

    assert refused.code == 6, refused.out
    assert "main has moved, and the merge fails: check one" in " ".join(refused.err.split())


def failing_together() -> dict[str, Any]:
    """`second` passes its own check and breaks that of `first`; `third` needs a person."""
    return a_plan(
        {
            "first": [writes("one.txt")],
            "second": [[{"write": {"one.txt": "bad\n", "two.txt": "good\n"}}]],
            "third": ["nothing"],
        },
        [
            {"id": "first", "checks": ["one"]},
            {"id": "second", "checks": ["two"], "needs": ["first"]},
            {"id": "third", "checks": ["three"], "needs": ["second"], "retry": {"max_retries": 0}},
        ],
        {name: file_contains(f"{name}.txt") for name in ("one", "two", "three")},
    )


def run_failing_together(project: Project) -> str:
    assert project.yaoki("run", project.plan(failing_together()), "--quiet").code == 4
    return str(project.status()["run"])


@pytest.mark.full
@pytest.mark.spec("9.5", "9.6")
def test_a_cancelled_run_names_the_way_back_that_it_has(prepared: Prepared) -> None:
    project, run = prepared.after(run_failing_together)
    assert project.yaoki("cancel").code == 0
    landed = project.task("second")["landed"]

    merge = " ".join(project.yaoki("merge", "--partial").err.split())
    undo = " ".join(project.yaoki("undo", "second").err.split())

    assert "the run was cancelled, so revert the task that breaks it by hand" in merge
    assert "yaoki undo" not in merge
    assert (
        f"yaoki merge {run} --partial; then revert it there: git revert -m1 {landed[:12]}" in undo
    )
    assert project.yaoki("merge", "--partial", "--unproven").code == 0
    project.git(*GIT_IDENTITY, "revert", "-m1", "--no-edit", landed[:12])
    assert project.show("main", "one.txt") == "good"


@pytest.mark.full
@pytest.mark.spec("9.5", "9.6", "0.1", "0.6")
def test_a_partial_merge_of_tasks_that_fail_together_names_what_helps(prepared: Prepared) -> None:
    """A cancel of a run that was given up takes away no undo."""
    project, run = prepared.after(run_failing_together)
    assert project.yaoki("answer", "third", "abort").code == 0
    assert project.status()["status"] == "CANCELLED"
    assert "cancelled already; nothing was changed" in project.yaoki("cancel").out

    refused = project.yaoki("merge", "--partial")

    assert refused.code == 6, refused.out
    said = " ".join(refused.err.split())
    assert "the landed tasks fail together" in said
    assert "undo the task that breaks it: yaoki undo TASK" in said
    assert f"yaoki merge {run} --partial --unproven" in said
    assert project.status()["last_merge"] is None
    assert project.yaoki("undo", "second").code == 0
    assert project.yaoki("merge", "--partial").code == 0
    status = project.status()
    assert status["merged"] is None, "not all of it is merged"
    assert status["last_merge"] == {
        "branch": "main",
        "commit": project.git("rev-parse", "main"),
        "partial": True,
        "not_landed": [f"{run}-2", f"{run}-3"],
        "undone": [],
        "landed_again": [],
        "more_landed": False,
    }
    partly = f"merged into main at {project.git('rev-parse', 'main')[:10]}, in part"
    assert f"{partly}; not landed: second, third" in project.yaoki("status").out


def run_not_done(project: Project) -> dict[str, Any]:
    """`one` lands, `idle` changes nothing, and the second attempt of `spoils` spoils the first;
    the final check would fail.  The plan.
    """
    once = {"retry": {"max_retries": 0}}
    plan = a_plan(
        {
            "one": [writes("one.txt", "bad\n")],
            "idle": [[{"say": "nothing to do"}]],
            "spoils": [writes("a.txt", "first\n"), writes("a.txt", "second\n")],
        },
        [
            {"id": "one", "checks": ["one"]},
            {"id": "idle", "checks": ["never"], "needs": ["one"], **once},
            {"id": "spoils", "checks": ["never"], "needs": ["one"], "retry": {"max_retries": 1}},
        ],
        {
            "one": {"shell": "test -s one.txt"},
            "never": file_contains("two.txt"),
            "whole": file_contains("one.txt"),
        },
        done_when=["whole"],
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    return plan


@pytest.mark.full
@pytest.mark.spec("9.6", "9.3", "0.1")
def test_a_partial_merge_is_verified_with_done_when(prepared: Prepared) -> None:
    """The final check of a run with given-up tasks never ran."""
    project, _ = prepared.after(run_not_done)
    assert "done_when starts when every task" in project.yaoki("why", "done_when").err
    for name in ("idle", "spoils"):
        assert project.yaoki("answer", name, "abort").code == 0
    (project.repo / "README").write_text("edited\n")
    shown = " ".join(project.yaoki("status").out.split())
    obstructed = project.yaoki("merge", "--partial")
    project.git("checkout", "-q", "README")

    refused = project.yaoki("merge", "--partial")

    run = project.status()["run"]
    assert "and it has 1 uncommitted file: README: commit or stash it first" in shown
    assert f"next: yaoki merge {run} --partial" in shown, "git merge would skip done_when"
    assert f"commit or stash it, then: yaoki merge {run} --partial" in obstructed.err
    assert "git merge" not in obstructed.err
    assert refused.code == 6, refused.out
    assert "the landed tasks fail together: check whole" in " ".join(refused.err.split())
    merged = project.yaoki("merge", "--partial", "--unproven")
    assert merged.code == 0, merged.err
    words = "which overrides check whole: exit code 1: one.txt does not hold good"
    assert words in " ".join(merged.out.split())
    partly = f"merged into main at {project.git('rev-parse', 'main')[:10]}, in part"
    assert f"{partly}; not landed: idle, spoils" in project.yaoki("status").out


@pytest.mark.full
@pytest.mark.spec("8.2", "9.6", "0.6")
def test_a_run_that_is_not_done_is_merged_only_on_request_and_lists_only_real_work(
    prepared: Prepared,
) -> None:
    """An attempt without changes is not listed with the commit of another, also if that was
    reverted since.
    """
    project, plan = prepared.after(run_not_done)
    project.plan({**plan, "checks": {**plan["checks"], "whole": file_contains("one.txt", "bad")}})
    assert project.yaoki("plan", "recheck").code == 0

    listed = project.yaoki("recover")
    kept = project.yaoki("recover", "--json").document["kept"]
    refused = project.yaoki("merge")
    partial = project.yaoki("merge", "--partial")
    undone = project.yaoki("undo", "one")
    later = project.yaoki("recover", "--json").document["kept"]

    ids = {task["name"]: task["id"] for task in project.status()["tasks"]}
    (line,) = [line for line in listed.out.splitlines() if line.startswith(ids["idle"])]
    assert line.endswith("left no changes")
    assert f"next: yaoki recover {ids['spoils']} " in listed.out
    assert {(one["task"], one["attempt"]): one["left_nothing"] for one in kept} == {
        (ids["one"], 1): False,
        (ids["idle"], 1): True,
        (ids["spoils"], 1): False,
        (ids["spoils"], 2): False,
    }
    assert (refused.code, "--partial" in refused.err) == (6, True)
    assert partial.code == 0, partial.err
    proof = "passed on this commit: whole; had passed on it before, and did not run again: one"
    assert proof in " ".join(partial.out.split())
    assert project.show("main", "one.txt") == "bad"
    assert undone.code == 0, undone.err
    idle = [(one["task"], one["attempt"]) for one in later if one["left_nothing"]]
    assert idle == [(ids["idle"], 1)]


@pytest.mark.full
@pytest.mark.spec("8.1", "8.2", "9.8")
def test_a_worktree_is_restored_to_a_snapshot(prepared: Prepared) -> None:
    """The snapshot was taken between the two attempts."""
    project, _ = prepared.after(run_not_done)
    task = project.task("spoils")
    [file] = (project.home / "worktrees").glob(f"*/{task['id']}/a.txt")

    listed = project.yaoki("snapshots", "--json").document["snapshots"]
    unknown = project.yaoki("restore", "nope-1-1")
    before = file.read_text()
    restored = project.yaoki("restore", f"{task['id']}-2", "--json")
    kept = project.yaoki("recover", "spoils", "--json").document["kept"]

    ours = [s["id"] for s in listed if s["id"].startswith(task["id"])]
    assert ours == [f"{task['id']}-1", f"{task['id']}-2"]
    assert unknown.code == 6
    assert before == "second\n"
    assert restored.document["restored_files"] == ["a.txt"]
    assert file.read_text() == "first\n"
    assert {work["attempt"] for work in kept} == {1, 2}
    events = project.query("trace", "spoils", "--json").document["entries"]
    assert events[-1]["event"] == "SNAPSHOT_RESTORE"


@pytest.mark.spec("9.6", "12.1")
def test_status_names_the_newest_merge_while_an_undone_task_asks(prepared: Prepared) -> None:
    project, stands = prepared.after(run_two_tasks)
    assert project.yaoki("merge", stands["run"]).code == 0
    assert project.yaoki("undo", "two").code == 0

    assert project.yaoki("merge", stands["run"], "--partial").code == 0

    head = project.git("rev-parse", "main")
    assert f"merged into main at {head[:10]}" in project.yaoki("status").out


@pytest.mark.full
@pytest.mark.spec("9.5", "9.6", "11.7", "12.1")
def test_a_revert_that_the_base_lacks_is_named_until_it_is_merged(prepared: Prepared) -> None:
    """Merged, undone, given up: nothing else says that main still has the code.  To cancel the
    finished run reverts nothing.
    """
    project, stands = prepared.after(run_two_tasks)
    run = stands["run"]
    late = project.yaoki("cancel", run)
    assert (late.code, "already done" in late.err) == (6, True)
    assert project.status()["cancel_wanted"] is False
    assert project.yaoki("merge", run).code == 0
    assert project.yaoki("undo", "two").code == 0
    asking = project.yaoki("status").out
    assert project.yaoki("answer", "two", "abort").code == 0

    status, every = project.query("status").out, project.query("status", "--all").out
    summary, report = project.yaoki("resume", run).out, project.yaoki("report", run).out
    document = project.status()
    forgotten = project.yaoki("forget", run)
    reverted = project.yaoki("merge", run, "--partial")
    after = project.yaoki("status").out

    command = f"yaoki merge {run} --partial"
    words = f"main still contains the undone work of two: {command}"
    for shown in (asking, status, summary, report):
        assert words in " ".join(shown.split())
    for shown in (status, summary):
        assert shown.endswith(f"next: {command}\n")
        assert "not all tasks are done" not in shown
    assert f"`{command}`" in report
    assert "1/2 landed, merged; a revert is not merged" in every
    assert document["next"] == command
    assert document["unmerged_reverts"] == [
        {"branch": "main", "tasks": [project.task("two")["id"]], "next": command}
    ]
    assert (forgotten.code, words.partition(": ")[0] in forgotten.err) == (6, True)
    assert f"{command}, or forget it without merging" in forgotten.err
    assert reverted.code == 0, reverted.err
    assert "two.txt" not in project.git("ls-tree", "--name-only", "main")
    assert "still contains" not in after
    assert project.status()["unmerged_reverts"] == []
    assert project.yaoki("forget", run).code == 0


@pytest.mark.full
@pytest.mark.spec("8.2", "9.6", "12.1")
@pytest.mark.parametrize("branch", ["main", "release"])
def test_a_revert_is_named_for_the_branch_that_has_the_work(
    prepared: Prepared, branch: str
) -> None:
    """Also if every task is undone, and nothing that landed says any more that it was merged: by
    hand into the branch that is checked out, or into another one.
    """
    project, stands = prepared.after(run_two_tasks)
    run, command = stands["run"], f"yaoki merge {stands['run']} --partial"
    if branch == "main":
        project.git("merge", "-q", "--ff-only", stands["run_branch"])
    else:
        command += f" --into {branch}"
        assert project.yaoki("merge", run, "--into", branch).code == 0
    undone = project.yaoki("undo", "one", "--cascade")
    assert project.yaoki("cancel", run).code == 0
    (project.repo / "README").write_text("edited\n")

    document, shown = project.status(), " ".join(project.query("status").out.split())
    project.git("checkout", "-q", "README")

    assert "the tasks that need it: two" in undone.out
    said = f"main still contains it; to revert it there as well: {command}"
    assert (said in undone.out) == (branch == "main")
    (revert,) = document["unmerged_reverts"]
    assert revert["branch"] == branch
    assert sorted(revert["tasks"]) == [project.task(name)["id"] for name in ("one", "two")]
    assert document["next"] == revert["next"] == project.status()["next"] == command
    words = "main is checked out here, and it has 1 uncommitted file: README"
    assert (f"{words}: commit or stash it first" in shown) == (branch == "main")
    reverted = project.yaoki(*command.split()[1:])
    assert reverted.code == 0, reverted.out + reverted.err
    assert "one.txt" not in project.git("ls-tree", "--name-only", branch)
    assert project.status()["unmerged_reverts"] == []


@pytest.mark.spec("9.6", "10.4")
def test_undo_reverts_a_landed_task_and_escalates_it(prepared: Prepared) -> None:
    project, stands = prepared.after(run_two_tasks)
    branch = stands["run_branch"]

    standing = project.yaoki("undo", "one")
    undone = project.yaoki("undo", "two")
    after = project.task("two")
    files = project.git("ls-tree", "--name-only", branch)
    again = project.yaoki("answer", "two", "retry")
    resumed = project.yaoki("resume")

    assert (standing.code, "1 task depends on one: two" in standing.err) == (6, True)
    assert undone.code == 0, undone.err
    assert (after["state"], after["reason"], after["landed"]) == ("ESCALATED", "MANUAL", None)
    assert "two.txt" not in files
    assert "one.txt" in files
    assert (again.code, resumed.code) == (0, 0), resumed.out + resumed.err
    assert project.show(branch, "two.txt") == "good"


@pytest.mark.spec("9.6", "10.3")
def test_a_task_that_was_undone_and_given_up_says_both_everywhere(prepared: Prepared) -> None:
    project, _ = prepared.after(run_two_tasks)
    assert project.yaoki("undo", "two").code == 0
    asking = project.yaoki("why", "two").out

    assert project.yaoki("answer", "two", "abort").code == 0

    words = "a person undid its landing and then gave it up"
    (line,) = [text for text in project.yaoki("status").out.splitlines() if "CANCELLED  a" in text]
    assert line.endswith(words)
    assert f"CANCELLED: {words}, on 20" in project.yaoki("why", "two").out
    assert f"| two | CANCELLED | {words} |" in project.yaoki("report").out
    assert "needs your answer (a person undid its landing)" in asking


@pytest.mark.spec("9.6", "12.1")
def test_an_undo_is_listed_among_what_people_decided(prepared: Prepared) -> None:
    project, _ = prepared.after(run_two_tasks)

    undone = project.yaoki("undo", "two")
    text = project.query("report").out
    decided = project.query("report", "--format", "json").document["decided"]["answers"]

    assert undone.code == 0, undone.err
    assert [(one["name"], one["choice"]) for one in decided] == [("two", "undo")]
    assert ", two: undo" in text.partition("## What people decided")[2]
    assert undone.out.endswith(f"next: yaoki answer {project.task('two')['id']}\n")


@pytest.mark.full
@pytest.mark.spec("9.6", "12.1")
def test_an_undo_that_waits_without_a_worker_says_how_it_is_carried_out(project: Project) -> None:
    tasks = [{"id": name, "checks": [name], "retry": {"max_retries": 0}} for name in ("one", "two")]
    script = {"one": [writes("one.txt")], "two": [[{"say": "no"}], writes("two.txt")]}
    checks = {name: file_contains(f"{name}.txt") for name in ("one", "two")}
    assert project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet").code == 4
    assert project.yaoki("answer", "two", "retry").code == 0
    run = project.status()["run"]

    undone, refused = project.yaoki("undo", "one"), project.yaoki("merge", "--partial")
    shown = [" ".join(project.query(*words).out.split()) for words in (["status"], ["why", "one"])]

    assert "will be reverted on" in undone.out
    for said in shown:
        assert "will be undone when no other task of the run can run" in said
    assert "when no other task of the run can run" in " ".join(undone.out.split())
    assert undone.out.endswith(f"next: yaoki resume {run}\n")
    assert f"the undo of {run}-1 waits for the tasks that can still run" in refused.err
    assert f"yaoki resume {run}" in refused.err
    assert project.yaoki("resume", "--quiet").code == 4
    assert project.task("one")["state"] == "ESCALATED"
    assert project.task("two")["state"] == "DONE"


@pytest.mark.spec("12.1")
def test_an_empty_log_of_an_agent_names_the_log_of_its_check(prepared: Prepared) -> None:
    project, _ = prepared.after(run_two_tasks)
    task = project.task("two")["id"]

    agent = project.yaoki("logs", "two", "--err")
    check = project.yaoki("logs", "two", "--check", "two", "--err")

    assert agent.err.endswith(f"wrote nothing\nnext: yaoki logs {task} --check two --attempt 1\n")
    assert check.err.endswith(f"wrote nothing\nnext: yaoki why {task}\n")
    built_in = project.yaoki("logs", "two", "--check", "scope")
    assert "scope is built in: it starts no program" in " ".join(built_in.err.split())


@pytest.mark.full
@pytest.mark.spec("9.6", "12.1", "12.4")
@pytest.mark.long
def test_undo_reports_what_it_waits_for_while_it_verifies_the_rest(project: Project) -> None:
    """A pipe gets a line after five seconds.  The final check is repeated, and is no dependent."""
    slow = {"shell": f"test ! -e {project.folder}/slow || sleep 5.5; test -f one.txt"}
    plan = a_plan(
        {"one": [writes("one.txt")], "two": [writes("two.txt")]},
        [{"id": "one", "checks": ["slow"]}, {"id": "two", "checks": ["two"]}],
        {"slow": slow, "two": file_contains("two.txt")},
        done_when=["slow"],
    )
    done = project.yaoki("run", project.plan(plan), "--json")
    assert done.code == 0, done.out + done.err
    (project.folder / "slow").touch()

    undone = project.yaoki("undo", "two")
    why = project.yaoki("why", "done_when").out
    report = project.yaoki("report").out

    assert undone.code == 0, undone.err
    branch = done.document["run_branch"]
    assert f"verifying {branch} without two: check slow ... 5 s\n" in undone.err
    assert "tasks that need it" not in undone.out
    assert "done_when is verified again when every task is done" in undone.out
    reason = "work was undone since: the final check runs again"
    assert f"REPLACED: {reason}" in why
    assert "| done_when |" not in report, "a newer final check takes its place"


@pytest.mark.full
@pytest.mark.spec("9.8", "0.1", "12.1", "12.4", "10.2")
def test_one_interrupt_lets_the_agent_finish_and_the_run_without_its_final_check_is_not_done(
    project: Project, tmp_path: Path
) -> None:
    """The only task lands after the interrupt; `done_when` was not asked yet: no success.  Other
    terminals follow the agent and the run, to its end after the next command.
    """
    marker = tmp_path / "go"
    acts = [{"say": "thinking"}, *writes("slow.txt"), waits_for(marker), {"say": "ready"}]
    plan = a_plan(
        {"slow": [acts]},
        [{"id": "slow", "checks": ["a"]}],
        {"a": file_contains("slow.txt")},
        done_when=["a"],
    )
    worker = project.start("run", project.plan(plan))
    wait_until(lambda: _is_working(project, "slow"), "slow works")
    following = project.start("logs", "slow", "--follow")
    watching = project.start("watch")
    assert watching.stdout is not None
    first = watching.stdout.readline()

    interrupt(worker)
    marker.touch()
    remaining_output(worker)
    status = project.status()
    project.git("switch", "-qc", "elsewhere")
    merged = project.yaoki("merge")
    resumed = project.yaoki("resume", "--quiet")
    watched = remaining_output(watching)
    traced = project.yaoki("trace", "slow", "--follow")
    log, _ = following.communicate(timeout=BOUND_S)

    assert worker.returncode == 130
    assert (status["tasks"][0]["state"], status["status"]) == ("DONE", "ACTIVE")
    assert merged.code == 6
    assert resumed.code == 0, resumed.out + resumed.err
    assert _is_done(project, "done_when")
    assert watching.returncode == 0, watched
    assert first == f"run {status['run']}: ACTIVE  Rehearse\n"
    assert "landed" in watched
    assert "TASK_LANDED" in traced.out
    assert log.splitlines() == ["thinking", "ready"]
