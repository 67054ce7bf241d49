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

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    BOUND_S,
    PATIENT,
    Completed,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance
STALE, UNKNOWN, REPLACED, CANCELLED, LATE, DUPLICATE = range(61, 67)
CHECKS = {"a": file_contains("a.txt")}


def call_yaoki_act(*words: str) -> dict[str, Any]:
    """An act: the agent itself calls the program, from its worktree."""
    return {"run": [sys.executable, "-m", "yaoki", *words]}


def save_environment(file: Path) -> dict[str, Any]:
    return {"run": ["sh", "-c", f"env -0 > {file}.part && mv {file}.part {file}"]}


def read_environment(file: Path) -> dict[str, str]:
    pairs = (line.partition("=") for line in file.read_text().split("\0") if line)
    return {name: value for name, _, value in pairs if name.startswith("YAOKI_")}


def one_task(attempts: list[Any], **more: Any) -> dict[str, Any]:
    return a_plan({"one": attempts}, [{"id": "one", "checks": ["a"], **more}], CHECKS)


def report_result(project: Project, who: Mapping[str, str], *words: str) -> Completed:
    """A call with an agent's identity from the worktree, as long as there is one."""
    worktree = Path(who["YAOKI_WORKTREE"])
    cwd = worktree if worktree.is_dir() else project.folder
    return project.yaoki("result", *words, cwd=cwd, env=who)


def report_failure(
    project: Project, who: Mapping[str, str], summary: str = "it broke"
) -> Completed:
    return report_result(project, who, "--status", "failed", "--summary", summary)


@contextmanager
def running_attempt(
    project: Project, plan: dict[str, Any], kept: Path, go: Path
) -> Iterator[dict[str, str]]:
    """A run whose agent has left its environment at `kept` and waits for `go`."""
    # A hang warning would change the rows.
    project.settings(PATIENT)
    with project.beside("run", project.plan(plan), "--quiet") as running:
        try:
            wait_until(lambda: kept.exists() or running.done(), "the agent has begun")
            assert kept.exists(), running.result()
            yield read_environment(kept)
        finally:
            go.touch()


def task_rows(project: Project) -> Any:
    """The task rows, without the journal."""
    return project.status()["tasks"]


def event_data(project: Project, event: str, *task: str) -> list[dict[str, Any]]:
    return [entry["data"] for entry in project.events(*task) if entry["event"] == event]


# ------------------------------------------------------------------ what a claim does


def run_with_claims(project: Project) -> None:
    """One run; each task is named after what its agent reports."""

    def result(*words: str) -> dict[str, Any]:
        return call_yaoki_act("result", "--status", *words)

    script: dict[str, Any] = {
        "unsafe": [
            [result("failed", "--summary", "half sent", "--partial-changes"), {"exit": 1}],
        ],
        "lies": [[result("done", "--summary", "All tests pass.")], writes("lies.txt")],
        "asks": [[result("question", "--question", "Which port?"), {"hang": None}]],
        "busy": [
            [result("failed", "--summary", "busy", "--retry-after", "1"), {"exit": 1}],
            writes("busy.txt"),
        ],
    }
    tasks = [{"id": name, "checks": [name]} for name in script]
    plan = a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in script})
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert done.code == 4, done.out + done.err


@pytest.mark.full
@pytest.mark.spec("12.7", "5.7")
def test_a_failure_reported_as_unsafe_to_retry_is_escalated_with_its_summary(
    prepared: Prepared,
) -> None:
    project, _ = prepared.after(run_with_claims)

    task = project.task("unsafe")
    assert (task["state"], task["attempt"]) == ("ESCALATED", 1)
    [noted] = event_data(project, "RESULT_NOTED", "unsafe")
    assert (noted["status"], noted["summary"]) == ("failed", "half sent")
    assert (noted["retry_safe"], noted["partial_changes"]) == (False, True)
    assert "half sent" in project.yaoki("why", "unsafe").out


@pytest.mark.full
@pytest.mark.spec("12.7", "0.1")
def test_a_result_of_done_is_recorded_and_does_not_count_as_success(prepared: Prepared) -> None:
    project, _ = prepared.after(run_with_claims)

    task = project.task("lies")
    assert (task["state"], task["attempt"]) == ("DONE", 2), "the checks did not believe it"
    assert [noted["status"] for noted in event_data(project, "RESULT_NOTED", "lies")] == ["done"]


