"""Foreign commits: an agent forges a landing with yaoki's trailers and refs, and is detected."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    GIT_IDENTITY,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)
from tests.acceptance.test_branch_drift import add_remote, restore_command, run_shell

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
    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(project, status["run"], "--partial")
    assert project.yaoki("answer", status["run"], "go").code == 6
    way = status["paused"].partition("put it back: ")[2]
    subprocess.run(["sh", "-ec", way], cwd=project.repo, check=True, capture_output=True)
    assert project.yaoki("answer", status["run"], "go").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert "evil.txt" not in project.git("ls-tree", "-r", "--name-only", status["run_branch"])


def reconciled_lines(project: Project) -> int:
    return project.event_names().count("RECONCILED")


def test_a_foreign_commit_that_no_landing_is_built_on_cannot_be_accepted(project: Project) -> None:
    """The refusal writes nothing and names the command that puts the branch back."""
    run = run_half(project)
    landed = project.git("rev-parse", f"yaoki/{run}")
    tree = project.git("rev-parse", f"{landed}^{{tree}}")
    foreign = project.git(*GIT_IDENTITY, "commit-tree", "-p", landed, "-m", "foreign", tree)
    project.git("update-ref", f"refs/heads/yaoki/{run}", foreign)
    assert project.yaoki("answer", "b", "retry").code == 0
    assert project.yaoki("resume", "--quiet").code == 4
    before = project.event_names()

    refused = project.yaoki("answer", run, "go", "--accept", foreign)
    again = project.yaoki("answer", run, "go", "--accept", foreign)

    assert (refused.code, again.code, again.err) == (6, 6, refused.err)
    assert "no landing is built on it, so it cannot be accepted" in refused.err
    assert project.event_names() == before
    assert project.yaoki("answer", run, "go").code == 6
    assert project.yaoki("verify", run).code == 1, "as long as the run is refused"
    run_shell(project, refused.err.partition("put it back: ")[2].strip())
    assert project.yaoki("answer", run, "go").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert project.yaoki("verify", run).code == 0
    assert foreign not in project.git("rev-list", f"yaoki/{run}")


@pytest.mark.full
def test_foreign_commits_under_a_landing_are_accepted_all_together_or_not_at_all(
    project: Project,
) -> None:
    """Two below a landing, which does not hide them, and one on top of it that must be put back
    first.  Only what is there, and foreign, can be accepted.
    """
    run_with_forged_landing(project, [FORGES, *writes("b.txt")])
    run, paused = str(project.status()["run"]), str(project.status()["paused"])
    assert (project.status()["status"], FOREIGN_COMMIT_MESSAGE in paused) == ("PAUSED", True)
    assert "1 landing is built on" in paused
    assert_merge_refused(project, run)
    assert project.yaoki("answer", run, "go").code == 6
    assert project.yaoki("answer", run, "go", "--accept", "0" * 40).code == 6
    newer, older = (project.git("rev-parse", f"yaoki/{run}~{n}") for n in (1, 2))
    both = ("answer", run, "go", "--accept", older, "--accept", newer)
    assert f"yaoki {' '.join(both)}" in paused
    top = forge_landing(project, run)

    for accepted in (both[:5], both, (*both, "--accept", top)):
        refused = project.yaoki(*accepted)
        assert (refused.code, "put it back: " in refused.err) == (6, True), refused.err
    run_shell(project, refused.err.partition("put it back: ")[2].strip())
    one = project.yaoki(*both[:5])
    assert (one.code, f"yaoki {' '.join(both)}" in one.err) == (6, True), one.err
    assert reconciled_lines(project) == 0

    assert project.yaoki(*both).code == 0
    assert reconciled_lines(project) == 2
    assert project.yaoki("resume", "--quiet").code == 0
    assert project.yaoki("verify", run).code == 0
    assert project.yaoki("merge", run, "--into", "release").code == 0


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
def test_a_cancelled_run_is_checked_for_foreign_commits(project: Project, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    script = {"a": [writes("a.txt")], "b": [[waits_for(marker), *writes("b.txt")]]}
    tasks = [{"id": "a", "checks": ["a"]}, {"id": "b", "needs": ["a"], "checks": ["a"]}]
    plan = project.plan(a_plan(script, tasks, {"a": file_contains("a.txt")}))
    with project.beside("run", plan) as running:
        wait_until(lambda: bool(project.query("status").out), "there is a run")
        wait_until(lambda: project.task("b")["stage"] == "WORK", "the second is at work")
        run = str(project.status()["run"])
        forge_landing(project, run)
        project.yaoki("cancel", "b")
    done = running.result()

    assert (done.code, FOREIGN_COMMIT_MESSAGE in done.out) == (4, True), done.out
    assert project.status()["status"] == "PAUSED"
    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(project, run, "--partial")
    run_shell(project, restore_command(project))
    assert project.yaoki("answer", run, "go").code == 0
    assert project.yaoki("resume", "--quiet").code == 3
    assert project.status()["status"] == "CANCELLED"


def run_half(project: Project) -> str:
    """`a` has landed, the only attempt of `b` has failed, and a retry would pass; the run's id."""
    script = {"a": [writes("a.txt")], "b": [[{"say": "no"}], writes("b.txt")]}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a"]},
        {"id": "b", "needs": ["a"], "checks": ["b"], "retry": {"max_retries": 0}},
    ]
    checks = {name: file_contains(f"{name}.txt") for name in ("a", "b")}
    assert project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet").code == 4
    return str(project.status()["run"])


