"""Workers in the foreground and the background, several at once, and with tags."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
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
@pytest.mark.spec("11.8")
def test_a_worker_executes_existing_and_newly_submitted_runs(project: Project) -> None:
    """A worker for one run claims no task of other runs."""
    first, mine = submit_plan(project, simple_plan("a")), submit_plan(project, simple_plan("c"))
    with running_worker(project, "--run", mine):
        wait_until_done(project, mine)
    assert claims(project, first) == []

    with running_worker(project) as worker:
        wait_until_done(project, first)
        second = submit_plan(project, simple_plan("b"))
        wait_until_done(project, second)
        worker.send_signal(signal.SIGTERM)
        out, _ = worker.communicate(timeout=BOUND_S)

    assert worker.returncode == 0, out
    assert workers(project) == []
    assert project.show(f"yaoki/{second}", "b.txt") == "good"


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2")
def test_the_first_signal_lets_agents_finish(project: Project, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    run = submit_plan(project, plan_that_waits(marker, "a", "b"))

    with running_worker(project, "--slots", "1") as worker:
        wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        worker.send_signal(signal.SIGTERM)
        wait_until(lambda: is_stopping(project), "it says that it stops")
        status = project.yaoki("status").out
        marker.touch()
        out, _ = worker.communicate(timeout=BOUND_S)

    assert worker.returncode == 0, out
    assert re.search(r"1 of 1 slots busy.*, stopping and takes no new tasks", status), status
    assert re.search(r"b +WAITING +its worker is stopping and takes no new tasks", status), status
    assert "free slot" not in status
    assert [task["state"] for task in project.status(run)["tasks"]] == ["DONE", "WAITING"]


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
@pytest.mark.spec("11.8")
def test_a_worker_leaves_runs_of_another_repository_alone(project: Project, tmp_path: Path) -> None:
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = Project(other_folder, Path(project.env["PYTHONPYCACHEPREFIX"]))
    run = submit_plan(project, simple_plan("a"))

    process = other.start("worker", "--store", str(project.database))
    told = collect_output(process)
    try:
        # The worker is listed before it scans the runs, and a finished run is not reported.
        wait_until(lambda: f"run {run} belongs to" in "".join(told), "it has seen the run")
        with running_worker(project) as ours:
            wait_until_done(project, run)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(BOUND_S)

    assert {e["data"]["holder"].split(":")[1] for e in claims(project, run)} == {str(ours.pid)}


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to see it sleep")
@pytest.mark.spec("11.3", "11.2", "0.3")
def test_a_suspended_worker_loses_its_task_and_its_late_result_is_refused(
    project: Project, tmp_path: Path
) -> None:
    """Alive and silent it keeps the task for a while; then the agent is ended where it runs, the
    delivery is counted, and another worker executes the task.
    """
    settings = project.repo / "yaoki.toml"
    short = settings.read_text().replace("lease_s = 10.0", "lease_s = 3.0")
    settings.write_text(f"{short}max_in_progress_s = 1.0\n")
    marker = tmp_path / "go"
    run = submit_plan(project, plan_that_waits(marker, "a"))
    with running_worker(project) as sleeper:
        wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        suspend(sleeper, project.database)
        try:
            with running_worker(project):
                wait_until(lambda: len(claims(project, run)) > 1, "another one takes it")
                marker.touch()
                wait_until_done(project, run)
        finally:
            sleeper.send_signal(signal.SIGCONT)

    (expired, *_) = [e for e in project.events(run) if e["event"] == "LEASE_EXPIRED"]
    assert expired["data"]["counted"] is True
    assert expired["data"]["holder"].split(":")[1] == str(sleeper.pid)
    assert project.event_names(run).count("TASK_LANDED") == 1
    assert "ESCALATE_DECISION" not in project.event_names(run)


@pytest.mark.full
@pytest.mark.spec("11.8", "12.1")
def test_the_status_shows_how_long_a_hung_worker_keeps_its_task(
    project: Project, tmp_path: Path
) -> None:
    settings = project.repo / "yaoki.toml"
    settings.write_text(settings.read_text().replace("lease_s = 10.0", "lease_s = 1.5"))
    marker = tmp_path / "go"
    run = submit_plan(project, plan_that_waits(marker, "a"))

    with running_worker(project) as worker:
        wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        suspend(worker, project.database)
        try:
            wait_until(lambda: "no heartbeat" in project.query("status").out, "its lease ran out")
            output = project.query("status").out
        finally:
            worker.send_signal(signal.SIGCONT)
        marker.touch()
        wait_until_done(project, run)

    assert f"its worker, process {worker.pid}, is alive but sent no heartbeat for" in output
    assert "unless it ends or continues, it keeps the task for " in output
    assert "takes it over" not in output


# ------------------------------------------------------------------ fair, and within limits


@pytest.mark.full
@pytest.mark.spec("11.6")
def test_runs_take_turns_regardless_of_submission_order(project: Project) -> None:
    """The first run has many tasks; the second need not wait for all of them."""
    first = submit_plan(project, simple_plan(*(f"a{n}" for n in range(4))))
    second = submit_plan(project, simple_plan("b"))

    with running_worker(project, "--slots", "2"), running_worker(project, "--slots", "2"):
        wait_until_done(project, first)
        wait_until_done(project, second)

    order = sorted(claims(project, first) + claims(project, second), key=lambda e: e["seq"])
    assert second in [entry["run"] for entry in order[:2]]


@pytest.mark.spec("11.6")
def test_a_higher_priority_starts_earlier(project: Project) -> None:
    plan = simple_plan("low", "high")
    plan["tasks"][1]["priority"] = 5
    run = submit_plan(project, plan)

    with running_worker(project, "--slots", "1"):
        wait_until_done(project, run)

    assert [entry["task"] for entry in claims(project, run)] == [f"{run}-2", f"{run}-1"]


@pytest.mark.full
@pytest.mark.spec("11.6")
def test_the_limit_of_an_account_holds_across_workers_and_runs(
    project: Project, tmp_path: Path
) -> None:
    room = tmp_path / "room"
    alone = f"mkdir {room} || touch {tmp_path}/met; sleep 0.1; rmdir {room}"
    runs = []
    for letter in "ab":
        names = [f"{letter}{n}" for n in range(3)]
        acts = {n: [{"run": ["sh", "-c", alone]}, {"write": {f"{n}.txt": "x"}}] for n in names}
        plan = a_plan(
            {name: [act] for name, act in acts.items()},
            [{"id": name} for name in names],
            CHECK,
        )
        plan["agents"]["actor"].update(account="shared", concurrency=1)
        runs.append(submit_plan(project, plan))

    with running_worker(project, "--slots", "4"), running_worker(project, "--slots", "4"):
        for run in runs:
            wait_until_done(project, run)

    assert not (tmp_path / "met").exists(), "two agents of one account were at work at once"


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
@pytest.mark.spec("11.8")
def test_a_task_is_claimed_only_by_a_worker_with_all_its_tags(project: Project) -> None:
    plan = simple_plan("plain", "train")
    plan["tasks"][1]["tags"] = ["gpu", "big"]

    with running_worker(project, "--tag", "gpu") as half:
        lacking = project.yaoki("plan", "submit", project.plan(plan))
        with running_worker(project, "--tag", "gpu", "--tag", "big") as whole:
            run = submit_plan(project, plan)
            wait_until_done(project, run)

    assert lacking.code == 6, "one that has only some of them does not help"
    by = {e["task"]: e["data"]["holder"].split(":")[1] for e in claims(project, run)}
    assert by[f"{run}-2"] == str(whole.pid)
    assert half.pid != whole.pid


@pytest.mark.full
@pytest.mark.spec("11.8", "0.5")
def test_a_task_whose_tagged_worker_left_names_the_tags_it_waits_for(project: Project) -> None:
    plan = simple_plan("train")
    plan["tasks"][0]["tags"] = ["gpu"]
    # A submission needs a worker with the tag.
    with running_worker(
        project, "--tag", "gpu", "--run", submit_plan(project, simple_plan("other"))
    ):
        run = submit_plan(project, plan)

    why = project.yaoki("why", "train", "--run", run)

    assert "waits for a worker with the tags gpu; none is running" in why.out
    resumed = project.yaoki("resume", run, "--tag", "gpu")
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
@pytest.mark.spec("11.8", "12.1")
def test_concurrent_up_commands_start_one_detached_worker_that_executes_runs(
    project_with_worker: Project,
) -> None:
    project = project_with_worker
    started = [project.start("up", "--json") for _ in range(3)]
    codes = [process.wait(BOUND_S) for process in started]
    for process in started:
        process.communicate()
    detached = project.yaoki("run", project.plan(simple_plan("a", "b")), "--detach", "--json")
    run = detached.document["run"]

    watched = project.yaoki("watch", run)

    assert codes == [0, 0, 0]
    assert detached.code == 0
    assert watched.code == 0, watched.out
    assert project.status(run)["status"] == "DONE"
    assert [w["background"] for w in workers(project)] == [True]
    # Only Linux shows its terminal.
    if Path("/proc/self/stat").exists():
        assert_detached(project, workers_pid(project))


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


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2", "0.3")
def test_a_restarted_background_worker_finds_the_agent_of_the_killed_one(
    project_with_worker: Project, tmp_path: Path
) -> None:
    project, marker = project_with_worker, tmp_path / "go"
    project.settings(PATIENT)
    run = project.yaoki(
        "run", project.plan(plan_that_waits(marker, "a")), "--detach", "--json"
    ).document["run"]
    wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
    os.kill(workers_pid(project), signal.SIGKILL)
    wait_until(lambda: not workers(project), "it is gone")

    again = project.yaoki("up", "--json").document
    marker.touch()
    wait_until_done(project, run)

    assert again["started"]
    assert project.event_names(run).count("PROMPT_SENT") == 1
    assert project.event_names(run).count("TASK_LANDED") == 1


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2")
def test_down_stops_agents_after_its_wait_and_reports_unfinished_runs(
    project_with_worker: Project, tmp_path: Path
) -> None:
    project, marker = project_with_worker, tmp_path / "go"
    run = project.yaoki(
        "run", project.plan(plan_that_waits(marker, "a")), "--detach", "--json"
    ).document["run"]
    wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")

    down = project.yaoki("down", "--wait", "0.2")

    assert down.code == 0, down.err
    assert "1 run is not finished; any worker can continue" in down.out
    assert project.task("a")["state"] == "WAITING"
    marker.touch()
    project.yaoki("up")
    wait_until_done(project, run)


@pytest.mark.full
@pytest.mark.spec("11.8")
@pytest.mark.parametrize("words", [("up",), ("run", "PLAN", "--detach")], ids=["up", "detach"])
def test_a_worker_requested_while_the_old_one_drains_is_started_afterwards(
    project_with_worker: Project, tmp_path: Path, words: tuple[str, ...]
) -> None:
    project, marker = project_with_worker, tmp_path / "go"
    project.yaoki("run", project.plan(plan_that_waits(marker, "a")), "--detach")
    wait_until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
    old, plan = workers_pid(project), project.plan(simple_plan("b"), "b.json")
    down = project.start("down", "--wait", str(BOUND_S))
    wait_until(lambda: is_stopping(project), "it drains")

    asked = project.start(*(plan if word == "PLAN" else word for word in words))
    assert asked.stdout is not None
    waits = [said for said in iter(asked.stdout.readline, "") if marker_when(said, marker)]
    output = [remaining_output(process) for process in (asked, down)]

    assert (asked.returncode, down.returncode) == (0, 0), output
    stopping = f"the background worker, process {old}, is stopping"
    assert waits == [f"{stopping}; a new one starts after it\n"]
    assert workers_pid(project) != old
    if "run" in words:
        wait_until_done(project, project.status()["run"])


def marker_when(said: str, marker: Path) -> bool:
    """The agent may end as soon as the waiting command is shown."""
    if "is stopping" not in said:
        return False
    marker.touch()
    return True


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
def test_a_task_waits_with_a_warning_while_disk_space_is_below_its_limit(
    project_with_worker: Project,
) -> None:
    project = project_with_worker
    settings = project.repo / "yaoki.toml"
    usual = settings.read_text()
    settings.write_text(f"{usual}disk_free_bytes = {1 << 50}\n")
    run = project.yaoki("run", project.plan(simple_plan("a")), "--detach", "--json").document["run"]
    wait_until(lambda: "WARNING" in project.event_names(run), "it is told")
    wait_until(
        lambda: any(worker["waits"] for worker in workers(project)), "the worker says what it lacks"
    )

    why, status = project.yaoki("why", "a"), project.yaoki("status")
    stands = project.task("a")
    project.yaoki("down")
    settings.write_text(usual)
    project.yaoki("up")
    wait_until_done(project, run)

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
