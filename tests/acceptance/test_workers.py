"""Workers in the foreground and the background, several at once, and with tags."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    PATIENT,
    Project,
    a_plan,
    file_contains,
    remaining_output,
    wait_until,
    waits_for,
    writes,
)
from tests.acceptance.suspended_worker import suspend

CHECK = {"ok": {"shell": "test -s README"}}


def simple_plan(*names: str, **more: Any) -> dict[str, Any]:
    """Each task writes its own file."""
    script = {name: [writes(f"{name}.txt")] for name in names}
    return a_plan(script, [{"id": name} for name in names], CHECK, **more)


def plan_that_waits(marker: Path, *names: str, **more: Any) -> dict[str, Any]:
    """Each agent reports its start in a file and continues when the marker exists."""
    script = {
        name: [
            [
                {"run": ["touch", f"{marker}.{name}"]},
                waits_for(marker),
                {"write": {f"{name}.txt": "good\n"}},
            ]
        ]
        for name in names
    }
    return a_plan(script, [{"id": name} for name in names], CHECK, **more)


@contextmanager
def running_worker(project: Project, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A worker in the foreground; asked to stop now at the end, and waited for."""
    process = project.start("worker", *words)
    try:
        wait_until(
            lambda: is_serving(project, process.pid) or process.poll() is not None, "it serves"
        )
        yield process
    finally:
        for _ in range(2):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        process.communicate(timeout=BOUND_S)


def is_serving(project: Project, pid: int) -> bool:
    return any(worker["holder"].split(":")[1] == str(pid) for worker in workers(project))


@pytest.fixture
def project_with_worker(project: Project) -> Iterator[Project]:
    yield project
    project.yaoki("down", "--wait", "0")


def workers(project: Project) -> list[dict[str, Any]]:
    told = project.query("status", "--workers", "--json")
    assert told.code == 0, told.out
    document: list[dict[str, Any]] = told.document["workers"]
    return document


def submit_plan(project: Project, plan: dict[str, Any], name: str = "plan.json") -> str:
    done = project.yaoki("plan", "submit", project.plan(plan, name), "--json")
    assert done.code == 0, done.err
    return str(done.document["run"])


def wait_until_done(project: Project, run: str) -> None:
    """Follow it to its end."""
    watched = project.yaoki("watch", run)
    assert watched.code == 0, watched.out + watched.err


def collect_output(process: subprocess.Popen[str]) -> list[str]:
    """What it says, as it says it."""
    told: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as out:
            for line in out:
                told.append(line)

    threading.Thread(target=read, daemon=True).start()
    return told


def is_stopping(project: Project) -> bool:
    """Does the only worker there is say that it stops?"""
    return [worker["state"] for worker in workers(project)] == ["STOPPING"]


def claims(project: Project, run: str) -> list[dict[str, Any]]:
    return [entry for entry in project.events(run) if entry["event"] == "TASK_CLAIMED"]


# ------------------------------------------------------------------ in the foreground


@pytest.mark.full
@pytest.mark.spec("11.8", "11.6")
def test_a_worker_executes_existing_and_new_runs_of_its_own_repository_in_turns(
    project: Project, tmp_path: Path
) -> None:
    """A worker for one run claims no task of other runs, and one of another repository none.  The
    new runs share an account.
    """
    many, single = submit_plan(project, simple_plan("a", "b")), submit_plan(project, LATER)
    mine = submit_plan(project, simple_plan("mine"))
    with stranger(project, tmp_path / "other") as told:
        # The worker is listed before it scans the runs, and a finished run is not reported.
        wait_until(lambda: f"run {many} belongs to" in "".join(told), "it has seen the run")
        with running_worker(project, "--run", mine):
            wait_until_done(project, mine)
        assert claims(project, many) == claims(project, single) == []
        with running_worker(project, "--slots", "2") as worker:
            wait_until_done(project, many)
            wait_until_done(project, single)
            new = assert_account_is_limited(project, tmp_path)
            worker.send_signal(signal.SIGTERM)
            out, _ = worker.communicate(timeout=BOUND_S)

    assert worker.returncode == 0, out
    assert workers(project) == []
    assert project.show(f"yaoki/{new}", "second.txt") == "good"
    order = sorted(claims(project, many) + claims(project, single), key=lambda e: e["seq"])
    assert {holder_pid(entry) for entry in order} == {worker.pid}
    assert single in [entry["run"] for entry in order[:2]], "it need not wait for the longer run"


