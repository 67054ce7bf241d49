"""Escalated tasks: one question, and the effect of every answer."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    GIT_IDENTITY,
    Project,
    a_plan,
    file_contains,
    tap_script,
    writes,
)

pytestmark = pytest.mark.acceptance


def run_with_failed_base(project: Project) -> dict[str, Any]:
    """`base` fails its only attempt; `top` needs it, `roof` needs `top`.  A retry would pass."""
    plan = a_plan(
        {
            "base": [writes("base.txt", "bad\n"), writes("base.txt")],
            "top": [writes("top.txt")],
            "roof": [writes("roof.txt")],
        },
        [
            {"id": "base", "checks": ["base"], "retry": {"max_retries": 0}},
            {"id": "top", "checks": ["top"], "needs": ["base"]},
            {"id": "roof", "checks": ["roof"], "needs": ["top"]},
        ],
        {name: file_contains(f"{name}.txt") for name in ("base", "top", "roof")},
    )
    done = project.yaoki("run", project.plan(plan), "--json")
    assert done.code == 4, done.out + done.err
    return done.document


@pytest.mark.full
@pytest.mark.spec("1.1", "1.3", "10.3", "10.4", "12.1", "12.3", "8.5", "2.1")
def test_an_escalated_task_blocks_its_dependents_until_it_is_answered_with_retry(
    prepared: Prepared,
) -> None:
    """Words can be added to the answer until the attempt starts."""
    project, stands = prepared.after(run_with_failed_base)
    base, top, roof = stands["tasks"]

    shown = project.yaoki("answer", "base")
    why_top, why_base = project.yaoki("why", "top"), project.yaoki("why", "base").out
    retried = project.yaoki("answer", "base", "retry", "write", "good")
    without = project.yaoki("answer", "base", "retry")
    added = project.yaoki("answer", "base", "retry", "into", "it")
    twice = project.yaoki("answer", "base", "retry", "into", "it")
    new = project.yaoki("answer", "top", "retry", "for", "nobody")
    resumed = project.yaoki("resume")
    late = project.yaoki("answer", "base", "retry", "too", "late")

    assert stands["status"] == "ESCALATED"
    assert (base["state"], base["reason"]) == ("ESCALATED", "MAX_RETRIES")
    assert base["choices"] == ["retry", "done", "waive", "abort"]
    assert "base.txt does not hold good" in base["question"]
    for blocked in (top, roof):
        assert (blocked["state"], blocked["reason"]) == ("WAITING", "DEPENDENCY_FAILED")
        assert blocked["cause"] == base["id"], "the root, not the nearest"
        assert blocked["next"] == f"yaoki answer {base['id']}"
    assert f"yaoki answer {base['id']} waive --check base" in shown.out
    assert f"base ({base['id']}) waits for your answer" in why_top.out
    assert "FAILED" not in why_top.out.splitlines()[1]
    assert retried.code == 0
    assert retried.out.splitlines()[-1] == f"next: yaoki resume {stands['run']}"
    assert (without.code, "already waits for its next attempt" in without.err) == (6, True)
    assert f'yaoki answer {base["id"]} retry "words for the agent"' in without.err
    assert added.code == 0, added.err
    assert "the agent of attempt 2 gets these words as well" in added.out
    assert (twice.code, "already has these words" in twice.err) == (6, True)
    assert (new.code, "has no open question: it is WAITING" in new.err) == (6, True)
    assert resumed.code == 0, resumed.out + resumed.err
    assert "write good\ninto it" in project.prompt(base, 2)
    assert (late.code, "has no open question: it is DONE" in late.err) == (6, True)
    assert {t["state"] for t in project.status()["tasks"]} == {"DONE"}
    assert why_base.index("last decision, at") < why_base.index("attempts, newest first")
    assert_explanation_begins_with_the_end(project.yaoki("why", "base").out.splitlines())
    assert project.yaoki("doctor").code == 0, "the journal folds to the rows"


def assert_explanation_begins_with_the_end(lines: list[str]) -> None:
    """It began with the question, and the answer that resolved it was missing."""
    marks = (
        "DONE: landed",
        "a person answered",
        "attempts, newest",
        "last decision before it landed",
    )
    places = [next(n for n, line in enumerate(lines) if mark in line) for mark in marks]
    assert places == sorted(places), lines
    assert lines[places[1]].endswith("(command line): retry write good into it")


@pytest.mark.full
@pytest.mark.spec("10.3", "12.1")
def test_an_open_question_of_an_older_run_is_not_forgotten(prepared: Prepared) -> None:
    project, stands = prepared.after(run_with_failed_base)
    question, older = stands["tasks"][0]["id"], stands["run"]
    plan = a_plan(
        {"two": [writes("b.txt")]}, [{"id": "two", "checks": ["b"]}], {"b": file_contains("b.txt")}
    )
    assert project.yaoki("plan", "submit", project.plan(plan)).code == 0
    newer = project.status()["run"]

    status, listed = project.yaoki("status"), project.yaoki("answer")
    document = project.yaoki("answer", "--json").document
    of_run, of_other = project.yaoki("answer", older), project.yaoki("answer", newer)
    of_branch = project.yaoki("answer", f"yaoki/{older}", "--json").document
    unanswerable = project.yaoki("answer", older, "retry")
    mistyped = project.yaoki("answer", question, "waive", "--check", "basse")
    aborted = project.yaoki("cancel", older)

    assert f"run {older} waits for your answer, too: yaoki answer" in status.out.splitlines()
    assert listed.out.splitlines() == [
        f"run {older}: base asks: yaoki answer {question}",
        f"next: yaoki answer {question}",
    ]
    assert document["questions"] == [{"run": older, "task": "base"}]
    assert (of_run.code, of_run.out) == (0, listed.out)
    assert of_branch == document
    assert of_other.out.splitlines() == [
        f"run {newer} does not wait for your answer",
        f"next: yaoki status {newer}",
    ]
    assert unanswerable.code == 6
    assert f"run {older} is not paused: retry is an answer to one of its tasks" in unanswerable.err
    assert f"its questions: yaoki answer {older}" in unanswerable.err
    assert "did you mean 'base'?" in mistyped.err
    assert aborted.code == 0
    assert "waits for your answer" not in project.yaoki("status").out
    assert project.yaoki("answer").out.splitlines()[0] == "no run waits for your answer"


@pytest.mark.spec("1.3", "12.2")
def test_the_summary_names_every_question_that_a_task_waits_for(project: Project) -> None:
    names, once = ("x", "y"), {"retry": {"max_retries": 0}}
    tasks = [{"id": name, "checks": [name], **once} for name in names]
    tasks.append({"id": "z", "checks": ["x"], "needs": list(names)})
    plan = a_plan({}, tasks, {name: file_contains(f"{name}.txt") for name in names})
    bad = {"bad": {"command": ["sh", "-c", "echo bad > $YAOKI_TASK_NAME.txt"]}}

    done = project.yaoki("run", project.plan({**plan, "agents": bad, "agent": "bad"}))

    assert done.code == 4, done.out
    for name in names:
        assert f"wait for your answer to {name}: z\n" in done.out
    assert "blocked by x, y" in project.yaoki("status").out


def worktree_of_question(project: Project, task: str) -> Path:
    lines = project.yaoki("answer", task).out.splitlines()
    (named,) = {shlex.split(line)[-1] for line in lines if "after working in" in line}
    return Path(named)


@pytest.mark.full
@pytest.mark.spec("10.4", "0.1")
def test_the_work_of_a_takeover_is_verified_like_that_of_an_agent(prepared: Prepared) -> None:
    project, stands = prepared.after(run_with_failed_base)
    base = stands["tasks"][0]
    worktree = worktree_of_question(project, "base")

    (worktree / "base.txt").write_text("good\n")
    answered = project.yaoki("answer", "base", "done", "--json")
    resumed = project.yaoki("resume")

    assert answered.document["state"] == "WAITING"
    assert resumed.code == 0, resumed.out + resumed.err
    why = project.yaoki("why", base["id"], "--json").document
    assert why["attempts"][1]["agent"] == "person"
    assert "base  attempt 2  continues with the worktree as a person left it" in resumed.out
    assert "base  attempt 2  a person changed 1 file" in resumed.out
    assert why["proven"] == {"base": "PASSED"}
    assert project.show(stands["run_branch"], "base.txt") == "good"
    numbers = project.yaoki("report", "--json").document["numbers"]
    assert numbers["agent_runs"] == numbers["attempts"] - 2, "nor a person nor the last proof"


@pytest.mark.spec("10.4", "3.4")
def test_a_worktree_that_is_gone_is_made_again_with_the_work_that_a_person_accepts(
    project: Project,
) -> None:
    """It was made again at the base, and the work was said to be unchanged."""
    tasks = [{"id": "a", "retry": {"max_retries": 0}}]
    plan = a_plan({"a": [writes("a.txt", "fine\n")]}, tasks, {"c": file_contains("a.txt")})
    assert project.yaoki("run", project.plan(plan)).code == 4
    worktree = worktree_of_question(project, "a")
    project.plan({**plan, "checks": {"c": file_contains("a.txt", "fine")}})
    assert project.yaoki("plan", "recheck").code == 0
    shutil.rmtree(worktree)

    assert project.yaoki("answer", "a", "done").code == 0
    done = project.yaoki("resume")

    assert done.code == 0, done.out
    assert "warning: its worktree was missing, so it was made again with the saved work" in done.out
    assert project.show(project.status()["run_branch"], "a.txt") == "fine"


@pytest.mark.full
@pytest.mark.spec("10.4", "12.3", "0.6")
def test_a_waived_check_is_recorded_as_waived_and_named_by_every_command(
    prepared: Prepared,
) -> None:
    """A waived task looked like a proven one."""
    project, _ = prepared.after(run_with_failed_base)
    before = project.task("base")["waived"]

    unknown = project.yaoki("answer", "base", "waive", "--check", "no-such")
    waived = project.yaoki("answer", "base", "waive", "--check", "base")
    resumed = project.yaoki("resume", "--quiet")
    base, status = project.task("base"), project.yaoki("status").out
    why, document = project.yaoki("why", "base"), project.yaoki("why", "base", "--json").document
    report = project.yaoki("report", "--json").document
    merged = project.yaoki("merge")

    assert unknown.code == 6
    assert "name one of: base" in unknown.err
    assert waived.code == 0
    assert resumed.code == 0, resumed.out + resumed.err
    assert document["proven"] == {"base": "WAIVED"}
    assert report["numbers"]["waived"] == 1
    assert "1 with checks that a person waived" in report["verdict"]
    assert (before, base["waived"], project.task("top")["waived"]) == ([], ["base"], [])
    assert f"{base['landed'][:10]}  waived: base" in status
    assert status.count("waived: base") == 1
    (answer,) = document["answers"]
    assert (answer["choice"], answer["check"], answer["how"]) == ("waive", "base", "command line")
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.search(rf"a person answered on {when} \(command line\): waive base", why.out)
    assert merged.code == 0, merged.err
    assert "landed with checks that a person waived: base (base)" in merged.out


@pytest.mark.spec("10.4", "12.3")
def test_a_waiver_warns_of_the_other_tasks_with_this_check(project: Project) -> None:
    """Once the work has landed, the waived check fails for them, too: its tests are waived there,
    and anything else asks again.
    """
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["all"], "retry": {"max_retries": 0}},
        {"id": "b", "checks": ["all"], "needs": ["a"]},
        {"id": "c", "checks": ["c"], "needs": ["a"]},
    ]
    checks = {"all": file_contains("a.txt"), "c": file_contains("c.txt")}
    plan = a_plan({"a": [writes("a.txt", "bad\n")]}, tasks, checks)
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    waived = " ".join(project.yaoki("answer", "a", "waive").out.split())

    assert "warning: b must still pass all. After this work has landed" in waived
    assert "the tests that fail now are waived there as well" in waived
    assert "yaoki plan recheck" in waived


@pytest.mark.spec("10.4", "16.4")
def test_waived_work_without_a_change_is_proven_by_its_own_checks_only(project: Project) -> None:
    """The criteria about an idle agent failed on the same commit before the waiver."""
    idle = {"command": ["sh", "-c", "echo Done."]}
    task = {"id": "a", "checks": ["new", "old"], "retry": {"max_retries": 0}}
    checks = {"new": file_contains("a.txt"), "old": file_contains("README", "hello")}
    plan = a_plan({}, [task], checks) | {"agents": {"idle": idle}, "agent": "idle"}
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert "Q6" in str(project.events("a")), "the agent claimed to be done"

    assert project.yaoki("answer", "a", "waive", "--check", "new").code == 0
    resumed = project.yaoki("resume", "--quiet")

    assert resumed.code == 0, resumed.out + resumed.err
    receipt = project.folder / "receipt.json"
    report = project.yaoki("report", "--receipt", str(receipt))
    verified = project.yaoki("verify", str(receipt))
    assert verified.code == 0, verified.out
    proven = project.yaoki("why", "a", "--json").document["proven"]
    assert proven == {"new": "WAIVED", "old": "PASSED"}
    assert "Q6 FAILED" not in report.out


@pytest.mark.full
@pytest.mark.spec("3.3", "10.4", "0.1", "6.6")
def test_weaker_tests_and_a_failing_check_are_one_question_and_a_waiver_covers_this_work_only(
    project: Project,
) -> None:
    """A person accepts a weaker test; the next attempt deletes the whole file and asks again."""
    rest = "\n\ndef test_two():\n    assert f() < 2\n"
    (project.repo / "test_it.py").write_text(f"def test_one():\n    assert f() == 1\n{rest}")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "two tests")
    first = {"test_it.py": f"def test_one():\n    assert f() == 2\n{rest}", "a.txt": "bad\n"}
    acts = [[{"write": first}], [{"delete": ["test_it.py"]}, *writes("a.txt")]]
    tasks = [{"id": "a", "checks": ["a"], "retry": {"max_retries": 0}}]
    script = tap_script(test_old="true", test_good="test ! -e a.txt || grep -qx good a.txt")
    plan = a_plan({"a": acts}, tasks, {"a": {"shell": script, "pattern": "test-failed"}})

    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    question = project.task("a")["question"]
    checked = [line for line in project.events() if line["event"] == "CHECK_FINISHED"]
    waived = project.yaoki("answer", "a", "waive", "--check", "test-integrity")
    assert project.yaoki("resume", "--quiet").code == 4, "the other failure still counts"
    assert project.task("a")["question"].startswith("a is not done: check a")
    assert project.yaoki("answer", "a", "retry").code == 0
    resumed = project.yaoki("resume", "--quiet")

    assert "test-integrity" in question
    assert "test_good" in question
    assert "test_old" not in question
    assert {line["data"]["check"] for line in checked} == {"test-integrity", "a"}
    assert resumed.code == 4, resumed.out + resumed.err
    assert waived.code == 0
    said = " ".join(waived.out.split())
    assert "test-integrity is waived, and the other checks run on this work" in said
    assert "a waiver holds for the work that you saw" in said
    task = project.task("a")
    assert (task["state"], task["attempt"]) == ("ESCALATED", 2)
    assert "test-integrity" in task["question"]
    assert project.yaoki("answer", "a", "waive").code == 0
    done = project.yaoki("resume")
    assert done.code == 0, done.out + done.err
    assert "a landed with check test-integrity waived by a person" in done.out


@pytest.mark.spec("10.4", "3.6", "6.2")
def test_a_question_tells_all_that_is_wrong_with_the_change_itself(project: Project) -> None:
    """Otherwise the waiver of the scope would lead to a second question about the same change."""
    (project.repo / "test_it.py").write_text("def test_one():\n    assert 1\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a test")
    acts: list[Any] = [[{"delete": ["test_it.py"]}, *writes("a.txt")]]
    task = {"id": "a", "checks": ["a"], "scope": ["a.txt"], "retry": {"max_retries": 0}}

    plan = a_plan({"a": acts}, [task], {"a": file_contains("a.txt")})
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    question = project.task("a")["question"]
    assert "check scope: changes outside the declared scope: test_it.py; " in question
    assert "test-integrity: " in question


@pytest.mark.full
@pytest.mark.spec("10.4", "12.1", "1.3")
def test_an_aborted_task_leaves_its_dependents_blocked_and_exit_3(prepared: Prepared) -> None:
    project, stands = prepared.after(run_with_failed_base)
    base = stands["tasks"][0]

    aborted = project.yaoki("answer", "base", "abort")
    again = project.yaoki("answer", "base", "retry")
    resumed = project.yaoki("resume", "--quiet")

    assert aborted.code == 0
    assert (again.code, "has no open question" in again.err) == (6, True)
    assert resumed.code == 3
    assert "CANCELLED: a person answered abort, on 20" in project.yaoki("why", "base").out
    report = project.yaoki("report").out
    assert "a person answered abort" in report
    assert "out of retries" not in report.partition("did not land")[2].partition("\n\n")[0], report
    assert project.task("base")["reason"] is None
    more = project.folder / "more.json"
    more.write_text('{"tasks": [{"id": "again", "goal": "g", "replaces": "base"}]}')
    extended = project.yaoki("plan", "extend", str(more))
    assert (extended.code, "1 problem found; nothing was stored" in extended.err) == (2, True)
    assert f"yaoki status {base['id'].partition('-')[0]}" in extended.err
    hint = f"{base['id']} was cancelled, which is final; without replaces, again is a new task; "
    hint += "cancel the tasks that need base and add them anew as well: top, roof"
    assert hint in " ".join(extended.err.split())
    stands = project.status()
    assert [t["state"] for t in stands["tasks"]] == ["CANCELLED", "WAITING", "WAITING"]
    assert {t["cause"] for t in stands["tasks"][1:]} == {base["id"]}


@pytest.mark.spec("1.4", "0.6", "12.1")
def test_a_task_is_found_by_id_number_or_name_and_an_unknown_one_is_refused(
    prepared: Prepared,
) -> None:
    project, stands = prepared.after(run_with_failed_base)
    base = stands["tasks"][0]

    found = {
        project.yaoki("why", name, "--json").document["task"]["id"]
        for name in ("base", "1", base["id"])
    }
    wrong = project.yaoki("why", "bsae")
    foreign = project.yaoki("answer", "zzzzzzzz-1", "retry")
    no_run = project.yaoki("status", "nope")

    assert found == {base["id"]}
    assert (wrong.code, "did you mean 'base'?" in wrong.err) == (6, True)
    assert (foreign.code, "there is no task zzzzzzzz-1" in foreign.err) == (6, True)
    assert (no_run.code, "yaoki status --all" in no_run.err) == (6, True)


@pytest.mark.spec("0.5", "5.6", "10.2")
def test_why_names_the_rule_its_numbers_and_the_change_that_would_alter_the_decision(
    project: Project,
) -> None:
    plan = a_plan(
        {"task": [writes("a.txt", f"bad {n}\n") for n in range(4)]},
        [{"id": "task", "checks": ["a"], "retry": {"max_retries": 1}}],
        {"a": file_contains("a.txt")},
    )
    project.yaoki("run", project.plan(plan), "--quiet")

    why = project.yaoki("why", "task", "--json").document
    trace = project.yaoki("trace", "task", "--jsonl")

    newest, held, first = why["decisions"]
    assert (held["decision"], held["rule"]) == ("HOLD", "5.1")
    assert (held["inputs"]["count"], held["inputs"]["maximum"]) == (1, 1)
    assert held["otherwise"] == [
        "max_retries above 1",
        "a re-run follows if other tasks land (rule 8.4)",
    ]
    assert (newest["decision"], newest["rule"]) == ("ESCALATE", "8.4")
    assert newest["otherwise"] == ["another task's landing since this one began"]
    assert (newest["inputs"]["count"], newest["inputs"]["maximum"]) == (1, 1)
    shown = project.yaoki("why", "task").out
    assert "what ended the retries:\n  rule      5.1: " in shown
    assert (first["decision"], first["attempt"]) == ("RETRY", 1)
    assert "a.txt does not hold good" in first["failure"]
    assert [one["checks"] for one in why["attempts"]] == [{"a": "FAILED"}, {"a": "FAILED"}]
    assert len(trace.out.splitlines()) > 10
    assert '"event": "ESCALATE_EXECUTED"' in trace.out


@pytest.mark.spec("12.1", "15")
def test_the_head_of_a_run_says_that_nobody_works_on_it(project: Project) -> None:
    plan = a_plan({}, [{"id": "one", "checks": ["one"]}], {"one": file_contains("one.txt")})
    run = project.yaoki("plan", "submit", project.plan(plan), "--json").document["run"]

    submitted = project.yaoki("status").out.splitlines()
    project.yaoki("cancel", run)
    cancelled = project.yaoki("status").out.splitlines()

    assert submitted[0].startswith(f"run {run}: ACTIVE (no worker is running this run)")
    assert cancelled[0].startswith(f"run {run}: CANCELLED ")
    assert cancelled[-1] == f"next: yaoki forget {run}"
    assert project.yaoki("forget", run).code == 0


@pytest.mark.full
@pytest.mark.spec("1.1", "12.1", "15")
def test_a_cancelled_task_is_reported_with_the_command_that_replaces_it(project: Project) -> None:
    tasks = [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["one"]}]
    plan = a_plan({"one": [writes("one.txt")]}, tasks, {"one": file_contains("one.txt")})
    run = project.yaoki("plan", "submit", project.plan(plan), "--json").document["run"]
    assert project.yaoki("cancel", "one").code == 0
    wishes = (("retry", "one"), ("answer", "one"), ("plan", "add-retry-task", "--retry-of", "one"))
    command = f"yaoki plan extend FILE --run {run}"

    refused = [project.yaoki(*wish) for wish in wishes]
    again = project.plan(
        {"tasks": [{"id": "anew", "goal": "Do one.", "checks": ["one"]}]}, "b.json"
    )
    added = project.yaoki(*command.replace("FILE", again).split()[1:])
    project.yaoki("cancel", run)
    over = [project.yaoki(*wish) for wish in wishes]

    assert [done.code for done in (*refused, *over)] == [6] * 6
    assert all(done.err.rstrip().endswith(command) for done in refused), refused
    assert added.code == 0, added.err
    assert all(done.err.rstrip().endswith("yaoki run PLAN") for done in over), "nothing is added"
