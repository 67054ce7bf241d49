"""Makes findings: passed, failed and broken, with the fields that all of them have."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from yaoki.core.commands.vacuous_checks import why_vacuous
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.core.redact import mask
from yaoki.core.text import one_line, strip_terminal_codes

MESSAGE_CHARS_MAX = 300
# The pattern of a failure of no known kind.
CHECK_FAILED = "check-failed"
# System errors that may be gone at the next attempt.
TRANSIENT_ERRNOS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOMEM,
    errno.EAGAIN,
    errno.EMFILE,
    errno.ENFILE,
}


def make_passed(spec: CheckSpec, message: str = "", **fields: Any) -> Finding:
    return _finding(spec, Outcome.PASSED, message, can_fail=not why_vacuous(spec), **fields)


def make_failed(
    spec: CheckSpec, message: str, pattern: str = CHECK_FAILED, **fields: Any
) -> Finding:
    """The pattern that the plan names takes precedence over the recognised one."""
    return _finding(spec, Outcome.FAILED, message, pattern=spec.pattern or pattern, **fields)


def make_broken(
    spec: CheckSpec, message: str, *, transient: bool = False, **fields: Any
) -> Finding:
    """The check could not run, which says nothing about the work of the agent."""
    return _finding(spec, Outcome.BROKEN, message, transient=transient, **fields)


def _finding(spec: CheckSpec, outcome: Outcome, message: str, **fields: Any) -> Finding:
    return Finding(
        spec.name,
        outcome,
        required=spec.required,
        on_failure=spec.on_failure,
        message=one_line(message, MESSAGE_CHARS_MAX),
        **fields,
    )


def mask_data(value: Any, secrets: tuple[str, ...]) -> Any:
    """The data with secrets masked and control characters removed in every text."""
    if isinstance(value, str):
        return mask(strip_terminal_codes(value), secrets)
    if isinstance(value, list | tuple):
        return type(value)(mask_data(item, secrets) for item in value)
    if isinstance(value, Mapping):
        return {key: mask_data(item, secrets) for key, item in value.items()}
    return value
