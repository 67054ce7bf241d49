"""An undo that is merged into a branch that has moved: proven, and blamed only for what it loses.

The merge commit is a new one: nothing has run on it before.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    writes,
)

pytestmark = pytest.mark.acceptance

USE_NEEDS_ONE = "test ! -e use.txt || test -e one.txt || { echo use needs one; exit 1; }"


def merge_then_move_on(project: Project, plan: dict[str, Any], **files: str) -> None:
    """The run is merged, and then others commit files to the base."""
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert done.code == 0, done.out + done.err
    assert project.yaoki("merge").code == 0
    if files:
        commit_files(project, files)


def commit_files(project: Project, files: dict[str, str]) -> None:
    for path, text in files.items():
        (project.repo / path).parent.mkdir(exist_ok=True)
        (project.repo / path).write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "meanwhile")


def one_task(**checks: dict[str, Any]) -> dict[str, Any]:
    tasks = [{"id": "one", "checks": list(checks), "may_change_nothing": True}]
    return a_plan({"one": [writes("one.txt")]}, tasks, checks)


@pytest.mark.spec("9.6", "16.6", "0.1")
def test_the_merge_of_an_undo_is_decided_by_the_checks_that_need_no_undone_work(
    project: Project,
) -> None:
    """Nothing that landed is left, so the checks of the undone task decide: `whole` refuses the
    merge while the base has a file that needs the undone one, and proves it afterwards.
    """
    checks = {"one": file_contains("one.txt"), "whole": {"shell": USE_NEEDS_ONE}}
    merge_then_move_on(project, one_task(**checks), **{"use.txt": "1\n"})
    before = project.git("rev-parse", "main")
    assert project.yaoki("undo", "one").code == 0

    refused = project.yaoki("merge", "--partial")
    after = project.git("rev-parse", "main")
    project.git("rm", "-q", "use.txt")
    project.git(*GIT_IDENTITY, "commit", "-qm", "not used any more")
    merged = project.yaoki("merge", "--partial")

    assert refused.code == 6, refused.out
    words = "main has moved, and the merge fails: check whole: exit code 1: use needs one"
    assert words in " ".join(refused.err.split())
    assert after == before
    assert merged.code == 0, merged.err
    assert "passed on this commit: whole" in merged.out
    assert "one.txt" not in project.git("ls-tree", "--name-only", "main")


@pytest.mark.spec("9.6", "10.2", "16.6", "0.1")
def test_work_that_is_undone_after_its_merge_is_shown_until_the_merge_of_the_undo(
    project: Project,
) -> None:
    """The only check fails without the work, as it did before the run, so a person decides."""
    merge_then_move_on(project, one_task(one=file_contains("one.txt")))
    merge = f"merged into main at {project.git('rev-parse', 'main')[:10]}"
    assert project.yaoki("undo", "one").code == 0
    run = project.status()["run"]

    said = project.yaoki("status").out
    listed = [project.yaoki("answer", *name) for name in ((), (run,))]
    commit_files(project, {"use.txt": "1\n"})
    refused = project.yaoki("merge", "--partial")

    assert f"\n{merge}; since then undone: one\n" in said
    assert "main still contains the undone work of one: yaoki merge " in said
    last, task = project.status()["last_merge"], project.task("one")["id"]
    assert (last["partial"], last["not_landed"], last["undone"]) == (False, [], [task])
    for one in listed:
        assert f"run {run}: one asks: yaoki answer {task}" in one.out
    questions = json.loads(project.yaoki("answer", "--json").out)["questions"]
    assert questions == [{"run": run, "task": "one"}]
    words = " ".join(refused.err.split())
    assert refused.code == 6, refused.out
    assert "main has moved, and no check can verify the merge" in words
    assert "--partial --unproven" in words
    # The merge of the undo is a newer merge, and lacks the work.
    merged = project.yaoki("merge", "--partial", "--unproven")
    assert merged.code == 0, merged.err
    assert "no check ran on that commit; not verified: one" in " ".join(merged.out.split())
    again = f"merged into main at {project.git('rev-parse', 'main')[:10]}, in part"
    assert f"\n{again}; not landed: one\n" in project.yaoki("status").out


# A point for each file of tests; that of `new` is found only together with `one`.
TAP = """n=0
for file in *.t; do
  test $file = new.t && test ! -e one.t && continue
  n=$((n + 1)) && echo "ok $n - $file"
