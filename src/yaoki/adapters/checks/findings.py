"""Findings in their four shapes, with the words every one of them needs."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from yaoki.core.commands.idle import idle
from yaoki.core.display import one_line, plain
from yaoki.core.model import CheckSpec, Finding, Item, Outcome
from yaoki.core.redact import mask

MESSAGE_CHARS_MAX = 300
ITEMS_MAX = 20
# Errors of the system that may be gone at the next try.
TRY_LATER = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE}


def passed(spec: CheckSpec, message: str = "", **seen: Any) -> Finding:
    return _finding(spec, Outcome.PASSED, message, proves=not idle(spec), **seen)


def failed(spec: CheckSpec, message: str, pattern: str = "check-failed", **seen: Any) -> Finding:
    """What the plan calls this failure comes before what it looks like."""
    return _finding(spec, Outcome.FAILED, message, pattern=spec.pattern or pattern, **seen)


def broken(spec: CheckSpec, message: str, *, transient: bool = False, **seen: Any) -> Finding:
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


def bounded(items: list[Item], count: int) -> tuple[Item, ...]:
    """The first items, and how many more there were."""
    rest = count - ITEMS_MAX
    if rest <= 0:
        return tuple(items)
    return (*items[:ITEMS_MAX], Item(f"and {rest} more", more=rest))


def masked(value: Any, secrets: tuple[str, ...]) -> Any:
    """The same data without secrets and control characters in any of its texts."""
    if isinstance(value, str):
        return mask(plain(value), secrets)
    if isinstance(value, list | tuple):
        return type(value)(masked(one, secrets) for one in value)
    if isinstance(value, Mapping):
        return {key: masked(one, secrets) for key, one in value.items()}
    return value
