"""Reverts of landed work: proven before the branch moves, and all or nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance


def chain_plan(c_check: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """`b` needs `a`; `c` lands last and needs neither, unless its check says so."""
    script = {name: [writes(f"{name}.txt")] for name in "abc"}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a"]},
        {"id": "b", "checks": ["b"], "needs": ["a"]},
        {"id": "c", "checks": ["c"], "priority": -5},
    ]
    checks = {name: file_contains(f"{name}.txt") for name in "abc"}
    return a_plan(script, tasks, {**checks, "c": c_check or checks["c"]}, **more)


def run_chain(project: Project, c_check: dict[str, Any] | None = None) -> str:
    """Runs the plan, one task after the other; returns the run branch."""
    plan = project.plan(chain_plan(c_check))
    done = project.yaoki("run", plan, "--quiet", "--parallel", "1")
    assert done.code == 0, done.out + done.err
    branch: str = project.status()["run_branch"]
    return branch


def first_parents(project: Project, branch: str) -> list[str]:
    return project.git("rev-list", "--first-parent", "--reverse", f"main..{branch}").split()


def undone_landings(project: Project, commit: str) -> list[str]:
    form = "--format=%(trailers:key=Yaoki-Undo,valueonly)"
    return project.git("log", "-1", form, commit).split()


def tracked_files(project: Project, branch: str) -> set[str]:
    return set(project.git("ls-tree", "-r", "--name-only", branch).split())


@pytest.mark.full
@pytest.mark.spec("9.6", "16.6", "0.1", "0.3", "8.5")
def test_a_refused_cascade_changes_nothing(project: Project) -> None:
    """The check of `c` needs the file of `a`, which its plan does not say."""
    branch = run_chain(project, {"shell": "grep -qx good c.txt && grep -qx good a.txt"})
    refs = project.git("for-each-ref")
    landed = {task["name"]: task["landed"] for task in project.status()["tasks"]}
    alone = project.yaoki("undo", "a")
    assert (alone.code, "--cascade" in alone.err) == (6, True), "b needs it and has landed"

    for _ in range(2):
        refused = project.yaoki("undo", "a", "--cascade")

        assert refused.code == 6, refused.out + refused.err
        assert "without a the rest fails: check c" in refused.err
        assert project.git("for-each-ref") == refs
        assert {task["name"]: task["landed"] for task in project.status()["tasks"]} == landed
        verified = project.yaoki("verify")
        assert verified.code == 0, verified.out
        assert "has not ended" not in verified.out
    undone = project.yaoki("undo", "b")
    assert undone.code == 0, undone.err
    assert {"a.txt", "c.txt"} <= tracked_files(project, branch)
    assert "b.txt" not in tracked_files(project, branch)
    merged = project.yaoki("merge", "--partial")
    assert merged.code == 0, merged.err


@pytest.mark.spec("9.6", "8.5", "16.6", "0.3", "8.2", "0.2", "14.3")
def test_a_cascade_is_one_proven_commit_that_names_every_landing(project: Project) -> None:
    """Verification, receipt, retry and a second undo work on it as on any other."""
    log = project.folder / "log"
    branch = run_chain(project, {"shell": f"grep -qx good c.txt && echo [abc].txt >> {log}"})
    before = first_parents(project, branch)
    landed = {task["name"]: task["landed"] for task in project.status()["tasks"]}

    undone = project.yaoki("undo", "a", "--cascade")

    assert undone.code == 0, undone.err
    *same, revert = first_parents(project, branch)
    assert same == before
    assert undone_landings(project, revert) == [landed["b"], landed["a"]]
    assert project.git("log", "-1", "--format=%s", revert).strip() == "Undo a: Do a. (with b)"
    assert tracked_files(project, branch) & {"a.txt", "b.txt", "c.txt"} == {"c.txt"}
    assert log.read_text().splitlines()[-1] == "c.txt", "the remaining check ran on the revert"
    stands = {task["name"]: task for task in project.status()["tasks"]}
    assert (stands["a"]["state"], stands["b"]["state"]) == ("ESCALATED", "WAITING")
    assert stands["b"]["cause"] == stands["a"]["id"]
    assert project.yaoki("verify").code == 0
    receipt = project.folder / "receipt"
    assert project.yaoki("report", "--receipt", str(receipt)).code == 0
    (step,) = [step for step in json.loads(receipt.read_text())["line"] if step["undoes"]]
    assert [step["undoes"], *step["also_undoes"]] == [landed["b"], landed["a"]]
    for what in (str(receipt), "--replay"):
        verified = project.yaoki("verify", what)
        assert verified.code == 0, verified.out + verified.err

    assert project.yaoki("retry", "a").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert {"a.txt", "b.txt", "c.txt"} <= tracked_files(project, branch)
    assert project.status()["status"] == "DONE", "reverted landings are no foreign commits"
    assert project.yaoki("verify").code == 0
    again = project.yaoki("undo", "a", "--cascade")
    assert again.code == 0, again.err
    assert len(undone_landings(project, branch)) == 2
    assert project.yaoki("verify").code == 0


def blame_plan(script: dict[str, Any], checks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The tasks land one after the other, in the order of the script."""
    tasks = [{"id": name, "checks": [name], "priority": -n} for n, name in enumerate(script)]
    own = {name: file_contains(f"{name}.txt") for name in script}
    return a_plan(script, tasks, {**own, **checks}, **more)


