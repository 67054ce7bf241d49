"""JSON-RPC over the pipes of an agent: our requests, its responses, and its own requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from yaoki.adapters.agents.acp.event_log import AcpEventLog
from yaoki.adapters.agents.structured_output.summary import number_at, text_at, value_at
from yaoki.adapters.processes.pipe import PipedProcess

METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32601, -32602, -32603
NON_JSON_LINES_MAX = 1000

Frame = Mapping[str, Any]
ServeRequest = Callable[[str, Mapping[str, Any]], Any]


class AgentClosedOutput(Exception):
    """The agent closed its output before it responded."""


class RpcError(Exception):
    """A JSON-RPC error, from the agent or to the agent."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    @property
    def error_object(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "data": self.data}


class RpcConnection:
    """A connection with one request at a time; meanwhile `serve` handles the requests
    of the agent.
    """

    def __init__(self, child: PipedProcess, event_log: AcpEventLog, signal_fd: int | None) -> None:
        self._child, self._event_log, self._signal_fd = child, event_log, signal_fd
        self._request_id = 0
        self._noise_lines = 0

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        serve: ServeRequest,
        seconds: float | None = None,
    ) -> Mapping[str, Any]:
        """Raises `RpcError`, `AgentClosedOutput`, `TimeoutError` or `SignalReceived`."""
        self._request_id += 1
        self._send({"id": self._request_id, "method": method, "params": params})
        return self.wait_for_response(serve, seconds)

    def wait_for_response(
        self, serve: ServeRequest, seconds: float | None = None
    ) -> Mapping[str, Any]:
        """Waits for the response to the last request, up to `seconds`."""
        self._child.set_deadline(seconds)
        while True:
            frame = self._read_frame()
            if "method" in frame:
                self._serve(frame, serve)
            elif frame.get("id") == self._request_id:
                return _read_response(frame)

    def ignore_stop_signal(self) -> None:
        """After the stop signal: do not interrupt further waiting."""
        self._signal_fd = None

    def _read_frame(self) -> Frame:
        while True:
            line = self._child.read_line(self._signal_fd)
            if line is None:
                raise AgentClosedOutput
            if frame := _parse_frame(line):
                return frame
            self._log_noise(line)

    def _log_noise(self, line: bytes) -> None:
        """Logs a line that is no frame; after many such lines they are only counted."""
        self._noise_lines += bool(line.strip())
        if line.strip() and self._noise_lines <= NON_JSON_LINES_MAX:
            self._event_log.write_event("noise", text=line.decode("utf-8", errors="replace"))

    def _serve(self, frame: Frame, serve: ServeRequest) -> None:
        method, params = text_at(frame, "method"), value_at(frame, "params")
        request_id = frame.get("id")
        try:
            result = serve(method, params if isinstance(params, dict) else {})
        except RpcError as no:
            answer: dict[str, Any] = {"error": {"code": no.code, "message": no.message}}
        else:
            answer = {"result": result}
        if request_id is not None:
            self._send({"id": request_id, **answer})

    def _send(self, frame: Mapping[str, Any]) -> None:
        self._child.send_line(json.dumps({"jsonrpc": "2.0", **frame}).encode("ascii"))


def _parse_frame(line: bytes) -> Frame | None:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return frame if isinstance(frame, dict) and ("method" in frame or "id" in frame) else None


def _read_response(frame: Frame) -> Mapping[str, Any]:
    error = value_at(frame, "error")
    if error is not None:
        code = number_at(error, "code")
        raise RpcError(
            int(code or INTERNAL_ERROR), text_at(error, "message"), value_at(error, "data")
        )
    result = value_at(frame, "result")
    return result if isinstance(result, dict) else {}
