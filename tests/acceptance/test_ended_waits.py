"""A person ends the wait for an account, or a delay: `yaoki retry`.

The time that a service names may be read wrongly, or the person bought more of it meanwhile.
"""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import IO

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import SETTINGS, Project, remaining_output, wait_until
from tests.acceptance.test_closed_accounts import YAOKI, Service, entries, make_plan, states
from tests.acceptance.test_workers import workers

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.6")]
LIMIT = "API Error: 429 rate_limit_error: try again in 9000s"
PARKS = "[retry]\nrate_limit_wait_max_s = 1\n"
NAMES = ("one", "two", "three")
PARKED = 5


def park(project: Project, *names: str) -> tuple[Service, str]:
    """A run whose tasks all wait for their account, and no worker; the service and the output."""
    service = Service(project.folder / "service", LIMIT)
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 3") + PARKS)
    parked = project.yaoki("run", project.plan(make_plan({"a": service.agent()}, "a", names)))
    assert parked.code == PARKED, parked.err
    assert parked.out.splitlines()[-1] == "next: yaoki up", "`yaoki resume` would end at once"
    return service, parked.out


def park_all(project: Project) -> tuple[Service, str]:
    return park(project, *NAMES)


def park_one(project: Project) -> tuple[Service, str]:
    return park(project, "one")


def read_until(stream: IO[str], words: str) -> str:
    """All lines up to the first one with these words."""
    read = ""
    for line in stream:
        read += line
        if words in line:
            return read
    raise AssertionError(f"{words!r} was never printed: {read}")


def test_a_question_is_answered_before_a_worker_waits_for_an_account(project: Project) -> None:
    """The summary of a parked run ended with `yaoki up`, whatever a person could do meanwhile."""
    service = Service(project.folder / "service", LIMIT)
    project.settings(SETTINGS + PARKS)
    bad = {"command": ["sh", "-c", "echo bad > asks.txt"]}
    plan = make_plan({"a": service.agent(), "bad": bad}, "a", ["waits", "asks"])
    plan["tasks"][1] |= {"agent": "bad", "retry": {"max_retries": 0}}

    parked = project.yaoki("run", project.plan(plan))

    assert parked.code == PARKED, parked.out + parked.err
    assert parked.out.splitlines()[-1] == f"next: yaoki answer {project.task('asks')['id']}"


@pytest.mark.full
def test_a_retry_ends_the_wait_of_all_tasks_of_the_account(prepared: Prepared) -> None:
    """Before: `has no open question: it is WAITING`, and no other command ended the wait."""
    project, (service, _) = prepared.after(park_all)
    asked = len(service.requests)
    service.return_now()

    retried = project.yaoki("retry", "two")

    assert retried.code == 0, retried.err
    assert "its wait is over; one task tries account a when a worker is free" in retried.out
    assert re.search(r"next: yaoki resume", retried.out), retried.out
    assert project.yaoki("resume").code == 0
    assert states(project) == dict.fromkeys(NAMES, "DONE")
    assert len(service.requests) == asked + 3
    ended = entries(project, "WAIT_ENDED")
    assert {entry["account"] for entry in ended} == {"a"}
    assert {entry["how"] for entry in ended} == {"command line"}
    assert project.yaoki("doctor").code == 0, "the journal folds to the rows"


def test_one_task_probes_and_the_account_closes_again_if_the_service_still_refuses(
    prepared: Prepared,
) -> None:
    project, (service, _) = prepared.after(park_all)
    asked = len(service.requests)

    assert project.yaoki("retry", "one").code == 0
    assert project.yaoki("resume").code == PARKED

    assert len(service.requests) == asked + 1, "only one task tried"
    assert states(project) == dict.fromkeys(NAMES, "WAITING")


@pytest.mark.full
def test_a_run_is_retried_as_a_whole(prepared: Prepared) -> None:
    project, (service, _) = prepared.after(park_all)
    service.return_now()
    run_id = project.status()["run"]

    retried = project.yaoki("retry", run_id)
    refused = project.yaoki("retry", run_id)

    assert retried.code == 0, retried.err
    (ended,) = {entry["account"] for entry in entries(project, "WAIT_ENDED")}
    assert ended == "a"
    assert refused.code == 6
    assert "no task in it waits for an account or a delay" in refused.err


def test_the_decision_is_in_the_report_once(prepared: Prepared) -> None:
    project, _ = prepared.after(park_all)
    assert project.yaoki("retry", "two").code == 0

    report = project.query("report", "--format", "markdown").out

    decided = report.partition("## What people decided")[2].partition("##")[0]
    assert decided.count("\n- ") == 1, decided
    assert "two: retry (command line; also of one, three)" in decided
    assert "a person ended its wait (command line)" in project.query("trace", "two").out


