"""Failures that a person waived for landed work are not the fault of the next task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    SETTINGS,
    Completed,
    Project,
    a_plan,
    file_contains,
    remaining_output,
    tap_script,
    wait_until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance

# A test of its own for each file that must not contain the line `loud`.
TESTS = tap_script(
    test_fine="true",
    **{f"test_{name}": f"! grep -qsx loud {name}.txt" for name in ("a", "b", "z")},
)
NAMED = {"run": ["sh", "whole.sh"], "pattern": "test-failed"}
UNNAMED = {"shell": "! grep -qx loud *.txt || { echo 'a file is loud'; exit 1; }"}
LOUD = "good\nloud\n"


def commit_tests(project: Project, script: str = TESTS) -> None:
    (project.repo / "whole.sh").write_text(script)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "tests")


def run_after_waiver(
    project: Project, acts: list[Any], check: dict[str, Any], **more: Any
) -> Completed:
    """`a` is loud and lands because a person waives `tests`; then `b` has the acts `acts`."""
    commit_tests(project)
    between = more.pop("between", [])
    script: dict[str, Any] = {"a": [writes("a.txt", LOUD)], "b": acts}
    script |= {task["id"]: [writes(f"{task['id']}.txt", LOUD)] for task in between}
    needs = [task["id"] for task in between] or ["a"]
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a", "tests"], "retry": {"max_retries": 0}},
        *between,
        {"id": "b", "checks": ["b", "tests"], "needs": needs, **more},
    ]
    names = ("a", "b", *(task["id"] for task in between))
    checks = {name: file_contains(f"{name}.txt") for name in names}
    plan = a_plan(script, tasks, {**checks, "tests": check}, done_when=["b"])
    first = project.yaoki("run", project.plan(plan), "--quiet")
    assert first.code == 4, first.out + first.err
    assert project.yaoki("answer", "a", "waive", "--check", "tests").code == 0
    return project.yaoki("resume")


def results(project: Project, task: str, check: str) -> list[dict[str, Any]]:
    return [
        e["data"]
        for e in project.events(task)
        if e["event"] == "CHECK_FINISHED" and e["data"]["check"] == check
    ]


def resume_after_waiver(
    project: Project, acts: dict[str, list[Any]], **more: dict[str, Any]
) -> Completed:
    """`a` is loud and lands because a person waives `tests`; then the others have their acts."""
    names = ("a", *acts)
    loud = {f"test_{name}": f"! grep -qsx loud {name}.txt" for name in names}
    commit_tests(project, tap_script(test_fine="true", **loud))
    tasks: list[dict[str, Any]] = [{"id": "a", "retry": {"max_retries": 0}}]
    tasks += [{"id": name, "needs": ["a"], **more.get(name, {})} for name in acts]
    tasks = [{"checks": [task["id"], "tests"], **task} for task in tasks]
    used = {check for task in tasks for check in task["checks"]}
    checks = {name: file_contains(f"{name}.txt") for name in names if name in used}
    script = {"a": [writes("a.txt", LOUD)], **acts}
    plan = a_plan(script, tasks, {**checks, "tests": NAMED}, done_when=["a"])
    first = project.yaoki("run", project.plan(plan), "--quiet")
    assert first.code == 4, first.out + first.err
    assert project.yaoki("answer", "a", "waive", "--check", "tests").code == 0
    return project.yaoki("resume")


@pytest.mark.full
@pytest.mark.spec("10.4", "6.5", "0.1")
def test_a_failure_that_was_waived_for_landed_work_does_not_count_against_the_next_tasks(
    project: Project,
) -> None:
    """`b` is good at once.  `c` fails a test of its own beside the waived one: that one counts, and
    the prompt names only the new one.
    """
    acts = {"b": [writes("b.txt")], "c": [writes("c.txt", LOUD), writes("c.txt")]}

    done = resume_after_waiver(project, acts, c={"needs": ["b"]})

    assert done.code == 0, done.out + done.err
    good, mended = project.task("b"), project.task("c")
    assert (good["state"], good["attempt"]) == ("DONE", 1)
    assert (mended["state"], mended["attempt"]) == ("DONE", 2)
    (tests,) = results(project, "b", "tests")
    assert tests["outcome"] == "WAIVED"
    waived = "waived for a by a person; it fails on the base as well"
    assert tests["message"].startswith(f"{waived}: ")
    assert project.show(project.status()["run_branch"], "a.txt") == LOUD.strip()
    first, second = results(project, "c", "tests")
    assert (first["outcome"], second["outcome"]) == ("FAILED", "WAIVED")
    (item,) = first["items"]
    assert "test_c" in item["name"]
    prompt = project.prompt(mended, 2)
    listed = prompt.partition("Failing tests:")[2].partition("What to do")[0]
    assert ("test_c" in listed, "test_a" in listed) == (True, False)
    assert "because a person waived them for a: test_a" in prompt
    # It is called waived wherever the result is shown, never proven.
    assert "b landed with check tests waived by a person" in " ".join(done.out.split())
    words = f"check tests was {waived}"
    assert words in " ".join(done.out.split())
    assert words in " ".join(project.query("why", "b").out.split())
    shown = {line.split()[1]: line for line in project.query("status").out.splitlines()[2:5]}
    assert shown["a"].endswith("  waived: tests")
    assert shown["b"].endswith("  waived for earlier work: tests")
    report = project.query("report", "--json").document
    assert report["numbers"]["waived"] == 4, "a, b, c and the final check"
    assert project.query("why", "b", "--json").document["proven"]["tests"] == "WAIVED"
    file = project.folder / "receipt"
    assert project.yaoki("report", "--receipt", str(file)).code == 0
    landed = {part["name"]: part for part in json.loads(file.read_text())["landed"]}
    outcomes = {check["check"]: check["outcome"] for check in landed["b"]["checks"]}
    assert outcomes == {"b": "PASSED", "tests": "WAIVED"}
    assert project.yaoki("verify", str(file)).code == 0


@pytest.mark.spec("10.4", "0.1")
def test_a_waiver_does_not_cover_what_another_task_broke_before_the_next_one(
    project: Project,
) -> None:
    """`z`, without the check, is loud as well: `test_z` fails on the base, but nobody waived it."""
    between = [{"id": "z", "checks": ["z"], "needs": ["a"]}]

    done = run_after_waiver(
        project, [writes("b.txt")], NAMED, between=between, retry={"max_retries": 0}
    )

    assert done.code == 4, done.out + done.err
    (tests,) = results(project, "b", "tests")
    assert tests["outcome"] == "FAILED"
    (item,) = tests["items"]
    assert "test_z" in item["name"]


@pytest.mark.full
@pytest.mark.spec("10.4", "6.5", "0.1")
def test_a_waived_failure_is_no_excuse_for_its_own_fix_nor_for_a_change_of_comments(
    project: Project,
) -> None:
    """Without the waiver, the failing check would be what the comment did not repair."""
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 1"))
    acts = {"fix": [writes("fix.txt")], "comment": [[{"write": {"note.py": "# a comment\n"}}]] * 2}
    fix = {"fixes": ["*test_a*"], "retry": {"max_retries": 0}}

    done = resume_after_waiver(project, acts, fix=fix, comment={"checks": ["tests"]})

    assert done.code == 4, done.out + done.err
    (tests,) = results(project, "fix", "tests")
    assert tests["outcome"] == "FAILED"
    (item,) = tests["items"]
    assert "test_a" in item["name"]
    assert "only blank lines, comments or empty files" in project.task("comment")["question"]


@pytest.mark.full
@pytest.mark.spec("10.4", "10.3", "0.1")
def test_a_waived_check_without_names_of_tests_asks_at_once_and_names_the_waiver(
    project: Project,
) -> None:
    """It does not cover another command of the same name, which fails on the base as well."""
    acts = [writes("b.txt", f"good\n{number}\n") for number in range(8)]
    done = run_after_waiver(project, acts, UNNAMED)

    assert done.code == 4, done.out + done.err
    task = project.task("b")
    assert (task["state"], task["attempt"]) == ("ESCALATED", 1), "no attempt can repair it"
    words = "has failed since a landed, for which a person waived it"
    assert f"check tests: {words}" in task["question"]
    assert task["choices"] == ["retry", "done", "waive", "abort"]
    assert words in " ".join(project.query("why", "b").out.split())
    assert project.yaoki("answer", "b", "retry").code == 0
    assert project.yaoki("resume", "--quiet").code == 4
    assert "so leave that work as it is" in project.prompt(task, 2)
    file = project.folder / "plan.json"
    plan = json.loads(file.read_text())
    plan["checks"]["tests"] = {"shell": "test ! -f a.txt || { echo 'a.txt exists'; exit 1; }"}
    file.write_text(json.dumps(plan))

    rechecked = project.yaoki("plan", "recheck")
    assert project.yaoki("answer", "b", "retry").code == 0
    done = project.yaoki("resume", "--quiet")

    assert rechecked.code == 0, rechecked.err
    assert done.code == 4, done.out + done.err
    question = project.task("b")["question"]
    assert "a.txt exists" in question
    assert "a person waived" not in question
    assert project.yaoki("answer", "b", "waive", "--check", "tests").code == 0
    landed = project.yaoki("resume", "--quiet")
    assert landed.code == 0, landed.out + landed.err
    assert project.show(project.status()["run_branch"], "a.txt") == LOUD.strip()


@pytest.mark.full
@pytest.mark.spec("10.4", "3.4", "0.1")
def test_a_task_behind_waived_work_in_the_merge_queue_is_verified_again_once_that_has_landed(
    project: Project,
) -> None:
    """`b` is verified on top of `a`, whose waiver counts for `b` only once `a` has landed."""
    commit_tests(project)
    waived, again, behind = (project.folder / name for name in ("waived", "again", "behind"))
    until_behind = f"for i in $(seq 600); do test -f {behind} && break; sleep 0.05; done"
    script = {
        "a": [writes("a.txt", LOUD)],
        "b": [[waits_for(again), *writes("b.txt")]],
        **{name: [writes(f"{name}.txt")] for name in ("l1", "l2", "l3", "l4")},
    }
    own = {name: file_contains(f"{name}.txt") for name in script}
    first = f"if test -f {waived}; then touch {again}; {until_behind}; fi; "
    own["a"] = {"shell": first + own["a"]["shell"]}
    own["b"] = {"shell": f"touch {behind}; " + own["b"]["shell"]}
    tasks: list[dict[str, Any]] = [
        {"id": name, "checks": [*(["tests"] if name in {"a", "b"} else []), name]}
        for name in script
    ]
    tasks[0] |= {"retry": {"max_retries": 0}, "needs": ["l1", "l2", "l3", "l4"]}
    process = project.start(
        "run", project.plan(a_plan(script, tasks, {**own, "tests": NAMED})), "--parallel", "4"
    )

    def asks() -> bool:
        tasks = project.status().get("tasks", ())
        return any(t["name"] == "a" and t["state"] == "ESCALATED" for t in tasks)

    wait_until(asks, "a asks")
    waived.touch()
    assert project.yaoki("answer", "a", "waive", "--check", "tests").code == 0
    out = remaining_output(process)

    assert process.wait() == 0, out
    assert project.task("b")["attempt"] == 1
    released = [str(e["data"]) for e in project.events("b") if e["event"] == "LEASE_RELEASED"]
    assert any("a landed meanwhile with a check" in one for one in released), project.event_names(
        "b"
    )
    assert results(project, "b", "tests")[-1]["outcome"] == "WAIVED"


# `w` fails one test, and two more with what the base gets later, or without `a`.
PARTS = tap_script(
    test_fine="true",
    test_new_in_merge="! test -f w.txt || ! test -f later.txt",
    test_new_in_undo="! test -f w.txt || test -f a.txt",
    test_waived="! test -f w.txt",
)


@pytest.mark.full
@pytest.mark.spec("10.4", "16.6", "0.1")
def test_a_waiver_of_one_test_excuses_no_other_that_a_merge_or_an_undo_breaks(
    project: Project,
) -> None:
    commit_tests(project, PARTS)
    script = {name: [writes(f"{name}.txt")] for name in ("a", "c", "w")}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["tests"]},
        {"id": "c", "checks": ["tests"]},
        {"id": "w", "checks": ["tests"], "priority": -3, "retry": {"max_retries": 0}},
    ]
    plan = a_plan(script, tasks, {"tests": NAMED})
    assert project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "1").code == 4
    assert project.yaoki("answer", "w", "waive", "--check", "tests").code == 0
    resumed = project.yaoki("resume", "--quiet")
    assert resumed.code == 0, resumed.out + resumed.err
    branch = project.status()["run_branch"]
    before = project.git("rev-parse", branch)

    undone = project.yaoki("undo", "a")
    (project.repo / "later.txt").write_text("later\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "later")
    later = project.git("rev-parse", "main")
    merged = project.yaoki("merge")

    for way, done in (("undo", undone), ("merge", merged)):
        assert done.code == 6, done.out
        assert f"test_new_in_{way}" in done.err
    assert project.git("rev-parse", "main", branch).split() == [later, before]


@pytest.mark.spec("0.1", "10.4", "3.5")
def test_a_waived_check_of_an_idle_agent_is_not_said_to_pass(project: Project) -> None:
    """The question says that nothing was changed, so one answer is enough."""
    plan = a_plan(
        {"lazy": ["nothing"]},
        [{"id": "lazy", "checks": ["tests"], "retry": {"max_retries": 0}}],
        {"tests": {"shell": "echo no such file; exit 1"}},
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    question = project.task("lazy")["question"]
    assert project.yaoki("answer", "lazy", "waive", "--check", "tests").code == 0

    done = project.yaoki("resume")

    assert "nothing was changed" in question
    assert "accept it as done without a change (waive)" in question
    assert done.code == 0, done.out + done.err
    assert "nothing was changed; a person waived tests" in done.out
    page = project.yaoki("report", "--format", "html").out
    assert "nothing was changed; a person waived tests" in page
    for words in (["status"], ["why", "lazy"], ["report"]):
        assert "checks already pass" not in project.yaoki(*words).out


@pytest.mark.full
@pytest.mark.spec("10.4")
def test_a_second_failure_of_waived_work_asks_again_and_starts_no_agent(project: Project) -> None:
    """An agent that changed the work would end the waiver, and the first question would return."""
    checks = {
        "first": {"shell": "! grep -qx loud a.txt"},
        "second": {"shell": "grep -qx quiet a.txt"},
    }
    acts = [writes("a.txt", LOUD)] * 2
    task = {"id": "a", "checks": ["first", "second"], "retry": {"max_retries": 0}}
    project.yaoki("run", project.plan(a_plan({"a": acts}, [task], checks)), "--quiet")
    assert project.yaoki("answer", "a", "waive", "--check", "first").code == 0
    asked = project.yaoki("resume")

    assert asked.code == 4, asked.out + asked.err
    assert (project.task("a")["state"], project.task("a")["attempt"]) == ("ESCALATED", 1)
    assert "check second" in asked.out
    assert "a person waived first for this work" in project.yaoki("why", "a").out

    assert project.yaoki("answer", "a", "waive", "--check", "second").code == 0
    done = project.yaoki("resume")
    assert done.code == 0, done.out + done.err
    assert project.task("a")["attempt"] == 1
