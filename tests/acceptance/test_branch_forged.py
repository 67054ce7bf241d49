"""An agent that lands for itself, with yaoki's own words and refs: the store knows better."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.acceptance.place import Place, a_plan, holds, writes

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


def test_a_forged_landing_is_noticed_before_the_run_is_called_done(place: Place) -> None:
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


def test_work_that_landed_on_a_forged_landing_does_not_hide_it(place: Place) -> None:
    forged(place, writes("b.txt"))

    status = place.status()
    assert (status["status"], SAID in status["paused"]) == ("PAUSED", True)
    assert "1 landing stands on it" in status["paused"]
    assert place.yaoki("merge", status["run"], "--into", "release").code == 6


def test_work_that_was_taken_back_is_no_forgery(place: Place) -> None:
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
