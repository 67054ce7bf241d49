"""A small OTLP/HTTP receiver on loopback that reads requests with OpenTelemetry's own messages."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

ID_FIELDS = ("traceId", "spanId", "parentSpanId")


@dataclass(frozen=True)
class ReceivedSpan:
    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    failed: str


@dataclass
class Receiver:
    """`answer` is the HTTP status of every response."""

    answer: int = 200
    address: str = ""
    refused: int = 0
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)

    @property
    def spans(self) -> list[ReceivedSpan]:
        return [
            _received(span)
            for request in self.requests
            for of_resource in request.resource_spans
            for of_scope in of_resource.scope_spans
            for span in of_scope.spans
        ]

    @property
    def resources(self) -> list[dict[str, Any]]:
        return [
            _attributes(of_resource.resource.attributes)
            for request in self.requests
            for of_resource in request.resource_spans
        ]


@contextmanager
def run_receiver(port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if receiver.answer == 200:
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.paths.append(self.path)
                receiver.headers.append(headers)
                receiver.requests.append(_parse(body, headers))
            else:
                receiver.refused += 1
            self.send_response(receiver.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# ------------------------------------------------------------------ both encodings


def _parse(body: bytes, headers: Mapping[str, str]) -> ExportTraceServiceRequest:
    raw = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
    return parse_json(raw) if headers["content-type"] == "application/json" else parse(raw)


def parse(raw: bytes) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(raw)


def parse_json(raw: bytes) -> ExportTraceServiceRequest:
    """OTLP writes ids in hexadecimal where protobuf's own JSON form has base64."""
    document = json.loads(raw)
    for of_resource in document["resourceSpans"]:
        for of_scope in of_resource["scopeSpans"]:
            for span in of_scope["spans"]:
                for name in ID_FIELDS:
                    if name in span:
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(document, ExportTraceServiceRequest())


def _received(span: Span) -> ReceivedSpan:
    return ReceivedSpan(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _attributes(span.attributes),
        span.status.message,
    )


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "") for pair in pairs}
