"""`yaoki result`: an agent's claim is kept, helps to say why, and never counts when it is late."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    PATIENT,
    Completed,
    Place,
    a_plan,
    holds,
    until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance
STALE, UNKNOWN, REPLACED, CANCELLED, LATE, DUPLICATE = range(61, 67)
CHECKS = {"a": holds("a.txt")}


def calls(*words: str) -> dict[str, Any]:
    """An act: the agent itself calls the program, from its worktree."""
    return {"run": [sys.executable, "-m", "yaoki", *words]}


def keeps_environment(file: Path) -> dict[str, Any]:
    return {"run": ["sh", "-c", f"env -0 > {file}.part && mv {file}.part {file}"]}


def environment_in(file: Path) -> dict[str, str]:
    pairs = (line.partition("=") for line in file.read_text().split("\0") if line)
    return {name: value for name, _, value in pairs if name.startswith("YAOKI_")}


def one_task(attempts: list[Any], **more: Any) -> dict[str, Any]:
    return a_plan({"one": attempts}, [{"id": "one", "checks": ["a"], **more}], CHECKS)


def said(place: Place, who: Mapping[str, str], *words: str) -> Completed:
    """A call with an agent's identity from the worktree, as long as there is one."""
    worktree = Path(who["YAOKI_WORKTREE"])
    cwd = worktree if worktree.is_dir() else place.folder
    return place.yaoki("result", *words, cwd=cwd, env=who)


def failed(place: Place, who: Mapping[str, str], summary: str = "it broke") -> Completed:
    return said(place, who, "--status", "failed", "--summary", summary)


@contextmanager
def at_work(place: Place, plan: dict[str, Any], kept: Path, go: Path) -> Iterator[dict[str, str]]:
    """A run whose agent has left its environment at `kept` and waits for `go`."""
    # A hang or a warning of one would change what stands.
    place.settings(PATIENT)
    running = place.start("run", place.plan(plan), "--quiet")
    try:
        until(lambda: kept.exists() or running.poll() is not None, "the agent has begun")
        assert kept.exists(), running.communicate(timeout=BOUND_S)
        yield environment_in(kept)
    finally:
        go.touch()
        running.communicate(timeout=BOUND_S)


def stand(place: Place) -> Any:
    """All that could have been changed, without the journal."""
    return place.status()["tasks"]


def told(place: Place, event: str) -> list[dict[str, Any]]:
    return [entry["data"] for entry in place.events() if entry["event"] == event]


# ------------------------------------------------------------------ what is a person's to say


@pytest.mark.full
@pytest.mark.spec("10.4", "12.7", "14.3")
def test_commands_for_people_are_refused_inside_an_attempt(place: Place, tmp_path: Path) -> None:
    kept, go = tmp_path / "kept", tmp_path / "go"
    act = [keeps_environment(kept), waits_for(go), *writes("a.txt")]
    commands = [
        ("answer", "one", "retry"),
        ("answer", "one", "waive", "--check", "a"),
        ("retry", "one"),
        ("cancel",),
        ("merge", "--partial"),
        ("undo", "one"),
        ("hook", "answer", "abort"),
        ("run", str(tmp_path / "plan.yaml"), "--detach"),
        ("resume",),
        ("up",),
        ("down",),
        ("prune",),
    ]

    with at_work(place, one_task([act]), kept, go) as who:
        before = stand(place)
        refused = [place.yaoki(*words, env=who) for words in commands]
        stood = stand(place)

    assert [done.code for done in refused] == [6] * len(commands)
    told_why = f"only people may do this, and the caller is the agent of {who['YAOKI_TASK']}"
    assert [told_why in done.err for done in refused] == [True] * len(commands)
    assert stood == before
    assert place.task("one")["state"] == "DONE"


# ------------------------------------------------------------------ what a claim does


@pytest.mark.full
@pytest.mark.spec("12.7", "5.7")
def test_a_failure_reported_as_unsafe_to_retry_is_escalated_with_its_summary(place: Place) -> None:
    act = calls("result", "--status", "failed", "--summary", "half sent", "--partial-changes")

    done = place.yaoki("run", place.plan(one_task([[act, {"exit": 1}]])), "--quiet")

    task = place.task("one")
    assert done.code == 4, done.out + done.err
    assert (task["state"], task["attempt"]) == ("ESCALATED", 1)
    [noted] = told(place, "RESULT_NOTED")
    assert (noted["status"], noted["summary"]) == ("failed", "half sent")
    assert (noted["retry_safe"], noted["partial_changes"]) == (False, True)
    assert "half sent" in place.yaoki("why", "one").out


