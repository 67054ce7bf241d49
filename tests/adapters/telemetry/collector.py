"""A tiny OTLP/HTTP receiver on loopback, and a reader of the protobuf that it gets."""

from __future__ import annotations

import gzip
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Got:
    """One span as it came over the wire."""

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    failed: str


@dataclass
class Received:
    """`answer` is what it says to whoever sends."""

    answer: int = 200
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    spans: list[Got] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    refused: int = 0
    address: str = ""


@contextmanager
def receiving(port: int = 0) -> Iterator[Received]:
    held = Received()

    class Desk(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if held.answer == 200:
                held.paths.append(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                held.headers.append(headers)
                _take(held, body, headers)
            else:
                held.refused += 1
            self.send_response(held.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Desk)
    held.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _take(held: Received, body: bytes, headers: dict[str, str]) -> None:
    raw = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
    as_json = headers["content-type"] == "application/json"
    resource, spans = from_json(raw) if as_json else from_protobuf(raw)
    held.resources.append(resource)
    held.spans += spans


# ------------------------------------------------------------------ the two forms


def from_json(raw: bytes) -> tuple[dict[str, Any], list[Got]]:
    [one] = json.loads(raw)["resourceSpans"]
    [scoped] = one["scopeSpans"]
    return _pairs_json(one["resource"]["attributes"]), [
        Got(
            span["traceId"],
            span["spanId"],
            span.get("parentSpanId", ""),
            span["name"],
            int(span["startTimeUnixNano"]),
            int(span["endTimeUnixNano"]),
            _pairs_json(span["attributes"]),
            span.get("status", {}).get("message", ""),
        )
        for span in scoped["spans"]
    ]


def _pairs_json(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: next(iter(pair["value"].values())) for pair in pairs}


def from_protobuf(raw: bytes) -> tuple[dict[str, Any], list[Got]]:
    [of_resource] = _all(raw, 1)
    [resource], [scoped] = _all(of_resource, 1), _all(of_resource, 2)
    return _pairs(resource, 1), [_got(span) for span in _all(scoped, 2)]


def _got(raw: bytes) -> Got:
    parts = list(_fields(raw))
    one = dict(parts)
    status = dict(_fields(one[15])) if 15 in one else {}
    return Got(
        one[1].hex(),
        one[2].hex(),
        one.get(4, b"").hex(),
        one[5].decode(),
        struct.unpack("<Q", one[7])[0],
        struct.unpack("<Q", one[8])[0],
        _pairs(raw, 9),
        status.get(2, b"").decode(),
    )


def _pairs(raw: bytes, field_: int) -> dict[str, Any]:
    found = {}
    for pair in _all(raw, field_):
        told = dict(_fields(pair))
        [(kind, value)] = list(_fields(told[2]))
        found[told[1].decode()] = _value(kind, value)
    return found


def _value(kind: int, raw: Any) -> Any:
    match kind:
        case 1:
            return raw.decode()
        case 2:
            return bool(raw)
        case 4:
            return struct.unpack("<d", raw)[0]
        case _:
            return raw


def _all(raw: bytes, field_: int) -> list[bytes]:
    return [value for number, value in _fields(raw) if number == field_]


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        match tag & 7:
            case 0:
                value, at = _varint(raw, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, raw[at : at + 8]
                at += 8
            case 2:
                length, at = _varint(raw, at)
                yield tag >> 3, raw[at : at + length]
                at += length
            case other:
                raise AssertionError(f"wire type {other}")


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