NOT_LOUD = "! grep -qx loud {} || {{ echo '{} is loud'; exit 1; }}"
LOUD_FIRST = "good\nloud\n"


@pytest.mark.full
@pytest.mark.spec("9.3", "16.6", "0.1")
def test_a_blamed_landing_that_other_landed_work_needs_is_not_reverted(project: Project) -> None:
    """The check of `b` needs the file of `a`, which its plan does not say: a person decides."""
    plan = blame_plan(
        {"a": [writes("a.txt", LOUD_FIRST), writes("a.txt")], "b": [writes("b.txt")]},
        {
            "b": {"shell": "grep -qx good b.txt && grep -qx good a.txt"},
            "whole": {"shell": NOT_LOUD.format("-s a.txt", "a.txt")},
        },
        done_when=["whole"],
    )

    done = project.yaoki("run", project.plan(plan), "--parallel", "1")

    assert done.code == 4, done.out + done.err
    assert project.task("a")["state"] == project.task("b")["state"] == "DONE"
    assert project.task("done_when-2")["state"] == "ESCALATED"
    branch = project.status()["run_branch"]
    assert not [one for one in first_parents(project, branch) if undone_landings(project, one)]
    (dropped,) = [e["data"] for e in project.events("a") if e["event"] == "UNDO_DROPPED"]
    assert "without a the rest fails: check b" in dropped["why"]
    said = " ".join(done.out.split())
    problem = "whole has failed since it landed, but it was not reverted"
    assert f"{problem}: without a the rest fails" in said
    assert "also undo the tasks that need it" in said
    assert project.yaoki("verify").code == 0
    # What the person then does: both are done again.
    assert [project.yaoki("undo", name).code for name in ("b", "a")] == [0, 0]
    assert [project.yaoki("retry", name).code for name in ("a", "b")] == [0, 0]
    resumed = project.yaoki("resume", "--quiet")
    assert resumed.code == 0, resumed.out + resumed.err
    assert project.show(branch, "a.txt") == "good"
    assert project.yaoki("verify").code == 0


@pytest.mark.full
@pytest.mark.spec("9.3", "0.1")
def test_a_run_is_not_done_while_a_blamed_landing_cannot_be_reverted(project: Project) -> None:
    """`b` changes the line after the one that `a` must take back."""
    plan = blame_plan(
        {"a": [writes("a.txt", LOUD_FIRST)], "b": [writes("a.txt", LOUD_FIRST + "more\n")]},
        {
            "b": {"shell": "grep -qx more a.txt"},
            "whole": {"shell": NOT_LOUD.format("-s a.txt", "a.txt")},
        },
        done_when=["whole"],
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "1")

    assert done.code == 4, done.out + done.err
    (dropped,) = [e["data"] for e in project.events("a") if e["event"] == "UNDO_DROPPED"]
    assert "later work builds on" in dropped["why"]
    assert project.task("done_when-2")["state"] == "ESCALATED"
    refused = project.yaoki("merge")
    assert refused.code == 6, refused.out


@pytest.mark.spec("9.3", "16.6", "0.1")
def test_the_revert_of_a_blamed_landing_is_verified_before_the_branch_moves(
    project: Project,
) -> None:
    log = project.folder / "log"
    plan = blame_plan(
        {
            "a": [writes("a.txt")],
            "b": [writes("b.txt", LOUD_FIRST), writes("b.txt")],
            "c": [writes("c.txt")],
        },
        {
            "c": {"shell": f"grep -qx good c.txt && echo [abc].txt >> {log}"},
            "whole": {"shell": NOT_LOUD.format("-s b.txt", "b.txt")},
        },
        done_when=["whole"],
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "1")

    assert done.code == 0, done.out + done.err
    assert (project.task("b")["attempt"], project.task("c")["attempt"]) == (2, 1)
    assert "a.txt c.txt" in log.read_text().splitlines(), "the check of c ran without b"
    assert project.yaoki("verify").code == 0


