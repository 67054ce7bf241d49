"""Somebody rewrites or deletes the run branch meanwhile: one question, one way back."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Place, a_plan, holds, until, waits_for, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.2", "0.6", "8.6")]
LATER = ("b", "c", "d")
LOST = "landed, but its commit is no longer on the branch"


def a_rewritten(marker: Path) -> dict[str, Any]:
    """`a` and `e` land at once; the others wait for the marker."""
    script: dict[str, Any] = {name: [writes(f"{name}.txt")] for name in ("a", "e")}
    script |= {name: [[waits_for(marker), *writes(f"{name}.txt")]] for name in LATER}
    tasks = [{"id": name, "checks": [name]} for name in script]
    return a_plan(script, tasks, {name: holds(f"{name}.txt") for name in script})


def shared(place: Place, bare: Path) -> None:
    """The repository has a remote, on which the run branch stands."""
    place.git("init", "-q", "--bare", str(bare))
    place.git("remote", "add", "origin", str(bare))
    place.git("push", "-q", "origin", "main")
    with (place.repo / "yaoki.toml").open("a") as settings:
        settings.write('\n[workspace]\nremote = "origin"\n')


def begun(place: Place, marker: Path) -> subprocess.Popen[str]:
    """A run of which the first two tasks have landed, and whose other agents wait."""
    process = place.start("run", place.plan(a_rewritten(marker)), "--parallel", "5")
    until(lambda: bool(place.look("status").out), "there is a run")
    until(lambda: states(place, "a", "e") == {"DONE"}, "two have landed")
    until(lambda: stages(place, *LATER) == {"WORK"}, "the others are at work")
    return process


def states(place: Place, *names: str) -> set[str]:
    told = place.look("status", "--json")
    return {t["state"] for t in told.document["tasks"] if t["name"] in names} if told.out else set()


def stages(place: Place, *names: str) -> set[str]:
    """A task that is merely claimed still looks at the branch, to make its worktree from it."""
    return {t["stage"] for t in place.status()["tasks"] if t["name"] in names}


def way_back(place: Place) -> str:
    """The command that the question names, typed as it stands."""
    paused = str(place.status()["paused"])
    assert paused.startswith("branch: "), paused
    return paused.partition("put it back: ")[2]


def typed(place: Place, command: str) -> None:
    subprocess.run(
        ["sh", "-ec", command], cwd=place.repo, check=True, capture_output=True, timeout=30
    )


def asked_once(place: Place, said: str) -> None:
    """The run asks, no task does, and nothing has landed since."""
    story = place.story()
    assert story.count("RUN_PAUSED") == 1
    assert not {"ESCALATE_DECISION", "RETRY_DECISION"} & set(story)
    assert story.count("TASK_LANDED") == 2
    status = place.status()
    assert status["status"] == "PAUSED"
    assert "put it back: git " in said


def goes_on(place: Place, at: Path) -> None:
    """Put back as told, the run ends with all of it on its branch."""
    run = place.status()["run"]
    typed(place, way_back(place))
    assert place.yaoki("answer", run, "go").code == 0
    done = place.yaoki("resume", "--quiet")
    assert done.code == 0, done.out + done.err
    names = subprocess.run(
        ("git", "ls-tree", "-r", "--name-only", f"yaoki/{run}"),
        cwd=at,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert {f"{name}.txt" for name in ("a", "e", *LATER)} <= set(names)
    assert LOST not in place.look("report").out


@pytest.mark.full
@pytest.mark.parametrize("how", ["set back by one", "both deleted"])
def test_a_locally_rewritten_run_branch_pauses_the_run_with_the_command_to_restore_it(
    place: Place, tmp_path: Path, how: str
) -> None:
    marker = tmp_path / "go"
    process = begun(place, marker)
    run = place.status()["run"]
    branch = f"refs/heads/yaoki/{run}"
    match how:
        case "set back by one":
            place.git("update-ref", branch, f"{branch}^1")
        case _:
            place.git("update-ref", "-d", branch)
            place.git("update-ref", "-d", f"refs/yaoki/runs/{run}")

    marker.touch()
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 4, said
    asked_once(place, said)
    refused = place.yaoki("answer", run, "go")
    assert refused.code == 6, "while it is not back there is no going on"
    assert "git " in refused.err
    lost = {t["name"]: t["on_branch"] for t in place.status()["tasks"] if t["landed"]}
    assert False in lost.values()
    assert LOST in place.look("status").out
    report = place.yaoki("report")
    assert LOST in report.out
    goes_on(place, place.repo)


@pytest.mark.full
@pytest.mark.parametrize("how", ["forced", "deleted"])
def test_a_run_branch_rewritten_at_the_remote_pauses_the_run_with_the_command_to_restore_it(
    place: Place, tmp_path: Path, how: str
) -> None:
    marker, bare = tmp_path / "go", tmp_path / "bare.git"
    shared(place, bare)
    process = begun(place, marker)
    run = place.status()["run"]
    match how:
        case "forced":
            place.git("push", "-q", "origin", f"+main:refs/heads/yaoki/{run}")
        case _:
            gone = (f":refs/heads/yaoki/{run}", f":refs/yaoki/runs/{run}")
            place.git("push", "-q", "origin", *gone)

    marker.touch()
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 4, said
    asked_once(place, said)
    assert LOST in place.look("status").out
    goes_on(place, bare)


@pytest.mark.full
def test_restoring_the_run_branch_keeps_a_persons_commit_on_a_ref(
    place: Place, tmp_path: Path
) -> None:
    marker, bare = tmp_path / "go", tmp_path / "bare.git"
    shared(place, bare)
    process = begun(place, marker)
    run = place.status()["run"]
    tree = place.git("rev-parse", "main^{tree}")
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    place.git("fetch", "-q", "origin", f"yaoki/{run}")
    mine = place.git(*who, "commit-tree", "-p", "FETCH_HEAD", "-m", "by hand", tree)
    place.git("push", "-q", "origin", f"{mine}:refs/heads/yaoki/{run}")

    marker.touch()
    said, _ = process.communicate(timeout=60)

    asked_once(place, said)
    goes_on(place, bare)
    kept = place.git("ls-remote", "origin", "refs/heads/*")
    assert mine in kept, "what was committed by hand stands on a branch of its own"


@pytest.mark.full
def test_a_checked_out_run_branch_pauses_the_run_until_the_checkout_is_removed(
    place: Place, tmp_path: Path
) -> None:
    """Moved under a checkout it would make that look changed."""
    marker, mine = tmp_path / "go", tmp_path / "mine"
    process = begun(place, marker)
    run = place.status()["run"]
    place.git("worktree", "add", "-q", str(mine), f"yaoki/{run}")

    marker.touch()
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 4, said
    story = place.story()
    assert story.count("RUN_PAUSED") == 1
    assert not {"ESCALATE_DECISION", "RETRY_DECISION"} & set(story)
    refused = place.yaoki("answer", run, "go")
    assert (refused.code, str(mine) in refused.err) == (6, True), refused.err
    typed(place, str(place.status()["paused"]).partition("release it there: ")[2])
    assert place.yaoki("answer", run, "go").code == 0
    done = place.yaoki("resume", "--quiet")
    assert done.code == 0, done.out + done.err
    assert not place.git("-C", str(mine), "status", "--porcelain")


@pytest.mark.full
def test_drift_between_two_workers_is_detected_before_any_task_starts(
    place: Place, tmp_path: Path
) -> None:
    """The store knows what landed, whatever branch and mark say."""
    marker = tmp_path / "go"
    process = begun(place, marker)
    process.kill()
    process.communicate(timeout=30)
    run = place.status()["run"]
    for ref in (f"refs/heads/yaoki/{run}", f"refs/yaoki/runs/{run}"):
        place.git("update-ref", ref, "main")

    marker.touch()
    done = place.yaoki("resume", "--quiet")

    assert done.code == 4, done.out + done.err
    asked_once(place, done.out)
    goes_on(place, place.repo)


@pytest.mark.full
def test_a_branch_and_recorded_head_set_back_to_an_earlier_landing_are_restored_to_the_last_one(
    place: Place, tmp_path: Path
) -> None:
    """What stands there now is a landing of this run; asking once more does not make it enough."""
    marker = tmp_path / "go"
    process = begun(place, marker)
    process.kill()
    process.communicate(timeout=30)
    run = place.status()["run"]
    last = place.git("rev-parse", f"yaoki/{run}")
    for ref in (f"refs/heads/yaoki/{run}", f"refs/yaoki/runs/{run}"):
        place.git("update-ref", ref, f"{last}^1")
    marker.touch()
    assert place.yaoki("resume", "--quiet").code == 4

    refused = place.yaoki("answer", run, "go")

    assert refused.code == 6
    assert last in way_back(place)
    assert last in refused.err
    goes_on(place, place.repo)


@pytest.mark.full
def test_an_interrupted_landing_of_a_cancelled_task_is_no_drift(
    place: Place, tmp_path: Path
) -> None:
    """Killed between mark and branch: nothing landed, and nothing is missing."""
    marker = tmp_path / "go"
    process = begun(place, marker)
    run = place.status()["run"]
    process.kill()
    process.communicate(timeout=30)
    head = place.git("rev-parse", f"yaoki/{run}")
    words = f"b: attempt 1\n\nYaoki-Run: {run}\nYaoki-Task: {place.task('b')['id']}"
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    ahead = place.git(*who, "commit-tree", "-p", head, "-m", words, f"{head}^{{tree}}")
    place.git("update-ref", f"refs/yaoki/runs/{run}", ahead)
    for name in LATER:
        place.yaoki("cancel", name)
    marker.touch()
    assert place.yaoki("resume", "--quiet").code == 3

    merged = place.yaoki("merge", run, "--into", "release", "--partial")

    assert merged.code == 0, merged.out + merged.err
    assert place.git("rev-parse", "release") == head


@pytest.mark.full
def test_a_run_branch_rewritten_after_the_last_landing_keeps_the_run_from_being_done(
    place: Place, tmp_path: Path
) -> None:
    """Everything has landed; nobody but the end of the run looks at the branch again."""
    marker = tmp_path / "go"
    script = {"a": [writes("a.txt")], "b": [[waits_for(marker), *writes("b.txt", "bad\n")]]}
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a"]},
        {"id": "b", "checks": ["b"], "required": False, "retry": {"max_retries": 0}},
    ]
    plan = a_plan(script, tasks, {name: holds(f"{name}.txt") for name in script})
    process = place.start("run", place.plan(plan), "--parallel", "2")
    until(lambda: bool(place.look("status").out), "there is a run")
    until(lambda: states(place, "a") == {"DONE"}, "one has landed")
    until(lambda: stages(place, "b") == {"WORK"}, "the other is at work")
    run = place.status()["run"]
    place.git("update-ref", f"refs/heads/yaoki/{run}", "main")
    place.yaoki("cancel", "b")
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 4, said
    assert place.status()["status"] == "PAUSED"
    assert "FINAL_SUMMARY" not in place.story()


@pytest.mark.full
def test_the_report_of_a_finished_run_with_a_rewritten_branch_shows_no_landed_task(
    place: Place,
) -> None:
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": holds("a.txt")})
    assert place.yaoki("run", place.plan(plan)).code == 0
    place.git("update-ref", f"refs/heads/{place.status()['run_branch']}", "main")

    report = place.yaoki("report", "--json").document
    words = place.yaoki("report").out

    assert LOST in place.look("status").out
    assert [task["landed"] for task in report["tasks"]] == [False]
    assert report["numbers"]["lost"] == 1
    assert report["receipt"] is None
    assert LOST in words
    assert "each proven by its checks" not in report["verdict"]


@pytest.mark.full
@pytest.mark.spec("13.3", "0.2")
def test_a_run_continues_with_a_remote_that_was_added_after_its_first_landing(place: Place) -> None:
    plan = a_plan(
        {"one": [writes("one.txt")], "two": [[{"say": "no"}], writes("two.txt")]},
        [
            {"id": "one", "checks": ["one"]},
            {"id": "two", "checks": ["two"], "needs": ["one"], "retry": {"max_retries": 0}},
        ],
        {"one": holds("one.txt"), "two": holds("two.txt")},
    )
    asked = place.yaoki("run", place.plan(plan), "--quiet")
    place.git("init", "-q", "--bare", str(place.folder / "remote.git"))
    place.git("remote", "add", "origin", str(place.folder / "remote.git"))
    place.settings(SETTINGS + '\n[workspace]\nremote = "origin"\n')

    place.yaoki("answer", "two", "retry")
    gone_on = place.yaoki("resume", "--quiet")

    assert asked.code == 4
    assert gone_on.code == 0, gone_on.out + gone_on.err
    run = place.status()["run"]
    there = place.git("ls-remote", "origin", f"refs/heads/yaoki/{run}").split()[0]
    assert there == place.git("rev-parse", f"yaoki/{run}").strip()
