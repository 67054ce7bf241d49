"""Faults of stores and remotes that several machines share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance.project import (
    Project,
    a_plan,
    file_contains,
    remaining_output,
    wait_until,
    writes,
)
from tests.adapters.store.server import Server, binaries, missing
from tests.builders import a_row, a_task
from yaoki.adapters.git.command import explain_failure
from yaoki.adapters.processes.command import CommandResult
from yaoki.app.run_view import has_live_holder
from yaoki.core.model import Lease, State
from yaoki.errors import DiskFull
from yaoki.views.workers import why_not_taken

NOW = datetime(2026, 11, 15, tzinfo=UTC)
PLAN = a_plan(
    {"one": [writes("one.txt")]}, [{"id": "one", "checks": ["c"]}], {"c": file_contains("one.txt")}
)


@pytest.mark.acceptance
@pytest.mark.spec("13.2", "12.1")
@pytest.mark.parametrize("url", ["mysql://x/y", "http://x"])
def test_an_unsupported_store_url_is_refused_and_nothing_is_created(
    project: Project, url: str
) -> None:
    done = project.yaoki("worker", "--store", url)

    assert done.code == 2
    assert f"{url.partition(':')[0]}:// is not supported" in done.err
    assert not (project.repo / f"{url.partition(':')[0]}:").exists()


@pytest.mark.acceptance
@pytest.mark.spec("13.1", "0.6")
def test_a_run_whose_branch_the_remote_refuses_is_named(project: Project, tmp_path: Path) -> None:
    """The run is stored before its branch is pushed; it can be resumed or cancelled."""
    bare = tmp_path / "bare.git"
    project.git("init", "-q", "--bare", str(bare))
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\ngrep -q refs/heads/yaoki && exit 1\nexit 0\n")
    hook.chmod(0o755)
    project.git("remote", "add", "origin", str(bare))
    project.git("push", "-q", "origin", "main")
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write('\n[workspace]\nremote = "origin"\n')

    done = project.yaoki("run", project.plan(PLAN))

    run = project.status()["run"]
    assert done.code != 0
    assert f"run {run} is stored nevertheless" in done.err
    assert f"yaoki resume {run}" in done.err


@pytest.mark.acceptance
@pytest.mark.spec("0.6", "14.4")
def test_the_output_of_a_remote_hook_is_reported_cleaned_and_bounded(
    project: Project, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    project.git("init", "-q", "--bare", str(bare))
    hook = bare / "hooks" / "pre-receive"
    words = "printf '\\033[31mbranches need a ticket\\033[0m, see policy 7\\n' >&2"
    flood = "head -c 100000 /dev/zero | tr '\\0' x >&2"
    hook.write_text(f"#!/bin/sh\ngrep -q refs/heads/yaoki || exit 0\n{words}\n{flood}\nexit 1\n")
    hook.chmod(0o755)
    project.git("remote", "add", "origin", str(bare))
    project.git("push", "-q", "origin", "main")
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write('\n[workspace]\nremote = "origin"\n')

    done = project.yaoki("run", project.plan(PLAN))

    assert done.code != 0
    assert "hook declined): branches need a ticket, see policy 7" in done.err
    assert "\033" not in done.err
    assert len(done.err) < 2000


@pytest.mark.acceptance
@pytest.mark.spec("11.5", "0.6")
def test_a_refused_run_over_the_limit_names_the_command_that_lists_the_others(
    project: Project,
) -> None:
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write("pending_runs = 1\n")
    assert project.yaoki("plan", "submit", project.plan(PLAN)).code == 0

    refused = project.yaoki("plan", "submit", project.plan(PLAN))

    assert refused.code == 6
    assert "yaoki status --all" in refused.err


# ------------------------------------------------------------------ a store that is away


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A separate server, because it is stopped and started."""
    if why := missing() or ("" if binaries() else "there are no binaries of PostgreSQL"):
        pytest.skip(why)
    made = Server.make()
    try:
        yield made
    finally:
        made.remove()


def workers(project: Project) -> list[object]:
    found: list[object] = project.query("status", "--workers", "--json").document["workers"]
    return found


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.postgres
@pytest.mark.spec("11.8", "13.3", "0.6")
def test_a_worker_waits_for_its_store_and_can_be_stopped_without_it(
    tmp_path: Path, pycache: Path, own_server: Server
) -> None:
    project = Project(tmp_path, pycache, own_server.url)
    worker = project.start("worker")
    try:
        assert worker.stdout is not None
        first = worker.stdout.readline()
        own_server.start()
        second = worker.stdout.readline()
        wait_until(lambda: workers(project), "it is listed")
        worker.send_signal(signal.SIGTERM)
        rest = remaining_output(worker)
    finally:
        worker.kill()
        worker.wait()
    up = project.yaoki("up")
    own_server.stop()
    down = project.yaoki("down", "--wait", "0.5")

    assert first.startswith("worker: waiting for the store; the store postgresql://")
    assert second.startswith("worker: serving every open run")
    assert rest.endswith("worker: stopped\n")
    assert up.code == 0, up.err
    assert down.code == 0, down.err
    assert "background worker stopped" in down.out
    assert "it is unknown whether runs are open: the store postgresql://" in down.out


@pytest.mark.spec("11.5")
@pytest.mark.parametrize(
    "said", ["fatal: write error. Out of diskspace", "error: No space left on device"]
)
def test_every_git_message_for_a_full_disk_is_recognised(said: str) -> None:
    assert isinstance(
        explain_failure(["read-tree"], CommandResult(128, b"", said.encode())), DiskFull
    )


@pytest.mark.spec("12.1", "11.8")
def test_a_task_with_a_lease_that_expired_on_another_machine_has_no_live_holder() -> None:
    held = Lease(a_task().id, "far-away:1:2:3", 1, NOW - timedelta(seconds=90))
    row = a_row(a_task(state=State.ACTIVE, lease=held))

    assert not has_live_holder([row], NOW)
    assert has_live_holder([row], NOW - timedelta(seconds=91))
    assert why_not_taken(row, [], NOW, here=str).startswith(
        "no heartbeat from its worker for 1 min 30 s"
    )
