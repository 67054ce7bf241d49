"""Workers that stay: in the foreground, in the background, several at once, with tags."""

from __future__ import annotations

import os
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
    Place,
    a_plan,
    holds,
    rest_of,
    until,
    waits_for,
    writes,
)
from tests.acceptance.suspended_worker import fall_asleep

CHECK = {"ok": {"shell": "test -s README"}}


def simple(*names: str, **more: Any) -> dict[str, Any]:
    """Each task writes its own file."""
    script = {name: [writes(f"{name}.txt")] for name in names}
    return a_plan(script, [{"id": name} for name in names], CHECK, **more)


def waiting(marker: Path, *names: str, **more: Any) -> dict[str, Any]:
    """Each task begins, says so beside the marker, and goes on when the marker is there."""
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
def serving(place: Place, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A worker in the foreground; asked to stop now at the end, and waited for."""
    process = place.start("worker", *words)
    try:
        until(lambda: serves(place, process.pid) or process.poll() is not None, "it serves")
        yield process
    finally:
        for _ in range(2):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        process.communicate(timeout=BOUND_S)


def serves(place: Place, pid: int) -> bool:
    return any(worker["holder"].split(":")[1] == str(pid) for worker in workers(place))


@pytest.fixture
def background(place: Place) -> Iterator[Place]:
    yield place
    place.yaoki("down", "--wait", "0")


def workers(place: Place) -> list[dict[str, Any]]:
    told = place.look("status", "--workers", "--json")
    assert told.code == 0, told.out
    held: list[dict[str, Any]] = told.document["workers"]
    return held


def submitted(place: Place, plan: dict[str, Any], name: str = "plan.json") -> str:
    done = place.yaoki("plan", "submit", place.plan(plan, name), "--json")
    assert done.code == 0, done.err
    return str(done.document["run"])


def is_done(place: Place, run: str) -> None:
    """Follow it to its end."""
    watched = place.yaoki("watch", run)
    assert watched.code == 0, watched.out + watched.err


def reads(process: subprocess.Popen[str]) -> list[str]:
    """What it says, as it says it."""
    told: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as out:
            for line in out:
                told.append(line)

    threading.Thread(target=read, daemon=True).start()
    return told


def stops(place: Place) -> bool:
    """Does the only worker there is say that it stops?"""
    return [worker["state"] for worker in workers(place)] == ["STOPPING"]


def claims(place: Place, run: str) -> list[dict[str, Any]]:
    return [entry for entry in place.events(run) if entry["event"] == "TASK_CLAIMED"]


# ------------------------------------------------------------------ in the foreground


@pytest.mark.full
@pytest.mark.spec("11.8")
def test_a_worker_executes_existing_and_newly_submitted_runs(place: Place) -> None:
    first = submitted(place, simple("a"))

    with serving(place) as worker:
        is_done(place, first)
        second = submitted(place, simple("b"))
        is_done(place, second)
        worker.send_signal(signal.SIGTERM)
        out, _ = worker.communicate(timeout=BOUND_S)

    assert worker.returncode == 0, out
    assert workers(place) == []
    assert place.show(f"yaoki/{second}", "b.txt") == "good"


@pytest.mark.full
@pytest.mark.spec("11.8")
def test_a_worker_for_one_run_claims_no_task_of_other_runs(place: Place) -> None:
    other, mine = submitted(place, simple("a")), submitted(place, simple("b"))

    with serving(place, "--run", mine):
        is_done(place, mine)

    assert claims(place, other) == []


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2")
def test_the_first_signal_lets_agents_finish(place: Place, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    run = submitted(place, waiting(marker, "a", "b"))

    with serving(place, "--slots", "1") as worker:
        until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        worker.send_signal(signal.SIGTERM)
        until(lambda: stops(place), "it says that it stops")
        marker.touch()
        out, _ = worker.communicate(timeout=BOUND_S)

    assert worker.returncode == 0, out
    assert [task["state"] for task in place.status(run)["tasks"]] == ["DONE", "WAITING"]


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2", "3.7")
def test_the_second_signal_stops_at_once_and_the_next_worker_continues(
    place: Place, tmp_path: Path
) -> None:
    marker = tmp_path / "go"
    run = submitted(place, waiting(marker, "a"))
    with serving(place) as worker:
        until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        worker.send_signal(signal.SIGTERM)
        until(lambda: stops(place), "it says that it stops")
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=BOUND_S)
    stopped = place.task("a")

    marker.touch()
    with serving(place):
        is_done(place, run)

    assert stopped["state"] == "WAITING"
    assert place.story(run).count("TASK_LANDED") == 1
    assert "ESCALATE_DECISION" not in place.story(run)


@pytest.mark.spec("11.8", "0.3")
def test_two_workers_share_one_run_and_land_each_task_once(place: Place) -> None:
    names = [f"t{n}" for n in range(8)]
    place.settings(PATIENT)
    run = submitted(place, simple(*names))
    # Slots count per machine, so both together may have four.
    with serving(place, "--slots", "4"), serving(place, "--slots", "4"):
        is_done(place, run)

    landed = [e["task"] for e in place.events(run) if e["event"] == "TASK_LANDED"]
    assert sorted(landed) == sorted(set(landed))
    assert len(landed) == len(names)
    begun = [e["task"] for e in place.events(run) if e["event"] == "ATTEMPT_STARTED"]
    assert sorted(begun) == sorted(landed), "who waits for its turn begins no second attempt"


@pytest.mark.full
@pytest.mark.spec("11.8")
def test_the_claims_of_a_killed_worker_are_released(place: Place, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    place.settings(PATIENT)
    run = submitted(place, waiting(marker, "a"))
    with serving(place) as worker:
        until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        worker.kill()
        worker.wait()
        assert workers(place) == []
        with serving(place):
            marker.touch()
            is_done(place, run)

    assert place.story(run).count("TASK_LANDED") == 1
    assert place.story(run).count("PROMPT_SENT") == 1, "the agent that lived on was adopted"


@pytest.mark.full
@pytest.mark.spec("11.8")
def test_a_worker_leaves_runs_of_another_repository_alone(place: Place, tmp_path: Path) -> None:
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = Place(other_folder, Path(place.env["PYTHONPYCACHEPREFIX"]))
    run = submitted(place, simple("a"))

    process = other.start("worker", "--store", str(place.database))
    told = reads(process)
    try:
        # It is there before it has looked at the runs, and a run that is over is not told of.
        until(lambda: f"run {run} belongs to" in "".join(told), "it has seen the run")
        with serving(place) as ours:
            is_done(place, run)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(BOUND_S)

    assert {e["data"]["holder"].split(":")[1] for e in claims(place, run)} == {str(ours.pid)}


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to see it sleep")
@pytest.mark.spec("11.3", "11.2", "0.3")
def test_a_suspended_worker_loses_its_task_and_its_late_result_is_refused(
    place: Place, tmp_path: Path
) -> None:
    """Alive and silent it keeps the task for a while; then the agent is ended where it runs, the
    delivery is counted, and somebody else carries the task.
    """
    settings = place.repo / "yaoki.toml"
    short = settings.read_text().replace("lease_s = 10.0", "lease_s = 3.0")
    settings.write_text(f"{short}max_in_progress_s = 1.0\n")
    marker = tmp_path / "go"
    run = submitted(place, waiting(marker, "a"))
    with serving(place) as sleeper:
        until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        fall_asleep(sleeper, place.database)
        try:
            with serving(place):
                until(lambda: len(claims(place, run)) > 1, "another one takes it")
                marker.touch()
                is_done(place, run)
        finally:
            sleeper.send_signal(signal.SIGCONT)

    (expired, *_) = [e for e in place.events(run) if e["event"] == "LEASE_EXPIRED"]
    assert expired["data"]["counted"] is True
    assert expired["data"]["holder"].split(":")[1] == str(sleeper.pid)
    assert place.story(run).count("TASK_LANDED") == 1
    assert "ESCALATE_DECISION" not in place.story(run)


@pytest.mark.full
@pytest.mark.spec("11.8", "12.1")
def test_the_status_shows_how_long_a_hung_worker_keeps_its_task(
    place: Place, tmp_path: Path
) -> None:
    settings = place.repo / "yaoki.toml"
    settings.write_text(settings.read_text().replace("lease_s = 10.0", "lease_s = 1.5"))
    marker = tmp_path / "go"
    run = submitted(place, waiting(marker, "a"))

    with serving(place) as worker:
        until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
        fall_asleep(worker, place.database)
        try:
            until(lambda: "no heartbeat" in place.look("status").out, "its lease ran out")
            told = place.look("status").out
        finally:
            worker.send_signal(signal.SIGCONT)
        marker.touch()
        is_done(place, run)

    assert f"its worker, process {worker.pid}, is alive but sent no heartbeat for" in told
    assert "unless it ends or continues, it keeps the task for 1" in told
    assert "takes it over" not in told


# ------------------------------------------------------------------ fair, and within limits


@pytest.mark.full
@pytest.mark.spec("11.6")
def test_runs_take_turns_regardless_of_submission_order(place: Place) -> None:
    """The first run has many tasks; the second need not wait for all of them."""
    first = submitted(place, simple(*(f"a{n}" for n in range(6))))
    second = submitted(place, simple("b"))

    with serving(place, "--slots", "2"), serving(place, "--slots", "2"):
        is_done(place, first)
        is_done(place, second)

    order = sorted(claims(place, first) + claims(place, second), key=lambda e: e["seq"])
    assert second in [entry["run"] for entry in order[:2]]


@pytest.mark.spec("11.6")
def test_a_higher_priority_starts_earlier(place: Place) -> None:
    plan = simple("low", "high")
    plan["tasks"][1]["priority"] = 5
    run = submitted(place, plan)

    with serving(place, "--slots", "1"):
        is_done(place, run)

    assert [entry["task"] for entry in claims(place, run)] == [f"{run}-2", f"{run}-1"]


@pytest.mark.full
@pytest.mark.spec("11.6")
def test_the_limit_of_an_account_holds_across_workers_and_runs(
    place: Place, tmp_path: Path
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
        runs.append(submitted(place, plan))

    with serving(place, "--slots", "4"), serving(place, "--slots", "4"):
        for run in runs:
            is_done(place, run)

    assert not (tmp_path / "met").exists(), "two agents of one account were at work at once"


# ------------------------------------------------------------------ tags


@pytest.mark.spec("11.8", "0.6")
def test_a_tag_that_no_worker_has_is_refused_by_name_and_nothing_is_stored(place: Place) -> None:
    plan = simple("a", "train")
    plan["tasks"][1]["tags"] = ["gpu"]

    refused = place.yaoki("run", place.plan(plan))

    assert refused.code == 6
    assert "task 'train' needs a worker with the tags gpu" in refused.err
    assert "yaoki worker --tag gpu" in refused.err
    assert place.look("status", "--all", "--json").document["runs"] == []


@pytest.mark.full
@pytest.mark.spec("11.8")
def test_a_task_is_claimed_only_by_a_worker_with_all_its_tags(place: Place) -> None:
    plan = simple("plain", "train")
    plan["tasks"][1]["tags"] = ["gpu", "big"]

    with serving(place, "--tag", "gpu") as half:
        lacking = place.yaoki("plan", "submit", place.plan(plan))
        with serving(place, "--tag", "gpu", "--tag", "big") as whole:
            run = submitted(place, plan)
            is_done(place, run)

    assert lacking.code == 6, "one that has only some of them does not help"
    by = {e["task"]: e["data"]["holder"].split(":")[1] for e in claims(place, run)}
    assert by[f"{run}-2"] == str(whole.pid)
    assert half.pid != whole.pid


@pytest.mark.full
@pytest.mark.spec("11.8", "0.5")
def test_a_task_whose_tagged_worker_left_names_the_tags_it_waits_for(place: Place) -> None:
    plan = simple("train")
    plan["tasks"][0]["tags"] = ["gpu"]
    # Refused without one, so somebody with the tag is there when it is submitted.
    with serving(place, "--tag", "gpu", "--run", submitted(place, simple("other"))):
        run = submitted(place, plan)

    why = place.yaoki("why", "train", "--run", run)

    assert "waits for a worker with the tags gpu; none is running" in why.out
    resumed = place.yaoki("resume", run, "--tag", "gpu")
    assert resumed.code == 0, resumed.out


@pytest.mark.spec("2.2")
def test_an_invalid_tag_is_a_defect_of_the_plan(place: Place) -> None:
    plan = simple("a")
    plan["tasks"][0]["tags"] = ["g,pu"]

    refused = place.yaoki("validate", place.plan(plan))

    assert refused.code == 2
    assert "'g,pu' is not a tag" in refused.err + refused.out


# ------------------------------------------------------------------ in the background


@pytest.mark.spec("11.8")
def test_up_and_down_are_idempotent(background: Place) -> None:
    place = background
    first, second = (place.yaoki("up", "--json").document for _ in range(2))
    live = workers(place)
    down, again = (place.yaoki("down", "--json").document for _ in range(2))

    assert (first["started"], second["started"]) == (True, False)
    assert first["pid"] == second["pid"]
    assert [(w["background"], w["holder"].split(":")[1]) for w in live] == [
        (True, str(first["pid"]))
    ]
    assert (down["was_up"], again["was_up"]) == (True, False)
    assert workers(place) == []


@pytest.mark.full
@pytest.mark.spec("11.8")
def test_concurrent_up_commands_start_one_worker(background: Place) -> None:
    place = background
    started = [place.start("up", "--json") for _ in range(3)]
    codes = [process.wait(BOUND_S) for process in started]
    for process in started:
        process.communicate()

    assert codes == [0, 0, 0]
    assert len(workers(place)) == 1


@pytest.mark.full
@pytest.mark.spec("11.8")
def test_the_background_worker_is_detached_from_its_terminal(background: Place) -> None:
    place = background
    pid = place.yaoki("up", "--json").document["pid"]
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        pytest.skip("only Linux shows it")
    parent, group, session, terminal = stat.read_text().rpartition(")")[2].split()[1:5]

    assert int(parent) != os.getpid()
    assert (int(session), int(group)) != (os.getsid(0), os.getpgrp())
    assert int(session) != pid, "who leads no session never gets a terminal again"
    assert terminal == "0"
    log = next(place.home.glob("workers/*/log"))
    assert {Path(f"/proc/{pid}/fd/{n}").readlink() for n in (1, 2)} == {log}


@pytest.mark.full
@pytest.mark.spec("11.8", "12.1")
def test_a_detached_run_is_executed_and_watch_attaches_to_it(background: Place) -> None:
    place = background
    detached = place.yaoki("run", place.plan(simple("a", "b")), "--detach", "--json")
    run = detached.document["run"]

    watched = place.yaoki("watch", run)

    assert detached.code == 0
    assert watched.code == 0, watched.out
    assert place.status(run)["status"] == "DONE"
    assert [w["background"] for w in workers(place)] == [True]


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2", "0.3")
def test_a_restarted_background_worker_finds_the_agent_of_the_killed_one(
    background: Place, tmp_path: Path
) -> None:
    place, marker = background, tmp_path / "go"
    place.settings(PATIENT)
    run = place.yaoki("run", place.plan(waiting(marker, "a")), "--detach", "--json").document["run"]
    until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
    os.kill(workers_pid(place), signal.SIGKILL)
    until(lambda: not workers(place), "it is gone")

    again = place.yaoki("up", "--json").document
    marker.touch()
    is_done(place, run)

    assert again["started"]
    assert place.story(run).count("PROMPT_SENT") == 1
    assert place.story(run).count("TASK_LANDED") == 1


@pytest.mark.full
@pytest.mark.spec("11.8", "0.2")
def test_down_stops_agents_after_its_wait_and_reports_unfinished_runs(
    background: Place, tmp_path: Path
) -> None:
    place, marker = background, tmp_path / "go"
    run = place.yaoki("run", place.plan(waiting(marker, "a")), "--detach", "--json").document["run"]
    until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")

    down = place.yaoki("down", "--wait", "0.2")

    assert down.code == 0, down.err
    assert "1 run is not finished; any worker continues" in down.out
    assert place.task("a")["state"] == "WAITING"
    marker.touch()
    place.yaoki("up")
    is_done(place, run)


@pytest.mark.full
@pytest.mark.spec("11.8")
@pytest.mark.parametrize("words", [("up",), ("run", "PLAN", "--detach")], ids=["up", "detach"])
def test_a_worker_requested_while_the_old_one_drains_is_started_afterwards(
    background: Place, tmp_path: Path, words: tuple[str, ...]
) -> None:
    place, marker = background, tmp_path / "go"
    place.yaoki("run", place.plan(waiting(marker, "a")), "--detach")
    until(lambda: Path(f"{marker}.a").exists(), "the agent is at work")
    old, plan = workers_pid(place), place.plan(simple("b"), "b.json")
    down = place.start("down", "--wait", str(BOUND_S))
    until(lambda: stops(place), "it drains")

    asked = place.start(*(plan if word == "PLAN" else word for word in words))
    assert asked.stdout is not None
    waits = [said for said in iter(asked.stdout.readline, "") if marker_when(said, marker)]
    told = [rest_of(process) for process in (asked, down)]

    assert (asked.returncode, down.returncode) == (0, 0), told
    stopping = f"the background worker, process {old}, is stopping"
    assert waits == [f"{stopping}; a new one starts after it\n"]
    assert workers_pid(place) != old
    if "run" in words:
        is_done(place, place.status()["run"])


def marker_when(said: str, marker: Path) -> bool:
    """The agent may end as soon as it is said that somebody waits for that."""
    if "is stopping" not in said:
        return False
    marker.touch()
    return True


@pytest.mark.spec("11.8", "0.6")
def test_a_background_worker_that_cannot_start_reports_the_reason(place: Place) -> None:
    (place.repo / "yaoki.toml").write_text("[limits]\nparallel = 0\n")

    refused = place.yaoki("up")

    assert refused.code == 2
    assert "limits.parallel" in refused.err


def workers_pid(place: Place) -> int:
    (worker,) = workers(place)
    return int(worker["holder"].split(":")[1])


# ------------------------------------------------------------------ room


@pytest.mark.full
@pytest.mark.spec("11.5", "0.5", "4.8")
@pytest.mark.parametrize("what", ["disk", "memory"])
def test_a_task_waits_with_a_warning_while_disk_or_memory_is_below_its_limit(
    background: Place, what: str
) -> None:
    place = background
    settings = place.repo / "yaoki.toml"
    usual = settings.read_text()
    settings.write_text(f"{usual}{what}_free_bytes = {1 << 50}\n")
    run = place.yaoki("run", place.plan(simple("a")), "--detach", "--json").document["run"]
    until(lambda: "WARNING" in place.story(run), "it is told")
    until(
        lambda: any(worker["waits"] for worker in workers(place)), "the worker says what it lacks"
    )

    why, status = place.yaoki("why", "a"), place.yaoki("status")
    stands = place.task("a")
    place.yaoki("down")
    settings.write_text(usual)
    place.yaoki("up")
    is_done(place, run)

    for told in (why.out, status.out):
        assert f"{'disk space' if what == 'disk' else what} is low: " in told
        assert " free, 1,024 TiB needed" in told
    assert (stands["state"], stands["attempt"]) == ("WAITING", 0)
    story = place.story(run)
    assert story.count("WARNING") == 1
    assert not {"RETRY_DECISION", "ESCALATE_DECISION"} & set(story)


# ------------------------------------------------------------------ back-pressure


def limited(place: Place, key: str, value: int) -> None:
    settings = place.repo / "yaoki.toml"
    settings.write_text(f"{settings.read_text()}{key} = {value}\n")


@pytest.mark.spec("11.5", "0.6")
def test_a_run_over_the_limit_is_refused_with_number_and_limit(place: Place) -> None:
    limited(place, "pending_runs", 1)
    submitted(place, simple("a"))

    refused = place.yaoki("run", place.plan(simple("b")))

    assert refused.code == 6
    assert "2 is over the limit of 1" in refused.err
    assert len(place.look("status", "--all", "--json").document["runs"]) == 1


@pytest.mark.spec("11.5", "0.6")
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("pending_tasks", 2, "3 tasks are over the limit of 2"),
        ("task_text_bytes", 5, "bytes of text are over the limit of 5"),
    ],
)
def test_a_plan_over_a_limit_is_refused_and_nothing_is_stored(
    place: Place, key: str, value: int, said: str
) -> None:
    limited(place, key, value)

    refused = place.yaoki("run", place.plan(simple("a", "b", "c")))

    assert refused.code == 2
    assert said in refused.err
    assert not place.stored() or not place.look("status", "--all", "--json").document["runs"]


@pytest.mark.full
@pytest.mark.spec("11.5")
def test_an_agent_over_the_output_limit_is_ended_and_the_limit_is_named(place: Place) -> None:
    limited(place, "output_bytes", 20_000)
    flood = [{"run": ["sh", "-c", "yes flood | head -c 5000000; sleep 30"]}]
    plan = a_plan({"a": [flood]}, [{"id": "a"}], {"ok": holds("a.txt")})

    done = place.yaoki("run", place.plan({**plan, "tasks": [{**plan["tasks"][0], **ONCE}]}))

    assert done.code == 4
    assert "20000" in place.yaoki("why", "a").out


ONCE = {"retry": {"max_retries": 0}}