LATER = simple_plan("later")


def assert_account_is_limited(project: Project, folder: Path) -> str:
    """Two new runs have an agent of one account, which allows one at a time; returns the second.

    Another task of the second run lands while the agent of the first is at work: a slot is free.
    """
    room, met, go = (folder / name for name in ("room", "met", "go"))
    enter, leave = f"mkdir {room} || touch {met}", {"run": ["rmdir", str(room)]}

    def submit(*names: str) -> str:
        plan = simple_plan(*names)
        scripts = plan["agents"]["actor"]["options"]["scenario"]["tasks"]
        limited = {**plan["agents"]["actor"], "account": "shared", "concurrency": 1}
        plan["agents"]["limited"] = limited
        for task in plan["tasks"][:1]:
            alone = [{"run": ["sh", "-c", enter]}, waits_for(go), leave]
            scripts[task["id"]] = [[*alone, *writes(f"{task['id']}.txt")]]
            task["agent"] = "limited"
        return submit_plan(project, plan)

    first = submit("first")
    wait_until(room.exists, "the first agent is at work")
    second = submit("second", "free")
    wait_until(
        lambda: met.exists() or "TASK_LANDED" in project.event_names(second), "the other one lands"
    )
    go.touch()
    for run in (first, second):
        wait_until_done(project, run)
    assert not met.exists(), "two agents of one account were at work at once"
    return second


@contextmanager
def stranger(project: Project, folder: Path) -> Iterator[list[str]]:
    """A worker of another repository that uses the same store; gives what it says."""
    folder.mkdir()
    other = Project(folder, Path(project.env["PYTHONPYCACHEPREFIX"]))
    process = other.start("worker", "--store", str(project.database))
    try:
        yield collect_output(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(BOUND_S)


def holder_pid(claim: dict[str, Any]) -> int:
    return int(claim["data"]["holder"].split(":")[1])


@pytest.mark.spec("11.8", "0.2", "3.7", "18.7")
def test_the_second_signal_stops_at_once_and_the_next_worker_continues(
    project: Project, tmp_path: Path
) -> None:
    """Within its budget nobody is asked: a stop on request uses an attempt and no retry."""
    marker = tmp_path / "go"
    plan = plan_that_waits(marker, "a")
    plan["tasks"][0]["budget"] = {"attempts": 2}
    run = submit_plan(project, plan)
    with running_worker(project) as worker:
        wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        worker.send_signal(signal.SIGTERM)
        wait_until(lambda: is_stopping(project), "it says that it stops")
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=BOUND_S)
    stopped = project.task("a")

    marker.touch()
    with running_worker(project):
        wait_until_done(project, run)

    assert stopped["state"] == "WAITING"
    assert project.event_names(run).count("TASK_LANDED") == 1
    assert "ESCALATE_DECISION" not in project.event_names(run)


@pytest.mark.spec("11.8", "0.3")
def test_two_workers_share_one_run_and_land_each_task_once(project: Project) -> None:
    names = [f"t{n}" for n in range(5)]
    project.settings(PATIENT)
    run = submit_plan(project, simple_plan(*names))
    # Slots count per machine, so both together may have four.
    with running_worker(project, "--slots", "4"), running_worker(project, "--slots", "4"):
        wait_until_done(project, run)

    landed = [e["task"] for e in project.events(run) if e["event"] == "TASK_LANDED"]
    assert sorted(landed) == sorted(set(landed))
    assert len(landed) == len(names)
    begun = [e["task"] for e in project.events(run) if e["event"] == "ATTEMPT_STARTED"]
    assert sorted(begun) == sorted(landed), "who waits for its turn begins no second attempt"


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to see it sleep")
@pytest.mark.spec("11.3", "11.2", "0.3", "11.8", "12.1")
def test_a_suspended_worker_loses_its_task_and_its_late_result_is_refused(
    project: Project, tmp_path: Path
) -> None:
    """Alive and silent it keeps the task for a while, as the status says; then the agent is ended
    where it runs, the delivery is counted, and another worker executes the task.
    """
    settings = project.repo / "yaoki.toml"
    short = settings.read_text().replace("lease_s = 10.0", "lease_s = 3.0")
    settings.write_text(short)
    marker = tmp_path / "go"
    run = submit_plan(project, plan_that_waits(marker, "a"))
    with running_worker(project) as sleeper:
        wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        suspend(sleeper, project.database)
        try:
            wait_until(lambda: "no heartbeat" in project.query("status").out, "its lease ran out")
            status = project.query("status").out
            settings.write_text(f"{short}max_in_progress_s = 1.0\n")
            with running_worker(project):
                wait_until(lambda: len(claims(project, run)) > 1, "another one takes it")
                marker.touch()
                wait_until_done(project, run)
        finally:
            sleeper.send_signal(signal.SIGCONT)

    assert f"its worker, process {sleeper.pid}, is alive but sent no heartbeat for" in status
    assert "unless it ends or continues, it keeps the task for " in status
    assert "takes it over" not in status
    (expired, *_) = [e for e in project.events(run) if e["event"] == "LEASE_EXPIRED"]
    assert expired["data"]["counted"] is True
    assert holder_pid(expired) == sleeper.pid
    assert project.event_names(run).count("TASK_LANDED") == 1
    assert "ESCALATE_DECISION" not in project.event_names(run)


