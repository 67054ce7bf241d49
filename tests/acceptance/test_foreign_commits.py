"""Foreign commits: an agent forges a landing with yaoki's trailers and refs, and is detected."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, waits_for, writes
from tests.acceptance.test_branch_drift import add_remote, restore_command, run_shell, start_run

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.1", "0.2", "14.3")]

# As yaoki writes its commits, and both refs that it moves.
FORGE = """
set -e
head=$(git rev-parse refs/heads/yaoki/$YAOKI_RUN)
export GIT_INDEX_FILE=$PWD/../forged.index
git read-tree $head
blob=$(echo evil | git hash-object -w --stdin)
git update-index --add --cacheinfo 100644,$blob,evil.txt
tree=$(git write-tree)
said=$(printf 'x: y\\n\\nYaoki-Run: %s\\nYaoki-Task: %s\\n' $YAOKI_RUN $YAOKI_TASK)
forged=$(git -c user.name=e -c user.email=e@e commit-tree $tree -p $head -m "$said")
git update-ref refs/heads/yaoki/$YAOKI_RUN $forged
git update-ref refs/yaoki/runs/$YAOKI_RUN $forged
rm $GIT_INDEX_FILE
"""
FORGES = {"run": ["sh", "-c", FORGE]}
FOREIGN_COMMIT_MESSAGE = "which no task of the run landed"


def run_with_forged_landing(project: Project, last: list[Any], **task: Any) -> str:
    """`a` lands, then the agent of `b` forges a landing and does `last`; what the run says."""
    script = {"a": [writes("a.txt")], "b": [[FORGES, *last]]}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a"]},
        {"id": "b", "needs": ["a"], "checks": ["a"], **task},
    ]
    done = project.yaoki("run", project.plan(a_plan(script, tasks, {"a": file_contains("a.txt")})))
    assert done.code == 4, done.out + done.err
    return done.out


def test_a_forged_landing_pauses_the_run_before_it_is_done(project: Project) -> None:
    said = run_with_forged_landing(project, [{"say": "All is well."}], kind="report")

    status = project.status()
    assert (status["status"], FOREIGN_COMMIT_MESSAGE in status["paused"]) == ("PAUSED", True)
    assert FOREIGN_COMMIT_MESSAGE in said
    assert "RUN_DONE" not in project.event_names()
    assert project.yaoki("answer", status["run"], "go").code == 6
    way = status["paused"].partition("put it back: ")[2]
    subprocess.run(["sh", "-ec", way], cwd=project.repo, check=True, capture_output=True)
    assert project.yaoki("answer", status["run"], "go").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert "evil.txt" not in project.git("ls-tree", "-r", "--name-only", status["run_branch"])


@pytest.mark.full
def test_a_landing_on_top_of_a_forged_landing_does_not_hide_it(project: Project) -> None:
    run_with_forged_landing(project, writes("b.txt"))

    status = project.status()
    assert (status["status"], FOREIGN_COMMIT_MESSAGE in status["paused"]) == ("PAUSED", True)
    assert "1 landing is built on it" in status["paused"]
    assert project.yaoki("merge", status["run"], "--into", "release").code == 6


@pytest.mark.full
def test_reverted_landings_are_not_reported_as_foreign_commits(project: Project) -> None:
    """Undone with its dependents: none of these commits is a current landing."""
    script = {name: [writes(f"{name}.txt")] for name in ("a", "b")}
    tasks: list[dict[str, Any]] = [{"id": "a"}, {"id": "b", "needs": ["a"]}]
    plan = a_plan(script, tasks, {"there": {"shell": "ls *.txt"}})
    assert project.yaoki("run", project.plan(plan)).code == 0
    run = project.status()["run"]

    assert project.yaoki("undo", "a", "--cascade").code == 0
    assert project.yaoki("answer", "a", "retry").code == 0
    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.status(run)["status"] == "DONE"


# ------------------------------------------------------------------ it is not merged


def run_one_task(project: Project) -> str:
    """A run that is done; its id."""
    plan = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    assert project.yaoki("run", project.plan(plan)).code == 0
    return str(project.status()["run"])


def forge_landing(project: Project, run: str) -> str:
    """Forge a landing; returns the commit."""
    env = {**os.environ, "YAOKI_RUN": run, "YAOKI_TASK": f"{run}-1"}
    subprocess.run(["sh", "-c", FORGE], cwd=project.repo, env=env, check=True, capture_output=True)
    return project.git("rev-parse", f"yaoki/{run}")


def assert_merge_refused(project: Project, run: str, *options: str) -> str:
    """The merge is refused and creates no branch; returns the message."""
    refused = project.yaoki("merge", run, "--into", "release", *options)
    assert refused.code == 6, refused.out + refused.err
    assert not project.git("branch", "--list", "release")
    return refused.err


@pytest.mark.full
def test_a_forged_landing_after_the_end_of_the_run_is_not_merged(project: Project) -> None:
    run = run_one_task(project)
    forge_landing(project, run)

    said = assert_merge_refused(project, run)

    assert FOREIGN_COMMIT_MESSAGE in said
    run_shell(project, said.partition("put it back: ")[2].partition("; ")[0])
    assert project.yaoki("merge", run, "--into", "release").code == 0
    assert "evil.txt" not in project.git("ls-tree", "-r", "--name-only", "release")


@pytest.mark.full
def test_a_foreign_commit_on_branch_and_recorded_head_is_not_merged(project: Project) -> None:
    run = run_one_task(project)
    tree = project.git("rev-parse", f"yaoki/{run}^{{tree}}")
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    plain = project.git(*who, "commit-tree", "-p", f"yaoki/{run}", "-m", "plain", tree)
    for ref in (f"refs/heads/yaoki/{run}", f"refs/yaoki/runs/{run}"):
        project.git("update-ref", ref, plain)

    assert "which yaoki did not make" in assert_merge_refused(project, run)


@pytest.mark.full
def test_a_run_paused_by_a_foreign_commit_is_not_merged_partially(project: Project) -> None:
    run_with_forged_landing(project, [{"say": "All is well."}], kind="report")

    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(
        project, project.status()["run"], "--partial"
    )


@pytest.mark.full
def test_a_cancelled_run_is_checked_for_foreign_commits(project: Project, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    script = {"a": [writes("a.txt")], "b": [[waits_for(marker), *writes("b.txt")]]}
    tasks = [{"id": "a", "checks": ["a"]}, {"id": "b", "needs": ["a"], "checks": ["a"]}]
    process = project.start(
        "run", project.plan(a_plan(script, tasks, {"a": file_contains("a.txt")}))
    )
    wait_until(lambda: bool(project.query("status").out), "there is a run")
    wait_until(lambda: project.task("b")["stage"] == "WORK", "the second is at work")
    run = str(project.status()["run"])
    forge_landing(project, run)

    project.yaoki("cancel", "b")
    output, _ = process.communicate(timeout=60)

    assert (process.returncode, FOREIGN_COMMIT_MESSAGE in output) == (4, True), output
    assert project.status()["status"] == "PAUSED"
    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(project, run, "--partial")
    run_shell(project, restore_command(project))
    assert project.yaoki("answer", run, "go").code == 0
    assert project.yaoki("resume", "--quiet").code == 3
    assert project.status()["status"] == "CANCELLED"


@pytest.mark.full
def test_a_cancelled_run_with_a_foreign_commit_does_not_recommend_a_merge(
    project: Project, tmp_path: Path
) -> None:
    """A cancelled run asks nothing, and git would merge the branch as it is."""
    process = start_run(project, tmp_path / "go")
    run = str(project.status()["run"])
    sound = project.yaoki("cancel", run)
    process.communicate(timeout=60)
    assert sound.code == 0, sound.out + sound.err
    before = project.status()
    forge_landing(project, run)

    after = project.status()

    assert before["next"] == f"git merge yaoki/{run}"
    assert after["next"] == f"yaoki merge {run} --partial"
    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(project, run, "--partial")


@pytest.mark.full
def test_a_manual_merge_of_a_foreign_commit_counts_as_merged(project: Project) -> None:
    """A person may merge a foreign commit knowingly."""
    run = run_one_task(project)
    forge_landing(project, run)
    project.git("merge", "-q", f"yaoki/{run}")

    told = project.yaoki("merge", run)

    assert told.code == 0, told.out + told.err


@pytest.mark.full
def test_a_foreign_commit_after_a_partial_merge_is_detected(
    project: Project, tmp_path: Path
) -> None:
    """A partial merge does not accept later foreign commits on the branch."""
    marker = tmp_path / "go"
    process = start_run(project, marker)
    run = str(project.status()["run"])
    assert project.yaoki("merge", run, "--into", "early", "--partial").code == 0
    forge_landing(project, run)

    marker.touch()
    output, _ = process.communicate(timeout=60)

    assert (process.returncode, FOREIGN_COMMIT_MESSAGE in output) == (4, True), output
    assert project.status()["status"] == "PAUSED"
    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(project, run, "--partial")


@pytest.mark.full
def test_a_partially_merged_run_recommends_a_merge_at_its_end(
    project: Project, tmp_path: Path
) -> None:
    marker = tmp_path / "go"
    process = start_run(project, marker)
    run = str(project.status()["run"])
    assert project.yaoki("merge", run, "--into", "early", "--partial").code == 0
    marker.touch()
    process.communicate(timeout=60)

    before = project.status()
    assert project.yaoki("merge", run, "--into", "whole").code == 0

    assert (process.returncode, before["status"]) == (0, "DONE")
    assert "merge" in before["next"]
    assert project.status()["next"].startswith("git log ")


# ------------------------------------------------------------------ the ways out


@pytest.mark.full
def test_the_printed_command_removes_a_foreign_commit_from_the_remote(
    project: Project, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    add_remote(project, bare)
    run = run_one_task(project)
    landed = project.git("rev-parse", f"yaoki/{run}")
    evil = forge_landing(project, run)
    refs = (f"{evil}:refs/heads/yaoki/{run}", f"{evil}:refs/yaoki/runs/{run}")
    project.git("push", "-q", "origin", *refs)

    said = assert_merge_refused(project, run)
    run_shell(project, said.partition("put it back: ")[2].partition("; ")[0])

    there = project.git("ls-remote", "origin")
    assert f"{landed}\trefs/heads/yaoki/{run}" in there
    assert evil in there, "what stood there is kept on a branch of its own"
    assert project.yaoki("merge", run, "--into", "release").code == 0


@pytest.mark.full
def test_a_run_continues_on_a_foreign_commit_that_a_person_accepts(project: Project) -> None:
    run_with_forged_landing(project, writes("b.txt"))
    status = project.status()
    run, paused = status["run"], str(status["paused"])
    assert project.yaoki("answer", run, "go").code == 6
    strange = project.git("rev-parse", f"yaoki/{run}~1")
    wrong = project.yaoki("answer", run, "go", "--accept", "0" * 40)
    assert wrong.code == 6, "only what is there, and strange"
    way = f"yaoki answer {run} go --accept {strange}"
    assert way in paused

    assert project.yaoki(*way.split()[1:]).code == 0
    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.yaoki("merge", run, "--into", "release").code == 0
    assert "RECONCILED" in project.event_names()
