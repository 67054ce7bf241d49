"""Groups: subtasks land on the group's branch, the group as a whole; four ways after a failure."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

ONCE = {"retry": {"max_retries": 0}}


def a_group(
    script: dict[str, Any],
    needs: dict[str, list[str]] | None = None,
    prefix: str = "",
    letters: str = "abc",
    **more: Any,
) -> dict[str, Any]:
    """Three subtasks a, b and c, and a task that waits for the whole group."""
    wanted = needs or {}
    names = {letter: f"{prefix}{letter}" for letter in (*letters, "after")}
    subtasks = [
        {
            "id": names[n],
            "goal": f"Do {n}.",
            "checks": [names[n]],
            "needs": wanted.get(n, []),
            **ONCE,
        }
        for n in letters
    ]
    whole = f"{prefix}trio"
    group = {"id": whole, "kind": "group", "tasks": subtasks, "checks": [whole], **more}
    checks = {name: file_contains(f"{name}.txt") for name in names.values()}
    checks[whole] = {"shell": f"test -f {names['a']}.txt"}
    after = {"id": names["after"], "checks": [names["after"]], "needs": [whole]}
    acts = {name: [writes(f"{name}.txt")] for name in names.values()}
    full = {**acts, **{names[letter]: held for letter, held in script.items()}}
    return a_plan(full, [group, after], checks)


def in_one_run(*plans: dict[str, Any]) -> dict[str, Any]:
    """The groups of all plans, beside each other; they differ in their prefixes."""
    scripts = [one["agents"]["actor"]["options"]["scenario"]["tasks"] for one in plans]
    return a_plan(
        {name: acts for script in scripts for name, acts in script.items()},
        [task for one in plans for task in one["tasks"]],
        {name: check for one in plans for name, check in one["checks"].items()},
    )


def files(project: Project, branch: str) -> set[str]:
    return set(project.git("ls-tree", "-r", "--name-only", branch).split()) - {
        "README",
        "yaoki.toml",
    }


def recovery(project: Project, group: str = "trio") -> list[str]:
    return [e["data"]["strategy"] for e in project.events(group) if e["event"] == "RECOVERY_START"]


def completed_recoveries(project: Project, group: str) -> list[dict[str, Any]]:
    return [e["data"] for e in project.events(group) if e["event"] == "RECOVERY_COMPLETE"]


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
@pytest.mark.spec("8.3", "8.2", "8.5", "10.1")
def test_each_group_recovers_from_a_failed_subtask_in_the_way_that_it_allows(
    project: Project,
) -> None:
    """Three groups in one run.  In `once` only the failed subtask is retried, because none depends
    on it; `all` is atomic and starts again as a whole; `ask` allows neither another re-run nor to
    land without a part.
    """
    again = {"all": [writes("all-b.txt", "bad\n"), writes("all-b.txt")]}
    again["once"] = [writes("once-b.txt", "bad\n"), writes("once-b.txt")]
    first, second = writes("all-a.txt", "good\nfirst\n"), writes("all-a.txt", "good\nsecond\n")
    plan = in_one_run(
        a_group({"b": again["once"]}, prefix="once-", letters="ab"),
        a_group({"a": [first, second], "b": again["all"]}, prefix="all-", atomic=True),
        a_group({"b": [writes("ask-b.txt", "bad\n")]}, prefix="ask-", letters="ab", partial=False),
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    check_retried_group(project)
    check_restarted_group(project)
    check_asking_group(project, done.out)
    landed = {f"{name}-{n}.txt" for name in ("once", "all") for n in ("a", "b", "after")}
    assert files(project, project.status()["run_branch"]) == {*landed, "all-c.txt"}


def check_retried_group(project: Project) -> None:
    assert recovery(project, "once-trio") == ["RETRY_FAILED_ONLY"]
    assert [project.task(f"once-{letter}")["attempt"] for letter in "ab"] == [1, 2]
    assert completed_recoveries(project, "once-trio") == [
        {
            "strategy": "RETRY_FAILED_ONLY",
            "recovered_subtasks": [project.task("once-b")["id"]],
            "left_out_subtasks": [],
            "final_status": "PASS",
        }
    ]


def check_restarted_group(project: Project) -> None:
    """Landings of the first round are removed from the group branch and saved on a ref."""
    assert recovery(project, "all-trio") == ["ROLLBACK_AND_RETRY"]
    assert project.show(project.status()["run_branch"], "all-a.txt") == "good\nsecond"
    restored = [e["data"] for e in project.events("all-trio") if e["event"] == "SNAPSHOT_RESTORE"]
    assert sorted(restored[0]["deleted_files"]) == ["all-a.txt", "all-c.txt"]
    kept = project.git("for-each-ref", "--format=%(refname)", "refs/yaoki/work").split()
    (ref,) = [name for name in kept if "rollback" in name]
    assert project.show(ref, "all-a.txt") == "good\nfirst"
    back = project.yaoki("recover", "all-trio", "--attempt", "0", "--branch", "before")
    assert back.code == 0, back.err
    assert project.show("before", "all-a.txt") == "good\nfirst"


def check_asking_group(project: Project, output: str) -> None:
    assert recovery(project, "ask-trio") == ["RETRY_FAILED_ONLY", "ESCALATE"]
    failed = project.task("ask-b")
    assert failed["state"] == "ESCALATED"
    assert project.task("ask-after")["cause"] == failed["id"]
    assert "note: group ask-trio waits for ask-b" in output, "it is not left out while it asks"
    why = project.query("why", "ask-b", "--json").document["decisions"]
    assert (why[0]["decision"], why[0]["rule"]) == ("ESCALATE", "8.3")
    assert "its re-run from the run branch is used up" in project.query("trace", "ask-b").out
    group = project.query("why", "ask-trio").out
    assert "because   \n" not in group
    assert f"because   {failed['id']} failed" in group
    report = project.query("report").out
    assert "| ask-a | DONE | waits for its group ask-trio, which has not landed |" in report


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.3", "9.6")
def test_a_subtask_that_breaks_the_check_of_its_group_is_sent_back_with_its_dependents(
    project: Project,
) -> None:
    """Both pass alone; the group's check fails since `a`, and `b` needs `a`."""
    script = {"a": [writes("a.txt", "good\nred\n"), writes("a.txt")]}
    plan = a_group(script, {"b": ["a"]}, letters="ab")
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
