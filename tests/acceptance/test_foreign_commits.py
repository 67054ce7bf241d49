"""An agent that lands for itself, with yaoki's own words and refs: the store knows better."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, holds, until, waits_for, writes
from tests.acceptance.test_branch_drift import begun, shared, typed, way_back

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
SAID = "which no task of the run landed"


def forged(place: Place, last: list[Any], **task: Any) -> str:
    """`a` lands, then the agent of `b` forges a landing and does `last`; what the run says."""
    script = {"a": [writes("a.txt")], "b": [[FORGES, *last]]}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a"]},
        {"id": "b", "needs": ["a"], "checks": ["a"], **task},
    ]
    done = place.yaoki("run", place.plan(a_plan(script, tasks, {"a": holds("a.txt")})))
    assert done.code == 4, done.out + done.err
    return done.out


def test_a_forged_landing_pauses_the_run_before_it_is_done(place: Place) -> None:
    said = forged(place, [{"say": "All is well."}], kind="report")

    status = place.status()
    assert (status["status"], SAID in status["paused"]) == ("PAUSED", True)
    assert SAID in said
    assert "RUN_DONE" not in place.story()
    assert place.yaoki("answer", status["run"], "go").code == 6
    way = status["paused"].partition("put it back: ")[2]
    subprocess.run(["sh", "-ec", way], cwd=place.repo, check=True, capture_output=True)
    assert place.yaoki("answer", status["run"], "go").code == 0
    assert place.yaoki("resume", "--quiet").code == 0
    assert "evil.txt" not in place.git("ls-tree", "-r", "--name-only", status["run_branch"])


@pytest.mark.full
def test_a_landing_on_top_of_a_forged_landing_does_not_hide_it(place: Place) -> None:
    forged(place, writes("b.txt"))

    status = place.status()
    assert (status["status"], SAID in status["paused"]) == ("PAUSED", True)
    assert "1 landing is built on it" in status["paused"]
    assert place.yaoki("merge", status["run"], "--into", "release").code == 6


@pytest.mark.full
def test_reverted_landings_are_not_reported_as_foreign_commits(place: Place) -> None:
    """Undone with what stands on it: none of these commits is a landing that still counts."""
    script = {name: [writes(f"{name}.txt")] for name in ("a", "b")}
    tasks: list[dict[str, Any]] = [{"id": "a"}, {"id": "b", "needs": ["a"]}]
    plan = a_plan(script, tasks, {"there": {"shell": "ls *.txt"}})
    assert place.yaoki("run", place.plan(plan)).code == 0
    run = place.status()["run"]

    assert place.yaoki("undo", "a", "--cascade").code == 0
    assert place.yaoki("answer", "a", "retry").code == 0
    done = place.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert place.status(run)["status"] == "DONE"


# ------------------------------------------------------------------ nobody ships it


def one_landed(place: Place) -> str:
    """A run that is done; its id."""
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": holds("a.txt")})
    assert place.yaoki("run", place.plan(plan)).code == 0
    return str(place.status()["run"])


def forge(place: Place, run: str) -> str:
    """Somebody lands for himself; the commit."""
    env = {**os.environ, "YAOKI_RUN": run, "YAOKI_TASK": f"{run}-1"}
    subprocess.run(["sh", "-c", FORGE], cwd=place.repo, env=env, check=True, capture_output=True)
    return place.git("rev-parse", f"yaoki/{run}")


def merges_nothing(place: Place, run: str, *options: str) -> str:
    """Refused, and the new branch was not made; what is said."""
    refused = place.yaoki("merge", run, "--into", "release", *options)
    assert refused.code == 6, refused.out + refused.err
    assert not place.git("branch", "--list", "release")
    return refused.err


@pytest.mark.full
def test_a_forged_landing_after_the_end_of_the_run_is_not_merged(place: Place) -> None:
    run = one_landed(place)
    forge(place, run)

    said = merges_nothing(place, run)

    assert SAID in said
    typed(place, said.partition("put it back: ")[2].partition("; ")[0])
    assert place.yaoki("merge", run, "--into", "release").code == 0
    assert "evil.txt" not in place.git("ls-tree", "-r", "--name-only", "release")


@pytest.mark.full
def test_a_foreign_commit_on_branch_and_recorded_head_is_not_merged(place: Place) -> None:
    run = one_landed(place)
    tree = place.git("rev-parse", f"yaoki/{run}^{{tree}}")
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    plain = place.git(*who, "commit-tree", "-p", f"yaoki/{run}", "-m", "plain", tree)
    for ref in (f"refs/heads/yaoki/{run}", f"refs/yaoki/runs/{run}"):
        place.git("update-ref", ref, plain)

    assert "which yaoki did not make" in merges_nothing(place, run)


@pytest.mark.full
def test_a_run_paused_by_a_foreign_commit_is_not_merged_partially(place: Place) -> None:
    forged(place, [{"say": "All is well."}], kind="report")

    assert SAID in merges_nothing(place, place.status()["run"], "--partial")


@pytest.mark.full
def test_a_cancelled_run_is_checked_for_foreign_commits(place: Place, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    script = {"a": [writes("a.txt")], "b": [[waits_for(marker), *writes("b.txt")]]}
    tasks = [{"id": "a", "checks": ["a"]}, {"id": "b", "needs": ["a"], "checks": ["a"]}]
    process = place.start("run", place.plan(a_plan(script, tasks, {"a": holds("a.txt")})))
    until(lambda: bool(place.look("status").out), "there is a run")
    until(lambda: place.task("b")["stage"] == "WORK", "the second is at work")
    run = str(place.status()["run"])
    forge(place, run)

    place.yaoki("cancel", "b")
    said, _ = process.communicate(timeout=60)

    assert (process.returncode, SAID in said) == (4, True), said
    assert place.status()["status"] == "PAUSED"
    assert SAID in merges_nothing(place, run, "--partial")
    typed(place, way_back(place))
    assert place.yaoki("answer", run, "go").code == 0
    assert place.yaoki("resume", "--quiet").code == 3
    assert place.status()["status"] == "CANCELLED"


@pytest.mark.full
def test_a_cancelled_run_with_a_foreign_commit_does_not_recommend_a_merge(
    place: Place, tmp_path: Path
) -> None:
    """It asks nothing any more; git itself would merge whatever stands there."""
    process = begun(place, tmp_path / "go")
    run = str(place.status()["run"])
    sound = place.yaoki("cancel", run)
    process.communicate(timeout=60)
    assert sound.code == 0, sound.out + sound.err
    before = place.status()
    forge(place, run)

    after = place.status()

    assert before["next"] == f"git merge yaoki/{run}"
    assert after["next"] == f"yaoki merge {run} --partial"
    assert SAID in merges_nothing(place, run, "--partial")


@pytest.mark.full
def test_a_manual_merge_of_a_foreign_commit_counts_as_merged(place: Place) -> None:
    """It is a person's right, and known to whoever did it."""
    run = one_landed(place)
    forge(place, run)
    place.git("merge", "-q", f"yaoki/{run}")

    told = place.yaoki("merge", run)

    assert told.code == 0, told.out + told.err