@pytest.mark.full
@pytest.mark.spec("12.7", "3.9")
def test_a_question_ends_the_attempt_and_reaches_a_person(prepared: Prepared) -> None:
    project, _ = prepared.after(run_with_claims)

    assert "Which port?" in project.task("asks")["question"]


@pytest.mark.full
@pytest.mark.spec("12.7", "5.4")
def test_a_retry_waits_as_long_as_the_agent_asked(prepared: Prepared) -> None:
    project, _ = prepared.after(run_with_claims)

    assert project.task("busy")["state"] == "DONE"
    [decided] = event_data(project, "RETRY_DECISION", "busy")
    assert (decided["failure_type"], decided["delay_ms"]) == ("INCOMPLETE", 1000)


# ------------------------------------------------------------------ once, and only while it counts


FOR_PEOPLE = [
    ("answer", "one", "retry"),
    ("answer", "one", "waive", "--check", "a"),
    ("retry", "one"),
    ("cancel",),
    ("merge", "--partial"),
    ("undo", "one"),
    ("hook", "answer", "abort"),
    ("run", "plan.yaml", "--detach"),
    ("resume",),
    ("up",),
    ("down",),
    ("prune",),
]


@pytest.mark.full
@pytest.mark.spec("11.2", "12.7", "0.3", "10.4", "14.2", "14.3", "14.4")
def test_only_the_results_of_the_newest_attempt_count_each_once_masked_and_bounded(
    project: Project, tmp_path: Path
) -> None:
    """A process keeps the environment of the first attempt while the second one runs, whose agent
    calls what is reserved for people, and reports a result again: four processes at once, and one
    after the other.
    """
    first, kept, go = tmp_path / "first", tmp_path / "env", tmp_path / "go"
    plan = one_task(
        [[save_environment(first)], [save_environment(kept), waits_for(go), *writes("a.txt")]]
    )
    key = "correct-horse-battery"
    words = (sys.executable, "-m", "yaoki", "result", "--status", "failed", "--summary", "x")

    with running_attempt(project, plan, kept, go) as who:
        late = read_environment(first)
        before = task_rows(project)
        refused = [report_failure(project, late) for _ in range(3)]
        invented = report_failure(project, {**who, "YAOKI_EPOCH": "99"})
        broken = report_failure(project, {**who, "YAOKI_EPOCH": "many"})
        commands = [project.yaoki(*words, env=who) for words in FOR_PEOPLE]
        noted_too_early = event_data(project, "RESULT_NOTED")
        both = [
            subprocess.Popen(
                words, cwd=project.folder, env={**project.env, **who}, stderr=subprocess.DEVNULL
            )
            for _ in range(4)
        ]
        at_once = sorted(one.wait(BOUND_S) for one in both)
        records = len(event_data(project, "RESULT_NOTED"))
        noted = report_failure(project, {**who, "MY_API_KEY": key}, f"key {key} \x1b[31m {{{{x}}}}")
        masked = Path(who["YAOKI_RESULT"]).read_text()
        long = report_failure(project, who, "x" * 4001)
        codes = [report_failure(project, who).code for _ in range(3)]
        Path(who["YAOKI_RESULT"]).unlink()
        mended = report_failure(project, who)
        again = report_result(
            project, who, "--status", "done", "--summary", "It works now.", "--json"
        )
        left = json.loads(Path(who["YAOKI_RESULT"]).read_text())
        after = task_rows(project)

    assert before == after
    assert [done.code for done in commands] == [6] * len(FOR_PEOPLE)
    told_why = f"only people may do this, and the caller is the agent of {who['YAOKI_TASK']}"
    assert [told_why in done.err for done in commands] == [True] * len(FOR_PEOPLE)
    assert late["YAOKI_ATTEMPT"] == "1"
    assert [one.code for one in refused] == [STALE] * 3
    assert "is stale: the task is at claim" in refused[0].err
    assert (invented.code, broken.code) == (STALE, 6)
    names = [(data["refused"], data["epoch"]) for data in event_data(project, "RESULT_REFUSED")]
    assert names[:2] == [("STALE", int(late["YAOKI_EPOCH"])), ("STALE", 99)]
    assert noted_too_early == []
    assert at_once[0] == 0
    assert set(at_once) <= {0, DUPLICATE}
    assert records == 1
    assert noted.code == 0, noted.err
    assert (long.code, "4001 is over the limit of 4000" in long.err) == (6, True), long.err
    assert key not in project.yaoki("trace", "--json").out
    assert key not in masked
    assert codes == [0, DUPLICATE, DUPLICATE]
    assert mended.code == 0, "a kill before the file was written is mended by the next call"
    assert (again.code, again.document["noted"]) == (0, True)
    _, held, *rest = event_data(project, "RESULT_NOTED")
    assert "[masked]" in held["summary"]
    assert [one["status"] for one in rest] == ["failed", "done"]
    assert left["status"] == "done"
    assert project.task("one")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.spec("11.2", "9.2", "9.5")
