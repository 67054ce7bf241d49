"""OTLP encoding and sending, compared with OpenTelemetry's exporter and parser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext
from opentelemetry.trace.status import Status, StatusCode

from tests.adapters.telemetry.collector import parse, parse_json, run_receiver
from tests.builders import NOW
from yaoki import __version__
from yaoki.adapters.telemetry.collector import Collector, ExportFailed
from yaoki.adapters.telemetry.otlp import encode_json, encode_protobuf, nanoseconds
from yaoki.ports.spans import SERVICE, AttributeValue, Span, derive_span_id, derive_trace_id

RESOURCE: dict[str, AttributeValue] = {"service.name": "yaoki", "deployment.environment": "tests"}
ROOT = Span(
    derive_trace_id("r"), derive_span_id("r"), b"", "run", NOW, NOW + timedelta(microseconds=7)
)
SPANS = (
    ROOT,
    replace(
        ROOT,
        span_id=derive_span_id("r", "a", 1),
        parent_id=ROOT.span_id,
        name="attempt 日本",
        attributes={"text": "ü\n", "yes": True, "no": False, "n": -3, "big": 1 << 62, "x": 0.25},
        error="the check failed",
    ),
)


def to_official(span: Span) -> ReadableSpan:
    trace_id = int.from_bytes(span.trace_id)
    parent = (
        SpanContext(trace_id, int.from_bytes(span.parent_id), is_remote=False)
        if span.parent_id
        else None
    )
    return ReadableSpan(
        name=span.name,
        context=SpanContext(trace_id, int.from_bytes(span.span_id), is_remote=False),
        parent=parent,
        resource=Resource(RESOURCE),
        attributes=span.attributes,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
        start_time=nanoseconds(span.start),
        end_time=nanoseconds(span.end),
        instrumentation_scope=InstrumentationScope(SERVICE, __version__),
    )


def send_with_official_exporter(spans: Sequence[Span]) -> ExportTraceServiceRequest:
    with run_receiver() as receiver:
        exporter = OTLPSpanExporter(endpoint=f"{receiver.address}/v1/traces")
        result = exporter.export([to_official(span) for span in spans])
        exporter.shutdown()  # type: ignore[no-untyped-call]  # the library has no type for it
    assert result is SpanExportResult.SUCCESS
    [request] = receiver.requests
    for span in request.resource_spans[0].scope_spans[0].spans:
        # Optional, and only about spans of other processes, of which we have none.
        span.ClearField("flags")
        # Written out by the exporter where nothing is set.
        if not span.status.code:
            span.ClearField("status")
    return request


def test_our_request_equals_that_of_the_official_exporter() -> None:
    official = send_with_official_exporter(SPANS)

    assert parse(encode_protobuf(SPANS, RESOURCE)) == official
    assert parse_json(encode_json(SPANS, RESOURCE)) == official


@pytest.mark.parametrize(
    ("status", "is_retryable"), [(302, False), (400, False), (429, True), (503, True)]
)
def test_a_refusal_says_whether_a_retry_makes_sense(status: int, is_retryable: bool) -> None:
    """The official exporter counts a redirect as delivered and does not distinguish refusals."""
    with run_receiver() as receiver:
        receiver.answer = status
        collector = Collector(f"{receiver.address}/v1/traces")

        with pytest.raises(ExportFailed, match=f"answered {status}") as failure:
            collector.send(SPANS)

    assert failure.value.is_retryable is is_retryable
    assert receiver.refused == 1
