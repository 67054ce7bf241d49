"""Errors as answers: the error document of the command line, with a code and a status."""

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

# The first that fits counts.
STATUSES: tuple[tuple[type[YaokiError], int, str], ...] = (
    (Unknown, 404, "UNKNOWN"),
    (Refused, 409, "REFUSED"),
    (PlanInvalid, 422, "INVALID"),
    (SettingsInvalid, 422, "INVALID"),
    (TemplateInvalid, 422, "INVALID"),
    (StoreError, 503, "STORE"),
    (Fault, 503, "STORE"),
)


class Turned(YaokiError):
    """A request that is turned away before anything is looked at."""

    def __init__(self, status: int, code: str, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence, hint=hint)
        self.status, self.code = status, code
        self.exit_code = 2 if status == 400 else 6


def bad(sentence: str) -> Turned:
    return Turned(400, "BAD_REQUEST", sentence, hint="docs/reference/api.md")


def refusal(error: YaokiError) -> tuple[int, Mapping[str, Any]]:
    """The status and the document that tell it."""
    status, code = _code(error)
    told = {
        "code": code,
        "sentence": error.sentence,
        "hint": error.hint,
        "defects": list(getattr(error, "defects", ())),
        "exit_code": error.exit_code,
    }
    return status, {"schema": SCHEMA, "error": told}


def _code(error: YaokiError) -> tuple[int, str]:
    if isinstance(error, Turned):
        return error.status, error.code
    found = ((status, code) for kind, status, code in STATUSES if isinstance(error, kind))
    return next(found, (500, "INTERNAL"))


def internal(error: Exception) -> tuple[int, Mapping[str, Any]]:
    return refusal(Turned(500, "INTERNAL", f"internal error: {error!r}", hint="yaoki doctor"))
