"""`yaoki verify --replay`: every landed commit is checked again in a fresh clone."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    GIT_IDENTITY,
    Project,
    a_plan,
    file_contains,
    tap_script,
    writes,
)
from tests.acceptance.test_judge import PASS, critic
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
    assert "verifying 1 of 3 again: a" in done.err
    assert (project.git("status", "--porcelain"), project.git("for-each-ref")) == before
    assert run_sql(project.database, "SELECT count(*) FROM journal") == lines
    assert leftovers(project) == []


@pytest.mark.full
def test_what_does_not_pass_again_is_named_with_exit_code_1_and_an_interrupt_leaves_no_clone(
    project: Project,
) -> None:
    """Both passed because of something that is not in the commit, and then the set-up."""
    tool, beside, wall = (project.folder / name for name in ("tool", "beside", "wall"))
    for file in (tool, beside, wall):
        file.write_text("there\n")
    waits = f"test -f a.txt; while ! test -f {wall}; do sleep 0.05; done"
    checks = {
        "a": {"shell": waits},
        "b": {"shell": f"test -f b.txt && test -f {beside}"},
    }
    run = run_two_tasks(project, checks, setup=[["test", "-f", str(tool)]])

    beside.unlink()
    done = project.yaoki("verify", "--replay", run, "--json")
    tool.unlink()
    unset = project.yaoki("verify", "--replay", run)
    tool.write_text("there\n")
    wall.unlink()
    code = interrupt_replay(project)

    document = done.document
    assert (done.code, document["verified"], document["schema"] > 0) == (1, False, True)
    a, b, last = document["commits"]
    assert (last["ok"], last["name"]) == (True, "done_when"), "it has the check of a alone"
    assert (a["ok"], b["ok"], b["name"]) == (True, False, "b")
    assert b["commit"] == project.task("b")["landed"]
    assert (b["checks"][0]["journal"], b["checks"][0]["outcome"]) == ("PASSED", "FAILED")
    assert document["summary"].startswith("2 of 3 proofs")
    assert unset.code == 1, unset.out + unset.err
    assert "0 of 3 proofs passed again" in unset.out
    assert "set-up 'test -f" in unset.out
    assert code == 130
    assert leftovers(project) == []


def interrupt_replay(project: Project) -> int:
    """Ctrl-C while the first replayed check waits for a file that never appears."""
    process = project.start("verify", "--replay")
    assert process.stdout is not None
    for said in process.stdout:
        if said.startswith("verifying 1 of 3"):
            break
    process.send_signal(signal.SIGINT)
    with process.stdout:
        return process.wait(BOUND_S)


@pytest.mark.full
def test_a_replay_reports_numbers_of_tests_judges_and_waivers_and_repeats_the_setup_once(
    project: Project,
) -> None:
    """What the set-up made, which git ignores, is there for every commit."""
    (project.repo / ".gitignore").write_text("made.txt\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    count = project.folder / "count"
    test = tap_script(test_one="true", test_two="true")
    checks = {
        "tests": {"run": ["sh", "test_it.sh"], "pattern": "test-failed"},
        "made": {"shell": "test -f test_it.sh && test -f made.txt"},
        "good": file_contains("a.txt"),
        "review": {"judge": {"agent": "critic", "ask": "The file a.txt is good."}},
        "never": {"shell": "false"},
    }
    plan = a_plan(
        {"t": [writes("test_it.sh", test)], "a": [writes("a.txt")]},
        [
            {"id": "t", "checks": ["tests", "made"]},
            {"id": "a", "checks": ["made", "good", "review", "never"], "needs": ["t"], **ONCE},
        ],
        checks,
        setup=[["sh", "-c", f"echo once >> {count}; echo made > made.txt"]],
        done_when=["made"],
    )
    plan["agents"]["critic"] = critic(PASS)
    assert project.yaoki("run", "--quiet", project.plan(plan)).code == 4
    assert project.yaoki("answer", "a", "waive", "--check", "never").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    count.unlink()

    done = project.yaoki("verify", "--replay")
    setups = count.read_text()
    document = project.yaoki("verify", "--replay", "--json").document

    assert done.code == 0, done.out + done.err
    assert setups == "once\n"
    assert "tests PASSED again, 2 tests" in done.out
    assert "never waived by a person, not run" in done.out
    assert "1 check waived by a person" in done.out
    outcomes = {one["check"]: one["outcome"] for one in document["commits"][1]["checks"]}
    assert (outcomes["good"], outcomes["review"]) == ("PASSED", "NOT_REPLAYED")
    assert "1 check not replayed" in document["summary"]


def test_only_a_run_can_be_replayed(project: Project) -> None:
    assert project.yaoki("verify", "--replay", project.plan({})).code == 2
