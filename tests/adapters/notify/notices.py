"""Shared by the tests of notices: a notice, programs that record their calls, a local receiver."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.builders import NOW
from yaoki.ports import Notice

SECRET = "correct horse battery staple"

RECORDER = f"""\
#!{sys.executable} -IS
import json, os, pathlib, sys
here = pathlib.Path(__file__)
called = {{"argv": sys.argv[1:], "env": dict(os.environ), "stdin": sys.stdin.read()}}
here.with_suffix(".json").write_text(json.dumps(called))
"""


def a_notice(subject: str = "signup asks for you", body: str = "yaoki answer 2") -> Notice:
    return Notice(
        id=12,
        channel="",
        at=NOW,
        run_id="k3f9x2ab",
        task_id="k3f9x2ab-2",
        event="ESCALATE_EXECUTED",
        subject=subject,
        body=body,
    )


def program(folder: Path, name: str, text: str = RECORDER) -> Path:
    """An executable script; the recorder writes `name.json` beside itself."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return file


def shell(*argv: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", *argv)


def recorded(file: Path) -> dict[str, Any]:
    """How the recorder was called."""
    document: dict[str, Any] = json.loads(file.with_suffix(".json").read_text("utf-8"))
    return document


@dataclass
class Received:
    """The requests, and the status to answer."""

    port: int = 0
    code: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    posts: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/k3yInThePath"


@contextmanager
def receiver(code: int = 204, **headers: str) -> Iterator[Received]:
    """A real server.  Code 0 answers only after `release`; -1 answers slowly until then."""
    received = Received(code=code, headers={k.replace("_", "-"): v for k, v in headers.items()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), _answering(received))
    received.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield received
    finally:
        received.release.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def unused_port() -> Iterator[Received]:
    """A reserved port on which nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield Received(port=held.getsockname()[1])


def _answering(received: Received) -> type[BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.posts.append((self.path, dict(self.headers), body))
            if received.code <= 0:
                self._keep_waiting()
                return
            self.send_response(received.code)
            for name, value in received.headers.items():
                self.send_header(name, value)
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - the base class names it

        def _keep_waiting(self) -> None:
            if received.code == -1:
                self.wfile.write(b"HTTP/1.1 204 No Content\r\nX-Slow: ")
            while not received.release.wait(0.02):
                if received.code == -1:
                    self.wfile.write(b".")

        def log_message(self, *_: object) -> None:
            """Discarded."""

    return Answering