# ------------------------------------------------------------------ fair, and within limits


@pytest.mark.spec("11.6")
def test_a_higher_priority_starts_earlier(project: Project) -> None:
    plan = simple_plan("low", "high")
    plan["tasks"][1]["priority"] = 5
    run = submit_plan(project, plan)

    with running_worker(project, "--slots", "1"):
        wait_until_done(project, run)

    assert [entry["task"] for entry in claims(project, run)] == [f"{run}-2", f"{run}-1"]


# ------------------------------------------------------------------ tags


@pytest.mark.spec("11.8", "0.6")
def test_a_tag_that_no_worker_has_is_refused_by_name_and_nothing_is_stored(
    project: Project,
) -> None:
    plan = simple_plan("a", "train")
    plan["tasks"][1]["tags"] = ["gpu"]

    refused = project.yaoki("run", project.plan(plan))

    assert refused.code == 6
    assert "task 'train' needs a worker with the tags gpu" in refused.err
    assert "yaoki worker --tag gpu" in refused.err
    assert project.query("status", "--all", "--json").document["runs"] == []


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to see it sleep")
@pytest.mark.spec("11.8", "0.5")
def test_a_task_is_claimed_only_by_a_worker_with_all_its_tags_and_names_them_when_it_left(
    project: Project,
) -> None:
    """A submission needs a worker with the tags; one that has only some of them does not help."""
    plan, waiting = simple_plan("plain", "train"), simple_plan("wait")
    plan["tasks"][1]["tags"] = ["gpu", "big"]
    waiting["tasks"][0]["tags"] = ["gpu"]

    with running_worker(project, "--tag", "gpu") as half:
        lacking = project.yaoki("plan", "submit", project.plan(plan))
        with running_worker(project, "--tag", "gpu", "--tag", "big") as whole:
            run = submit_plan(project, plan)
            wait_until_done(project, run)
        suspend(half, project.database)
        later = submit_plan(project, waiting)
        half.kill()
    wait_until(lambda: not workers(project), "it is gone")
    why = project.yaoki("why", "wait", "--run", later)
    resumed = project.yaoki("resume", later, "--tag", "gpu")

    assert lacking.code == 6
    by = {entry["task"]: holder_pid(entry) for entry in claims(project, run)}
    assert by[f"{run}-2"] == whole.pid
    assert half.pid != whole.pid
    assert "waits for a worker with the tags gpu; none is running" in why.out
    assert resumed.code == 0, resumed.out


@pytest.mark.spec("2.2")
def test_an_invalid_tag_is_a_defect_of_the_plan(project: Project) -> None:
    plan = simple_plan("a")
    plan["tasks"][0]["tags"] = ["g,pu"]

    refused = project.yaoki("validate", project.plan(plan))

    assert refused.code == 2
    assert "'g,pu' is not a tag" in refused.err + refused.out


# ------------------------------------------------------------------ in the background


@pytest.mark.spec("11.8")
def test_up_and_down_are_idempotent(project_with_worker: Project) -> None:
    project = project_with_worker
    first, second = (project.yaoki("up", "--json").document for _ in range(2))
    live = workers(project)
    down, again = (project.yaoki("down", "--json").document for _ in range(2))

    assert (first["started"], second["started"]) == (True, False)
    assert first["pid"] == second["pid"]
    assert [(w["background"], w["holder"].split(":")[1]) for w in live] == [
        (True, str(first["pid"]))
    ]
    assert (down["was_up"], again["was_up"]) == (True, False)
    assert workers(project) == []


