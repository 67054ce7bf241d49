"""The MCP protocol over JSON-RPC, without state between requests.

Serves clients that begin with `initialize`, and those since 2026-07-28 that name the version in
each request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

from yaoki import __version__
from yaoki.faces.mcp.frames import FRAME_BYTES_MAX, read_frames, send_frame

if TYPE_CHECKING:
    from yaoki.views.documents import Document

# Not 2025-03-26, the only version that requires batches.
HANDSHAKE = ("2024-11-05", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
META = "io.modelcontextprotocol/"
INFO = {"name": "yaoki", "version": __version__}
INSTRUCTIONS = (
    "You work on one task of a yaoki run. Report how it ended with `result`; the report is a "
    "claim and proves nothing: the checks decide. `ask` asks a person a question and ends your "
    "attempt. No tool approves, answers, waives, merges or cancels: only people do."
)

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION = -32022


class BadRequest(Exception):
    """The request itself is invalid; answered with a protocol error."""

    def __init__(self, code: int, message: str, data: Document | None = None) -> None:
        super().__init__(message)
        self.error: Document = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class McpServer:
    """Implements the protocol; tools are listed and called through two functions."""

    def __init__(
        self, tools: list[Document], call: Callable[[str, Mapping[str, Any]], Document]
    ) -> None:
        self._tools, self._call = tools, call
        self._names = tuple(str(tool["name"]) for tool in tools)

    def serve(self, stream: IO[bytes], descriptor: int) -> None:
        """Serve until the client closes its end."""
        for frame in read_frames(stream):
            answer = self.respond(frame)
            if answer is None:
                continue
            try:
                send_frame(descriptor, answer)
            except BrokenPipeError:
                return

    def respond(self, frame: bytes | None) -> Document | None:
        """The answer to one frame; None for a notification.  Invalid input is never fatal."""
        known: Any = None
        try:
            request = _request(frame)
            if "method" not in request:
                return None  # a response, although this server sends no requests
            if "id" not in request:
                return None  # notifications need no action
            known = _id(request)
            return {"jsonrpc": "2.0", "id": known, "result": self._result(request)}
        except BadRequest as bad:
            return {"jsonrpc": "2.0", "id": known, "error": bad.error}

    def _result(self, request: Mapping[str, Any]) -> Document:
        method, params = request["method"], request.get("params", {})
        if not isinstance(method, str) or not isinstance(params, dict):
            raise BadRequest(INVALID_REQUEST, "method must be a string and params an object")
        modern = _modern(params)
        found = self._method(method, params)
        if not modern:
            return found
        cached = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
        return {"resultType": "complete", "_meta": {f"{META}serverInfo": INFO}, **cached, **found}

    def _method(self, method: str, params: Mapping[str, Any]) -> Document:
        offer = {"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
                return {"protocolVersion": version, "serverInfo": INFO, **offer}
            case "server/discover":
                return {"supportedVersions": [*HANDSHAKE, *MODERN], **offer}
            case "ping":
                return {}
            case "tools/list":
                return {"tools": self._tools}
            case "tools/call":
                return self._called(params)
            case _:
                raise BadRequest(NO_METHOD, f"there is no method {method[:80]!r}")

    def _called(self, params: Mapping[str, Any]) -> Document:
        name, given = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in self._names:
            words = f"there is no tool {str(name)[:80]!r}; there are: {', '.join(self._names)}"
            raise BadRequest(INVALID_PARAMS, words)
        if not isinstance(given, dict | None):
            raise BadRequest(INVALID_PARAMS, "arguments must be an object")
        return self._call(name, given or {})


def _request(frame: bytes | None) -> Mapping[str, Any]:
    if frame is None:
        raise BadRequest(INVALID_REQUEST, f"a frame has at most {FRAME_BYTES_MAX} bytes")
    try:
        request = json.loads(frame.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BadRequest(PARSE_ERROR, "this line is not JSON") from None
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
        raise BadRequest(INVALID_REQUEST, "one JSON-RPC 2.0 request per line; no batches")
    return request


def _id(request: Mapping[str, Any]) -> str | int:
    known = request["id"]
    if isinstance(known, bool) or not isinstance(known, str | int):
        raise BadRequest(INVALID_REQUEST, "id must be a string or an integer")
    return known


def _modern(params: Mapping[str, Any]) -> bool:
    meta = params.get("_meta")
    if not isinstance(meta, dict) or f"{META}protocolVersion" not in meta:
        return False
    version = meta[f"{META}protocolVersion"]
    if version not in MODERN:
        data = {"supported": [*HANDSHAKE, *MODERN], "requested": str(version)[:80]}
        raise BadRequest(UNSUPPORTED_VERSION, "this protocol version is not supported", data)
    return True
