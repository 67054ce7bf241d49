"""Retry settings of a task or a settings file, merged over the previous ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CONTENT_KINDS, Backoff, BackoffType, FailureKind
from yaoki.core.settings.retry import RETRYABLE_KINDS, KindRetrySettings, RetrySettings
from yaoki.core.text import format_count


def with_max_retries(retry: RetrySettings, most: int) -> RetrySettings:
    """`max_retries` of a task: zero escalates every failure at once, except an interruption;
    another number applies to failures of the work.
    """
    kinds = CONTENT_KINDS if most else frozenset(RETRYABLE_KINDS) - {FailureKind.LOST}
    changed = _with_retries(retry, dict.fromkeys(kinds, most), most)
    return changed if most else replace(changed, rerun_from_branch=False)


def with_iterations(retry: RetrySettings, most: int) -> RetrySettings:
    """`max_iterations` of a task without other retry settings: this many attempts at the work, the
    re-run from the run branch included.
    """
    changed = _with_retries(retry, dict.fromkeys(CONTENT_KINDS, most - 1), most - 1)
    return replace(changed, rerun_from_branch=False)


def within_iterations(retry: RetrySettings, most: int) -> RetrySettings:
    """`max_iterations` as an upper bound on the task's own `retry` settings."""
    together = min(retry.content_retries_max, most - 1)
    lowered = {kind: min(retry.rule_for(kind).retries_max, together) for kind in CONTENT_KINDS}
    return replace(_with_retries(retry, lowered, together), rerun_from_branch=False)


def _with_retries(
    retry: RetrySettings, numbers: Mapping[FailureKind, int], together: int
) -> RetrySettings:
    """New numbers for some kinds and for the work as a whole; other kinds keep theirs."""
    causes = {
        kind: replace(
            retry.settings_for(kind),
            max_retries=numbers.get(kind, retry.rule_for(kind).retries_max),
        )
        for kind in RETRYABLE_KINDS
    }
    return replace(retry, default_max_retries=together, cause_specific=causes)


def with_cause(retry: RetrySettings, kind: FailureKind, cause: KindRetrySettings) -> RetrySettings:
    """The task's own settings for one kind.  Naming a kind makes it retryable."""
    before = retry.cause_specific.get(kind, KindRetrySettings())
    most = before.max_retries if cause.max_retries is None else cause.max_retries
    merged = KindRetrySettings(
        most,
        cause.backoff or before.backoff,
        cause.modification_hint or before.modification_hint,
    )
    listed = retry.retryable_failures
    return replace(
        retry,
        cause_specific={**retry.cause_specific, kind: merged},
        retryable_failures=listed if kind in listed else (*listed, kind),
    )


def merge_backoff(base: Backoff, keys: Mapping[str, Any]) -> Backoff:
    """The keys of a file merged over a backoff.  A fixed wait is its own maximum."""
    kind = BackoffType(keys.get("type", base.type))
    initial = _milliseconds(keys, "initial_delay_ms", base.initial)
    fixed = initial if kind is BackoffType.FIXED else base.maximum
    return Backoff(
        type=kind,
        initial=initial,
        multiplier=float(keys.get("multiplier", base.multiplier)),
        maximum=_milliseconds(keys, "max_delay_ms", fixed),
        jitter=float(keys.get("jitter", base.jitter)),
    )


def _milliseconds(keys: Mapping[str, Any], name: str, otherwise: timedelta) -> timedelta:
    return timedelta(milliseconds=keys[name]) if name in keys else otherwise


def backoff_defect(backoff: Backoff) -> str:
    """The reason why this backoff is invalid; empty when it is valid."""
    initial, maximum = (
        round(wait.total_seconds() * 1_000) for wait in (backoff.initial, backoff.maximum)
    )
    if initial <= maximum:
        return ""
    return f"initial_delay_ms {initial} is over max_delay_ms {maximum}"


def retries_defect(most: int, total: int) -> str:
    """The reason why this number of retries cannot be reached; empty when it can."""
    if most < total:
        return ""
    return (
        f"{format_count(most, 'retry', 'retries')} can never be reached: "
        f"max_total_attempts is {total}"
    )
