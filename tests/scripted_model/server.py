"""The server: one script, one port on loopback, every request kept.  It stops by itself.

Requests that belong to no task (titles, summaries, model lists, token counts) are answered and
do not use up the script: they are those without tools, when the script calls tools.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar

from tests.scripted_model.anthropic import Anthropic
from tests.scripted_model.chat import Chat
from tests.scripted_model.dialect import Dialect, ModelAnswer
from tests.scripted_model.gemini import Gemini
from tests.scripted_model.responses import Responses
from tests.scripted_model.tools import translated
from tests.scripted_model.turns import Cut, Fault, Hang, Malformed, Step, Turn

LIFE_S_MAX = 400.0
REQUESTS_MAX = 200
# Qwen Code asks these after its answer, with the whole conversation and its tools.
ASIDES = ("Managed memory has TWO directories", "[SUGGESTION MODE")
BODY_BYTES_MAX = 32 << 20
_DIALECTS: tuple[tuple[str, Dialect], ...] = (
    ("/messages", Anthropic()),
    ("/chat/completions", Chat()),
    ("/responses", Responses()),
    ("enerateContent", Gemini()),
)


@dataclass(frozen=True, slots=True)
class Request:
    """One request; a `side` request is not part of the conversation."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    side: bool

    def holds(self, words: str) -> bool:
        """True if the conversation so far contains this text."""
        return json.dumps(words)[1:-1] in json.dumps(self.body)


def _is_aside(body: Mapping[str, Any]) -> bool:
    messages = body.get("messages")
    last = json.dumps(messages[-1]) if isinstance(messages, list) and messages else ""
    return any(words in last for words in ASIDES)


class ModelServer:
    """Plays the steps in order; the last one repeats."""

    LIFE_S: ClassVar[float] = LIFE_S_MAX

    def __init__(self, *steps: Step, worktree: str = "") -> None:
        self.worktree = worktree
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self.play(*steps)
        self._http = _Http(("127.0.0.1", 0), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests of the conversation."""
        with self._lock:
            return tuple(held for held in self._asked if not held.side)

    def play(self, *steps: Step) -> None:
        """Starts a new script and forgets earlier requests."""
        with self._lock:
            self._steps, self._asked = list(steps), list[Request]()
            self._tooled = any(isinstance(step, Turn) and step.calls for step in steps)

    def __enter__(self) -> ModelServer:
        serve = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        serve.start()
        self._life = threading.Timer(self.LIFE_S, self._stop)
        self._life.daemon = True
        self._life.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._life.cancel()
        self._stop()

    def _stop(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def next(self, request: Request) -> Step:
        """The answer to this request; too many requests are refused, because agents may loop."""
        with self._lock:
            self._asked.append(request)
            if len(self._asked) > REQUESTS_MAX:
                return Fault(400, "the script is over")
            if request.side:
                return Turn("A title")
            return self._steps[0] if len(self._steps) == 1 else self._steps.pop(0)

    def is_side(self, tools: Sequence[object]) -> bool:
        return not tools and self._tooled

    @property
    def defects(self) -> tuple[str, ...]:
        """Errors of the server itself, such as a tool that no agent declared."""
        return tuple(self._http.defects)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.defects: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that closes the connection is not an error."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.defects.append(repr(error))


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Silent: tests read the requests."""

        def do_HEAD(self) -> None:
            self._json(200, {})

        def do_GET(self) -> None:
            model = {"id": "scripted", "object": "model", "type": "model"}
            self._json(200, {"object": "list", "data": [model]})

        def do_POST(self) -> None:
            body = self._body()
            path = self.path.partition("?")[0]
            dialect = next((d for end, d in _DIALECTS if path.endswith(end)), None)
            if dialect is None:
                self._json(200, {"input_tokens": 1, "totalTokens": 1})
                return
            self._play(dialect, body)

        def _body(self) -> dict[str, Any]:
            raw = self.rfile.read(min(int(self.headers.get("content-length") or 0), BODY_BYTES_MAX))
            try:
                held = json.loads(raw)
            except ValueError:
                held = {"unreadable": len(raw)}
            return held if isinstance(held, dict) else {"unreadable": len(raw)}

        def _play(self, dialect: Dialect, body: dict[str, Any]) -> None:
            tools = dialect.tools(body)
            request = Request(
                self.path, dict(self.headers), body, server.is_side(tools) or _is_aside(body)
            )
            step, fresh = server.next(request), secrets.token_hex(8)
            streams = dialect.streams(body, self.path)
            match step:
                case Fault(status, message, headers, fields):
                    told = dialect.error(status, message)
                    error = {**told.get("error", {}), **fields}
                    self._json(status, {**told, "error": error}, headers)
                case Hang():
                    server.closing.wait(LIFE_S_MAX)
                    self.close_connection = True
                case Cut():
                    said = ModelAnswer("This answer will never", (), fresh)
                    self._cut(dialect.stream(said, body) if streams else [])
                case Malformed():
                    self._malformed(streams)
                case Turn(text, calls):
                    made = [translated(call, tools, server.worktree) for call in calls]
                    self._answer(dialect, ModelAnswer(text, made, fresh), body, streams)

        def _answer(
            self, dialect: Dialect, said: ModelAnswer, body: Mapping[str, Any], streams: bool
        ) -> None:
            if not streams:
                self._json(200, dialect.whole(said, body))
                return
            events = "".join(f"{event}\n\n" for event in dialect.stream(said, body)).encode()
            self._head(200, "text/event-stream", len(events))
            self.wfile.write(events)

        def _cut(self, events: Sequence[str]) -> None:
            """Sends half of the promised body."""
            part = "".join(f"{event}\n\n" for event in events[:-1]).encode()[:-4] or b'{"id": "'
            self._head(200, "text/event-stream" if events else "application/json", 100_000)
            self.wfile.write(part)
            self.wfile.flush()
            self.close_connection = True

        def _malformed(self, streams: bool) -> None:
            words = b'data: {"this is": not JSON\n\n' if streams else b'{"this is": not JSON'
            self._head(200, "text/event-stream" if streams else "application/json", len(words))
            self.wfile.write(words)

        def _json(
            self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
        ) -> None:
            raw = json.dumps(value).encode()
            self._head(status, "application/json", len(raw), headers)
            if self.command != "HEAD":
                self.wfile.write(raw)

        def _head(
            self, status: int, kind: str, length: int, headers: Mapping[str, str] | None = None
        ) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(length))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()

    return Handler
