"""JSON-RPC over the pipes of an agent: our requests, its answers, and what it asks meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from yaoki.adapters.agents.acp.event_log import Telling
from yaoki.adapters.agents.structured.summary import number, part, text
from yaoki.adapters.processes.pipe import Piped

NO_METHOD, INVALID, INTERNAL = -32601, -32602, -32603
NOISE_MAX = 1000

Frame = Mapping[str, Any]
Serve = Callable[[str, Mapping[str, Any]], Any]


class Ended(Exception):
    """The agent closed its output before it answered."""


class Refused(Exception):
    """An error as JSON-RPC tells it: theirs to us, or ours to them."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    @property
    def told(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "data": self.data}


class Link:
    """One request at a time; what the agent asks or tells until its answer goes to `serve`."""

    def __init__(self, child: Piped, telling: Telling, bell: int | None) -> None:
        self._child, self._telling, self._bell = child, telling, bell
        self._asked = 0
        self._noise = 0

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def ask(
        self, method: str, params: Mapping[str, Any], serve: Serve, seconds: float | None = None
    ) -> Mapping[str, Any]:
        """Its answer.  `Refused`, `Ended`, `TimeoutError`, or `Rung` when there is none."""
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        return self.wait(serve, seconds)

    def wait(self, serve: Serve, seconds: float | None = None) -> Mapping[str, Any]:
        """For the answer to what was asked last, so long at most."""
        self._child.until(seconds)
        while True:
            frame = self._next()
            if "method" in frame:
                self._serve(frame, serve)
            elif frame.get("id") == self._asked:
                return _answer(frame)

    def deafen(self) -> None:
        """The bell has rung: it is not listened to any more."""
        self._bell = None

    def _next(self) -> Frame:
        while True:
            line = self._child.listen(self._bell)
            if line is None:
                raise Ended
            if frame := _frame(line):
                return frame
            self._noted(line)

    def _noted(self, line: bytes) -> None:
        """What is no frame is kept, not fatal; a flood of it is only counted."""
        self._noise += bool(line.strip())
        if line.strip() and self._noise <= NOISE_MAX:
            self._telling.tell("noise", text=line.decode("utf-8", errors="replace"))

    def _serve(self, frame: Frame, serve: Serve) -> None:
        method, params = text(frame, "method"), part(frame, "params")
        asked = frame.get("id")
        try:
            found = serve(method, params if isinstance(params, dict) else {})
        except Refused as no:
            answer: dict[str, Any] = {"error": {"code": no.code, "message": no.message}}
        else:
            answer = {"result": found}
        if asked is not None:
            self._send({"id": asked, **answer})

    def _send(self, frame: Mapping[str, Any]) -> None:
        self._child.send(json.dumps({"jsonrpc": "2.0", **frame}).encode("ascii"))


def _frame(line: bytes) -> Frame | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and ("method" in found or "id" in found) else None


def _answer(frame: Frame) -> Mapping[str, Any]:
    error = part(frame, "error")
    if error is not None:
        code = number(error, "code")
        raise Refused(int(code or INTERNAL), text(error, "message"), part(error, "data"))
    result = part(frame, "result")
    return result if isinstance(result, dict) else {}
