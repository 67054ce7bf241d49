"""Cancel, stop and go on, undo, merge, recover: nothing is lost and refusals say why."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    PATIENT,
    Place,
    a_plan,
    holds,
    rest_of,
    until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance


def slow_plan(**more: Any) -> dict[str, Any]:
    """`quick` lands; `slow` writes and then works on for as long as it is let; `last` needs it."""
    return a_plan(
        {
            "quick": [writes("quick.txt")],
            "slow": [[*writes("slow.txt"), {"sleep": 600}], writes("slow.txt")],
            "last": [writes("last.txt")],
        },
        [
            {"id": "quick", "checks": ["quick"]},
            {"id": "slow", "checks": ["slow"]},
            {"id": "last", "checks": ["last"], "needs": ["slow"]},
        ],
        {name: holds(f"{name}.txt") for name in ("quick", "slow", "last")},
        **more,
    )


def slow_run(place: Place) -> subprocess.Popen[str]:
    """Its worker, once `slow` is in the middle of its work."""
    place.settings(PATIENT)
    worker = place.start("run", place.plan(slow_plan()))
    until(lambda: _working(place, "slow"), "slow works")
    return worker


def interrupt(worker: subprocess.Popen[str]) -> None:
    """Comes back when it has told that it heard."""
    worker.send_signal(signal.SIGINT)
    assert worker.stdout is not None
    while "interrupt again" not in (line := worker.stdout.readline()):
        assert line, "the first interrupt must be told"


def two_landed(place: Place) -> dict[str, Any]:
    plan = a_plan(
        {"one": [writes("one.txt")], "two": [writes("two.txt")]},
        [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
        {"one": holds("one.txt"), "two": holds("two.txt")},
    )
    done = place.yaoki("run", place.plan(plan), "--json")
    assert done.code == 0, done.out + done.err
    return done.document


@pytest.mark.spec("9.5", "12.1", "8.2", "0.2")
def test_cancel_ends_waiting_and_active_tasks_and_saves_their_work(place: Place) -> None:
    """A waiting task ends at once, an active one is interrupted, a finished one is refused."""
    worker = slow_run(place)
    until(lambda: _done(place, "quick"), "quick landed")

    waiting = place.yaoki("cancel", "last")
    finished = place.yaoki("cancel", "quick")
    whole = place.yaoki("cancel")
    again = place.yaoki("cancel")
    worker.communicate(timeout=BOUND_S)

    assert waiting.code == 0
    assert (finished.code, "is already DONE" in finished.err) == (6, True)
    assert whole.code == 0, whole.err
    assert "yaoki recover" in whole.out.splitlines()[-1]
    assert again.code == 0, "twice is once"
    assert "cancelled already; nothing was changed" in again.out
    assert worker.returncode == 3
    stands = place.status()
    assert stands["status"] == "CANCELLED"
    assert [t["state"] for t in stands["tasks"]] == ["DONE", "CANCELLED", "CANCELLED"]
    # It ran, so the report says so, and counts what it took.
    ended = [e for e in place.events("slow") if e["event"] == "AGENT_FINISHED"]
    assert [entry["data"]["exit"]["ended_by"] for entry in ended] == ["cancel"]
    assert place.look("report", "--json").document["numbers"]["agent_runs"] == 2
    # What the interrupted agent had written is kept, and can be had as a branch.
    recovered = place.yaoki("recover", "slow", "--branch", "rescue")
    assert recovered.code == 0, recovered.err
    assert place.show("rescue", "slow.txt") == "good"
    assert place.yaoki("recover", "slow", "--branch", "rescue").code == 6
    assert place.yaoki("resume").code == 3, "a cancelled run stays cancelled"


def _working(place: Place, name: str) -> bool:
    runs = place.repo / ".yaoki" / "runs"
    # The agent has written its file: it is in the middle of its work.
    return any((place.home / "worktrees").glob(f"*/*/{name}.txt")) and runs.is_dir()


def _done(place: Place, name: str) -> bool:
    return bool(place.task(name)["state"] == "DONE")


@pytest.mark.full
@pytest.mark.spec("9.5")
def test_a_finished_run_cannot_be_cancelled(place: Place) -> None:
    run = two_landed(place)["run"]

    refused = place.yaoki("cancel", run)

    assert (refused.code, "already done" in refused.err) == (6, True)
    assert place.status()["cancel_wanted"] is False


@pytest.mark.full
@pytest.mark.spec("9.8", "12.1", "3.7")
def test_two_interrupts_stop_now_and_resume_continues(place: Place) -> None:
    worker = slow_run(place)

    interrupt(worker)
    worker.send_signal(signal.SIGINT)
    rest = rest_of(worker)
    stopped = place.status()
    gone_on = place.yaoki("resume")

    assert worker.returncode == 130
    assert "stopped; finished work is saved" in rest
    assert rest.splitlines()[-1] == f"next: yaoki resume {stopped['run']}"
    assert stopped["status"] == "ACTIVE"
    assert gone_on.code == 0, gone_on.out + gone_on.err
    assert _done(place, "last")


@pytest.mark.spec("9.6", "0.2", "12.1")
def test_merge_never_touches_a_checkout_and_never_conflicts(place: Place) -> None:
    stands = two_landed(place)
    run, branch = stands["run"], stands["run_branch"]
    head = place.git("rev-parse", branch)

    checked_out = place.yaoki("merge", run)
    into_new = place.yaoki("merge", run, "--into", "release", "--json")
    place.git("switch", "-qc", "elsewhere")
    merged = place.yaoki("merge")
    already = place.yaoki("merge", "--json")

    assert (checked_out.code, f"git merge --ff-only {branch}" in checked_out.err) == (6, True)
    assert into_new.document["how"] == "created"
    assert merged.code == 0, merged.err
    assert place.git("rev-parse", "main") == head == place.git("rev-parse", "release")
    assert place.git("status", "--porcelain") == ""
    assert already.document["how"] == "already"
    assert place.status()["merged"] == head
    _conflict(place)
    conflicting = place.yaoki("merge", run, "--into", "other")
    assert (conflicting.code, "conflict: one.txt" in conflicting.err) == (6, True)


def _conflict(place: Place) -> None:
    place.git("switch", "-qc", "other", "main~2")
    (place.repo / "one.txt").write_text("another\n")
    place.git("add", "-A")
    place.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "other")
    place.git("switch", "-q", "elsewhere")


@pytest.mark.full
@pytest.mark.spec("9.6", "0.6")
def test_a_run_that_is_not_done_is_merged_only_on_request(place: Place) -> None:
    plan = a_plan(
        {"one": [writes("one.txt")], "bad": [writes("bad.txt", "bad\n")]},
        [
            {"id": "one", "checks": ["one"]},
            {"id": "bad", "checks": ["bad"], "retry": {"max_retries": 0}},
        ],
        {"one": holds("one.txt"), "bad": holds("bad.txt")},
    )
    assert place.yaoki("run", place.plan(plan)).code == 4
    place.git("switch", "-qc", "elsewhere")

    refused = place.yaoki("merge")
    partial = place.yaoki("merge", "--partial")

    assert (refused.code, "--partial" in refused.err) == (6, True)
    assert partial.code == 0, partial.err
    assert place.show("main", "one.txt") == "good"


@pytest.mark.full
@pytest.mark.spec("8.2")
def test_an_attempt_without_changes_is_not_listed_with_the_commit_of_another(place: Place) -> None:
    plan = a_plan(
        {"one": [writes("one.txt")], "idle": [[{"say": "nothing to do"}]]},
        [
            {"id": "one", "checks": ["one"]},
            {"id": "idle", "checks": ["two"], "needs": ["one"], "retry": {"max_retries": 0}},
        ],
        {"one": holds("one.txt"), "two": holds("two.txt")},
    )
    assert place.yaoki("run", place.plan(plan)).code == 4

    listed = place.yaoki("recover")
    kept = place.yaoki("recover", "--json").document["kept"]

    (line,) = [
        line for line in listed.out.splitlines() if line.startswith(place.task("idle")["id"])
    ]
    assert line.endswith("left no changes")
    assert f"next: yaoki recover {place.task('one')['id']} " in listed.out
    assert {one["task"]: one["left_nothing"] for one in kept} == {
        place.task("one")["id"]: False,
        place.task("idle")["id"]: True,
    }


@pytest.mark.full
@pytest.mark.spec("8.2", "9.6")
def test_undo_of_merged_work_names_the_branch_that_still_contains_it(place: Place) -> None:
    """An attempt that begins at the work of another, and adds nothing, has none of its own, also
    when that work was taken back since.
    """
    plan = a_plan(
        {"one": [writes("one.txt")], "two": [[{"say": "done"}], writes("two.txt")]},
        [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
        {"one": holds("one.txt"), "two": holds("two.txt")},
    )
    done = place.yaoki("run", place.plan(plan), "--json")
    assert done.code == 0, done.out + done.err
    branch = done.document["run_branch"]
    place.git("merge", "-q", "--ff-only", branch)

    undone = place.yaoki("undo", "one", "--cascade")
    kept = place.yaoki("recover", "--json").document["kept"]
    place.git("merge", "-q", branch)

    assert "the tasks that need it: two" in undone.out
    assert f"main still contains it; to revert it there as well: git merge {branch}" in undone.out
    idle = {(one["task"], one["attempt"]) for one in kept if one["left_nothing"]}
    assert idle == {(place.task("two")["id"], 1)}
    assert "one.txt" not in place.git("ls-tree", "--name-only", "main")


@pytest.mark.spec("9.6", "10.4")
def test_undo_reverts_a_landed_task_and_escalates_it(place: Place) -> None:
    stands = two_landed(place)
    branch = stands["run_branch"]

    standing = place.yaoki("undo", "one")
    undone = place.yaoki("undo", "two")
    after = place.task("two")
    files = place.git("ls-tree", "--name-only", branch)
    again = place.yaoki("answer", "two", "retry")
    gone_on = place.yaoki("resume")

    assert (standing.code, "1 task depends on one: two" in standing.err) == (6, True)
    assert undone.code == 0, undone.err
    assert (after["state"], after["reason"], after["landed"]) == ("ESCALATED", "MANUAL", None)
    assert "two.txt" not in files
    assert "one.txt" in files
    assert (again.code, gone_on.code) == (0, 0), gone_on.out + gone_on.err
    assert place.show(branch, "two.txt") == "good"


@pytest.mark.full
@pytest.mark.spec("8.1", "8.2", "9.8")
def test_a_worktree_is_restored_to_a_snapshot(place: Place) -> None:
    """Attempt 2 spoiled what attempt 1 had made; its snapshot was taken in between."""
    plan = a_plan(
        {"task": [writes("a.txt", "first\n"), writes("a.txt", "second\n")]},
        [{"id": "task", "checks": ["a"], "retry": {"max_retries": 1}}],
        {"a": holds("a.txt", "never")},
    )
    assert place.yaoki("run", place.plan(plan)).code == 4
    task = place.task("task")
    [file] = (place.home / "worktrees").glob(f"*/{task['id']}/a.txt")

    listed = place.yaoki("snapshots", "--json").document["snapshots"]
    unknown = place.yaoki("restore", "nope-1-1")
    before = file.read_text()
    restored = place.yaoki("restore", f"{task['id']}-2", "--json")
    kept = place.yaoki("recover", "task", "--json").document["kept"]

    assert [s["id"] for s in listed] == [f"{task['id']}-1", f"{task['id']}-2"]
    assert unknown.code == 6
    assert before == "second\n"
    assert restored.document["restored_files"] == ["a.txt"]
    assert file.read_text() == "first\n"
    assert {work["attempt"] for work in kept} == {1, 2}
    events = place.look("trace", "task", "--json").document["entries"]
    assert events[-1]["event"] == "SNAPSHOT_RESTORE"


@pytest.mark.spec("9.8", "0.1", "12.1")
def test_one_interrupt_lets_the_agent_finish_and_the_run_without_its_final_check_is_not_done(
    place: Place, tmp_path: Path
) -> None:
    """The only task lands after the interrupt; `done_when` was not asked yet: no success."""
    marker = tmp_path / "go"
    plan = a_plan(
        {"one": [[*writes("slow.txt"), waits_for(marker)]]},
        [{"id": "one", "checks": ["one"]}],
        {"one": holds("slow.txt")},
        done_when=["one"],
    )
    worker = place.start("run", place.plan(plan))
    until(lambda: _working(place, "slow"), "the agent works")

    interrupt(worker)
    marker.touch()
    rest_of(worker)
    stands = place.status()
    place.git("switch", "-qc", "elsewhere")
    merged = place.yaoki("merge")
    gone_on = place.yaoki("resume", "--quiet")

    assert worker.returncode == 130
    assert (stands["tasks"][0]["state"], stands["status"]) == ("DONE", "ACTIVE")
    assert merged.code == 6
    assert gone_on.code == 0, gone_on.out + gone_on.err
    assert _done(place, "done_when")


@pytest.mark.full
@pytest.mark.spec("9.5", "8.2", "0.2")
def test_cancel_ends_the_agent_of_a_dead_worker(place: Place) -> None:
    worker = slow_run(place)
    worker.kill()
    worker.communicate(timeout=BOUND_S)

    cancelled = place.yaoki("cancel", "--json")

    assert cancelled.code == 0, cancelled.err
    slow = place.task("slow")
    assert slow["state"] == "CANCELLED"
    assert cancelled.document["ending"] == []
    assert slow["id"] in cancelled.document["kept"]
    assert _sleepers(place) == []


def _sleepers(place: Place) -> list[str]:
    """Agents of this place that still live."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:  # it ended while we looked
            continue
        if str(place.repo).encode() in words and b"play.py" in words:
            found.append(words.decode(errors="replace"))
    return found


