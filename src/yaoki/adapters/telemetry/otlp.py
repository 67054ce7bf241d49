"""Spans as the body of an OTLP/HTTP request: protobuf, or its JSON form.

The few messages of `opentelemetry.proto.trace.v1` that we need, written by their field numbers.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from yaoki import __version__
from yaoki.adapters.telemetry.attribute_names import SERVICE
from yaoki.adapters.telemetry.spans import AttributeValue, Span

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KIND_INTERNAL, STATUS_ERROR = 1, 2
VARINT, FIXED64, LENGTH = 0, 1, 2


def nanoseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1) * 1000


# ------------------------------------------------------------------ protobuf


def encode_protobuf(spans: Iterable[Span], resource: Mapping[str, AttributeValue]) -> bytes:
    """An ExportTraceServiceRequest."""
    scope = _text(1, SERVICE) + _text(2, __version__)
    scoped = _held(1, scope) + b"".join(_held(2, _span(span)) for span in spans)
    of_resource = _held(1, _pairs(1, resource)) + _held(2, scoped)
    return _held(1, of_resource)


def _span(span: Span) -> bytes:
    status = _held(15, _text(2, span.error) + _number(3, STATUS_ERROR)) if span.error else b""
    return b"".join(
        (
            _held(1, span.trace_id),
            _held(2, span.span_id),
            _held(4, span.parent_id) if span.parent_id else b"",
            _text(5, span.name),
            _number(6, KIND_INTERNAL),
            _fixed(7, struct.pack("<Q", nanoseconds(span.start))),
            _fixed(8, struct.pack("<Q", nanoseconds(span.end))),
            _pairs(9, span.attributes),
            status,
        )
    )


def _pairs(field: int, attributes: Mapping[str, AttributeValue]) -> bytes:
    pairs = (_text(1, key) + _held(2, _any(value)) for key, value in attributes.items())
    return b"".join(_held(field, pair) for pair in pairs)


def _any(value: AttributeValue) -> bytes:
    match value:
        case bool():
            return _number(2, int(value))
        case int():
            return _number(3, value)
        case float():
            return _fixed(4, struct.pack("<d", value))
        case str():
            return _text(1, value)


def _text(field: int, text: str) -> bytes:
    return _held(field, text.encode("utf-8", "replace"))


def _held(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | LENGTH) + _varint(len(data)) + data


def _fixed(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | FIXED64) + data


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | VARINT) + _varint(value & (1 << 64) - 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


# ------------------------------------------------------------------ JSON


def encode_json(spans: Iterable[Span], resource: Mapping[str, AttributeValue]) -> bytes:
    """The same in JSON: ids in hexadecimal, long numbers as text."""
    scope = {"name": SERVICE, "version": __version__}
    scoped = [{"scope": scope, "spans": [_span_document(span) for span in spans]}]
    of_resource = {"resource": {"attributes": _pairs_list(resource)}, "scopeSpans": scoped}
    return json.dumps({"resourceSpans": [of_resource]}).encode()


def _span_document(span: Span) -> dict[str, Any]:
    told: dict[str, Any] = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "name": span.name,
        "kind": KIND_INTERNAL,
        "startTimeUnixNano": str(nanoseconds(span.start)),
        "endTimeUnixNano": str(nanoseconds(span.end)),
        "attributes": _pairs_list(span.attributes),
    }
    if span.parent_id:
        told["parentSpanId"] = span.parent_id.hex()
    if span.error:
        told["status"] = {"code": STATUS_ERROR, "message": span.error}
    return told


def _pairs_list(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any_document(value)} for key, value in attributes.items()]


def _any_document(value: AttributeValue) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
