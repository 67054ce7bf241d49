"""Encodes spans as the body of an OTLP/HTTP request: protobuf or JSON.

Writes the few messages of `opentelemetry.proto.trace.v1` by their field numbers; a test compares
the result with the request of the official exporter.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from yaoki import __version__
from yaoki.ports.spans import SERVICE, AttributeValue, Span

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KIND_INTERNAL, STATUS_ERROR = 1, 2
VARINT, FIXED64, LENGTH = 0, 1, 2


def nanoseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1) * 1000


# ------------------------------------------------------------------ protobuf


def encode_protobuf(spans: Iterable[Span], resource: Mapping[str, AttributeValue]) -> bytes:
    """An `ExportTraceServiceRequest`."""
    scope = _string_field(1, SERVICE) + _string_field(2, __version__)
    scope_spans = _message(1, scope) + b"".join(_message(2, _span_message(span)) for span in spans)
    resource_spans = _message(1, _attribute_fields(1, resource)) + _message(2, scope_spans)
    return _message(1, resource_spans)


def _span_message(span: Span) -> bytes:
    status = (
        _message(15, _string_field(2, span.error) + _integer_field(3, STATUS_ERROR))
        if span.error
        else b""
    )
    return b"".join(
        (
            _message(1, span.trace_id),
            _message(2, span.span_id),
            _message(4, span.parent_id) if span.parent_id else b"",
            _string_field(5, span.name),
            _integer_field(6, KIND_INTERNAL),
            _fixed64_field(7, struct.pack("<Q", nanoseconds(span.start))),
            _fixed64_field(8, struct.pack("<Q", nanoseconds(span.end))),
            _attribute_fields(9, span.attributes),
            status,
        )
    )


def _attribute_fields(field: int, attributes: Mapping[str, AttributeValue]) -> bytes:
    pairs = (
        _string_field(1, key) + _message(2, _any_value(value)) for key, value in attributes.items()
    )
    return b"".join(_message(field, pair) for pair in pairs)


def _any_value(value: AttributeValue) -> bytes:
    match value:
        case bool():
            return _integer_field(2, int(value))
        case int():
            return _integer_field(3, value)
        case float():
            return _fixed64_field(4, struct.pack("<d", value))
        case str():
            return _string_field(1, value)


def _string_field(field: int, text: str) -> bytes:
    return _message(field, text.encode("utf-8", "replace"))


def _message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | LENGTH) + _varint(len(data)) + data


def _fixed64_field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | FIXED64) + data


def _integer_field(field: int, value: int) -> bytes:
    return _varint(field << 3 | VARINT) + _varint(value & (1 << 64) - 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


# ------------------------------------------------------------------ JSON


def encode_json(spans: Iterable[Span], resource: Mapping[str, AttributeValue]) -> bytes:
    """The same in JSON: ids in hexadecimal, 64-bit numbers as text."""
    scope = {"name": SERVICE, "version": __version__}
    scope_spans = [{"scope": scope, "spans": [_span_document(span) for span in spans]}]
    resource_spans = {
        "resource": {"attributes": _attributes_document(resource)},
        "scopeSpans": scope_spans,
    }
    return json.dumps({"resourceSpans": [resource_spans]}).encode()


def _span_document(span: Span) -> dict[str, Any]:
    document: dict[str, Any] = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "name": span.name,
        "kind": KIND_INTERNAL,
        "startTimeUnixNano": str(nanoseconds(span.start)),
        "endTimeUnixNano": str(nanoseconds(span.end)),
        "attributes": _attributes_document(span.attributes),
    }
    if span.parent_id:
        document["parentSpanId"] = span.parent_id.hex()
    if span.error:
        document["status"] = {"code": STATUS_ERROR, "message": span.error}
    return document


def _attributes_document(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value_document(value)} for key, value in attributes.items()]


def _value_document(value: AttributeValue) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
