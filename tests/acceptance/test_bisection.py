"""Green alone, red together: nothing red reaches the run branch unseen, and one is sent back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import WHO, Place, a_plan, holds, writes

TOGETHER = {"shell": "test ! -f left.txt || ! grep -qx loud right.txt 2>/dev/null"}


def two(check: str, script: dict[str, Any], **more: Any) -> dict[str, Any]:
    """`left` and `right` pass alone; `together` fails when right is loud beside left."""
    full = {
        "left": [writes("left.txt")],
        "right": [writes("right.txt", "good\nloud\n"), writes("right.txt")],
        "far": [writes("far.txt")],
        **script,
    }
    tasks = [
        {"id": "far", "checks": ["far"]},
        {"id": "left", "checks": ["left", *([check] if check else [])]},
        {"id": "right", "checks": ["right", *([check] if check else [])]},
    ]
    checks = {n: holds(f"{n}.txt") for n in ("left", "right", "far")}
    return a_plan(full, tasks, {**checks, "together": TOGETHER}, **more)


def red_commits(place: Place, branch: str) -> list[str]:
    """Every state the run branch ever had, held against the common check."""
    red = []
    for commit in place.git("log", "--first-parent", "--format=%H", branch).split():
        names = place.git("ls-tree", "-r", "--name-only", commit).split()
        loud = "right.txt" in names and "loud" in place.show(commit, "right.txt")
        if "left.txt" in names and loud:
            red.append(commit)
    return red


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("3.3", "3.4", "0.1")
def test_two_tasks_that_fail_together_do_not_both_land(place: Place) -> None:
    """Each task is verified on top of what has landed, so the second one is sent back, whichever
    that is, and mends what is wrong.
    """
    left = [writes("left.txt"), [*writes("left.txt"), *writes("right.txt")]]
    done = place.yaoki("run", place.plan(two("together", {"left": left})), "--quiet")

    assert done.code == 0, done.out + done.err
    branch = place.status()["run_branch"]
    assert red_commits(place, branch) == []
    assert place.show(branch, "right.txt") == "good"


@pytest.mark.acceptance
@pytest.mark.spec("9.3", "9.6", "6.9", "0.4")
def test_the_landing_that_broke_the_final_check_is_found_by_bisection_and_sent_back(
    place: Place,
) -> None:
    """`together` is only asked at the end; the later of the two is blamed, with its partner."""
    plan = two("", {}, done_when=["together"])
    plan["tasks"][2]["needs"] = ["left"]

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    stands = {t["name"]: t for t in place.status()["tasks"]}
    (blamed,) = [e["data"] for e in place.events("done_when") if e["event"] == "TASK_BLAMED"]
    assert blamed["culprit"] == stands["right"]["id"]
    assert blamed["partners"] == [stands["left"]["id"]]
    assert (stands["right"]["attempt"], stands["left"]["attempt"]) == (2, 1)
    assert stands["done_when"]["state"] == "REPLACED"
    assert stands["done_when-2"]["state"] == "DONE"
    told = place.prompt(stands["right"], 2)
    assert "together" in told
    assert "passed alone" in told
    assert place.show(place.status()["run_branch"], "right.txt") == "good"


def in_a_row(place: Place, look: str) -> str:
    """`left`, `right`, `far` and `last` land in this order; `look` is asked at the end alone.

    So the bisection looks at the guilty `right` first, and then at the innocent `left`.
    """
    plan = two("", {"last": [writes("last.txt")]}, done_when=["together"])
    plan["tasks"][2]["needs"] = ["left"]
    plan["tasks"][0]["needs"] = ["right"]
    plan["tasks"].append({"id": "last", "goal": "x", "checks": ["last"], "needs": ["far"]})
    plan["checks"]["last"] = holds("last.txt")
    plan["checks"]["together"] = {"shell": look}
    return place.plan(plan)


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "16.1")
def test_files_left_by_one_bisection_step_do_not_affect_the_next(place: Place) -> None:
    """The check leaves an ignored file where it fails, and fails where it finds that file."""
    (place.repo / ".gitignore").write_text("stale\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "ignore what checks leave")
    look = f"test ! -f stale && ({TOGETHER['shell']}) || {{ touch stale; exit 1; }}"

    done = place.yaoki("run", in_a_row(place, look), "--quiet")

    assert done.code == 0, done.out + done.err
    (blamed,) = [e["data"] for e in place.events("done_when") if e["event"] == "TASK_BLAMED"]
    assert blamed["culprit"] == place.task("right")["id"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "6.5")
def test_a_flaky_failure_during_the_bisection_blames_no_task(place: Place) -> None:
    """The check fails once at the innocent `left`, and passes there when it is asked again."""
    once = place.folder / "once"
    chance = f"test -f left.txt -a ! -f right.txt -a ! -f {once} && touch {once} && exit 1"

    done = place.yaoki("run", in_a_row(place, f"{chance}; {TOGETHER['shell']}"), "--quiet")

    assert once.exists()
    assert done.code == 4, done.out + done.err
    assert "TASK_BLAMED" not in place.story("done_when")
    assert (place.task("left")["state"], place.task("left")["attempt"]) == ("DONE", 1)


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "8.5", "9.6")
def test_dependents_of_the_blamed_task_are_reverted_with_it(place: Place) -> None:
    script = {"upon": [writes("upon.txt")]}
    plan = two("", script, done_when=["together"])
    plan["tasks"][2]["needs"] = ["left"]
    plan["tasks"].append({"id": "upon", "goal": "x", "checks": ["upon"], "needs": ["right"]})
    plan["checks"]["upon"] = holds("upon.txt")

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert "TASK_UNLANDED" in place.story("upon")
    assert place.task("upon")["attempt"] == 2
    assert place.show(place.status()["run_branch"], "upon.txt") == "good"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "6.4")
def test_no_task_is_blamed_for_a_check_that_fails_at_the_base(place: Place) -> None:
    plan = two("", {}, done_when=["never"])
    plan["checks"]["never"] = {"shell": "false"}
    plan["checks"].pop("together")

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert "TASK_BLAMED" not in place.story("done_when")
    assert place.task("right")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.6", "8.5", "8.2")
def test_undo_is_refused_while_dependents_have_landed_unless_it_cascades(place: Place) -> None:
    """Refused while others stand on it; with --cascade they are taken back and wait again."""
    plan = a_plan(
        {"one": [writes("one.txt")], "two": [writes("two.txt")]},
        [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
        {"one": holds("one.txt"), "two": holds("two.txt")},
    )
    place.yaoki("run", place.plan(plan), "--quiet")

    refused = place.yaoki("undo", "one")
    undone = place.yaoki("undo", "one", "--cascade")

    assert (refused.code, "--cascade" in refused.err) == (6, True)
    assert undone.code == 0, undone.err
    branch = place.status()["run_branch"]
    files = place.git("ls-tree", "-r", "--name-only", branch).split()
    assert not {"one.txt", "two.txt"} & set(files)
    assert (place.task("one")["state"], place.task("two")["state"]) == ("ESCALATED", "WAITING")
    assert place.task("two")["cause"] == place.task("one")["id"]
    place.yaoki("answer", "one", "retry")
    assert place.yaoki("resume", "--quiet").code == 0
    assert place.show(branch, "two.txt") == "good"