@pytest.mark.full
@pytest.mark.spec("12.7", "0.1")
def test_a_result_of_done_is_recorded_and_does_not_count_as_success(place: Place) -> None:
    lie = calls("result", "--status", "done", "--summary", "All tests pass.")

    done = place.yaoki("run", place.plan(one_task([[lie], writes("a.txt")])), "--quiet")

    assert done.code == 0, done.out + done.err
    assert place.task("one")["attempt"] == 2, "the checks did not believe it"
    assert [noted["status"] for noted in told(place, "RESULT_NOTED")] == ["done"]


@pytest.mark.full
@pytest.mark.spec("12.7", "3.9")
def test_a_question_ends_the_attempt_and_reaches_a_person(place: Place) -> None:
    act = calls("result", "--status", "question", "--question", "Which port?")

    done = place.yaoki("run", place.plan(one_task([[act, {"hang": None}]])), "--quiet")

    assert done.code == 4, done.out + done.err
    assert "Which port?" in place.task("one")["question"]


@pytest.mark.full
@pytest.mark.spec("12.7", "5.4")
def test_a_retry_waits_as_long_as_the_agent_asked(place: Place) -> None:
    act = calls("result", "--status", "failed", "--summary", "busy", "--retry-after", "1")

    done = place.yaoki(
        "run", place.plan(one_task([[act, {"exit": 1}], writes("a.txt")])), "--quiet"
    )

    assert done.code == 0, done.out + done.err
    [decided] = told(place, "RETRY_DECISION")
    assert (decided["failure_type"], decided["delay_ms"]) == ("RATE_LIMIT", 1000)


@pytest.mark.full
@pytest.mark.spec("12.7", "14.2", "14.4")
def test_a_result_is_masked_and_bounded(place: Place, tmp_path: Path) -> None:
    kept, go = tmp_path / "env", tmp_path / "go"
    plan = one_task([[keeps_environment(kept), waits_for(go), *writes("a.txt")]])
    key = "correct-horse-battery"

    with at_work(place, plan, kept, go) as who:
        noted = failed(place, {**who, "MY_API_KEY": key}, f"key {key} \x1b[31m {{{{x}}}}")
        long = failed(place, who, "x" * 4001)

    assert noted.code == 0, noted.err
    assert (long.code, "4001 is over the limit of 4000" in long.err) == (6, True), long.err
    assert key not in place.yaoki("trace", "--json").out
    assert key not in Path(who["YAOKI_RESULT"]).read_text()
    [held] = told(place, "RESULT_NOTED")
    assert "[masked]" in held["summary"]


# ------------------------------------------------------------------ once, and only while it counts


@pytest.mark.full
@pytest.mark.spec("11.2", "12.7", "0.3")
def test_a_repeated_result_is_recorded_once_and_the_last_result_counts(
    place: Place, tmp_path: Path
) -> None:
    kept, go = tmp_path / "env", tmp_path / "go"
    plan = one_task([[keeps_environment(kept), waits_for(go), *writes("a.txt")]])

    with at_work(place, plan, kept, go) as who:
        before = stand(place)
        codes = [failed(place, who).code for _ in range(3)]
        Path(who["YAOKI_RESULT"]).unlink()
        mended = failed(place, who)
        again = said(place, who, "--status", "done", "--summary", "It works now.", "--json")
        left = json.loads(Path(who["YAOKI_RESULT"]).read_text())
        after = stand(place)

    assert codes == [0, DUPLICATE, DUPLICATE]
    assert mended.code == 0, "a kill before the file was written is mended by the next call"
    assert (again.code, again.document["noted"]) == (0, True)
    assert [noted["status"] for noted in told(place, "RESULT_NOTED")] == ["failed", "done"]
    assert left["status"] == "done"
    assert before == after
    assert place.task("one")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.spec("11.2", "0.3")
def test_concurrent_calls_with_the_same_result_make_one_record(
    place: Place, tmp_path: Path
) -> None:
    kept, go = tmp_path / "env", tmp_path / "go"
    plan = one_task([[keeps_environment(kept), waits_for(go), *writes("a.txt")]])
    words = (sys.executable, "-m", "yaoki", "result", "--status", "failed", "--summary", "x")

    with at_work(place, plan, kept, go) as who:
        both = [
            subprocess.Popen(
                words, cwd=place.folder, env={**place.env, **who}, stderr=subprocess.DEVNULL
            )
            for _ in range(4)
        ]
        codes = sorted(one.wait(BOUND_S) for one in both)

    assert codes[0] == 0
    assert set(codes) <= {0, DUPLICATE}
    assert len(told(place, "RESULT_NOTED")) == 1