@pytest.mark.full
@pytest.mark.spec("9.6", "0.1", "16.11")
def test_an_undo_beside_a_background_worker_is_carried_out_once_and_recorded(
    project_with_worker: Project,
) -> None:
    """The command and the worker both find the request, and verify the same commit.

    If the worker is the first, the command may say that it was requested, and end before it.
    """
    project = project_with_worker
    plan = simple_plan("a", "b")
    plan["checks"]["slow"] = {"shell": "sleep 1; test -f README"}
    plan["tasks"][0]["checks"] = ["slow"]
    assert project.yaoki("up").code == 0
    done = project.yaoki("run", project.plan(plan), "--json")

    undone = project.yaoki("undo", "b")
    wait_until(lambda: project.task("b")["state"] != "DONE", "the undo")
    task = project.task("b")
    files = project.git("ls-tree", "--name-only", done.document["run_branch"]).split()

    assert undone.code == 0, undone.out + undone.err
    assert (task["state"], task["landed"]) == ("ESCALATED", None)
    assert "b.txt" not in files
    assert "UNDO_DROPPED" not in project.event_names()


def assert_detached(project: Project, pid: int) -> None:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    parent, group, session, terminal = stat[1:5]
    assert int(parent) != os.getpid()
    assert (int(session), int(group)) != (os.getsid(0), os.getpgrp())
    assert int(session) != pid, "who leads no session never gets a terminal again"
    assert terminal == "0"
    log = next(project.home.glob("workers/*/log"))
    assert {Path(f"/proc/{pid}/fd/{n}").readlink() for n in (1, 2)} == {log}


def start_several_times(project: Project) -> None:
    """All at once: one worker is started, without a terminal."""
    with ThreadPoolExecutor(3) as threads:
        started = list(threads.map(lambda _: project.yaoki("up", "--json"), range(3)))
    assert [done.code for done in started] == [0, 0, 0], started
    assert [w["background"] for w in workers(project)] == [True]
    # Only Linux shows its terminal.
    if Path("/proc/self/stat").exists():
        assert_detached(project, workers_pid(project))


@pytest.mark.full
@pytest.mark.spec("11.8", "12.1", "0.2", "0.3")
def test_a_background_worker_that_drains_is_stopped_or_killed_is_followed_by_the_next_one(
    project_with_worker: Project, tmp_path: Path
) -> None:
    """A draining one lets its agent finish.  Both commands that need a worker wait for it, and one
    new worker serves them.
    """
    project, marker = project_with_worker, tmp_path / "go"
    project.settings(PATIENT.replace("parallel = 2", "parallel = 1"))
    project.yaoki("run", project.plan(plan_that_waits(marker, "a", "b")), "--detach")
    run = project.status()["run"]
    wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
    old, plan = workers_pid(project), project.plan(LATER, "later.json")
    down = project.start("down", "--wait", str(BOUND_S))
    wait_until(lambda: is_stopping(project), "it drains")
    status = project.yaoki("status").out

    asked = [project.start("up"), project.start("run", plan, "--detach")]
    waits = [line_about_the_stop(process) for process in asked]
    marker.touch()
    output = [remaining_output(process) for process in (*asked, down)]
    wait_until_done(project, run)
    wait_until_done(project, project.status()["run"])

    assert [process.returncode for process in (*asked, down)] == [0, 0, 0], output
    stopping = f"the background worker, process {old}, is stopping"
    assert waits == [f"{stopping}; a new one starts after it\n"] * 2
    assert re.search(r"1 of 1 slots busy.*, stopping and takes no new tasks", status), status
    assert re.search(r"b +WAITING +its worker is stopping and takes no new tasks", status), status
    assert "free slot" not in status
    assert [holder_pid(claim) for claim in claims(project, run)] == [old, workers_pid(project)]
    assert old != workers_pid(project)
    assert_left_work_is_continued(project, tmp_path / "later")


def assert_left_work_is_continued(project: Project, marker: Path) -> None:
    """The worker is stopped, and its agent is ended after the wait.  Several commands at once start
    one worker in its place; when it is killed, its agent lives on, and the next worker finds it.
    """
    began = Path(f"{marker}.c")
    plan = project.plan(plan_that_waits(marker, "c"), "c.json")
    run = project.yaoki("run", plan, "--detach", "--json").document["run"]
    wait_until(began.exists, "the agent is at work")

    down = project.yaoki("down", "--wait", "0.2")
    stopped = project.task("c")
    began.unlink()
    start_several_times(project)
    wait_until(began.exists, "another agent is at work")
    os.kill(workers_pid(project), signal.SIGKILL)
    wait_until(lambda: not workers(project), "it is gone")
    again = project.yaoki("up", "--json").document
    marker.touch()
    wait_until_done(project, run)

    assert down.code == 0, down.err
    assert "1 run is not finished; any worker can continue" in down.out
    assert stopped["state"] == "WAITING"
    assert again["started"]
    assert project.event_names(run).count("PROMPT_SENT") == 2, "one before the stop, one after it"
    assert project.event_names(run).count("TASK_LANDED") == 1


