"""`yaoki verify --replay`: every landed commit is checked again in a fresh clone."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import BOUND_S, GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_judge import PASS, critic, run_with_judge
from tests.adapters.store.store_actions import run_sql

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.11")]
ONCE = {"retry": {"max_retries": 0}}


def run_two_tasks(project: Project, checks: dict[str, Any], **more: Any) -> str:
    """`a` and `b`, one after the other, each with its own check; the id of the run."""
    script = {name: [writes(f"{name}.txt")] for name in ("a", "b")}
    tasks: list[Any] = [
        {"id": "a", "checks": ["a"], **ONCE},
        {"id": "b", "checks": ["b"], "needs": ["a"], **ONCE},
    ]
    done = project.yaoki("run", "--quiet", project.plan(a_plan(script, tasks, checks, **more)))
    assert done.code == 0, done.out + done.err
    return str(project.status()["run"])


def two_checks() -> dict[str, Any]:
    return {"a": file_contains("a.txt"), "b": file_contains("b.txt")}


def leftovers(project: Project) -> list[Path]:
    return list((project.folder / "tmp").glob("yaoki-replay-*"))


@pytest.fixture
def project(project: Project) -> Project:
    """The project with a separate temporary folder."""
    (project.folder / "tmp").mkdir()
    project.env["TMPDIR"] = str(project.folder / "tmp")
    return project


def test_every_landed_commit_passes_again_and_nothing_else_is_touched(project: Project) -> None:
    run = run_two_tasks(project, two_checks())
    (project.repo / "own.txt").write_text("the user's\n")
    lines = run_sql(project.database, "SELECT count(*) FROM journal")
    before = project.git("status", "--porcelain"), project.git("for-each-ref")

    done = project.yaoki("verify", "--replay", run)

    assert done.code == 0, done.out + done.err
    said = [line for line in done.out.splitlines() if "PASSED again" in line]
    assert [line.split()[1] for line in said] == ["a", "b", "done_when"]
    assert "3 of 3 proofs passed again in a fresh clone" in done.out
    assert "proving 1 of 3 again: a" in done.err
    assert (project.git("status", "--porcelain"), project.git("for-each-ref")) == before
    assert run_sql(project.database, "SELECT count(*) FROM journal") == lines
    assert leftovers(project) == []


@pytest.mark.full
def test_a_commit_that_does_not_pass_again_is_named_with_exit_code_1(project: Project) -> None:
    """It passed because of something that is not in the commit."""
    beside = project.folder / "beside.txt"
    beside.write_text("there\n")
    run = run_two_tasks(
        project, {**two_checks(), "b": {"shell": f"test -f b.txt && test -f {beside}"}}
    )
    beside.unlink()

    done = project.yaoki("verify", "--replay", run, "--json")

    document = done.document
    assert (done.code, document["verified"], document["schema"] > 0) == (1, False, True)
    a, b, last = document["commits"]
    assert (last["ok"], last["name"]) == (True, "done_when"), "it has the check of a alone"
    assert (a["ok"], b["ok"], b["name"]) == (True, False, "b")
    assert b["commit"] == project.task("b")["landed"]
    assert (b["checks"][0]["journal"], b["checks"][0]["outcome"]) == ("PASSED", "FAILED")
    assert document["summary"].startswith("2 of 3 proofs")


@pytest.mark.full
def test_a_replay_reports_the_number_of_tests(project: Project) -> None:
    test = "def test_one():\n    assert True\n\n\ndef test_two():\n    assert True\n"
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    plan = a_plan({"a": [writes("test_it.py", test)]}, [{"id": "a"}], {"tests": {"run": argv}})
    done = project.yaoki("run", "--quiet", project.plan(plan))
    assert done.code == 0, done.out + done.err

    done = project.yaoki("verify", "--replay")

    assert done.code == 0, done.out + done.err
    assert "tests PASSED again, 2 tests" in done.out


@pytest.mark.full
def test_setup_runs_once_for_the_same_lock_files(project: Project) -> None:
    """And what it made, which git ignores, is there for both commits."""
    (project.repo / ".gitignore").write_text("made.txt\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    count = project.folder / "count"
    setup = [["sh", "-c", f"echo once >> {count}; echo made > made.txt"]]
    checks = {name: {"shell": f"test -f {name}.txt && test -f made.txt"} for name in ("a", "b")}
    run = run_two_tasks(project, checks, setup=setup)
    count.unlink()

    done = project.yaoki("verify", "--replay", run)

    assert done.code == 0, done.out + done.err
    assert count.read_text() == "once\n"


@pytest.mark.full
def test_a_replay_with_a_failed_setup_fails(project: Project) -> None:
    beside = project.folder / "beside.txt"
    beside.write_text("there\n")
    run = run_two_tasks(project, two_checks(), setup=[["test", "-f", str(beside)]])
    beside.unlink()

    done = project.yaoki("verify", "--replay", run)

    assert done.code == 1, done.out + done.err
    assert "0 of 3 proofs passed again" in done.out
    assert "set-up 'test -f" in done.out


@pytest.mark.full
def test_a_judge_is_reported_as_not_replayed(project: Project) -> None:
    code, _, _ = run_with_judge(project, critic(PASS))
    assert code == 0

    document = project.yaoki("verify", "--replay", "--json").document

    outcomes = {one["check"]: one["outcome"] for one in document["commits"][0]["checks"]}
    assert outcomes == {"good": "PASSED", "review": "NOT_REPLAYED"}
    assert "1 check not replayed" in document["summary"]


@pytest.mark.full
def test_a_waived_check_is_named_as_waived_and_never_as_passed(project: Project) -> None:
    tasks: list[Any] = [{"id": "a", "checks": ["a", "never"], **ONCE}]
    checks = {"a": file_contains("a.txt"), "never": {"shell": "false"}}
    plan = a_plan({"a": [writes("a.txt")]}, tasks, checks)
    assert project.yaoki("run", "--quiet", project.plan(plan)).code == 4
    assert project.yaoki("answer", "a", "waive", "--check", "never").code == 0
    assert project.yaoki("resume", "--quiet").code == 0

    done = project.yaoki("verify", "--replay")

    assert done.code == 0, done.out + done.err
    assert "never waived by a person, not run" in done.out
    assert "1 check waived by a person" in done.out


@pytest.mark.full
def test_ctrl_c_leaves_no_clone_behind(project: Project) -> None:
    """The replayed check waits for a file that never appears."""
    wall = project.folder / "wall"
    wall.write_text("open\n")
    waits = f"test -f a.txt; while ! test -f {wall}; do sleep 0.05; done"
    run_two_tasks(project, {**two_checks(), "a": {"shell": waits}})
    wall.unlink()
    process = project.start("verify", "--replay")
    assert process.stdout is not None
    for said in process.stdout:
        if said.startswith("proving 1 of 3"):
            break

    process.send_signal(signal.SIGINT)

    with process.stdout:
        assert process.wait(BOUND_S) == 130
    assert leftovers(project) == []


def test_only_a_run_can_be_replayed(project: Project) -> None:
    assert project.yaoki("verify", "--replay", project.plan({})).code == 2
