"""A verdict is reused while everything that it depends on is unchanged (rules 17.5 and 17.6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.adapters.store.store_actions import run_sql

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("17.5")]


def counted(project: Project, *names: str, **more: Any) -> dict[str, Any]:
    """A check that counts its executions outside of the repository."""
    count = project.folder / "executions"
    files = " && ".join(f"grep -q good {name}" for name in names)
    return {"shell": f"echo x >> {count} && {files}", **more}


def executions(project: Project) -> int:
    count = project.folder / "executions"
    return len(count.read_text().splitlines()) if count.exists() else 0


def plan_of(name: str, checks: dict[str, Any]) -> dict[str, Any]:
    return a_plan({name: [writes(f"{name}.txt")]}, [{"id": name, "checks": [*checks]}], checks)


def shared_check(project: Project) -> dict[str, Any]:
    """It uses a tool and depends on no other file; variables with the commit would be another
    input, so it has none.
    """
    check = counted(project, "a.txt", inputs=["a.txt"])
    no_commit = 'test -z "$YAOKI_BASE$YAOKI_COMMIT"'
    return {**check, "shell": f"{project.folder}/bin/tool && {no_commit} && {check['shell']}"}


def second_plan(check: dict[str, Any]) -> dict[str, Any]:
    """Its task changes a file that the shared check does not name."""
    own = {"shell": "grep -q good b.txt"}
    return plan_of("b", {"b-is-good": own, "shared": {**check}})


def run_and_merge(project: Project, **more: Any) -> int:
    """A run whose task has the shared check, merged; the executions of the check."""
    write_tool(project, "")
    plan = plan_of("a", {"shared": shared_check(project)})
    assert project.yaoki("run", "--quiet", project.plan({**plan, **more})).code == 0
    assert project.yaoki("merge").code == 0
    return executions(project)


def write_tool(project: Project, more: str) -> None:
    tool = project.folder / "bin" / "tool"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f"#!/bin/sh\nexit 0{more}\n")
    tool.chmod(0o755)


def run_again(project: Project, plan: dict[str, Any], *words: str) -> None:
    done = project.yaoki("run", *words, project.plan(plan, "second.json"))
    assert done.code == 0, done.out + done.err


@pytest.mark.spec("17.6")
def test_a_check_with_unchanged_inputs_is_not_run_again_in_another_run(prepared: Prepared) -> None:
    project, before = prepared.after(run_and_merge)

    run_again(project, second_plan(shared_check(project)))

    assert executions(project) == before
    why = project.yaoki("why", "b").out
    assert "shared PASSED, reused from " in why
    assert "(same inputs " in why
    task = project.task("b")
    (shared,) = [
        entry["data"]
        for entry in project.events("b")
        if entry["event"] == "CHECK_FINISHED" and entry["data"]["check"] == "shared"
    ]
    assert shared["reused"]["task"] != task["id"]
    assert set(shared["key"]) == {"inputs", "definition", "setup", "tools"}
    project.yaoki("report", "--receipt", str(project.folder / "receipt"))
    receipt = json.loads((project.folder / "receipt").read_text())
    checks = {check["check"]: check for check in receipt["landed"][0]["checks"]}
    assert checks["shared"]["reused"] == shared["reused"]
    assert project.yaoki("verify", str(project.folder / "receipt")).code == 0


@pytest.mark.full
@pytest.mark.parametrize("part", ["inputs", "tools"])
def test_a_change_of_what_a_check_depends_on_is_a_miss(prepared: Prepared, part: str) -> None:
    """The other parts of the key are compared in the tests of the core."""
    project, before = prepared.after(run_and_merge)
    plan = second_plan(shared_check(project))
    if part == "inputs":
        script = plan["agents"]["actor"]["options"]["scenario"]["tasks"]
        script["b"] = [[*writes("b.txt"), *writes("a.txt", "good and more\n")]]
    else:
        write_tool(project, " # a new version")

    run_again(project, plan)

    assert executions(project) > before


@pytest.mark.full
def test_with_no_reuse_every_check_runs(prepared: Prepared) -> None:
    project, before = prepared.after(run_and_merge)

    run_again(project, second_plan(shared_check(project)), "--no-reuse")

    assert executions(project) == before + 1


@pytest.mark.full
def test_a_check_behind_a_setup_is_run_again_although_the_setup_is_the_same(
    project: Project,
) -> None:
    setup = {"setup": [["sh", "-c", "echo made > made.txt"]]}
    before = run_and_merge(project, **setup)

    run_again(project, {**second_plan(shared_check(project)), **setup})

    assert executions(project) == before + 1


@pytest.mark.full
@pytest.mark.spec("17.6")
def test_a_check_that_reads_more_than_its_inputs_fails(project: Project) -> None:
    """Neither the file itself nor the history of git shows what was not declared."""
    (project.repo / "other.txt").write_text("good\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "other")
    checks = {
        "file": {"shell": "grep -q good a.txt && grep -q good other.txt", "inputs": ["a.txt"]},
        "history": {"shell": "git show HEAD:other.txt", "inputs": ["a.txt"]},
        "whole": {"shell": "grep -q good other.txt && git show HEAD:other.txt"},
    }

    done = project.yaoki("run", project.plan(plan_of("a", checks)))

    assert done.code == 4, done.out + done.err
    (judged, *_) = [e["data"] for e in project.events("a") if e["event"] == "QUALITY_JUDGMENT"]
    assert judged["checks"] == {"file": "FAILED", "history": "FAILED", "whole": "PASSED"}


@pytest.mark.full
def test_a_verdict_that_the_journal_does_not_confirm_is_a_miss(prepared: Prepared) -> None:
    """Somebody writes a row for the key that the next proof will look for."""
    project, before = prepared.after(run_and_merge)
    change = "UPDATE verdicts SET commit_id = 'other' || commit_id RETURNING commit_id"
    assert len(run_sql(project.database, change)) == 1

    run_again(project, second_plan(shared_check(project)))

    assert executions(project) == before + 1
    assert "reused" not in project.yaoki("why", "b").out


@pytest.mark.full
def test_a_failure_is_never_reused(project: Project) -> None:
    """The same work is judged again although the same check failed on it before."""
    gate = project.folder / "gate"
    check = counted(project, "a.txt")
    check["shell"] = f"{check['shell']} && test -e {gate}"
    plan = plan_of("a", {"gated": {**check, "rerun": False}})
    plan["tasks"][0]["retry"] = {"max_retries": 0}
    assert project.yaoki("run", "--quiet", project.plan(plan)).code == 4
    gate.touch()

    assert project.yaoki("answer", "a", "done").code == 0
    assert project.yaoki("resume", "--quiet").code == 0

    assert executions(project) == 3, "both verdicts, and the base once"


@pytest.mark.full
@pytest.mark.spec("16.1")
def test_changed_attributes_reach_every_file_of_a_proof_room(project: Project) -> None:
    """The blob of the file is the same, its line ends are not; the room was used before."""
    (project.repo / "data.txt").write_text("one\ntwo\n")
    (project.repo / "README").write_text("x\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "data")
    check = {"shell": "grep -q . README && ! grep -q $'\\r' data.txt", "inputs": []}
    script = {"a": [writes("README", "y\n")], "b": [writes(".gitattributes", "*.txt eol=crlf\n")]}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["plain"]},
        {"id": "b", "checks": ["plain"], "needs": ["a"], "retry": {"max_retries": 0}},
    ]

    done = project.yaoki("run", project.plan(a_plan(script, tasks, {"plain": check})))

    assert done.code == 4, done.out + done.err
    assert project.task("b")["state"] == "ESCALATED"


@pytest.mark.full
def test_a_proof_that_is_made_again_names_the_changed_part(project: Project) -> None:
    """One check passes on both attempts, whose files differ."""
    script = {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}
    checks = {
        "there": {"shell": "test -e a.txt", "inputs": ["*.txt"]},
        "good": file_contains("a.txt"),
    }
    plan = a_plan(script, [{"id": "a", "checks": ["there", "good"]}], checks)

    assert project.yaoki("run", "--quiet", project.plan(plan)).code == 0

    said = project.yaoki("why", "a").out
    assert "run again: inputs " in said