def line_about_the_stop(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return next((line for line in iter(process.stdout.readline, "") if "is stopping" in line), "")


@pytest.mark.spec("11.8", "0.6")
def test_a_background_worker_that_cannot_start_reports_the_reason(project: Project) -> None:
    (project.repo / "yaoki.toml").write_text("[limits]\nparallel = 0\n")

    refused = project.yaoki("up")

    assert refused.code == 2
    assert "limits.parallel" in refused.err


def workers_pid(project: Project) -> int:
    (worker,) = workers(project)
    return int(worker["holder"].split(":")[1])


# ------------------------------------------------------------------ room


@pytest.mark.full
@pytest.mark.spec("11.5", "0.5", "4.8")
def test_a_task_waits_with_a_warning_while_disk_space_is_below_its_limit(project: Project) -> None:
    settings = project.repo / "yaoki.toml"
    usual = settings.read_text()
    settings.write_text(f"{usual}disk_free_bytes = {1 << 50}\n")
    run = submit_plan(project, simple_plan("a"))
    with running_worker(project):
        wait_until(lambda: "WARNING" in project.event_names(run), "it is told")
        wait_until(
            lambda: any(worker["waits"] for worker in workers(project)), "it says what it lacks"
        )
        why, status = project.yaoki("why", "a"), project.yaoki("status")
    stands = project.task("a")
    settings.write_text(usual)
    assert project.yaoki("resume", run, "--quiet").code == 0

    for told in (why.out, status.out):
        assert "disk space is low: " in told
        assert " free, 1,024 TiB needed" in told
    assert (stands["state"], stands["attempt"]) == ("WAITING", 0)
    story = project.event_names(run)
    assert story.count("WARNING") == 1
    assert not {"RETRY_DECISION", "ESCALATE_DECISION"} & set(story)


# ------------------------------------------------------------------ back-pressure


def write_limit(project: Project, key: str, value: int) -> None:
    settings = project.repo / "yaoki.toml"
    settings.write_text(f"{settings.read_text()}{key} = {value}\n")


@pytest.mark.spec("11.5", "0.6")
def test_a_run_over_the_limit_is_refused_with_number_and_limit(project: Project) -> None:
    write_limit(project, "pending_runs", 1)
    submit_plan(project, simple_plan("a"))

    refused = project.yaoki("run", project.plan(simple_plan("b")))

    assert refused.code == 6
    assert "2 is over the limit of 1" in refused.err
    assert len(project.query("status", "--all", "--json").document["runs"]) == 1


@pytest.mark.spec("11.5", "0.6")
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("pending_tasks", 2, "3 tasks are over the limit of 2"),
        ("task_text_bytes", 5, "bytes of text are over the limit of 5"),
    ],
)
def test_a_plan_over_a_limit_is_refused_and_nothing_is_stored(
    project: Project, key: str, value: int, said: str
) -> None:
    write_limit(project, key, value)

    refused = project.yaoki("run", project.plan(simple_plan("a", "b", "c")))

    assert refused.code == 2
    assert said in refused.err
    assert (
        not project.has_store() or not project.query("status", "--all", "--json").document["runs"]
    )


@pytest.mark.full
@pytest.mark.spec("11.5")
def test_an_agent_over_the_output_limit_is_ended_and_the_limit_is_named(project: Project) -> None:
    write_limit(project, "output_bytes", 20_000)
    flood = [{"run": ["sh", "-c", "yes flood | head -c 5000000; sleep 30"]}]
    plan = a_plan({"a": [flood]}, [{"id": "a"}], {"ok": file_contains("a.txt")})

    done = project.yaoki("run", project.plan({**plan, "tasks": [{**plan["tasks"][0], **ONCE}]}))

    assert done.code == 4
    assert "19.5 KiB are allowed" in project.yaoki("why", "a").out


ONCE = {"retry": {"max_retries": 0}}
