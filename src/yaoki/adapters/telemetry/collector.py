"""Sends spans over OTLP/HTTP to the collector that OpenTelemetry's standard variables name."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum, unique
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from yaoki import __version__
from yaoki.adapters.telemetry.otlp import encode_json, encode_protobuf
from yaoki.core.lazy_dataclass import dataclass
from yaoki.ports.spans import SERVICE, AttributeValue, Span

PREFIX = "OTEL_EXPORTER_OTLP_"
TIMEOUT_S, TIMEOUT_S_MAX = 10.0, 60.0
RETRYABLE_STATUSES = frozenset({408, 429, 502, 503, 504})


@unique
class OtlpProtocol(StrEnum):
    """The encodings of a trace over HTTP."""

    PROTOBUF = "http/protobuf"
    JSON = "http/json"


MEDIA_TYPES = {
    OtlpProtocol.PROTOBUF: "application/x-protobuf",
    OtlpProtocol.JSON: "application/json",
}


class ExportFailed(Exception):
    """The collector did not accept the spans; `is_retryable` says whether a retry may help."""

    def __init__(self, message: str, *, is_retryable: bool) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable


class _NoRedirects(HTTPRedirectHandler):
    """Headers, which may hold a secret, are never sent to the target of a redirect."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Collector:
    """`headers` may hold a secret and are never displayed."""

    address: str
    protocol: OtlpProtocol = OtlpProtocol.PROTOBUF
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = TIMEOUT_S
    compressed: bool = False
    resource: Mapping[str, AttributeValue] = field(default_factory=dict)

    @property
    def display_address(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"

    def send(self, spans: Sequence[Span]) -> None:
        """Raises `ExportFailed` unless the status is from 200 to 299."""
        encode = encode_protobuf if self.protocol is OtlpProtocol.PROTOBUF else encode_json
        body = encode(spans, self.resource)
        headers = {"Content-Type": MEDIA_TYPES[self.protocol], **self.headers}
        headers["User-Agent"] = f"{SERVICE}/{__version__}"
        if self.compressed:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        request = Request(self.address, body, headers, method="POST")
        opener: OpenerDirector = build_opener(_NoRedirects)
        try:
            with opener.open(request, timeout=self.timeout_s) as answer:
                answer.read(1 << 16)
        except HTTPError as error:
            with error:
                message = f"{self.display_address} answered {error.code}"
                raise ExportFailed(message, is_retryable=error.code in RETRYABLE_STATUSES) from None
        except (OSError, HTTPException, ValueError) as fault:
            # Not chained: its message may contain the address.
            raise ExportFailed(
                f"{self.display_address} cannot be reached: {_describe(fault)}", is_retryable=True
            ) from None


def _describe(fault: Exception) -> str:
    return str(
        getattr(fault, "reason", "") or getattr(fault, "strerror", "") or type(fault).__name__
    )


def find_collector(env: Mapping[str, str], warn: Callable[[str], None]) -> Collector | None:
    """None if no endpoint is set, or, with a warning, if a variable has an unsupported value."""
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if "otlp" not in env.get("OTEL_TRACES_EXPORTER", "otlp").split(","):
        return None
    address = _endpoint(env)
    if not address:
        return None
    protocol = _variable(env, "PROTOCOL") or OtlpProtocol.PROTOBUF
    if protocol not in tuple(OtlpProtocol):
        supported = ", ".join(OtlpProtocol)
        name = f"{PREFIX}PROTOCOL"
        warn(f"traces are not sent: {name} is {protocol!r}, but only {supported} are supported")
        return None
    if urlsplit(address).scheme not in {"http", "https"}:
        warn(f"traces are not sent: {PREFIX}ENDPOINT is not an http:// or https:// address")
        return None
    return Collector(
        address,
        OtlpProtocol(protocol),
        _parse_pairs(_variable(env, "HEADERS")),
        _timeout(_variable(env, "TIMEOUT")),
        _variable(env, "COMPRESSION") == "gzip",
        _resource(env),
    )


def _variable(env: Mapping[str, str], name: str) -> str:
    """The variable for traces takes precedence over the general one."""
    value = env.get(f"{PREFIX}TRACES_{name}", "") or env.get(f"{PREFIX}{name}", "")
    return value.strip()


def _endpoint(env: Mapping[str, str]) -> str:
    """The endpoint for traces is used as it is; the general one gets the standard path."""
    traces_endpoint = env.get(f"{PREFIX}TRACES_ENDPOINT", "").strip()
    base = env.get(f"{PREFIX}ENDPOINT", "").strip()
    return traces_endpoint or (f"{base.rstrip('/')}/v1/traces" if base else "")


def _parse_pairs(text: str) -> dict[str, str]:
    """Parses `key=value,key=value`, percent-encoded."""
    pairs = (piece.partition("=") for piece in text.split(",") if "=" in piece)
    return {unquote(key.strip()): unquote(value.strip()) for key, _, value in pairs}


def _timeout(text: str) -> float:
    """The variable is in milliseconds."""
    try:
        return min(TIMEOUT_S_MAX, max(0.1, float(text) / 1000)) if text else TIMEOUT_S
    except ValueError:
        return TIMEOUT_S


def _resource(env: Mapping[str, str]) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        "service.name": SERVICE,
        "service.version": __version__,
    }
    attributes.update(_parse_pairs(env.get("OTEL_RESOURCE_ATTRIBUTES", "")))
    if name := env.get("OTEL_SERVICE_NAME", "").strip():
        attributes["service.name"] = name
    return attributes