def test_a_result_for_a_replaced_cancelled_finished_or_unknown_task_is_refused_by_name(
    project: Project, tmp_path: Path
) -> None:
    names = ("gone", "ended", "done")
    kept = {name: tmp_path / name for name in names}
    plan = a_plan(
        {name: [[save_environment(kept[name]), *writes(f"{name}.txt")]] for name in names},
        [{"id": name, "checks": [name], "retry": {"max_retries": 0}} for name in names],
        {name: file_contains(f"{name}.txt", "good" if name == "done" else "bad") for name in names},
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    project.yaoki("plan", "add-retry-task", "--retry-of", "gone")
    project.yaoki("cancel", "ended")
    who = {name: read_environment(kept[name]) for name in names}
    nobody = {**who["done"], "YAOKI_TASK": who["done"]["YAOKI_TASK"].split("-")[0] + "-99"}
    before = task_rows(project)

    codes = {name: report_failure(project, who[name]).code for name in names}
    unknown = [report_failure(project, nobody).code for _ in range(2)]

    assert codes == {"gone": REPLACED, "ended": CANCELLED, "done": LATE}
    assert unknown == [UNKNOWN] * 2
    assert task_rows(project) == before
    told_names = [data["refused"] for data in event_data(project, "RESULT_REFUSED")]
    assert told_names == ["REPLACED", "CANCELLED", "LATE", "UNKNOWN"]
    assert project.yaoki("doctor").code == 0, "the journal still folds to the rows"


@pytest.mark.spec("11.2", "11.3", "0.2")
def test_a_result_counts_after_another_worker_continues_the_attempt(
    project: Project, tmp_path: Path
) -> None:
    """Its worker died; the worker of the next claim waits for the same process."""
    # On a slow machine it takes a while until the next worker renews the lease.
    project.settings(PATIENT)
    kept, go = tmp_path / "env", tmp_path / "go"
    plan = project.plan(one_task([[save_environment(kept), waits_for(go), *writes("a.txt")]]))
    worker = project.start("run", plan, "--quiet")
    wait_until(kept.exists, "the agent has begun")
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=BOUND_S)
    who = read_environment(kept)

    between = report_result(project, who, "--status", "done", "--summary", "between two workers")
    successor = project.start("resume", "--quiet")
    wait_until(
        lambda: project.event_names("one").count("TASK_CLAIMED") == 2, "another worker holds it"
    )
    after = report_result(project, who, "--status", "done", "--summary", "under the second")
    go.touch()
    successor.communicate(timeout=BOUND_S)

    assert (between.code, after.code) == (0, 0), between.err + after.err
    assert (project.task("one")["state"], project.task("one")["attempt"]) == ("DONE", 1)


@pytest.mark.spec("12.7", "0.6")
def test_a_result_without_a_task_or_with_invalid_options_is_refused(project: Project) -> None:
    nobody = project.yaoki("result", "--status", "done", "--summary", "x")
    bad = [
        project.yaoki("result", "--status", "failed"),
        project.yaoki("result", "--status", "question"),
        project.yaoki("result", "--status", "done", "--summary", "x", "--retry-after", "3"),
        project.yaoki("result", "--status", "won", "--summary", "x"),
    ]

    assert (nobody.code, "YAOKI_TASK is not set" in nobody.err) == (6, True), nobody.err
    assert [one.code for one in bad] == [2, 2, 2, 2]
    assert not (project.repo / ".yaoki").exists()
