"""Tasks that pass alone and fail together: bisection finds the one to send back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    GIT_IDENTITY,
    Completed,
    Project,
    a_plan,
    file_contains,
    tap_script,
    writes,
)

TOGETHER = {"shell": "test ! -f left.txt || ! grep -qx loud right.txt 2>/dev/null"}


def plan_of_two(script: dict[str, Any], **more: Any) -> dict[str, Any]:
    """`left` and `right` pass alone; `together` fails when right is loud beside left."""
    full = {
        "left": [writes("left.txt")],
        "right": [writes("right.txt", "good\nloud\n"), writes("right.txt")],
        "far": [writes("far.txt")],
        **script,
    }
    tasks = [
        {"id": "far", "checks": ["far"]},
        {"id": "left", "checks": ["left"]},
        {"id": "right", "checks": ["right"]},
    ]
    checks = {n: file_contains(f"{n}.txt") for n in ("left", "right", "far")}
    return a_plan(full, tasks, {**checks, "together": TOGETHER}, **more)


@pytest.mark.acceptance
@pytest.mark.spec("9.3", "9.6", "6.9", "0.4")
def test_the_landing_that_broke_the_final_check_is_found_by_bisection_and_sent_back(
    project: Project,
) -> None:
    """`together` is only the final check; the later of the two is blamed, with its partner."""
    plan = plan_of_two({}, done_when=["together"])
    plan["tasks"][2]["needs"] = ["left"]

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    stands = {t["name"]: t for t in project.status()["tasks"]}
    (blamed,) = [e["data"] for e in project.events("done_when") if e["event"] == "TASK_BLAMED"]
    assert blamed["culprit"] == stands["right"]["id"]
    assert blamed["partners"] == [stands["left"]["id"]]
    assert (stands["right"]["attempt"], stands["left"]["attempt"]) == (2, 1)
    assert stands["done_when"]["state"] == "REPLACED"
    assert stands["done_when-2"]["state"] == "DONE"
    prompt = project.prompt(stands["right"], 2)
    assert "together" in prompt
    assert "passed alone" in prompt
    assert project.show(project.status()["run_branch"], "right.txt") == "good"


def plan_chain(project: Project, look: str) -> str:
    """`left`, `right`, `far` and `last` land in this order; `look` is the final check.

    The bisection tests the guilty `right` first, and then the innocent `left`.
    """
    plan = plan_of_two({"last": [writes("last.txt")]}, done_when=["together"])
    plan["tasks"][2]["needs"] = ["left"]
    plan["tasks"][0]["needs"] = ["right"]
    plan["tasks"].append({"id": "last", "goal": "x", "checks": ["last"], "needs": ["far"]})
    plan["checks"]["last"] = file_contains("last.txt")
    plan["checks"]["together"] = {"shell": look}
    return project.plan(plan)


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "16.1", "8.5", "9.6")
def test_files_left_by_one_bisection_step_do_not_affect_the_next_and_dependents_are_reverted(
    project: Project,
) -> None:
    """The check leaves an ignored file where it fails, and fails where it finds that file.

    `far` needs the blamed `right`, and `last` needs `far`: both are reverted with it.
    """
    (project.repo / ".gitignore").write_text("stale\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore what checks leave")
    look = f"test ! -f stale && ({TOGETHER['shell']}) || {{ touch stale; exit 1; }}"

    done = project.yaoki("run", plan_chain(project, look), "--quiet")

    assert done.code == 0, done.out + done.err
    (blamed,) = [e["data"] for e in project.events("done_when") if e["event"] == "TASK_BLAMED"]
    assert blamed["culprit"] == project.task("right")["id"]
    branch = project.status()["run_branch"]
    for name in ("far", "last"):
        assert "TASK_UNLANDED" in project.event_names(name)
        assert project.task(name)["attempt"] == 2
        assert project.show(branch, f"{name}.txt") == "good"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "6.5")
def test_a_flaky_failure_during_the_bisection_blames_no_task(project: Project) -> None:
    """The check fails once at the innocent `left`, and passes there when it is asked again."""
    once = project.folder / "once"
    chance = f"test -f left.txt -a ! -f right.txt -a ! -f {once} && touch {once} && exit 1"

    done = project.yaoki("run", plan_chain(project, f"{chance}; {TOGETHER['shell']}"), "--quiet")

    assert once.exists()
    assert done.code == 4, done.out + done.err
    assert "TASK_BLAMED" not in project.event_names("done_when")
    assert (project.task("left")["state"], project.task("left")["attempt"]) == ("DONE", 1)


QUIET = {"shell": "! grep -qx loud *.txt || { echo 'a file is loud'; exit 1; }"}


def run_with_a_waived_style(project: Project) -> None:
    """`y` lands with the check `style`; then `x` breaks it, and a person waives that.  `z` waits,
    and will be loud as well if the file `loud` is beside the repository.
    """
    loud = f"test ! -e {project.folder}/loud || echo loud >> z.txt"
    script = {
        "y": [writes("y.txt")],
        "x": [writes("x.txt", "good\nloud\n")],
        "z": [[*writes("z.txt"), {"run": ["sh", "-c", loud]}]],
    }
    tasks: list[dict[str, Any]] = [
        {"id": "y", "checks": ["y", "style"]},
        {"id": "x", "checks": ["x", "style"], "needs": ["y"], "retry": {"max_retries": 0}},
        {"id": "z", "checks": ["z"], "needs": ["x"]},
    ]
    checks = {name: file_contains(f"{name}.txt") for name in script}
    plan = a_plan(script, tasks, {**checks, "style": QUIET})
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert project.yaoki("answer", "x", "waive", "--check", "style").code == 0


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "10.4", "0.1")
def test_a_waiver_for_one_task_does_not_cover_what_another_task_broke(prepared: Prepared) -> None:
    """`z`, without the check, is loud as well: the waiver explains a part, so a person decides."""
    project, _ = prepared.after(run_with_a_waived_style)
    (project.folder / "loud").touch()

    done = project.yaoki("resume")

    assert done.code == 4, done.out + done.err
    assert project.task("done_when")["state"] == "ESCALATED"
    assert "TASK_BLAMED" not in project.event_names("done_when")
    assert project.task("x")["state"] == project.task("z")["state"] == "DONE"


def move_main(project: Project, path: str, text: str) -> None:
    """A commit on the base branch while the run is not merged."""
    (project.repo / path).write_text(text)
    project.git("add", path)
    project.git(*GIT_IDENTITY, "commit", "-qm", "meanwhile")


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "9.6", "10.4", "0.1")
def test_a_waiver_holds_for_its_landed_work_at_the_end_for_undo_and_for_merge(
    prepared: Prepared,
) -> None:
    """`y` requires the check that a person waived for `x`.  What the moved base broke is no part of
    the waiver.
    """
    project, _ = prepared.after(run_with_a_waived_style)
    done = project.yaoki("resume")
    assert_nobody_is_blamed_for_the_waived_check(project, done)
    move_main(project, "other.txt", "loud\n")
    refused = project.yaoki("merge")
    move_main(project, "other.txt", "quiet\n")

    undone = project.yaoki("undo", "z")
    merged = project.yaoki("merge", "--partial")

    assert refused.code == 6, refused
    assert "main has moved, and the merge fails: check style" in refused.err
    said = " ".join(undone.out.split())
    assert undone.code == 0, undone.err
    assert "without z and was waived for x by a person: " in said
    assert merged.code == 0, merged.err
    said = " ".join(merged.out.split())
    assert "passed on this commit: " in said
    words = "check style fails on the merge into main and was waived for x by a person: "
    assert words in said
    assert project.show("main", "x.txt") == "good\nloud"
    (entry,) = [e["data"] for e in project.events() if e["event"] == "RUN_MERGED"]
    assert sorted(entry["proven_by"]) == ["x", "y"]
    warnings = [e["data"]["message"] for e in project.events() if e["event"] == "WARNING"]
    assert sum(words in " ".join(one.split()) for one in warnings) == 1


def assert_nobody_is_blamed_for_the_waived_check(project: Project, done: Completed) -> None:
    assert done.code == 0, done.out + done.err
    assert "TASK_BLAMED" not in project.event_names("done_when")
    assert (project.task("x")["state"], project.task("x")["attempt"]) == ("DONE", 1)
    (style,) = [
        e["data"]
        for e in project.events("done_when")
        if e["event"] == "CHECK_FINISHED" and e["data"]["check"] == "style"
    ]
    assert style["outcome"] == "WAIVED"
    assert "check style was waived for x by a person; it fails on the final head" in done.out
    assert "passed alone" not in done.out
    assert "x landed with check style waived by a person" in done.out
    assert project.yaoki("verify").code == 0


@pytest.mark.acceptance
@pytest.mark.spec("9.6", "10.4", "0.1")
def test_undo_honours_a_waiver_on_the_final_check_and_says_so(project: Project) -> None:
    """`style` depends on a file outside the repository, so that nobody can be blamed."""
    flag = project.folder / "flag"
    script = {"y": [writes("y.txt")], "z": [[*writes("z.txt"), {"run": ["touch", str(flag)]}]]}
    tasks: list[dict[str, Any]] = [
        {"id": "y", "checks": ["style"]},
        {"id": "z", "checks": ["z"], "needs": ["y"]},
    ]
    checks = {"z": file_contains("z.txt"), "style": {"shell": f"test ! -e {flag}"}}
    first = project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet")
    assert first.code == 4, first.out
    assert project.yaoki("answer", "done_when", "waive", "--check", "style").code == 0
    assert project.yaoki("resume", "--quiet").code == 0

    undone = project.yaoki("undo", "z")

    assert undone.code == 0, undone.err
    assert "without z and was waived for the final check by a person" in " ".join(
        undone.out.split()
    )


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.3", "6.4", "9.6", "10.4", "0.1")
def test_merge_honours_a_waiver_on_the_final_check_but_not_for_a_new_failure_with_a_name(
    project: Project,
) -> None:
    """`whole` fails on the base already, so nobody is blamed, and a person waives it at the end."""
    points = tap_script(test_fine="true", test_old="false", test_other="! test -f other.txt")
    move_main(project, "whole.sh", points)
    tasks = [{"id": "y", "checks": ["y"]}]
    whole = {"run": ["sh", "whole.sh"], "pattern": "test-failed"}
    checks = {"y": file_contains("y.txt"), "whole": whole}
    plan = a_plan({"y": [writes("y.txt")]}, tasks, checks, done_when=["whole"])
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert "TASK_BLAMED" not in project.event_names("done_when")
    assert [task["state"] for task in project.status()["tasks"]] == ["DONE", "ESCALATED"]
    assert project.yaoki("answer", "done_when", "waive", "--check", "whole").code == 0
    resumed = project.yaoki("resume", "--quiet")
    assert resumed.code == 0, resumed.out + resumed.err
    move_main(project, "other.txt", "quiet\n")

    refused = project.yaoki("merge")
    project.git("rm", "-q", "other.txt")
    project.git(*GIT_IDENTITY, "commit", "-qm", "mended")
    merged = project.yaoki("merge")

    assert refused.code == 6, refused.out
    assert "the merge fails: check whole" in refused.err
    assert merged.code == 0, merged.err
    words = (
        "check whole fails on the merge into main and was waived for the final check by a person"
    )
    assert words in " ".join(merged.out.split())
    (entry,) = [e["data"] for e in project.events() if e["event"] == "RUN_MERGED"]
    assert "whole" not in entry["proven_by"]