@pytest.mark.full
@pytest.mark.spec("12.4", "12.1", "10.2")
def test_logs_and_watch_in_another_terminal_follow_a_run_to_its_end(
    place: Place, tmp_path: Path
) -> None:
    marker = tmp_path / "go"
    acts = [{"say": "thinking"}, *writes("slow.txt"), waits_for(marker), {"say": "ready"}]
    plan = a_plan(
        {"slow": [acts]},
        [{"id": "slow", "checks": ["a"]}],
        {"a": holds("slow.txt")},
    )
    worker = place.start("run", place.plan(plan))
    until(lambda: _working(place, "slow"), "slow works")

    following = place.start("logs", "slow", "--follow")
    watching = place.start("watch")
    assert watching.stdout is not None
    first = watching.stdout.readline()
    marker.touch()
    watched = rest_of(watching)
    traced = place.yaoki("trace", "slow", "--follow")
    log, _ = following.communicate(timeout=BOUND_S)
    worker.communicate(timeout=BOUND_S)

    assert (worker.returncode, watching.returncode) == (0, 0)
    assert first == f"run {place.status()['run']}: ACTIVE  Rehearse\n"
    assert "landed" in watched
    assert "TASK_LANDED" in traced.out
    assert log.splitlines() == ["thinking", "ready"]