@pytest.mark.full
def test_a_cancelled_run_with_a_foreign_commit_does_not_recommend_a_merge(
    prepared: Prepared,
) -> None:
    """A cancelled run asks nothing, and git would merge the branch as it is."""
    project, run = prepared.after(run_half)
    sound = project.yaoki("cancel", run)
    assert sound.code == 0, sound.out + sound.err
    (project.repo / "README").write_text("uncommitted\n")
    before = project.status()
    forge_landing(project, run)

    after = project.status()
    project.git("checkout", "-q", "README")

    assert before["next"] == after["next"] == f"yaoki merge {run} --partial"
    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(project, run, "--partial")


@pytest.mark.full
def test_a_foreign_commit_after_a_partial_merge_is_detected_and_the_whole_run_is_merged_later(
    prepared: Prepared,
) -> None:
    """A partial merge does not accept later foreign commits on the branch."""
    project, run = prepared.after(run_half)
    assert project.yaoki("merge", run, "--into", "early", "--partial").code == 0
    forge_landing(project, run)
    assert project.yaoki("answer", "b", "retry").code == 0

    drifted = project.yaoki("resume")

    assert (drifted.code, FOREIGN_COMMIT_MESSAGE in drifted.out) == (4, True), drifted.out
    assert project.status()["status"] == "PAUSED"
    assert FOREIGN_COMMIT_MESSAGE in assert_merge_refused(project, run, "--partial")
    run_shell(project, restore_command(project))
    assert project.yaoki("answer", run, "go").code == 0
    done = project.yaoki("resume", "--quiet")
    before = project.status()
    assert (done.code, before["status"]) == (0, "DONE")
    assert "merge" in before["next"]
    assert project.yaoki("merge", run, "--into", "whole").code == 0
    assert project.status()["next"].startswith("git log ")


# ------------------------------------------------------------------ the ways out


@pytest.mark.full
def test_a_foreign_commit_after_the_end_is_not_merged_and_the_printed_command_removes_it(
    project: Project, tmp_path: Path
) -> None:
    """From the remote, which has it as well."""
    bare = tmp_path / "bare.git"
    add_remote(project, bare)
    run = run_one_task(project)
    landed = project.git("rev-parse", f"yaoki/{run}")
    evil = forge_landing(project, run)
    refs = (f"{evil}:refs/heads/yaoki/{run}", f"{evil}:refs/yaoki/runs/{run}")
    project.git("push", "-q", "origin", *refs)

    said = assert_merge_refused(project, run)
    run_shell(project, said.partition("put it back: ")[2].partition("; ")[0])

    assert FOREIGN_COMMIT_MESSAGE in said
    there = project.git("ls-remote", "origin")
    assert f"{landed}\trefs/heads/yaoki/{run}" in there
    assert evil in there, "what stood there is kept on a branch of its own"
    assert project.yaoki("merge", run, "--into", "release").code == 0
    assert "evil.txt" not in project.git("ls-tree", "-r", "--name-only", "release")
