"""Errors as responses: the error document of the command line, with a code and a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.errors import (
    Fault,
    PlanInvalid,
    Refused,
    SettingsInvalid,
    StoreError,
    TemplateInvalid,
    Unknown,
    YaokiError,
)
from yaoki.views import SCHEMA

# The first match counts.
STATUSES: tuple[tuple[type[YaokiError], int, str], ...] = (
    (Unknown, 404, "UNKNOWN"),
    (Refused, 409, "REFUSED"),
    (PlanInvalid, 422, "INVALID"),
    (SettingsInvalid, 422, "INVALID"),
    (TemplateInvalid, 422, "INVALID"),
    (StoreError, 503, "STORE"),
    (Fault, 503, "STORE"),
)


# People read the response; details are in the server's log.
SENTENCE_MAX = 500
DEFECTS_MAX = 100


class RequestRejected(YaokiError):
    """A request that is rejected before anything is read."""

    def __init__(self, status: int, code: str, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence, hint=hint)
        self.status, self.code = status, code
        self.exit_code = 2 if status == 400 else 6


def bad_request(sentence: str) -> RequestRejected:
    return RequestRejected(400, "BAD_REQUEST", sentence, hint="docs/reference/api.md")


def error_document(error: YaokiError) -> tuple[int, Mapping[str, Any]]:
    """The HTTP status and the error document."""
    status, code = _code(error)
    details = {
        "code": code,
        "sentence": _short(error.sentence),
        "hint": _short(error.hint),
        "defects": [_short(one) for one in tuple(getattr(error, "defects", ()))[:DEFECTS_MAX]],
        "exit_code": error.exit_code,
    }
    return status, {"schema": SCHEMA, "error": details}


def _short(text: str) -> str:
    return text if len(text) <= SENTENCE_MAX else text[: SENTENCE_MAX - 1] + "…"


def _code(error: YaokiError) -> tuple[int, str]:
    if isinstance(error, RequestRejected):
        return error.status, error.code
    found = ((status, code) for kind, status, code in STATUSES if isinstance(error, kind))
    return next(found, (500, "INTERNAL"))


def internal_error_document(error: Exception) -> tuple[int, Mapping[str, Any]]:
    return error_document(
        RequestRejected(500, "INTERNAL", f"internal error: {error!r}", hint="yaoki doctor")
    )
