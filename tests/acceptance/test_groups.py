"""Groups: subtasks land on the group's branch, the group as a whole; four ways after a failure."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, holds, writes

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
    checks = {n: holds(f"{n}.txt") for n in ("a", "b", "c", "after")}
    checks["trio"] = {"shell": "test -f a.txt"}
    after = {"id": "after", "checks": ["after"], "needs": ["trio"]}
    full = {**{n: [writes(f"{n}.txt")] for n in "abc"}, "after": [writes("after.txt")], **script}
    return a_plan(full, [group, after], checks)


def files(place: Place, branch: str) -> set[str]:
    return set(place.git("ls-tree", "-r", "--name-only", branch).split()) - {"README", "yaoki.toml"}


def recovery(place: Place) -> list[str]:
    return [e["data"]["strategy"] for e in place.events("trio") if e["event"] == "RECOVERY_START"]


@pytest.mark.acceptance
@pytest.mark.spec("8.3", "1.2")
def test_a_group_lands_as_a_whole(place: Place) -> None:
    """Nothing of it stands on the run branch before all of it does."""
    plan = a_group({}, {"b": ["a"]})

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    branch, group = place.status()["run_branch"], place.task("trio")
    assert files(place, branch) == {"a.txt", "b.txt", "c.txt", "after.txt"}
    line = place.git("log", "--first-parent", "--format=%s", branch).splitlines()
    assert [words.split(":")[0] for words in line] == ["after", "trio", "begin"]
    parents = place.git("show", "-s", "--format=%P", group["landed"]).split()
    assert files(place, parents[0]) == set(), "the run branch before the group"
    assert place.git("for-each-ref", "refs/heads/yaoki/*-group") == "", "its branch is gone"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "10.1")
def test_only_failed_subtasks_are_retried_when_no_subtask_depends_on_them(place: Place) -> None:
    plan = a_group({"b": [writes("b.txt", "bad\n"), writes("b.txt")]})

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert recovery(place) == ["RETRY_FAILED_ONLY"]
    assert (place.task("a")["attempt"], place.task("b")["attempt"]) == (1, 2)
    complete = [e["data"] for e in place.events("trio") if e["event"] == "RECOVERY_COMPLETE"]
    assert complete == [
        {
            "strategy": "RETRY_FAILED_ONLY",
            "recovered_subtasks": [place.task("b")["id"]],
            "left_out_subtasks": [],
            "final_status": "PASS",
        }
    ]
    assert files(place, place.status()["run_branch"]) >= {"a.txt", "b.txt", "c.txt"}


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "8.2", "10.1")
def test_an_atomic_group_is_rolled_back_and_restarted(place: Place) -> None:
    """What the first round landed on the group's branch is gone from it, and kept on a ref."""
    first, second = writes("a.txt", "good\nfirst\n"), writes("a.txt", "good\nsecond\n")
    plan = a_group(
        {"a": [first, second], "b": [writes("b.txt", "bad\n"), writes("b.txt")]}, atomic=True
    )

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert recovery(place) == ["ROLLBACK_AND_RETRY"]
    branch = place.status()["run_branch"]
    assert place.show(branch, "a.txt") == "good\nsecond"
    restored = [e["data"] for e in place.events("trio") if e["event"] == "SNAPSHOT_RESTORE"]
    assert sorted(restored[0]["deleted_files"]) == ["a.txt", "c.txt"]
    kept = place.git("for-each-ref", "--format=%(refname)", "refs/yaoki/work").split()
    (ref,) = [name for name in kept if "rollback" in name]
    assert place.show(ref, "a.txt") == "good\nfirst"
    back = place.yaoki("recover", "trio", "--attempt", "0", "--branch", "before")
    assert back.code == 0, back.err
    assert place.show("before", "a.txt") == "good\nfirst"


@pytest.mark.acceptance
@pytest.mark.spec("8.3", "16.9")
def test_a_partial_group_lands_without_a_subtask_that_failed_twice(place: Place) -> None:
    """The run goes on with what landed, and ends with 3: a required part is missing."""
    plan = a_group({"b": [writes("b.txt", "bad\n")]}, partial=True)

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 3, done.out + done.err
    assert recovery(place) == ["RETRY_FAILED_ONLY", "PARTIAL_COMMIT"]
    verdict = place.yaoki("report", "--json").document["verdict"]
    assert "1 part of a group failed and was left out" in verdict
    assert files(place, place.status()["run_branch"]) == {"a.txt", "c.txt", "after.txt"}
    assert place.task("b")["state"] == "CANCELLED"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "8.5")
def test_a_failed_subtask_is_escalated_when_no_other_recovery_is_allowed(place: Place) -> None:
    plan = a_group({"b": [writes("b.txt", "bad\n")]}, partial=False)

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert recovery(place) == ["RETRY_FAILED_ONLY", "ESCALATE"]
    assert place.task("b")["state"] == "ESCALATED"
    assert place.task("after")["cause"] == place.task("b")["id"]
    assert files(place, place.status()["run_branch"]) == set()
    assert "note: group trio waits for b" in done.out, "it is not left out while it asks"
    why = place.yaoki("why", "b", "--json").document["decisions"]
    assert (why[0]["decision"], why[0]["rule"]) == ("ESCALATE", "8.3")
    assert "its one re-run is used up" in place.yaoki("trace", "b").out
    group = place.yaoki("why", "trio").out
    assert "because   \n" not in group
    assert f"because   {place.task('b')['id']} failed" in group
    told = place.yaoki("report").out
    assert "| a | DONE | waits for its group trio, which has not landed |" in told


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "9.6")
def test_a_subtask_that_breaks_the_check_of_its_group_is_sent_back_with_its_dependents(
    place: Place,
) -> None:
    """All three pass alone; the group's own check fails since `a`, and `b` was built on it."""
    plan = a_group({"a": [writes("a.txt", "good\nred\n"), writes("a.txt")]}, {"b": ["a"]})
    plan["checks"]["trio"] = {"shell": "! grep -q red a.txt 2>/dev/null"}

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code in {0, 4}, done.out + done.err
    blamed = [e["data"] for e in place.events("trio") if e["event"] == "TASK_BLAMED"]
    assert [data["culprit"] for data in blamed] == [place.task("a")["id"]]
    assert "TASK_UNLANDED" in place.story("b")


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
def test_an_invalid_group_is_refused(place: Place, change: dict[str, Any], words: str) -> None:
    plan = a_group({})
    plan["tasks"][0].update(change)

    refused = place.yaoki("validate", place.plan(plan))

    assert refused.code == 2
    assert words in refused.err


@pytest.mark.acceptance
@pytest.mark.spec("2.2", "8.3")
def test_a_task_outside_the_group_cannot_need_a_subtask(place: Place) -> None:
    plan = a_group({})
    plan["tasks"][1]["needs"] = ["b"]

    refused = place.yaoki("validate", place.plan(plan))

    assert refused.code == 2
    assert "need the group" in refused.err
