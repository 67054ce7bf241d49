"""DONE is derived from the journal file and git: an edited store is reported and never done."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.adapters.store.store_actions import run_sql

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.spec("16.11"),
    pytest.mark.sqlite(why="it edits the store's own file and its journal file"),
]
FAILS: list[Any] = [{"say": "I could not."}]


def run_two_tasks(project: Project, b: list[Any], **more: Any) -> str:
    """`a` lands, `b` does what it does; the id of the run.  `more`: further fields of `b`."""
    script = {"a": [writes("a.txt")], "b": [b]}
    once = {"retry": {"max_retries": 0}}
    tasks: list[Any] = [{"id": "a", "checks": ["a"]}, {"id": "b", "checks": ["b"], **once, **more}]
    checks = {"a": file_contains("a.txt"), "b": file_contains("b.txt")}
    done = project.yaoki("run", "--quiet", project.plan(a_plan(script, tasks, checks)))
    assert done.code in {0, 4}, done.out + done.err
    return str(project.status()["run"])


def run_where_both_land(project: Project) -> str:
    return run_two_tasks(project, writes("b.txt"))


def run_where_b_fails(project: Project) -> str:
    return run_two_tasks(project, FAILS)


def edit(project: Project, statement: str, *params: Any) -> None:
    run_sql(project.database, statement, *params)


def failed_verification_lines(project: Project, run: str) -> dict[str, list[str]]:
    """The failed lines of `yaoki verify RUN` by place; the exit code must agree with them."""
    done = project.yaoki("verify", run, "--json")
    document = done.document
    red = {one["name"]: one["places"] for one in document["lines"] if one["ok"] is False}
    assert (done.code, document["verified"], document["run"]) == (1 if red else 0, not red, run)
    return red


def journal_file(project: Project) -> Path:
    (file,) = (project.repo / ".yaoki" / "journal").glob("*.jsonl")
    return file


def drop_line(project: Project, event: str, task: str) -> None:
    """Out of the journal file, as if it had never been written."""
    file, task_id = journal_file(project), project.task(task)["id"]
    lines = file.read_bytes().splitlines(keepends=True)
    gone = [n for n, line in enumerate(lines) if _is(json.loads(line), event, task_id)]
    file.write_bytes(b"".join(line for n, line in enumerate(lines) if n != gone[-1]))


def _is(line: dict[str, Any], event: str, task_id: str) -> bool:
    return bool(line["event"] == event and line["task_id"] == task_id)


# ------------------------------------------------------------------ the end of a run


def test_a_row_edited_to_done_is_escalated_and_the_run_is_not_done(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_b_fails)
    base = project.git("rev-parse", "main")
    edit(project, "UPDATE tasks SET state = 'DONE', landed = ?, doc = '{}' WHERE name = 'b'", base)

    done = project.yaoki("resume", run)

    assert done.code == 4, done.out + done.err
    b = project.task("b")
    assert b["state"] == "ESCALATED"
    assert "the row of b says DONE, the journal file has no proof of it" in b["question"]
    assert "ROW_REFUSED" in project.event_names("b")
    assert "FINAL_SUMMARY" not in project.event_names()
    assert project.yaoki("doctor").out.count("mismatch") == 0
    assert failed_verification_lines(project, run) == {}


@pytest.mark.full
def test_a_row_edited_to_land_an_unverified_commit_lands_nothing(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_b_fails)
    branch = project.status()["run_branch"]
    before = project.git("rev-parse", branch)
    evil = project.git(
        *GIT_IDENTITY, "commit-tree", f"{branch}^{{tree}}", "-p", before, "-m", "unproven"
    )
    ((held,),) = run_sql(project.database, "SELECT doc FROM tasks WHERE name = 'b'")
    doc = json.loads(held)
    doc["work"] = {**doc.get("work", {}), "head": evil, "proven": evil, "onto": before}
    doc.pop("question", None)
    forged = "state = 'WAITING', stage = 'LAND', reason = '', due_ms = 0, doc = ?"
    edit(project, f"UPDATE tasks SET {forged} WHERE name = 'b'", json.dumps(doc))

    done = project.yaoki("resume", run)

    assert done.code == 4, done.out + done.err
    assert project.git("rev-parse", branch) == before
    assert "for which no verdict passed" in project.task("b")["question"]


@pytest.mark.full
def test_a_required_task_edited_to_optional_stays_required(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_b_fails)
    edit(project, "UPDATE tasks SET required = 0 WHERE name = 'b'")

    assert project.yaoki("resume", run).code == 4
    assert project.task("b")["required"]


@pytest.mark.full
def test_a_damaged_journal_file_pauses_the_run(project: Project) -> None:
    """Database and journal file disagree: a person decides which one is right.

    `b` comes after `a`: a file that lacks only its last line is what a kill leaves, and completed.
    """
    run = run_two_tasks(project, FAILS, needs=["a"])
    drop_line(project, "TASK_LANDED", "a")
    assert project.yaoki("answer", "b", "abort").code == 0

    done = project.yaoki("resume", run)

    assert done.code == 4, done.out + done.err
    status = project.status()
    assert status["status"] == "PAUSED"
    assert "the row of a says DONE, the journal file has no proof of it" in status["paused"]
    assert f"yaoki verify {run}" in status["paused"]
    assert project.task("a")["state"] == "DONE"


@pytest.mark.full
def test_a_row_edited_to_replaced_is_escalated(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_b_fails)
    edit(project, "UPDATE tasks SET state = 'REPLACED' WHERE name = 'b'")

    assert project.yaoki("resume", run).code == 4
    assert project.task("b")["state"] == "ESCALATED"


@pytest.mark.full
def test_an_edited_row_lands_after_the_answer_retry(project: Project) -> None:
    script = {"a": [[{"say": "no"}], writes("a.txt")]}
    task = {"id": "a", "checks": ["a"], "retry": {"max_retries": 0}}
    plan = a_plan(script, [task], {"a": file_contains("a.txt")})
    assert project.yaoki("run", project.plan(plan)).code == 4
    run = project.status()["run"]
    edit(project, "UPDATE tasks SET state = 'DONE', landed = ?", project.git("rev-parse", "main"))
    assert project.yaoki("resume", run).code == 4

    assert project.yaoki("answer", "a", "retry").code == 0

    assert project.yaoki("resume", run).code == 0
    assert failed_verification_lines(project, run) == {}


# ------------------------------------------------------------------ rows that cannot be


ILLEGAL = {
    "state": "state = 'FINISHED', reason = ''",
    "stage": "state = 'WAITING', stage = 'NOWHERE', reason = ''",
    "shape": "state = 'WAITING', reason = '', doc = '{\"work\": 7}'",
    "text": "state = 'WAITING', reason = '', doc = 'not json'",
    "counts": "state = 'ACTIVE', holder = 'nobody:1:1', lease_ms = 1, doc = '{\"counts\": []}'",
}


@pytest.mark.full
def test_illegal_rows_escalate_their_tasks_and_do_not_stop_the_worker(project: Project) -> None:
    """`last` has not run yet."""
    once = {"retry": {"max_retries": 0}}
    script = {**{name: [FAILS] for name in (*ILLEGAL, "open")}, "last": [writes("last.txt")]}
    tasks: list[Any] = [{"id": name, "checks": ["never"], **once} for name in (*ILLEGAL, "open")]
    tasks.append({"id": "last", "checks": ["last"], "needs": ["open"]})
    checks = {"never": file_contains("never.txt"), "last": file_contains("last.txt")}
    assert project.yaoki("run", "--quiet", project.plan(a_plan(script, tasks, checks))).code == 4
    assert project.yaoki("answer", "open", "waive", "--check", "never").code == 0
    for name, change in ILLEGAL.items():
        edit(project, f"UPDATE tasks SET {change} WHERE name = '{name}'")

    assert project.query("status").code == 0
    done = project.yaoki("resume", project.status()["run"])

    assert done.code == 4, done.out + done.err
    assert "internal error" not in done.out + done.err
    found = {task["name"]: task for task in project.status()["tasks"]}
    assert {name: found[name]["state"] for name in ILLEGAL} == dict.fromkeys(ILLEGAL, "ESCALATED")
    assert found["last"]["state"] == "DONE"
    for name in ILLEGAL:
        assert "is not as yaoki wrote it" in found[name]["question"]


@pytest.mark.full
def test_a_row_edited_during_an_attempt_escalates_its_task_and_other_tasks_continue(
    project: Project,
) -> None:
    """The agent edits its row to skip verification."""
    code = "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as c: c.execute(sys.argv[2])"
    move = "UPDATE tasks SET stage = 'LAND' WHERE name = 'a'"
    run = {"run": [sys.executable, "-c", code, str(project.database), move]}
    script = {"a": [[run, *writes("a.txt")]], "b": [writes("b.txt")]}
    tasks = [{"id": "a", "checks": ["a"]}, {"id": "b", "checks": ["b"], "needs": []}]
    checks = {name: file_contains(f"{name}.txt") for name in ("a", "b")}

    done = project.yaoki("run", "--parallel", "1", project.plan(a_plan(script, tasks, checks)))

    assert done.code == 4, done.out + done.err
    assert (project.task("a")["state"], project.task("b")["state"]) == ("ESCALATED", "DONE")
    assert "is not as yaoki wrote it" in project.task("a")["question"]
    assert failed_verification_lines(project, project.status()["run"]) == {}


# ------------------------------------------------------------------ yaoki verify


def test_an_untouched_store_is_verified_with_exit_code_0(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)

    done = project.yaoki("verify")

    assert done.code == 0, done.out
    assert f"verified: journal file and git agree with the store of run {run}" in done.out
    assert "2 tasks and the final check, each proven by the journal file" in done.out


@pytest.mark.full
def test_an_edited_row_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)
    edit(project, "UPDATE tasks SET landed = ? WHERE name = 'b'", project.git("rev-parse", "main"))

    red = failed_verification_lines(project, run)

    (words,) = red["done"]
    assert "the row of b says DONE, the journal file has no proof of it" in words
    assert red["rows"][0].startswith(project.task("b")["id"])


@pytest.mark.full
def test_an_edited_line_of_the_journal_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_b_fails)
    edit(
        project,
        "UPDATE journal SET event = 'TASK_LANDED' WHERE event = 'QUALITY_JUDGMENT' AND task_id = ?",
        project.task("b")["id"],
    )

    (words,) = failed_verification_lines(project, run)["journal file"]

    assert words.endswith("(TASK_LANDED) is not what the journal file has")


@pytest.mark.full
def test_a_line_deleted_from_the_database_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)
    edit(project, "DELETE FROM journal WHERE event = 'CHECK_FINISHED'")

    red = failed_verification_lines(project, run)["journal file"]

    assert all("(CHECK_FINISHED) is not in the database" in words for words in red)


@pytest.mark.full
def test_a_line_deleted_from_the_journal_file_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)
    drop_line(project, "TASK_LANDED", "b")

    red = failed_verification_lines(project, run)

    assert red["journal file"][0].endswith("(TASK_LANDED) is not in the journal file")
    assert red["done"] == [
        "the row of b says DONE, the journal file has no proof of it: it never landed"
    ]


@pytest.mark.full
def test_a_changed_line_of_the_journal_file_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)
    file = journal_file(project)
    file.write_bytes(file.read_bytes().replace(b'"outcome":"PASSED"', b'"outcome":"FAILED"', 1))

    assert any(
        "is damaged" in words for words in failed_verification_lines(project, run)["journal file"]
    )


@pytest.mark.full
def test_a_foreign_commit_on_the_run_branch_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)
    tree = project.git("rev-parse", f"yaoki/{run}^{{tree}}")
    forged = project.git(*GIT_IDENTITY, "commit-tree", tree, "-p", f"yaoki/{run}", "-m", "x")
    project.git("update-ref", f"refs/heads/yaoki/{run}", forged)

    assert failed_verification_lines(project, run)["branch"] == [f"{forged} was landed by no task"]


@pytest.mark.full
def test_a_commit_that_the_run_branch_lost_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)
    project.git("update-ref", f"refs/heads/yaoki/{run}", project.git("rev-parse", "main"))

    red = failed_verification_lines(project, run)["done"]

    assert all("the run branch does not contain" in words for words in red)
    assert len(red) == 3


@pytest.mark.full
def test_a_run_edited_to_finished_is_named(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_b_fails)
    edit(project, "UPDATE runs SET summed_ms = 1")

    assert "says that it has ended" in failed_verification_lines(project, run)["end"][0]


@pytest.mark.full
def test_a_merged_run_whose_branch_was_deleted_is_still_verified(prepared: Prepared) -> None:
    project, run = prepared.after(run_where_both_land)
    project.git("merge", "-q", f"yaoki/{run}")
    project.git("branch", "-D", f"yaoki/{run}")

    assert failed_verification_lines(project, run) == {}


@pytest.mark.full
def test_an_unknown_run_is_refused(prepared: Prepared) -> None:
    project, _ = prepared.after(run_where_both_land)

    assert project.yaoki("verify", "nosuchrun").code == 6
    assert project.yaoki("verify", "nosuch.json").code == 2
