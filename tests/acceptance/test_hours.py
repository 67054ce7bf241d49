"""Quiet hours, in which no agent starts, and the time at which a run stops."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta

import pytest

from tests.acceptance.project import (
    PATIENT,
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    remaining_output,
    wait_until,
    writes,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.1")]


def hours(first: int, last: int) -> str:
    """From that many hours after now to that many."""
    now = datetime.now().astimezone()
    return "-".join(f"{now + timedelta(hours=n):%H:%M}" for n in (first, last))


def a_small_plan(*acts: object) -> dict[str, object]:
    """Two attempts: a stop that a person asked for uses one."""
    return a_plan(
        {"a": [[*acts, *writes("a.txt")]]},
        [{"id": "a", "checks": ["a"], "budget": {"attempts": 2}}],
        {"a": file_contains("a.txt")},
    )


def test_no_agent_starts_in_quiet_hours_and_the_run_says_so(project: Project) -> None:
    quiet = hours(-1, 2)
    project.settings(f'{SETTINGS}quiet_hours = "{quiet}"\n')

    run = project.start("run", project.plan(a_small_plan()))
    wait_until(project.has_store, "the run is stored")
    wait_until(lambda: "WARNING" in project.event_names(), "the reason is told")
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)

    reason = f"quiet hours until {quiet.partition('-')[2]} (limits.quiet_hours)"
    assert f"no new task is started here: {reason}" in out
    assert "ATTEMPT_STARTED" not in project.event_names()
    project.settings(f'{SETTINGS}quiet_hours = "{hours(1, 2)}"\n')
    done = project.yaoki("resume", "--quiet")
    assert done.code == 0, done.out + done.err


def test_wrong_times_are_refused_with_their_place(project: Project) -> None:
    assert project.yaoki("run", project.plan(a_small_plan()), "--until", "7").code == 2
    project.settings(f'{SETTINGS}quiet_hours = "9 to 5"\n')

    refused = project.yaoki("run", project.plan(a_small_plan()))

    assert refused.code == 2, refused.out
    assert "limits.quiet_hours" in refused.err
    assert "is not two times such as 09:00-18:00" in refused.err


def full_minute_in(seconds: int) -> tuple[str, str]:
    """A value of TZ whose clock then shows a full minute, and that time: it has no seconds."""
    then = datetime.now(UTC) + timedelta(seconds=seconds)
    shift = -int(then.timestamp()) % 60
    return f"TST-00:00:{shift:02}", f"{then + timedelta(seconds=shift):%H:%M}"


@pytest.mark.full
@pytest.mark.long
def test_a_run_stops_at_its_time_and_continues_later(project: Project) -> None:
    """In 12 s, because a slow start takes some."""
    project.env["TZ"], until = full_minute_in(seconds=12)
    # Else it would hang before that.
    project.settings(PATIENT)

    run = project.start("run", project.plan(a_small_plan({"sleep": 200})), "--until", until)
    said = remaining_output(run)

    assert run.returncode == 5, said
    assert f"stopped at {until} as asked; all work is saved" in said
    assert "next: yaoki resume" in said
    assert project.task("a")["state"] == "WAITING"
