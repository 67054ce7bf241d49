"""Makes failures: of the work, of our own infrastructure, and fatal ones with their remedies."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.core.decide.fingerprint import fingerprint
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import (
    Failure,
    FailureKind,
    FindingItem,
    Reason,
)
from yaoki.errors import FatalCode


@dataclass(frozen=True, slots=True)
class FatalEntry:
    """An entry of the fatal catalogue."""

    message: str
    actions: tuple[str, ...]


FATAL_CATALOGUE: Mapping[FatalCode, FatalEntry] = {
    FatalCode.AUTHENTICATION_FAILED: FatalEntry(
        "the agent's service refused the credentials",
        (
            "check the agent's key or log in again",
            "name the key's variable in the agent's pass_env",
        ),
    ),
    FatalCode.PERMISSION_DENIED: FatalEntry(
        "permission to use a command or file was denied",
        ("check the permissions of the command or file",),
    ),
    FatalCode.RESOURCE_NOT_FOUND: FatalEntry(
        "a required command or file was not found",
        ("check the name and the path", "install what is missing"),
    ),
    FatalCode.CHECK_UNFIT: FatalEntry(
        "a check cannot prove what the plan uses it for",
        (
            "change the check's command: it must change no files and leave a readable report",
            "then give the run the changed checks: yaoki plan recheck RUN",
        ),
    ),
    FatalCode.REQUEST_REFUSED: FatalEntry(
        "the agent's service rejected the request as malformed",
        ("check the agent's model and options", "update the agent"),
    ),
}


def make_failure(
    kind: FailureKind,
    message: str,
    *,
    pattern: str = "",
    check: str = "",
    items: tuple[FindingItem, ...] = (),
) -> Failure:
    """A failure with its fingerprint."""
    mark = fingerprint(kind.value, pattern, check, message, items)
    return Failure(kind, message, pattern=pattern, check=check, items=items, fingerprint=mark)


def make_fault(message: str, *, transient: bool, code: FatalCode = FatalCode.NONE) -> Failure:
    """A failure of our own infrastructure; the agent is not to blame."""
    if transient:
        failure = make_failure(FailureKind.TRANSIENT_ERROR, message)
        return replace(failure, is_our_fault=True, reason=Reason.SYSTEM_ERROR_TRANSIENT)
    failure = make_fatal(code or FatalCode.RESOURCE_NOT_FOUND, message, is_our_fault=True)
    if code is FatalCode.UNDELIVERED:
        return replace(failure, reason=Reason.SYSTEM_ERROR_TRANSIENT)
    return failure


def make_fatal(code: FatalCode, message: str, *, is_our_fault: bool = False) -> Failure:
    # In the fingerprint the code has the place of a pattern.
    mark = make_failure(FailureKind.FATAL_ERROR, message, pattern=code.value).fingerprint
    return Failure(
        FailureKind.FATAL_ERROR,
        message,
        fingerprint=mark,
        is_our_fault=is_our_fault,
        reason=Reason.SYSTEM_ERROR_PERMANENT,
        code=code,
    )
