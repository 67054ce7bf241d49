"""Branch drift: a changed run branch pauses the run with the command that restores it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.2", "0.6", "8.6")]
FIRST, LATER = ["a", "e"], ["b", "c"]
LOST = "landed, but its commit is no longer on the branch"


def plan_of(*last: tuple[str, list[Any]], **more: Any) -> dict[str, Any]:
    """`a` and `e` land at once; the acts of the others begin after that."""
    script: dict[str, Any] = {name: [writes(f"{name}.txt")] for name in FIRST}
    script |= {name: [[*acts, *writes(f"{name}.txt")]] for name, acts in last}
    tasks = [
        {"id": name, "checks": [name], "needs": [] if name in FIRST else FIRST} for name in script
    ]
    return a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in script}, **more)


def runs_shell(line: str) -> dict[str, Any]:
    return {"run": ["sh", "-ec", line]}


def add_remote(project: Project, bare: Path) -> None:
    """Give the repository a remote that contains the run branch."""
    project.git("init", "-q", "--bare", str(bare))
    project.git("remote", "add", "origin", str(bare))
    project.git("push", "-q", "origin", "main")
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write('\n[workspace]\nremote = "origin"\n')


def restore_command(project: Project) -> str:
    """The command that the pause message names, unchanged."""
    paused = str(project.status()["paused"])
    assert paused.startswith("branch: "), paused
    return paused.partition("put it back: ")[2]


def run_shell(project: Project, command: str) -> None:
    subprocess.run(
        ["sh", "-ec", command], cwd=project.repo, check=True, capture_output=True, timeout=30
    )


def assert_paused(project: Project, said: str, times: int = 1) -> None:
    """The run asks once for each drift, no task does, and nothing has landed since."""
    entries = project.events()
    story = [entry["event"] for entry in entries]
    paused = [entry for entry in entries if entry["event"] == "RUN_PAUSED"]
    assert len([entry for entry in paused if "put it back: " in str(entry["data"])]) == times
    assert not {"ESCALATE_DECISION", "RETRY_DECISION"} & set(story)
    assert story.count("TASK_LANDED") == 2
    status = project.status()
    assert status["status"] == "PAUSED"
    assert "put it back: git " in said


def restore(project: Project) -> None:
    """Run the printed command, and let the run continue."""
    run_shell(project, restore_command(project))
    assert project.yaoki("answer", project.status()["run"], "go").code == 0


def resume_into_drift(project: Project, times: int) -> None:
    """The next worker notices the drift before any task starts."""
    done = project.yaoki("resume", "--quiet")
    assert done.code == 4, done.out + done.err
    assert_paused(project, done.out, times)


def assert_go_refused(project: Project) -> str:
    refused = project.yaoki("answer", project.status()["run"], "go")
    assert refused.code == 6, "while it is not back there is no going on"
    assert "git " in refused.err
    return refused.err


def assert_run_completes(project: Project, at: Path, *names: str) -> None:
    """The run ends with every landing on its branch."""
    run = project.status()["run"]
    done = project.yaoki("resume", "--quiet")
    assert done.code == 0, done.out + done.err
    landed = subprocess.run(
        ("git", "ls-tree", "-r", "--name-only", f"yaoki/{run}"),
        cwd=at,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert {f"{name}.txt" for name in (*FIRST, *names)} <= set(landed)
    assert LOST not in project.query("report").out


@pytest.mark.full
def test_a_locally_rewritten_run_branch_pauses_the_run_with_the_command_to_restore_it(
    project: Project, tmp_path: Path
) -> None:
    """While two agents work it is deleted with its recorded head.  Between two workers both are set
    to an earlier landing, the branch alone is deleted, and then a person checks it out: to move it
    there would make the checkout look modified.
    """
    both, gone, mine = tmp_path / "both", tmp_path / "gone", tmp_path / "mine"
    refs = ("refs/heads/yaoki/$YAOKI_RUN", "refs/yaoki/runs/$YAOKI_RUN")
    deletes = runs_shell("; ".join(f"git update-ref -d {ref}" for ref in refs) + f"; touch {gone}")
    # A claimed task still reads the branch to create its worktree.
    acts = (
        ("b", [waits_for(both), deletes]),
        ("c", [runs_shell(f"touch {both}"), waits_for(gone)]),
    )

    done = project.yaoki("run", project.plan(plan_of(*acts)), "--parallel", "2")

    assert done.code == 4, done.out + done.err
    assert_paused(project, done.out)
    run = project.status()["run"]
    assert_go_refused(project)
    lost = {t["name"]: t["on_branch"] for t in project.status()["tasks"] if t["landed"]}
    assert False in lost.values()
    assert LOST in project.query("status").out
    assert LOST in project.yaoki("report").out
    restore(project)

    assert_drift_is_detected_before_any_task_starts(project, run, times=2)
    project.git("worktree", "add", "-q", str(mine), f"yaoki/{run}")
    assert project.yaoki("resume", "--quiet").code == 4
    story = project.event_names()
    assert story.count("RUN_PAUSED") == 4
    assert not {"ESCALATE_DECISION", "RETRY_DECISION"} & set(story)
    refused = project.yaoki("answer", run, "go")
    assert (refused.code, str(mine) in refused.err) == (6, True), refused.err
    run_shell(project, str(project.status()["paused"]).partition("release it there: ")[2])
    assert project.yaoki("answer", run, "go").code == 0
    assert_run_completes(project, project.repo, *LATER)
    assert not project.git("-C", str(mine), "status", "--porcelain")


def assert_drift_is_detected_before_any_task_starts(project: Project, run: str, times: int) -> None:
    """The store knows the landings regardless of the branch and the recorded head."""
    last = project.git("rev-parse", f"yaoki/{run}")
    for ref in (f"refs/heads/yaoki/{run}", f"refs/yaoki/runs/{run}"):
        project.git("update-ref", ref, f"{last}^1")
    resume_into_drift(project, times)
    assert last in assert_go_refused(project), "a second answer does not accept it"
    assert last in restore_command(project)
    restore(project)
    project.git("branch", "-D", f"yaoki/{run}")
    resume_into_drift(project, times + 1)
    assert f"git branch -f yaoki/{run}" in restore_command(project)
    assert LOST in project.query("status").out
    restore(project)


@pytest.mark.full
def test_a_run_branch_rewritten_at_the_remote_pauses_the_run_with_the_command_to_restore_it(
    project: Project, tmp_path: Path
) -> None:
    """Deleted while the worker runs, and then forced to a commit made by hand."""
    bare = tmp_path / "bare.git"
    add_remote(project, bare)
    refs = ":refs/heads/yaoki/$YAOKI_RUN :refs/yaoki/runs/$YAOKI_RUN"
    plan = plan_of(("b", [runs_shell(f"git push -q origin {refs}")]))

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 4, done.out + done.err
    assert_paused(project, done.out)
    assert LOST in project.query("status").out
    restore(project)

    run = project.status()["run"]
    branch = f"refs/heads/yaoki/{run}"
    tree = project.git("rev-parse", "main^{tree}")
    mine = project.git(*GIT_IDENTITY, "commit-tree", "-p", "main", "-m", "by hand", tree)
    project.git("push", "-q", "origin", f"+{mine}:{branch}")
    resume_into_drift(project, 2)
    assert LOST in project.query("status").out
    restore(project)
    assert_run_completes(project, bare, "b")
    kept = project.git("ls-remote", "origin", "refs/heads/*")
    assert mine in kept, "what was committed by hand stands on a branch of its own"


@pytest.mark.full
def test_an_interrupted_landing_of_a_cancelled_task_is_no_drift(
    project: Project, tmp_path: Path
) -> None:
    """Killed between recorded head and branch: nothing landed, and nothing is missing."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    acts = [runs_shell(f"touch {begun}"), waits_for(go)]
    process = project.start("run", project.plan(plan_of(("b", acts))))
    wait_until(begun.exists, "the last one is at work")
    process.kill()
    process.communicate(timeout=30)
    run = project.status()["run"]
    head = project.git("rev-parse", f"yaoki/{run}")
    words = f"b: attempt 1\n\nYaoki-Run: {run}\nYaoki-Task: {project.task('b')['id']}"
    ahead = project.git(*GIT_IDENTITY, "commit-tree", "-p", head, "-m", words, f"{head}^{{tree}}")
    project.git("update-ref", f"refs/yaoki/runs/{run}", ahead)
    project.yaoki("cancel", "b")
    go.touch()
    assert project.yaoki("resume", "--quiet").code == 3

    merged = project.yaoki("merge", run, "--into", "release", "--partial")

    assert merged.code == 0, merged.out + merged.err
    assert project.git("rev-parse", "release") == head