done
echo "1..$n"
"""
UNIT = {"run": ["sh", "t.sh"], "pattern": "test-failed"}


@pytest.mark.spec("9.6", "16.6", "0.4")
def test_the_tests_of_undone_work_may_go_with_the_merge_and_no_others(project: Project) -> None:
    """Each task brings a test of its own; somebody's new test is found only together with the
    undone one.
    """
    commit_files(project, {"t.sh": TAP, "base.t": "base\n"})
    script = {name: [writes(f"{name}.t", f"{name}\n")] for name in ("one", "two")}
    tasks = [{"id": name, "checks": ["unit"]} for name in script]
    plan = a_plan(script, tasks, {"unit": UNIT}, done_when=["unit"])
    merge_then_move_on(project, plan, **{"new.t": "new\n"})
    assert project.yaoki("undo", "one").code == 0

    refused = project.yaoki("merge", "--partial")
    project.git("rm", "-q", "new.t")
    project.git(*GIT_IDENTITY, "commit", "-qm", "not this test")
    merged = project.yaoki("merge", "--partial")

    assert refused.code == 6, refused.out
    said = " ".join(refused.err.split())
    assert "3 tests ran before the change, 2 with it" in said
    assert "new.t" in said
    assert "one.t" not in said
    assert merged.code == 0, merged.err
    tracked = project.git("ls-tree", "-r", "--name-only", "main").split()
    assert [name for name in tracked if name.endswith(".t")] == ["base.t", "two.t"]


SETUP = ["sh", "-c", "mkdir -p dep && echo 1 > dep/x"]
# Fails without the work of `a`.
OWN_SETUP = ["sh", "-c", "test -s a.txt && mkdir -p dep && echo 1 > dep/y"]


def merge_two_with_setup(
    project: Project, whole: str, b: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """Every check needs the output of set-up, which git ignores.  Returns the plan."""
    commit_files(project, {".gitignore": "dep/\n", "base.txt": "base\n"})
    checks = {
        "whole": {"shell": whole},
        "a": {"shell": "test -f dep/x && test -s a.txt"},
        "b": {"shell": "test -f dep/x && test -s b.txt"},
    }
    tasks = [
        {"id": "a", "checks": ["a"]},
        {"id": "b", "checks": ["b"], "needs": ["a"], **b},
    ]
    script = {"a": [writes("a.txt")], "b": [writes("b.txt")]}
    plan = a_plan(script, tasks, checks, done_when=["whole"], **more)
    merge_then_move_on(project, plan)
    return plan


NEEDS_SETUP = "test -f dep/x && test -s base.txt"


def commit_setting(project: Project) -> None:
    """Set-up of the settings instead of the plan."""
    words = ", ".join(f'"{word}"' for word in SETUP)
    project.settings(SETTINGS + f"\n[setup]\ncommands = [[{words}]]\n")


@pytest.mark.full
@pytest.mark.spec("9.6", "16.6", "10.4")
def test_the_merge_of_an_undo_of_all_work_is_verified_with_the_set_up_and_blames_no_landed_task(
    project: Project,
) -> None:
    """The set-up of `b` itself needs the work of `a`, so it is left out."""
    commit_setting(project)
    plan = merge_two_with_setup(project, f"{NEEDS_SETUP} && test -s a.txt", {"setup": [OWN_SETUP]})
    before = project.git("rev-parse", "main")
    assert project.yaoki("undo", "a", "--cascade").code == 0

    refused = project.yaoki("merge", "--partial")
    after = project.git("rev-parse", "main")
    project.plan({**plan, "checks": {**plan["checks"], "whole": {"shell": NEEDS_SETUP}}})
    assert project.yaoki("plan", "recheck").code == 0
    merged = project.yaoki("merge", "--partial")

    run = project.status()["run"]
    assert refused.code == 6, refused.out
    said = " ".join(refused.err.split())
    assert f"no task is landed on yaoki/{run}, and it fails: check whole: exit code 1" in said
    assert "look at what the merge changes: git diff " in said
    assert f"plan recheck {run}; or merge it as it is: yaoki merge {run} --partial --unp" in said
    assert "the landed tasks" not in said
    assert "yaoki undo" not in said
    assert after == before
    assert merged.code == 0, merged.err
    assert "passed on this commit: whole" in " ".join(merged.out.split())
    tracked = project.git("ls-tree", "--name-only", "main").split()
    assert not {"a.txt", "b.txt"} & {*tracked}


@pytest.mark.full
@pytest.mark.spec("9.6", "16.6")
def test_undone_work_does_not_take_its_own_set_up_away(project: Project) -> None:
    """Neither from a merge that only moves the base, nor from one whose commit is new."""
    whole = "test -f dep/x && test -f dep/y"
    merge_two_with_setup(project, whole, {"setup": [OWN_SETUP]}, setup=[SETUP])
    assert project.yaoki("undo", "b").code == 0
    start = project.git("rev-parse", "main")

    moved = project.yaoki("merge", "--partial")
    tracked = project.git("ls-tree", "--name-only", "main").split()
    project.git("reset", "-q", "--hard", start)
    commit_files(project, {"other.txt": "1\n"})
    joined = project.yaoki("merge", "--partial")

    for merged in (moved, joined):
        assert merged.code == 0, merged.err
    assert ("a.txt" in tracked, "b.txt" in tracked) == (True, False)
    tracked = project.git("ls-tree", "--name-only", "main").split()
    assert [name in tracked for name in ("a.txt", "b.txt", "other.txt")] == [True, False, True]


@pytest.mark.full
@pytest.mark.spec("10.4", "9.6")
def test_changed_checks_of_a_task_that_was_given_up_prove_the_merge_of_its_undo(
    project: Project,
) -> None:
    """Nothing else is landed, so no other task has checks."""
    merge_then_move_on(project, one_task(one={"shell": USE_NEEDS_ONE}), **{"use.txt": "use\n"})
    assert project.yaoki("undo", "one").code == 0
    assert project.yaoki("answer", "one", "abort").code == 0
    refused = project.yaoki("merge", "--partial")
    project.plan(one_task(one={"shell": "test -s use.txt || test -s README"}))

    rechecked = project.yaoki("plan", "recheck")
    merged = project.yaoki("merge", "--partial")

    run = project.status()["run"]
    assert f"yaoki plan recheck {run}" in " ".join(refused.err.split()), refused.err
    assert rechecked.code == 0, rechecked.err
    assert "revision 2, checks one for the merge of the undone work" in rechecked.out
    assert merged.code == 0, merged.err
    assert "one.txt" not in project.git("ls-tree", "--name-only", "main")


@pytest.mark.full
@pytest.mark.spec("9.6")
def test_status_says_that_work_landed_again_after_a_complete_merge(project: Project) -> None:
    plan = a_plan(
        {"one": [writes("one.txt")] * 2}, [{"id": "one"}], {"one": file_contains("one.txt")}
    )
    merge_then_move_on(project, plan)
    merge = f"merged into main at {project.git('rev-parse', 'main')[:10]}"
    assert project.yaoki("retry", "one").code == 0
    assert project.yaoki("resume", "--quiet").code == 0

    said = project.yaoki("status").out

    assert f"\n{merge}; landed again since, not merged yet: one\n" in said, said
    document = project.status()
    assert f"\nnext: yaoki merge {document['run']}" in said
    last, task = document["last_merge"], project.task("one")["id"]
    assert (last["partial"], last["landed_again"], last["more_landed"]) == (False, [task], True)
    assert project.yaoki("merge").code == 0
    again = f"merged into main at {project.git('rev-parse', 'main')[:10]}"
    assert f"\n{again}\n" in project.yaoki("status").out
    assert project.status()["last_merge"]["landed_again"] == []


@pytest.mark.full
@pytest.mark.spec("2.6", "9.6")
def test_a_merged_run_with_undone_work_takes_more_tasks_until_it_ends(project: Project) -> None:
    """Another task in place of the undone one."""
    tasks = [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"]}]
    checks = {name: file_contains(f"{name}.txt") for name in ("one", "two")}
    plan = a_plan({name: [writes(f"{name}.txt")] for name in checks}, tasks, checks)
    merge_then_move_on(project, plan)
    more = project.folder / "more.json"
    added = {"id": "more", "goal": "Add more.", "checks": ["two"]}
    more.write_text(json.dumps({"tasks": [added]}))
    ended = project.yaoki("plan", "extend", str(more))
    assert (ended.code, "is already merged" in ended.err) == (6, True), ended.err
    for name in ("two", "one"):
        assert project.yaoki("undo", name).code == 0
    assert project.yaoki("answer", "one", "abort").code == 0

    final = project.yaoki("answer", "one", "retry")
    extended = project.yaoki("plan", "extend", str(more))

    assert "add it again: yaoki plan extend FILE --run" in " ".join(final.err.split())
    assert extended.code == 0, extended.err
    assert project.task("more")["state"] == "WAITING"
    assert project.yaoki("answer", "two", "abort").code == 0
    assert project.yaoki("cancel", project.task("more")["id"]).code == 0
    more.write_text(json.dumps({"tasks": [{**added, "id": "last"}]}))
    again = project.yaoki("plan", "extend", str(more))
    assert (again.code, "is already merged" in again.err) == (6, True), again.err