@pytest.mark.full
@pytest.mark.spec("9.3", "16.6")
def test_two_landings_that_broke_the_same_check_are_both_sent_back(project: Project) -> None:
    """Without the first one the check still fails, as it did before: that is no reason to keep
    it.
    """
    loud_once = {
        name: [writes(f"{name}.txt", LOUD_FIRST), writes(f"{name}.txt")] for name in ("b", "c")
    }
    plan = blame_plan(
        {"a": [writes("a.txt")], **loud_once}, {"a": {"shell": NOT_LOUD.format("*.txt", "a file")}}
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "1")

    assert done.code == 0, done.out + done.err
    attempts = {name: project.task(name)["attempt"] for name in "abc"}
    assert attempts == {"a": 1, "b": 2, "c": 2}
    assert "UNDO_DROPPED" not in project.event_names()
    assert project.yaoki("verify").code == 0


def has_state(project: Project, name: str, state: str) -> bool:
    """Also before the run is submitted, when there are no tasks."""
    tasks = project.status().get("tasks", ())
    return any((task["name"], task["state"]) == (name, state) for task in tasks)


def start_chain(project: Project, gate: Path, *later: str) -> subprocess.Popen[str]:
    """One task at a time: `first` makes a file, `second` and the later ones add a line to it behind
    the gate, and `last` waits for its end.
    """
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 1"))
    adding = ("second", *later)
    script = {"first": [writes("a.txt")]}
    checks = {"first": file_contains("a.txt")}
    for n, name in enumerate(adding, start=1):
        lines = "".join(f"{line}\n" for line in ("good", *adding[:n]))
        script[name] = [[waits_for(gate), *writes("a.txt", lines)]]
        checks[name] = file_contains("a.txt", name)
    script["last"] = [[waits_for(gate.with_name("end")), *writes("c.txt")]]
    checks["last"] = file_contains("c.txt")
    tasks = [{"id": name, "checks": [name]} for name in script]
    worker = project.start("run", project.plan(a_plan(script, tasks, checks)))
    wait_until(lambda: has_state(project, "first", "DONE"), "first landed")
    return worker


@pytest.mark.full
@pytest.mark.spec("9.6", "0.1", "12.1")
def test_an_undo_that_later_work_forbids_is_refused_at_once_and_names_all_of_it(
    project: Project, tmp_path: Path
) -> None:
    """While a task runs.  No task depends on another, but each changes the file of the first."""
    gate = tmp_path / "gate"
    gate.touch()
    worker = start_chain(project, gate, "third")
    wait_until(lambda: has_state(project, "last", "ACTIVE"), "last runs")
    second, third = (project.task(name)["id"] for name in ("second", "third"))

    refused = project.yaoki("undo", "first")
    gate.with_name("end").touch()
    worker.communicate(timeout=BOUND_S)

    assert refused.code == 6, refused.out
    assert "later work builds on" in refused.err
    assert "changed by third, second, which can be undone first, in this order" in refused.err
    assert f"yaoki undo {third}, yaoki undo {second}; with --cascade" in refused.err
    assert "UNDO_REQUESTED" not in project.event_names()


@pytest.mark.full
@pytest.mark.spec("9.6", "0.1", "12.1")
def test_an_undo_that_is_refused_later_is_told_by_status_why_and_merge(
    project: Project, tmp_path: Path
) -> None:
    """Work that was still running has built on it meanwhile."""
    gate = tmp_path / "gate"
    worker = start_chain(project, gate)
    wait_until(lambda: has_state(project, "second", "ACTIVE"), "second runs")

    accepted = project.yaoki("undo", "first")
    gate.touch()
    gate.with_name("end").touch()
    out, _ = worker.communicate(timeout=BOUND_S)

    assert accepted.code == 0, accepted.err
    warning = "its undo was refused: later work builds on"
    for text in (out, project.query("why", "first").out, project.query("report").out):
        assert warning in " ".join(text.split())
    words = "the undo of first was refused: later work builds on"
    assert words in " ".join(project.query("status").out.split())
    merged = project.yaoki("merge", "--into", "other")
    assert merged.code == 0, merged.err
    assert words in " ".join(merged.out.split())
