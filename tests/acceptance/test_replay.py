"""`yaoki verify --replay`: every landed commit proven again in a fresh clone."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import BOUND_S, WHO, Place, a_plan, holds, writes
from tests.acceptance.test_judge import PASS, critic, judged
from tests.adapters.store.store_actions import by_hand

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.11")]
ONCE = {"retry": {"max_retries": 0}}


def landed(place: Place, checks: dict[str, Any], **more: Any) -> str:
    """`a` and `b`, one after the other, each with its own check; the id of the run."""
    script = {name: [writes(f"{name}.txt")] for name in ("a", "b")}
    tasks: list[Any] = [
        {"id": "a", "checks": ["a"], **ONCE},
        {"id": "b", "checks": ["b"], "needs": ["a"], **ONCE},
    ]
    done = place.yaoki("run", "--quiet", place.plan(a_plan(script, tasks, checks, **more)))
    assert done.code == 0, done.out + done.err
    return str(place.status()["run"])


def both() -> dict[str, Any]:
    return {"a": holds("a.txt"), "b": holds("b.txt")}


def leftovers(place: Place) -> list[Path]:
    return list((place.folder / "tmp").glob("yaoki-replay-*"))


@pytest.fixture
def place(place: Place) -> Place:
    """With a folder of its own for what is temporary."""
    (place.folder / "tmp").mkdir()
    place.env["TMPDIR"] = str(place.folder / "tmp")
    return place


def test_every_landed_commit_passes_again_and_nothing_else_is_touched(place: Place) -> None:
    run = landed(place, both())
    (place.repo / "own.txt").write_text("the user's\n")
    lines = by_hand(place.database, "SELECT count(*) FROM journal")
    before = place.git("status", "--porcelain"), place.git("for-each-ref")

    done = place.yaoki("verify", "--replay", run)

    assert done.code == 0, done.out + done.err
    said = [line for line in done.out.splitlines() if "PASSED again" in line]
    assert [line.split()[1] for line in said] == ["a", "b", "done_when"]
    assert "3 of 3 proofs passed again in a fresh clone" in done.out
    assert "proving 1 of 3 again: a" in done.err
    assert (place.git("status", "--porcelain"), place.git("for-each-ref")) == before
    assert by_hand(place.database, "SELECT count(*) FROM journal") == lines
    assert leftovers(place) == []


@pytest.mark.full
def test_a_commit_that_does_not_pass_again_is_named_with_exit_code_1(place: Place) -> None:
    """It passed because of something that is not in the commit."""
    beside = place.folder / "beside.txt"
    beside.write_text("there\n")
    run = landed(place, {**both(), "b": {"shell": f"test -f b.txt && test -f {beside}"}})
    beside.unlink()

    done = place.yaoki("verify", "--replay", run, "--json")

    told = done.document
    assert (done.code, told["verified"], told["schema"] > 0) == (1, False, True)
    a, b, last = told["commits"]
    assert (last["ok"], last["name"]) == (True, "done_when"), "it has the check of a alone"
    assert (a["ok"], b["ok"], b["name"]) == (True, False, "b")
    assert b["commit"] == place.task("b")["landed"]
    assert (b["checks"][0]["journal"], b["checks"][0]["outcome"]) == ("PASSED", "FAILED")
    assert told["summary"].startswith("2 of 3 proofs")


@pytest.mark.full
def test_a_replay_reports_the_number_of_tests(place: Place) -> None:
    test = "def test_one():\n    assert True\n\n\ndef test_two():\n    assert True\n"
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    plan = a_plan({"a": [writes("test_it.py", test)]}, [{"id": "a"}], {"tests": {"run": argv}})
    done = place.yaoki("run", "--quiet", place.plan(plan))
    assert done.code == 0, done.out + done.err

    done = place.yaoki("verify", "--replay")

    assert done.code == 0, done.out + done.err
    assert "tests PASSED again, 2 tests" in done.out


@pytest.mark.full
def test_setup_runs_once_for_the_same_lock_files(place: Place) -> None:
    """And what it made, which git ignores, is there for both commits."""
    (place.repo / ".gitignore").write_text("made.txt\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "ignore")
    count = place.folder / "count"
    setup = [["sh", "-c", f"echo once >> {count}; echo made > made.txt"]]
    checks = {name: {"shell": f"test -f {name}.txt && test -f made.txt"} for name in ("a", "b")}
    run = landed(place, checks, setup=setup)
    count.unlink()

    done = place.yaoki("verify", "--replay", run)

    assert done.code == 0, done.out + done.err
    assert count.read_text() == "once\n"


@pytest.mark.full
def test_a_replay_with_a_failed_setup_fails(place: Place) -> None:
    beside = place.folder / "beside.txt"
    beside.write_text("there\n")
    run = landed(place, both(), setup=[["test", "-f", str(beside)]])
    beside.unlink()

    done = place.yaoki("verify", "--replay", run)

    assert done.code == 1, done.out + done.err
    assert "0 of 3 proofs passed again" in done.out
    assert "set-up 'test -f" in done.out


@pytest.mark.full
def test_a_judge_is_reported_as_not_replayed(place: Place) -> None:
    code, _, _ = judged(place, critic(PASS))
    assert code == 0

    told = place.yaoki("verify", "--replay", "--json").document

    outcomes = {one["check"]: one["outcome"] for one in told["commits"][0]["checks"]}
    assert outcomes == {"good": "PASSED", "review": "NOT_REPLAYED"}
    assert "1 check not replayed" in told["summary"]


@pytest.mark.full
def test_a_waived_check_is_named_as_waived_and_never_as_passed(place: Place) -> None:
    tasks: list[Any] = [{"id": "a", "checks": ["a", "never"], **ONCE}]
    checks = {"a": holds("a.txt"), "never": {"shell": "false"}}
    plan = a_plan({"a": [writes("a.txt")]}, tasks, checks)
    assert place.yaoki("run", "--quiet", place.plan(plan)).code == 4
    assert place.yaoki("answer", "a", "waive", "--check", "never").code == 0
    assert place.yaoki("resume", "--quiet").code == 0

    done = place.yaoki("verify", "--replay")

    assert done.code == 0, done.out + done.err
    assert "never waived by a person, not run" in done.out
    assert "1 check waived by a person" in done.out


@pytest.mark.full
def test_ctrl_c_leaves_no_clone_behind(place: Place) -> None:
    """The second look waits for something that never comes."""
    wall = place.folder / "wall"
    wall.write_text("open\n")
    waits = f"test -f a.txt; while ! test -f {wall}; do sleep 0.05; done"
    landed(place, {**both(), "a": {"shell": waits}})
    wall.unlink()
    process = place.start("verify", "--replay")
    assert process.stdout is not None
    for said in process.stdout:
        if said.startswith("proving 1 of 3"):
            break

    process.send_signal(signal.SIGINT)

    with process.stdout:
        assert process.wait(BOUND_S) == 130
    assert leftovers(place) == []


def test_only_a_run_can_be_replayed(place: Place) -> None:
    assert place.yaoki("verify", "--replay", place.plan({})).code == 2
