"""Findings in their four shapes, with the words every one of them needs."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from yaoki.core.commands.vacuous_checks import why_vacuous
from yaoki.core.model import CheckSpec, Finding, FindingItem, Outcome
from yaoki.core.redact import mask
from yaoki.core.text import one_line, strip_terminal_codes

MESSAGE_CHARS_MAX = 300
ITEMS_MAX = 20
# Errors of the system that may be gone at the next try.
TRANSIENT_ERRNOS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOMEM,
    errno.EAGAIN,
    errno.EMFILE,
    errno.ENFILE,
}


def make_passed(spec: CheckSpec, message: str = "", **seen: Any) -> Finding:
    return _finding(spec, Outcome.PASSED, message, can_fail=not why_vacuous(spec), **seen)


def make_failed(
    spec: CheckSpec, message: str, pattern: str = "check-failed", **seen: Any
) -> Finding:
    """What the plan calls this failure comes before what it looks like."""
    return _finding(spec, Outcome.FAILED, message, pattern=spec.pattern or pattern, **seen)


def make_broken(spec: CheckSpec, message: str, *, transient: bool = False, **seen: Any) -> Finding:
    """It could not run, which proves nothing and is not the agent's doing."""
    return _finding(spec, Outcome.BROKEN, message, transient=transient, **seen)


def _finding(spec: CheckSpec, outcome: Outcome, message: str, **seen: Any) -> Finding:
    return Finding(
        spec.name,
        outcome,
        required=spec.required,
        on_failure=spec.on_failure,
        message=one_line(message, MESSAGE_CHARS_MAX),
        **seen,
    )


def bound_items(items: list[FindingItem], count: int) -> tuple[FindingItem, ...]:
    """The first items, and how many more there were."""
    rest = count - ITEMS_MAX
    if rest <= 0:
        return tuple(items)
    return (*items[:ITEMS_MAX], FindingItem(f"and {rest} more", unlisted_count=rest))


def mask_data(value: Any, secrets: tuple[str, ...]) -> Any:
    """The same data without secrets and control characters in any of its texts."""
    if isinstance(value, str):
        return mask(strip_terminal_codes(value), secrets)
    if isinstance(value, list | tuple):
        return type(value)(mask_data(one, secrets) for one in value)
    if isinstance(value, Mapping):
        return {key: mask_data(one, secrets) for key, one in value.items()}
    return value
