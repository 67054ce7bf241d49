"""Streams, malformed requests and answers at once during a run: nothing is lost."""

from __future__ import annotations

import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import psutil
import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, writes
from tests.faces.web.page_server import Answer, Client
from tests.faces.web.test_page_process import link_of
from tests.security.test_page_load import assert_task_lands
from yaoki.faces.web.events import LISTENERS_MAX
from yaoki.faces.web.protocol import CONNECTIONS_MAX

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "12.5", "14.1")]
STREAMS, ANSWERS = 200, 12
RSS_BYTES_MAX = 400 << 20
HEAD = b"Host: 127.0.0.1:%(port)d\r\nAuthorization: Bearer %(token)s\r\n"
JSON = HEAD + b"Content-Type: application/json\r\n"
POST = b"POST /api/v1/tasks/%(task)s/answer HTTP/1.1\r\n"
DEEP = b"[" * 60_000
# The expected status of each; an empty one means a connection closed without an answer.
GARBAGE: dict[str, tuple[bytes, set[str]]] = {
    "huge header": (b"GET / HTTP/1.1\r\n" + HEAD + b"X: " + b"a" * (4 << 20), {"", "400", "431"}),
    "many headers": (
        b"GET / HTTP/1.1\r\n" + HEAD + b"X: a\r\n" * 100_000 + b"\r\n",
        {"", "400", "431"},
    ),
    "huge line": (b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n" + HEAD + b"\r\n", {"", "400"}),
    "huge body": (
        POST + JSON + b"Content-Length: 9000000\r\n\r\n" + b"x" * 9_000_000,
        {"413", ""},
    ),
    "said to be huge": (
        POST + JSON + b"Content-Length: 99999999999999999\r\n\r\n{}",
        {"", "400", "413"},
    ),
    "chunked garbage": (
        POST + JSON + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        {"", "400"},
    ),
    "huge chunk": (
        POST + JSON + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
        {"", "400"},
    ),
    "length of words": (POST + JSON + b"Content-Length: many\r\n\r\n{}", {"400"}),
    "negative length": (POST + JSON + b"Content-Length: -5\r\n\r\n{}", {"400"}),
    "two lengths": (POST + JSON + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}", {"400"}),
    "length and chunks": (
        POST + JSON + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        {"400", ""},
    ),
    "NUL": (b"GET /\0 HTTP/1.1\r\n" + HEAD + b"\r\n", {"400"}),
    "NUL in a header": (b"GET / HTTP/1.1\r\nX: a\0b\r\n" + HEAD + b"\r\n", {"400"}),
    "no text": (b"GET /\xff\xfe HTTP/1.1\r\n" + HEAD + b"\r\n", {"400", "404", "200"}),
    "half characters": (b"GET /api/v1/runs/%%ff%%fe HTTP/1.1\r\n" + HEAD + b"\r\n", {"404", "400"}),
    "no text in a body": (
        POST + JSON + b"Content-Length: 14\r\n\r\n" + b'{"words":"\xff"}x',
        {"400"},
    ),
    "deep JSON": (POST + JSON + b"Content-Length: 60000\r\n\r\n" + DEEP, {"400"}),
    "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), {"400", ""}),
    "another version": (b"GET / HTTP/9.9\r\n" + HEAD + b"\r\n", {"200", "400", "505"}),
    "a tunnel": (b"CONNECT evil.example:443 HTTP/1.1\r\n" + HEAD + b"\r\n", {"403", "404", "405"}),
    "pipelined": ((b"GET /api/v1/session HTTP/1.1\r\n" + HEAD + b"\r\n") * 50, {"200"}),
}


def send_raw(client: Client, raw: bytes, task: str) -> str:
    """Send the bytes and return the status of the first answer."""
    token = client.token.encode()
    filled = raw % {b"port": client.port, b"token": token, b"task": task.encode()}
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as line:
        held = b""
        with suppress(OSError):
            line.sendall(filled)
            line.settimeout(1.5)
            held = line.recv(1 << 16)
        words = held[:40].split(b" ")
        return words[1].decode() if held.startswith(b"HTTP/1.1 ") else ""


def start_asking_run(project: Project) -> str:
    """A run with an escalated task and one that works for a while."""
    ask = [{"ask": "which one?"}]
    slow = [{"run": ["sleep", "3"]}, *writes("slow.txt")]
    script = {"ask": [ask, writes("ask.txt")], "slow": [slow]}
    checks = {"a": file_contains("ask.txt"), "s": file_contains("slow.txt")}
    tasks = [{"id": "ask", "checks": ["a"]}, {"id": "slow", "checks": ["s"]}]
    told = project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--detach", "--json")
    assert told.code == 0, told.out + told.err
    return str(told.document["run"])


@pytest.mark.full
def test_concurrent_streams_garbage_and_answers_do_not_disturb_the_page(project: Project) -> None:
    project.yaoki("up")
    try:
        run = start_asking_run(project)
        wait_until(lambda: project.yaoki("up", "--json").document["page"], "the page is served")
        client = link_of(project)
        worker = psutil.Process(project.yaoki("up", "--json").document["pid"])
        assert client.get("/session").status == 200
        (page,) = [one for one in worker.children() if "yaoki.faces.web.process" in one.cmdline()]
        wait_until(lambda: client.document("/needs-you")["total"] == 1, "it asks a person")
        task = client.document("/needs-you")["asking"][0]["task"]["id"]

        with ExitStack() as open_:
            statuses = Counter[int]()
            streams = []
            for _ in range(STREAMS):
                stream = open_.enter_context(client.listening("/events?after=0"))
                statuses[stream.response.status] += 1
                if stream.response.status == 200:
                    streams.append(stream)
            assert statuses == {200: LISTENERS_MAX, 429: STREAMS - LISTENERS_MAX}

            for name, (raw, expected) in GARBAGE.items():
                assert send_raw(client, raw, task) in expected, name
                assert client.get("/session").status == 200, name
            assert page.memory_info().rss < RSS_BYTES_MAX
            assert page.num_fds() < CONNECTIONS_MAX + 100

            taken = answers(client, task)
            assert Counter(one.status for one in taken) == {200: 1, 409: ANSWERS - 1}
            wait_until(lambda: project.status(run)["status"] == "DONE", "the run is done")
            for stream in streams[:3]:
                heard = (one.data.get("event") for one in stream)
                assert any(event == "TASK_LANDED" for event in heard)

        given = [one for one in project.events(task) if one["event"] == "ESCALATION_ANSWERED"]
        assert len(given) == 1
        assert_task_lands(project, client, "after")
        assert page.is_running()
        assert worker.is_running()
        wait_until(lambda: page.num_fds() < 60, "the streams are closed")
        assert page.memory_info().rss < RSS_BYTES_MAX
    finally:
        project.yaoki("down", "--wait", "0")
    assert project.git("fsck", "--connectivity-only") == ""


def answers(client: Client, task: str) -> list[Answer]:
    """The same question, answered at the same instant by as many as there are.

    Other words would be added while the task waits for a free slot, and count as given too.
    """

    def answer(_: int) -> Answer:
        body: dict[str, Any] = {"choice": "retry", "words": "the same"}
        return client.post(f"/tasks/{task}/answer", body)

    with ThreadPoolExecutor(ANSWERS) as pool:
        return list(pool.map(answer, range(ANSWERS)))
