"""Connections with incomplete requests do not stop worker or page (V7)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, writes
from tests.faces.web.page_server import Client
from tests.faces.web.test_page_process import link_of
from yaoki.faces.web.protocol import CONNECTIONS_MAX

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "12.5")]
HALF, SLOW = 2_000, 500


@contextmanager
def flood(port: int, count: int, said: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as open_:
        held = []
        for _ in range(count):
            line = open_.enter_context(socket.socket())
            line.settimeout(5)
            # Refused or reset, it is no burden either.
            with suppress(OSError):
                line.connect(("127.0.0.1", port))
                line.sendall(said)
                held.append(line)
        yield held


def assert_task_lands(project: Project, client: Client, name: str) -> None:
    """A task lands meanwhile, and the page says so."""
    plan = a_plan(
        {name: [writes(f"{name}.txt")]}, [{"id": name}], {"ok": file_contains(f"{name}.txt")}
    )
    document = project.yaoki(
        "run", project.plan(plan, f"{name}.json"), "--detach", "--json"
    ).document
    wait_until(lambda: project.status(document["run"])["status"] == "DONE", f"{name} is done")
    assert client.get("/session").status == 200


@pytest.mark.full
def test_half_open_and_slow_connections_stop_neither_worker_nor_page(project: Project) -> None:
    project.yaoki("up")
    try:
        client = link_of(project)
        assert_task_lands(project, client, "before")
        worker = psutil.Process(project.yaoki("up", "--json").document["pid"])
        descriptors = worker.num_fds()
        with flood(client.port, HALF, b"GET / HTTP/1.1\r\nHost: localhost\r\n"):
            assert_task_lands(project, client, "half")
            (page,) = [
                one for one in worker.children() if "yaoki.faces.web.process" in one.cmdline()
            ]
            assert page.num_fds() < CONNECTIONS_MAX + 100
            assert page.memory_info().rss < 400 << 20
        with flood(
            client.port, SLOW, b"POST /api/v1/x HTTP/1.1\r\nContent-Length: 9\r\n\r\n"
        ) as all_:
            for line in all_:
                with suppress(OSError):
                    line.sendall(b"{")
            assert_task_lands(project, client, "slow")
        wait_until(lambda: page.num_fds() < 60, "late requests are closed")
        assert worker.is_running()
        assert worker.num_fds() < descriptors + 40
    finally:
        project.yaoki("down", "--wait", "0")
    assert not page.is_running() or page.status() == psutil.STATUS_ZOMBIE


@pytest.mark.full
def test_a_killed_page_process_is_restarted(project: Project) -> None:
    project.yaoki("up")
    try:
        client = link_of(project)
        assert client.get("/session").status == 200
        worker = psutil.Process(project.yaoki("up", "--json").document["pid"])
        (page,) = [one for one in worker.children() if "yaoki.faces.web.process" in one.cmdline()]
        page.kill()

        wait_until(lambda: _answers(client), "the next browser is answered")
        assert_task_lands(project, client, "after")
    finally:
        project.yaoki("down", "--wait", "0")


def _answers(client: Client) -> bool:
    try:
        return client.get("/session").status == 200
    except OSError:
        return False
