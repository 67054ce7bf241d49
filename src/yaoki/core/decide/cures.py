"""Did a treatment cure the pattern that its attempt was about?"""

from __future__ import annotations

from yaoki.core.machine.events import (
    AwaitingRerun,
    EscalationDecided,
    Event,
    Landed,
    RetryDecided,
)
from yaoki.core.model import Failure, FailureKind
from yaoki.core.model.treatment import Treatment

# Kinds of failure with which the work was verified, or the agent had all its time.
DECIDING_KINDS = frozenset(
    {FailureKind.QUALITY_FAILURE, FailureKind.INCOMPLETE, FailureKind.TIMEOUT}
)
# With these patterns the agent did not do the work, whatever the checks said.
UNDONE_PATTERNS = frozenset({"no-change", "agent-failed"})


def pattern_of(failure: Failure) -> str:
    """The name under which treatments of a failure are counted."""
    return failure.pattern or failure.kind.value


def judge_treatment(treatment: Treatment, event: Event) -> bool | None:
    """Did the treatment cure?  None for an event that does not end the attempt or decide it."""
    match event:
        case Landed():
            return True
        case RetryDecided(failure=failure) | EscalationDecided(failure=failure):
            return _judge_failure(treatment.pattern, failure)
        case AwaitingRerun(failure=failure):
            return _judge_failure(treatment.pattern, failure)
        case _:
            return None


def _judge_failure(pattern: str, failure: Failure) -> bool | None:
    if failure.is_our_fault or failure.account:
        return None
    if pattern == pattern_of(failure):
        return False
    if failure.kind not in DECIDING_KINDS:
        return None
    if failure.kind is FailureKind.TIMEOUT or failure.pattern in UNDONE_PATTERNS:
        return False
    return pattern not in {pattern_of(one) for one in failure.single_failures}