def test_a_new_run_that_waits_for_the_same_account_can_end_the_wait(prepared: Prepared) -> None:
    project, (service, _) = prepared.after(park_one)
    service.return_now()
    plan = project.plan(make_plan({"a": service.agent()}, "a", ("other",)))
    assert project.yaoki("run", plan).code == PARKED
    assert "waits for its account a" in project.query("why", "other").out

    assert project.yaoki("retry", "other").code == 0

    assert project.yaoki("resume").code == 0
    assert project.task("other")["state"] == "DONE"


def test_the_wait_names_the_command_that_ends_it(prepared: Prepared) -> None:
    project, (_, out) = prepared.after(park_one)
    task = project.task("one")["id"]

    shown = [out, project.query("status").out, project.query("why", "one").out]

    for text in shown:
        assert f": yaoki retry {task}" in " ".join(text.split()), text


def test_an_agent_cannot_end_a_wait(prepared: Prepared) -> None:
    project, _ = prepared.after(park_one)
    task = project.task("one")["id"]

    refused = project.yaoki("retry", task, env={"YAOKI_TASK": task})

    assert refused.code != 0
    assert entries(project, "WAIT_ENDED") == []


def test_a_task_that_waits_for_another_task_is_not_retried(
    project: Project, tmp_path: Path
) -> None:
    service = Service(tmp_path / "service", "API Error: 401 invalid x-api-key")
    project.settings(SETTINGS)
    assert project.yaoki("run", project.plan(make_plan({"a": service.agent()}, "a", NAMES))).code
    found = {state: name for name, state in states(project).items()}
    asking, waiting = found["ESCALATED"], found["WAITING"]

    refused = project.yaoki("retry", waiting)

    assert refused.code == 6
    assert f"yaoki answer {project.task(asking)['id']} retry" in refused.err


@pytest.mark.full
def test_a_delay_of_one_task_ends_as_well(project: Project, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    script = (
        f"if [ ! -e {noted} ]; then touch {noted}\n"
        f"{YAOKI} result --status failed --summary 'the index is down' --retry-after 9000\n"
        "exit 1; fi\n"
        "echo good > $YAOKI_TASK_NAME.txt\n"
    )
    plan = make_plan({"a": {"command": ["sh", "-c", script]}}, "a", ["one"])
    project.settings(SETTINGS + PARKS)
    parked = project.yaoki("run", project.plan(plan))
    assert parked.code == PARKED
    command = f"yaoki retry {project.task('one')['id']}"
    assert re.search(rf"; retry at [^:]+:\d\d[^:]*: {command}", " ".join(parked.out.split()))

    retried = project.yaoki("retry", "one", "the index is back")

    assert "its wait is over; attempt 2 starts when a worker is free" in retried.out
    assert project.yaoki("resume").code == 0
    (ended,) = entries(project, "WAIT_ENDED")
    assert ended["words"] == "the index is back"
    assert "account" not in ended


@pytest.mark.full
def test_a_worker_that_waits_takes_the_task_at_once_and_its_output_announced_the_wait_once(
    prepared: Prepared,
) -> None:
    """Before, a run in a pipe said nothing of the wait of a task that had not tried itself."""
    project, (service, _) = prepared.after(park_one)
    project.settings(SETTINGS)
    worker = project.start("run", project.plan(make_plan({"a": service.agent()}, "a", ("other",))))
    assert worker.stdout is not None
    out = read_until(worker.stdout, "waits for its account")
    task = project.task("other")["id"]
    moment = r"until \d\d:\d\d(?: tomorrow)?, in 2 h 2\d min"
    line = rf"other waits for its account a {moment}: yaoki retry {task}"
    assert re.search(line, " ".join(out.split())), out
    service.return_now()

    assert project.yaoki("retry", "other").code == 0
    rest, _ = worker.communicate(timeout=60)

    assert worker.returncode == 0, out + rest
    assert (out + rest).count("waits for its account") == 1


def test_the_summary_after_an_interrupt_says_until_when_a_task_waits_for_its_account(
    prepared: Prepared,
) -> None:
    """The other tasks only wait for a worker, which the next command starts."""
    project, (service, _) = prepared.after(park_one)
    project.settings(SETTINGS)
    plan = make_plan({"a": service.agent()}, "a", ("other", "late"))
    plan["tasks"][1]["needs"] = ["other"]
    worker = project.start("run", project.plan(plan))
    assert worker.stdout is not None
    read_until(worker.stdout, "waits for its account")
    wait_until(lambda: bool(workers(project)), "it handles signals")

    worker.send_signal(signal.SIGINT)
    rest = remaining_output(worker)

    assert worker.returncode == 130
    task = project.task("other")["id"]
    waits = r"waiting: other: waits for its account a: its limit is reached; one task tries at"
    assert re.search(rf"{waits} \d\d:\d\d.*, in 2 h 2\d min: yaoki retry {task}", flat(rest)), rest
    assert "waiting: late" not in rest


def flat(text: str) -> str:
    return " ".join(text.split())