@pytest.mark.full
def test_a_run_branch_rewritten_after_the_last_landing_keeps_the_run_from_being_done(
    project: Project, tmp_path: Path
) -> None:
    """Everything has landed, so only the completion of the run reads the branch again."""
    begun, never = tmp_path / "begun", tmp_path / "never"
    script = {"a": [writes("a.txt")], "b": [[runs_shell(f"touch {begun}"), waits_for(never)]]}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a"]},
        {"id": "b", "needs": ["a"], "checks": ["a"], "required": False},
    ]
    plan = a_plan(script, tasks, {"a": file_contains("a.txt")})
    with project.beside("run", project.plan(plan)) as running:
        wait_until(begun.exists, "the other is at work")
        run = project.status()["run"]
        project.git("update-ref", f"refs/heads/yaoki/{run}", "main")
        project.yaoki("cancel", "b")
    done = running.result()

    assert done.code == 4, done.out
    assert project.status()["status"] == "PAUSED"
    assert "FINAL_SUMMARY" not in project.event_names()


@pytest.mark.full
def test_the_report_of_a_finished_run_with_a_rewritten_branch_shows_no_landed_task(
    project: Project,
) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    assert project.yaoki("run", project.plan(plan)).code == 0
    project.git("update-ref", f"refs/heads/{project.status()['run_branch']}", "main")

    report = project.yaoki("report", "--json").document
    words = project.yaoki("report").out

    assert LOST in project.query("status").out
    assert [task["landed"] for task in report["tasks"]] == [False]
    assert report["numbers"]["lost"] == 1
    assert report["receipt"] is None
    assert LOST in words
    assert "each proven by its checks" not in report["verdict"]
