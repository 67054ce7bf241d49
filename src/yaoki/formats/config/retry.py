"""The retry section: common rules, and rules for one kind of failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import Backoff, BackoffType, FailureKind
from yaoki.core.settings.keys import MILLISECONDS_MAX, RETRIES_MAX, setting
from yaoki.core.settings.override import backoff_defect, merge_backoff, retries_defect
from yaoki.core.settings.retry import (
    RETRYABLE_KINDS,
    KindRetrySettings,
    RetrySettings,
    with_always_retryable,
)
from yaoki.core.text import did_you_mean

if TYPE_CHECKING:
    from yaoki.formats.config.defects import SettingsDefects

OTHER_KEYS = ("default_backoff", "retryable_failures", "cause_specific")
RENAMED = {"max_retries": "default_max_retries", "backoff": "default_backoff"}


@dataclass(frozen=True, slots=True)
class BackoffKeys:
    """The keys of a backoff; the defaults only give the types."""

    type: BackoffType = setting(BackoffType.EXPONENTIAL, "how the wait grows", words=BackoffType)
    initial_delay_ms: float = setting(0.0, "the first wait", high=MILLISECONDS_MAX)
    max_delay_ms: float = setting(0.0, "the longest wait", high=MILLISECONDS_MAX)
    multiplier: float = setting(2.0, "growth of an exponential wait", low=1, high=1_000)
    jitter: float = setting(0.0, "random share of the wait", high=1)


@dataclass(frozen=True, slots=True)
class CauseKeys:
    """The keys of the rule for one kind of failure."""

    max_retries: int = setting(0, "retries of this kind", high=RETRIES_MAX)
    modification_hint: str = setting("", "words for the agent after a failure of this kind")


def read_retry(raw: Any, notes: SettingsDefects) -> RetrySettings:
    retry = notes.read_section(RetrySettings, raw, "retry", also=OTHER_KEYS, renamed=RENAMED)
    table = raw if isinstance(raw, dict) else {}
    if "default_backoff" in table:
        base = retry.default_backoff
        waits = _backoff(table["default_backoff"], "retry.default_backoff", base, notes)
        retry = replace(retry, default_backoff=waits)
    if "retryable_failures" in table:
        kinds = _kinds(table["retryable_failures"], "retry.retryable_failures", notes)
        retry = replace(retry, retryable_failures=kinds)
    if "cause_specific" in table:
        causes = _causes(table["cause_specific"], retry, notes)
        retry = replace(retry, cause_specific=causes)
    return _within_total(retry, notes)


def _within_total(retry: RetrySettings, notes: SettingsDefects) -> RetrySettings:
    numbers = {"retry.default_max_retries": retry.default_max_retries}
    for kind, cause in retry.cause_specific.items():
        if kind is not FailureKind.LOST:
            numbers[f"retry.cause_specific.{kind}.max_retries"] = cause.max_retries or 0
    for dotted, most in numbers.items():
        if dotted in notes.given_keys and (
            reason := retries_defect(most, retry.max_total_attempts)
        ):
            notes.add(dotted, reason)
    return retry


def _backoff(raw: Any, dotted: str, base: Backoff, notes: SettingsDefects) -> Backoff:
    before = len(notes.lines)
    read = notes.read_section(BackoffKeys, raw, dotted)
    names = raw if isinstance(raw, dict) else ()
    if len(notes.lines) > before:
        return base
    result = merge_backoff(base, {name: getattr(read, name) for name in names})
    if reason := backoff_defect(result):
        notes.add(dotted, reason)
    return result


def _kinds(raw: Any, dotted: str, notes: SettingsDefects) -> tuple[FailureKind, ...]:
    if raw == []:
        notes.given_keys.add(dotted)
        return with_always_retryable(())
    kinds_found = [_kind(word, dotted, notes) for word in notes.read_texts(raw, dotted)]
    return with_always_retryable(kind for kind in kinds_found if kind is not None)


def _kind(word: str, dotted: str, notes: SettingsDefects) -> FailureKind | None:
    if word in RETRYABLE_KINDS:
        return FailureKind(word)
    if word in set(FailureKind):
        notes.add(dotted, f"{word} is never retried")
    else:
        notes.add(dotted, f"unknown kind of failure {word!r}{did_you_mean(word, RETRYABLE_KINDS)}")
    return None


def _causes(
    raw: Any, retry: RetrySettings, notes: SettingsDefects
) -> dict[FailureKind, KindRetrySettings]:
    result: dict[FailureKind, KindRetrySettings] = {}
    for word, table in notes.read_table(raw, "retry.cause_specific").items():
        dotted = f"retry.cause_specific.{word}"
        kind = _kind(word, dotted, notes)
        if kind is not None:
            result[kind] = _cause(table, dotted, retry.rule_for(kind).backoff, notes)
            if kind not in retry.retryable_failures:
                notes.add(dotted, f"nothing uses it: {kind} is not among retryable_failures")
    return result


def _cause(raw: Any, dotted: str, base: Backoff, notes: SettingsDefects) -> KindRetrySettings:
    read = notes.read_section(CauseKeys, raw, dotted, also=("backoff",))
    table = raw if isinstance(raw, dict) else {}
    waits = None
    if "backoff" in table:
        waits = _backoff(table["backoff"], f"{dotted}.backoff", base, notes)
    most = read.max_retries if "max_retries" in table else None
    return KindRetrySettings(most, waits, read.modification_hint)