@pytest.mark.full
def test_a_foreign_commit_after_a_partial_merge_is_detected(place: Place, tmp_path: Path) -> None:
    """What is merged of a run that goes on is no leave for whatever comes to its branch later."""
    marker = tmp_path / "go"
    process = begun(place, marker)
    run = str(place.status()["run"])
    assert place.yaoki("merge", run, "--into", "early", "--partial").code == 0
    forge(place, run)

    marker.touch()
    said, _ = process.communicate(timeout=60)

    assert (process.returncode, SAID in said) == (4, True), said
    assert place.status()["status"] == "PAUSED"
    assert SAID in merges_nothing(place, run, "--partial")


@pytest.mark.full
def test_a_partially_merged_run_recommends_a_merge_at_its_end(place: Place, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    process = begun(place, marker)
    run = str(place.status()["run"])
    assert place.yaoki("merge", run, "--into", "early", "--partial").code == 0
    marker.touch()
    process.communicate(timeout=60)

    before = place.status()
    assert place.yaoki("merge", run, "--into", "whole").code == 0

    assert (process.returncode, before["status"]) == (0, "DONE")
    assert "merge" in before["next"]
    assert place.status()["next"].startswith("git log ")


# ------------------------------------------------------------------ the ways out


@pytest.mark.full
def test_the_printed_command_removes_a_foreign_commit_from_the_remote(
    place: Place, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    shared(place, bare)
    run = one_landed(place)
    landed = place.git("rev-parse", f"yaoki/{run}")
    evil = forge(place, run)
    refs = (f"{evil}:refs/heads/yaoki/{run}", f"{evil}:refs/yaoki/runs/{run}")
    place.git("push", "-q", "origin", *refs)

    said = merges_nothing(place, run)
    typed(place, said.partition("put it back: ")[2].partition("; ")[0])

    there = place.git("ls-remote", "origin")
    assert f"{landed}\trefs/heads/yaoki/{run}" in there
    assert evil in there, "what stood there is kept on a branch of its own"
    assert place.yaoki("merge", run, "--into", "release").code == 0


@pytest.mark.full
def test_a_run_continues_on_a_foreign_commit_that_a_person_accepts(place: Place) -> None:
    forged(place, writes("b.txt"))
    status = place.status()
    run, paused = status["run"], str(status["paused"])
    assert place.yaoki("answer", run, "go").code == 6
    strange = place.git("rev-parse", f"yaoki/{run}~1")
    wrong = place.yaoki("answer", run, "go", "--accept", "0" * 40)
    assert wrong.code == 6, "only what is there, and strange"
    way = f"yaoki answer {run} go --accept {strange}"
    assert way in paused

    assert place.yaoki(*way.split()[1:]).code == 0
    done = place.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert place.yaoki("merge", run, "--into", "release").code == 0
    assert "RECONCILED" in place.story()
