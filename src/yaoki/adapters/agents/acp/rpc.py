"""JSON-RPC over the pipes of an agent: our requests, its answers, and what it asks meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from yaoki.adapters.agents.acp.event_log import AcpEventLog
from yaoki.adapters.agents.structured.summary import number_at, text_at, value_at
from yaoki.adapters.processes.pipe import PipedProcess

METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32601, -32602, -32603
NON_JSON_LINES_MAX = 1000

Frame = Mapping[str, Any]
ServeRequest = Callable[[str, Mapping[str, Any]], Any]


class AgentClosedOutput(Exception):
    """The agent closed its output before it answered."""


class RpcError(Exception):
    """An error as JSON-RPC tells it: theirs to us, or ours to them."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    @property
    def error_object(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "data": self.data}


class RpcConnection:
    """One request at a time; what the agent asks or tells until its answer goes to `serve`."""

    def __init__(self, child: PipedProcess, telling: AcpEventLog, bell: int | None) -> None:
        self._child, self._telling, self._bell = child, telling, bell
        self._asked = 0
        self._noise = 0

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        serve: ServeRequest,
        seconds: float | None = None,
    ) -> Mapping[str, Any]:
        """Its answer.  `RpcError`, `AgentClosedOutput`, `TimeoutError`, or `Rung` when there is
        none.
        """
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        return self.wait_for_response(serve, seconds)

    def wait_for_response(
        self, serve: ServeRequest, seconds: float | None = None
    ) -> Mapping[str, Any]:
        """For the answer to what was asked last, so long at most."""
        self._child.set_deadline(seconds)
        while True:
            frame = self._next()
            if "method" in frame:
                self._serve(frame, serve)
            elif frame.get("id") == self._asked:
                return _answer(frame)

    def ignore_stop_signal(self) -> None:
        """The bell has rung: it is not listened to any more."""
        self._bell = None

    def _next(self) -> Frame:
        while True:
            line = self._child.read_line(self._bell)
            if line is None:
                raise AgentClosedOutput
            if frame := _frame(line):
                return frame
            self._noted(line)

    def _noted(self, line: bytes) -> None:
        """What is no frame is kept, not fatal; a flood of it is only counted."""
        self._noise += bool(line.strip())
        if line.strip() and self._noise <= NON_JSON_LINES_MAX:
            self._telling.write_event("noise", text=line.decode("utf-8", errors="replace"))

    def _serve(self, frame: Frame, serve: ServeRequest) -> None:
        method, params = text_at(frame, "method"), value_at(frame, "params")
        asked = frame.get("id")
        try:
            found = serve(method, params if isinstance(params, dict) else {})
        except RpcError as no:
            answer: dict[str, Any] = {"error": {"code": no.code, "message": no.message}}
        else:
            answer = {"result": found}
        if asked is not None:
            self._send({"id": asked, **answer})

    def _send(self, frame: Mapping[str, Any]) -> None:
        self._child.send_line(json.dumps({"jsonrpc": "2.0", **frame}).encode("ascii"))


def _frame(line: bytes) -> Frame | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and ("method" in found or "id" in found) else None


def _answer(frame: Frame) -> Mapping[str, Any]:
    error = value_at(frame, "error")
    if error is not None:
        code = number_at(error, "code")
        raise RpcError(
            int(code or INTERNAL_ERROR), text_at(error, "message"), value_at(error, "data")
        )
    result = value_at(frame, "result")
    return result if isinstance(result, dict) else {}
