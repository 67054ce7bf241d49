"""The collector that OpenTelemetry's own variables name, asked over OTLP/HTTP."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from yaoki import __version__
from yaoki.adapters.telemetry.attribute_names import SERVICE
from yaoki.adapters.telemetry.otlp import encode_json, encode_protobuf
from yaoki.adapters.telemetry.spans import AttributeValue, Span
from yaoki.core.lazy_dataclass import dataclass

PREFIX = "OTEL_EXPORTER_OTLP_"
TIMEOUT_S, TIMEOUT_S_MAX = 10.0, 60.0
RETRYABLE_STATUSES = frozenset({408, 429, 502, 503, 504})
PROTOCOLS = {"http/protobuf": "application/x-protobuf", "http/json": "application/json"}


class ExportFailed(Exception):
    """It was not taken; with `again` it may be another time."""

    def __init__(self, why: str, *, is_retryable: bool) -> None:
        super().__init__(why)
        self.is_retryable = is_retryable


class _NoRedirects(HTTPRedirectHandler):
    """Whoever answers with another address does not get our headers sent there."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Collector:
    """`headers` may hold a secret, so they are never shown."""

    address: str
    protocol: str = "http/protobuf"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = TIMEOUT_S
    compressed: bool = False
    resource: Mapping[str, AttributeValue] = field(default_factory=dict)

    @property
    def display_address(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"

    def send(self, spans: Sequence[Span]) -> None:
        """Taken means an answer from 200 to 299; `ExportFailed` else."""
        make = encode_protobuf if self.protocol == "http/protobuf" else encode_json
        body = make(spans, self.resource)
        headers = {"Content-Type": PROTOCOLS[self.protocol], **self.headers}
        headers["User-Agent"] = f"{SERVICE}/{__version__}"
        if self.compressed:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        request = Request(self.address, body, headers, method="POST")
        opener: OpenerDirector = build_opener(_NoRedirects)
        try:
            with opener.open(request, timeout=self.timeout_s) as answer:
                answer.read(1 << 16)
        except HTTPError as said:
            with said:
                words = f"{self.display_address} answered {said.code}"
                raise ExportFailed(words, is_retryable=said.code in RETRYABLE_STATUSES) from None
        except (OSError, HTTPException, ValueError) as fault:
            # Not chained: its words may hold the address.
            raise ExportFailed(
                f"{self.display_address} is not reached: {_why(fault)}", is_retryable=True
            ) from None


def _why(fault: Exception) -> str:
    return str(
        getattr(fault, "reason", "") or getattr(fault, "strerror", "") or type(fault).__name__
    )


def find_collector(env: Mapping[str, str], warn: Callable[[str], None]) -> Collector | None:
    """Nothing unless an endpoint is named; what cannot be obeyed is said, and nothing is sent."""
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if "otlp" not in env.get("OTEL_TRACES_EXPORTER", "otlp").split(","):
        return None
    address = _address(env)
    if not address:
        return None
    protocol = _of(env, "PROTOCOL") or "http/protobuf"
    if protocol not in PROTOCOLS:
        spoken = ", ".join(PROTOCOLS)
        warn(f"traces are not sent: {PREFIX}PROTOCOL is {protocol!r}, and only {spoken} is spoken")
        return None
    if urlsplit(address).scheme not in {"http", "https"}:
        warn(f"traces are not sent: {PREFIX}ENDPOINT is no http:// or https:// address")
        return None
    return Collector(
        address,
        protocol,
        _pairs(_of(env, "HEADERS")),
        _timeout(_of(env, "TIMEOUT")),
        _of(env, "COMPRESSION") == "gzip",
        _resource(env),
    )


def _of(env: Mapping[str, str], name: str) -> str:
    """The one for traces comes before the one for everything."""
    found = env.get(f"{PREFIX}TRACES_{name}", "") or env.get(f"{PREFIX}{name}", "")
    return found.strip()


def _address(env: Mapping[str, str]) -> str:
    """The one for traces is taken as it stands, the other gets the standard path."""
    own = env.get(f"{PREFIX}TRACES_ENDPOINT", "").strip()
    base = env.get(f"{PREFIX}ENDPOINT", "").strip()
    return own or (f"{base.rstrip('/')}/v1/traces" if base else "")


def _pairs(text: str) -> dict[str, str]:
    """`key=value,key=value`, each percent-encoded."""
    held = (piece.partition("=") for piece in text.split(",") if "=" in piece)
    return {unquote(key.strip()): unquote(value.strip()) for key, _, value in held}


def _timeout(text: str) -> float:
    """In milliseconds."""
    try:
        return min(TIMEOUT_S_MAX, max(0.1, float(text) / 1000)) if text else TIMEOUT_S
    except ValueError:
        return TIMEOUT_S


def _resource(env: Mapping[str, str]) -> dict[str, AttributeValue]:
    own: dict[str, AttributeValue] = {"service.name": SERVICE, "service.version": __version__}
    own.update(_pairs(env.get("OTEL_RESOURCE_ATTRIBUTES", "")))
    if name := env.get("OTEL_SERVICE_NAME", "").strip():
        own["service.name"] = name
    return own
