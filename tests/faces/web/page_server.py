"""A real `yaoki ui` on a loopback port, and its client."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from random import Random
from typing import Any

from tests.acceptance.project import BOUND_S, Project

LINK = re.compile(r"(?:the page|read-only): (http://(\S+?):(\d+)/enter\?token=(\S+))")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        held: dict[str, Any] = json.loads(self.body)
        return held

    @property
    def code(self) -> str:
        return str(self.document["error"]["code"])


@dataclass
class Client:
    """Sends a token by default; every header can be set."""

    port: int
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object = None, /, **headers: str | None) -> Answer:
        link = HTTPConnection("127.0.0.1", self.port, timeout=BOUND_S)
        try:
            raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            link.request(method, path, raw, self._all(raw, headers))
            got = link.getresponse()
            told = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, told, got.read())
        finally:
            link.close()

    def _all(self, raw: bytes | None, headers: Mapping[str, str | None]) -> dict[str, str]:
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        kind = {"Content-Type": "application/json"} if raw is not None else {}
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        merged = {**own, **kind, **self.headers, **said}
        return {name: value for name, value in merged.items() if value is not None}

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", f"/api/v1{path}", **headers)

    def post(self, path: str, body: object, **headers: str | None) -> Answer:
        return self.ask("POST", f"/api/v1{path}", body, **headers)

    def document(self, path: str) -> dict[str, Any]:
        answer = self.get(path)
        assert answer.status == 200, answer.body
        return answer.document

    def pages(self, path: str, key: str) -> Iterator[dict[str, Any]]:
        """All entries of a list, page after page."""
        cursor, join = "", "&" if "?" in path else "?"
        for _ in range(1000):
            page = self.document(path + (f"{join}cursor={cursor}" if cursor else ""))
            yield from page[key]
            cursor = page["next_cursor"]
            if cursor is None:
                return
        raise AssertionError("the pages do not end")

    @contextmanager
    def listening(self, path: str = "/events", **headers: str) -> Iterator[Stream]:
        link = HTTPConnection("127.0.0.1", self.port, timeout=BOUND_S)
        try:
            link.request("GET", f"/api/v1{path}", headers=self._all(None, headers))
            yield Stream(link.getresponse())
        finally:
            link.close()


@dataclass(frozen=True)
class StreamedEvent:
    """One server-sent event."""

    event: str
    id: str
    data: dict[str, Any]


class Stream:
    """Reads events one by one; each read has the connection's time limit."""

    def __init__(self, response: HTTPResponse) -> None:
        self.response = response

    def __iter__(self) -> Iterator[StreamedEvent]:
        told: dict[str, str] = {}
        while line := self.response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                told[name] = value
            elif "data" in told:
                yield StreamedEvent(
                    told.get("event", ""), told.get("id", ""), json.loads(told["data"])
                )
                told = {}

    def up_to(self, seq: int) -> list[StreamedEvent]:
        """All events up to this journal entry, however many heartbeats come meanwhile."""
        heard = []
        for one in self:
            heard.append(one)
            if one.data.get("seq", one.data.get("cursor", 0)) >= seq and one.event != "hello":
                return heard
        raise AssertionError(f"the stream ended before {seq}: {heard[-3:]}")

    def until(self, event: str) -> list[StreamedEvent]:
        """All events up to the first journal entry, or stream event, of this name."""
        heard = []
        for one in self:
            heard.append(one)
            if event in (one.event, one.data.get("event")):
                return heard
        raise AssertionError(f"the stream ended before {event}: {heard[-3:]}")


@dataclass
class PageServer:
    """The process and its links."""

    process: subprocess.Popen[str]
    port: int
    token: str
    read_only_token: str
    said: list[str]

    @property
    def client(self) -> Client:
        return Client(self.port, self.token)

    @property
    def read_only_client(self) -> Client:
        return Client(self.port, self.read_only_token)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=BOUND_S)
        self.said += out.splitlines()
        return self.process.returncode


def free_port() -> int:
    """A free port that the system does not assign to others while the server is down."""
    dice = Random()
    for _ in range(100):
        port = dice.randrange(22_000, 30_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


@contextmanager
def run_page_server(project: Project, *words: str, port: int = 0) -> Iterator[PageServer]:
    process = project.start("ui", "--port", str(port), "--read-only-link", *words)
    try:
        yield _begun(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _begun(process: subprocess.Popen[str]) -> PageServer:
    assert process.stdout is not None
    said: list[str] = []
    found: list[re.Match[str]] = []
    while len(found) < 2:
        line = process.stdout.readline()
        assert line, f"it ended: {said}"
        said.append(line.rstrip("\n"))
        found += filter(None, [LINK.search(line)])
    act, look = found
    return PageServer(process, int(act[3]), act[4], look[4], said)