@pytest.mark.full
@pytest.mark.spec("11.2", "12.7")
def test_a_result_of_a_stale_attempt_is_refused_and_changes_nothing(
    place: Place, tmp_path: Path
) -> None:
    """The environment of the first attempt lives on in some process; the second is at work."""
    first, kept, go = tmp_path / "first", tmp_path / "env", tmp_path / "go"
    plan = one_task(
        [[keeps_environment(first)], [keeps_environment(kept), waits_for(go), *writes("a.txt")]]
    )

    with at_work(place, plan, kept, go) as who:
        late = environment_in(first)
        before = stand(place)
        refused = [failed(place, late) for _ in range(3)]
        invented = failed(place, {**who, "YAOKI_EPOCH": "99"})
        broken = failed(place, {**who, "YAOKI_EPOCH": "many"})
        after = stand(place)

    assert late["YAOKI_ATTEMPT"] == "1"
    assert [one.code for one in refused] == [STALE] * 3
    assert "is stale: the task is at claim" in refused[0].err
    assert (invented.code, broken.code) == (STALE, 6)
    assert before == after
    names = [(data["refused"], data["epoch"]) for data in told(place, "RESULT_REFUSED")]
    assert names == [("STALE", int(late["YAOKI_EPOCH"])), ("STALE", 99)]
    assert told(place, "RESULT_NOTED") == []
    assert place.task("one")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.spec("11.2", "9.2", "9.5")
def test_a_result_for_a_replaced_cancelled_finished_or_unknown_task_is_refused_by_name(
    place: Place, tmp_path: Path
) -> None:
    names = ("gone", "ended", "done")
    kept = {name: tmp_path / name for name in names}
    plan = a_plan(
        {name: [[keeps_environment(kept[name]), *writes(f"{name}.txt")]] for name in names},
        [{"id": name, "checks": [name], "retry": {"max_retries": 0}} for name in names],
        {name: holds(f"{name}.txt", "good" if name == "done" else "bad") for name in names},
    )
    assert place.yaoki("run", place.plan(plan), "--quiet").code == 4
    place.yaoki("plan", "add-retry-task", "--retry-of", "gone")
    place.yaoki("cancel", "ended")
    who = {name: environment_in(kept[name]) for name in names}
    nobody = {**who["done"], "YAOKI_TASK": who["done"]["YAOKI_TASK"].split("-")[0] + "-99"}
    before = stand(place)

    codes = {name: failed(place, who[name]).code for name in names}
    unknown = [failed(place, nobody).code for _ in range(2)]

    assert codes == {"gone": REPLACED, "ended": CANCELLED, "done": LATE}
    assert unknown == [UNKNOWN] * 2
    assert stand(place) == before
    told_names = [data["refused"] for data in told(place, "RESULT_REFUSED")]
    assert told_names == ["REPLACED", "CANCELLED", "LATE", "UNKNOWN"]
    assert place.yaoki("doctor").code == 0, "the journal still folds to the rows"


@pytest.mark.spec("11.2", "11.3", "0.2")
def test_a_result_counts_after_another_worker_continues_the_attempt(
    place: Place, tmp_path: Path
) -> None:
    """Its worker died; the next claim waits for the very same process."""
    # On a slow machine it takes a while until somebody renews its lease again.
    place.settings(PATIENT)
    kept, go = tmp_path / "env", tmp_path / "go"
    plan = place.plan(one_task([[keeps_environment(kept), waits_for(go), *writes("a.txt")]]))
    worker = place.start("run", plan, "--quiet")
    until(kept.exists, "the agent has begun")
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=BOUND_S)
    who = environment_in(kept)

    between = said(place, who, "--status", "done", "--summary", "between two workers")
    successor = place.start("resume", "--quiet")
    until(lambda: place.story("one").count("TASK_CLAIMED") == 2, "another worker holds it")
    after = said(place, who, "--status", "done", "--summary", "under the second")
    go.touch()
    successor.communicate(timeout=BOUND_S)

    assert (between.code, after.code) == (0, 0), between.err + after.err
    assert (place.task("one")["state"], place.task("one")["attempt"]) == ("DONE", 1)


@pytest.mark.spec("12.7", "0.6")
def test_a_result_without_a_task_or_with_invalid_options_is_refused(place: Place) -> None:
    nobody = place.yaoki("result", "--status", "done", "--summary", "x")
    bad = [
        place.yaoki("result", "--status", "failed"),
        place.yaoki("result", "--status", "question"),
        place.yaoki("result", "--status", "done", "--summary", "x", "--retry-after", "3"),
        place.yaoki("result", "--status", "won", "--summary", "x"),
    ]

    assert (nobody.code, "YAOKI_TASK is not set" in nobody.err) == (6, True), nobody.err
    assert [one.code for one in bad] == [2, 2, 2, 2]
    assert not (place.repo / ".yaoki").exists()
