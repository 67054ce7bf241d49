"""Groups: subtasks land on the group's branch, the group as a whole; four ways after a failure."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

ONCE = {"retry": {"max_retries": 0}}


def a_group(
    script: dict[str, Any], needs: dict[str, list[str]] | None = None, **more: Any
) -> dict[str, Any]:
    """Three subtasks a, b and c, and a task that waits for the whole group."""
    wanted = needs or {}
    subtasks = [
        {"id": n, "goal": f"Do {n}.", "checks": [n], "needs": wanted.get(n, []), **ONCE}
        for n in "abc"
    ]
    group = {"id": "trio", "kind": "group", "tasks": subtasks, "checks": ["trio"], **more}
    checks = {n: file_contains(f"{n}.txt") for n in ("a", "b", "c", "after")}
    checks["trio"] = {"shell": "test -f a.txt"}
    after = {"id": "after", "checks": ["after"], "needs": ["trio"]}
    full = {**{n: [writes(f"{n}.txt")] for n in "abc"}, "after": [writes("after.txt")], **script}
    return a_plan(full, [group, after], checks)


def files(project: Project, branch: str) -> set[str]:
    return set(project.git("ls-tree", "-r", "--name-only", branch).split()) - {
        "README",
        "yaoki.toml",
    }


def recovery(project: Project) -> list[str]:
    return [e["data"]["strategy"] for e in project.events("trio") if e["event"] == "RECOVERY_START"]


@pytest.mark.acceptance
@pytest.mark.spec("8.3", "1.2", "9.6", "0.1")
def test_a_group_lands_as_a_whole(project: Project) -> None:
    """The run branch contains no subtask before the whole group, and no undo parts them."""
    plan = a_group({}, {"b": ["a"]})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    branch, group = project.status()["run_branch"], project.task("trio")
    assert files(project, branch) == {"a.txt", "b.txt", "c.txt", "after.txt"}
    line = project.git("log", "--first-parent", "--format=%s", branch).splitlines()
    assert [words.split(":")[0] for words in line] == ["after", "trio", "begin"]
    parents = project.git("show", "-s", "--format=%P", group["landed"]).split()
    assert files(project, parents[0]) == set(), "the run branch before the group"
    assert project.git("for-each-ref", "refs/heads/yaoki/*-group") == "", "its branch is gone"
    whole, part = project.yaoki("undo", "trio"), project.yaoki("undo", "a", "--cascade")
    assert (whole.code, part.code) == (6, 6)
    assert "git revert -m1" in whole.err
    assert files(project, branch) == {"a.txt", "b.txt", "c.txt", "after.txt"}


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "10.1")
def test_only_failed_subtasks_are_retried_when_no_subtask_depends_on_them(project: Project) -> None:
    plan = a_group({"b": [writes("b.txt", "bad\n"), writes("b.txt")]})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert recovery(project) == ["RETRY_FAILED_ONLY"]
    assert (project.task("a")["attempt"], project.task("b")["attempt"]) == (1, 2)
    complete = [e["data"] for e in project.events("trio") if e["event"] == "RECOVERY_COMPLETE"]
    assert complete == [
        {
            "strategy": "RETRY_FAILED_ONLY",
            "recovered_subtasks": [project.task("b")["id"]],
            "left_out_subtasks": [],
            "final_status": "PASS",
        }
    ]
    assert files(project, project.status()["run_branch"]) >= {"a.txt", "b.txt", "c.txt"}


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "8.2", "10.1")
def test_an_atomic_group_is_rolled_back_and_restarted(project: Project) -> None:
    """Landings of the first round are removed from the group branch and saved on a ref."""
    first, second = writes("a.txt", "good\nfirst\n"), writes("a.txt", "good\nsecond\n")
    plan = a_group(
        {"a": [first, second], "b": [writes("b.txt", "bad\n"), writes("b.txt")]}, atomic=True
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert recovery(project) == ["ROLLBACK_AND_RETRY"]
    branch = project.status()["run_branch"]
    assert project.show(branch, "a.txt") == "good\nsecond"
    restored = [e["data"] for e in project.events("trio") if e["event"] == "SNAPSHOT_RESTORE"]
    assert sorted(restored[0]["deleted_files"]) == ["a.txt", "c.txt"]
    kept = project.git("for-each-ref", "--format=%(refname)", "refs/yaoki/work").split()
    (ref,) = [name for name in kept if "rollback" in name]
    assert project.show(ref, "a.txt") == "good\nfirst"
    back = project.yaoki("recover", "trio", "--attempt", "0", "--branch", "before")
    assert back.code == 0, back.err
    assert project.show("before", "a.txt") == "good\nfirst"


@pytest.mark.acceptance
@pytest.mark.spec("8.3", "16.9", "12.1")
def test_a_partial_group_lands_without_a_subtask_that_failed_twice(project: Project) -> None:
    """The run continues with the landed subtasks and exits with 3: a required one is missing."""
    plan = a_group({"b": [writes("b.txt", "bad\n")]}, partial=True)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 3, done.out + done.err
    assert recovery(project) == ["RETRY_FAILED_ONLY", "PARTIAL_COMMIT"]
    assert "b was left out of its group" in done.out
    assert project.status()["status"] == "CANCELLED"
    (complete,) = [e["data"] for e in project.events("trio") if e["event"] == "RECOVERY_COMPLETE"]
    assert complete == {
        "strategy": "PARTIAL_COMMIT",
        "recovered_subtasks": [],
        "left_out_subtasks": [project.task("b")["id"]],
        "final_status": "PARTIAL",
    }
    verdict = project.yaoki("report", "--json").document["verdict"]
    assert "without being done" in verdict
    assert "1 part of a group failed and was left out" in verdict
    assert files(project, project.status()["run_branch"]) == {"a.txt", "c.txt", "after.txt"}
    assert project.task("b")["state"] == "CANCELLED"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "8.5")
def test_a_failed_subtask_is_escalated_when_no_other_recovery_is_allowed(project: Project) -> None:
    plan = a_group({"b": [writes("b.txt", "bad\n")]}, partial=False)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert recovery(project) == ["RETRY_FAILED_ONLY", "ESCALATE"]
    assert project.task("b")["state"] == "ESCALATED"
    assert project.task("after")["cause"] == project.task("b")["id"]
    assert files(project, project.status()["run_branch"]) == set()
    assert "note: group trio waits for b" in done.out, "it is not left out while it asks"
    why = project.yaoki("why", "b", "--json").document["decisions"]
    assert (why[0]["decision"], why[0]["rule"]) == ("ESCALATE", "8.3")
    assert "its re-run from the run branch is used up" in project.yaoki("trace", "b").out
    group = project.yaoki("why", "trio").out
    assert "because   \n" not in group
    assert f"because   {project.task('b')['id']} failed" in group
    output = project.yaoki("report").out
    assert "| a | DONE | waits for its group trio, which has not landed |" in output


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "9.6")
def test_a_subtask_that_breaks_the_check_of_its_group_is_sent_back_with_its_dependents(
    project: Project,
) -> None:
    """All three pass alone; the group's check fails since `a`, and `b` needs `a`."""
    plan = a_group({"a": [writes("a.txt", "good\nred\n"), writes("a.txt")]}, {"b": ["a"]})
    plan["checks"]["trio"] = {"shell": "! grep -q red a.txt 2>/dev/null"}

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code in {0, 4}, done.out + done.err
    blamed = [e["data"] for e in project.events("trio") if e["event"] == "TASK_BLAMED"]
    assert [data["culprit"] for data in blamed] == [project.task("a")["id"]]
    assert "TASK_UNLANDED" in project.event_names("b")


@pytest.mark.acceptance
@pytest.mark.spec("2.2", "8.3")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tasks": []}, "a group without tasks"),
        ({"agent": "actor"}, "has no agent of its own"),
        ({"atomic": True, "partial": True}, "atomic and partial contradict each other"),
    ],
)
def test_an_invalid_group_is_refused(project: Project, change: dict[str, Any], words: str) -> None:
    plan = a_group({})
    plan["tasks"][0].update(change)

    refused = project.yaoki("validate", project.plan(plan))

    assert refused.code == 2
    assert words in refused.err


@pytest.mark.acceptance
@pytest.mark.spec("2.2", "8.3")
def test_a_task_outside_the_group_cannot_need_a_subtask(project: Project) -> None:
    plan = a_group({})
    plan["tasks"][1]["needs"] = ["b"]

    refused = project.yaoki("validate", project.plan(plan))

    assert refused.code == 2
    assert "need the group" in refused.err
