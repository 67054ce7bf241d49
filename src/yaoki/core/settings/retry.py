"""Retries of failed work: the section `retry` of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import (
    CONTENT_KINDS,
    Backoff,
    BackoffType,
    FailureKind,
    RetryRule,
)
from yaoki.core.model.treatment import ConversationMode, LearningMode
from yaoki.core.settings.keys import RETRIES_MAX, SECONDS_MAX, setting

RETRYABLE_KINDS = (
    FailureKind.INCOMPLETE,
    FailureKind.QUALITY_FAILURE,
    FailureKind.TIMEOUT,
    FailureKind.TRANSIENT_ERROR,
    FailureKind.RATE_LIMIT,
    FailureKind.CONFLICT,
    FailureKind.LOST,
)
# A list written before these two kinds existed must not switch them off silently;
# `max_retries = 0` under cause_specific switches one off explicitly.
ALWAYS_RETRYABLE_KINDS = (FailureKind.CONFLICT, FailureKind.LOST)


def with_always_retryable(named: Iterable[FailureKind]) -> tuple[FailureKind, ...]:
    """The list of retryable failures with the kinds that are always retryable."""
    return tuple(dict.fromkeys((*named, *ALWAYS_RETRYABLE_KINDS)))


@dataclass(frozen=True, slots=True)
class KindRetrySettings:
    """The settings of one kind of failure; None means the common default."""

    max_retries: int | None = None
    backoff: Backoff | None = None
    modification_hint: str = ""


_FIVE = timedelta(seconds=5)
DEFAULT_KIND_SETTINGS: Mapping[FailureKind, KindRetrySettings] = MappingProxyType(
    {
        FailureKind.TIMEOUT: KindRetrySettings(
            2, Backoff(BackoffType.FIXED, initial=_FIVE, maximum=_FIVE, jitter=0.0)
        ),
        FailureKind.RATE_LIMIT: KindRetrySettings(
            5,
            Backoff(
                BackoffType.EXPONENTIAL, initial=_FIVE, maximum=timedelta(seconds=60), jitter=0.2
            ),
        ),
        FailureKind.CONFLICT: KindRetrySettings(2),
        FailureKind.LOST: KindRetrySettings(6),
    }
)


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Limits and delays of retries.  `cause_specific` is the user's part, merged over
    `DEFAULT_KIND_SETTINGS`.
    """

    default_max_retries: int = setting(
        3, "retries for kinds of failure without their own number", high=RETRIES_MAX
    )
    default_backoff: Backoff = field(default_factory=Backoff)
    retryable_failures: tuple[FailureKind, ...] = RETRYABLE_KINDS
    cause_specific: Mapping[FailureKind, KindRetrySettings] = field(default_factory=dict)
    rerun_from_branch: bool = setting(
        True, "one re-run from the run branch before a person is asked, if other tasks have landed"
    )
    max_total_attempts: int = setting(
        12, "failed attempts of one task, all kinds together", low=1, high=1_000
    )
    rate_limit_wait_max_s: float = setting(
        21_600.0, "longest wait that a rate limit may ask for", high=SECONDS_MAX
    )
    account_wait_max_s: float = setting(
        43_200.0,
        "how long to wait for a service that does not answer and announces no time",
        high=SECONDS_MAX,
    )
    account_probe_max_s: float = setting(
        600.0, "longest time between two requests to such a service", low=0.01, high=SECONDS_MAX
    )
    fail_over_after_s: float = setting(
        300.0,
        "longest wait for an account if the chain has an agent with another account",
        high=SECONDS_MAX,
    )
    conversation: ConversationMode = setting(
        ConversationMode.CONTINUE,
        "the agent's conversation after a failure of its work",
        words=ConversationMode,
    )
    learn: LearningMode = setting(
        LearningMode.OBSERVE,
        "count what fixed which failure (observe), or let the counts choose agent and conversation "
        "of the next attempt (choose)",
        words=LearningMode,
    )

    def settings_for(self, kind: FailureKind) -> KindRetrySettings:
        """The settings for one kind: the user's part, then the default."""
        shipped, written = (
            DEFAULT_KIND_SETTINGS.get(kind, KindRetrySettings()),
            self.cause_specific.get(kind, KindRetrySettings()),
        )
        most = shipped.max_retries if written.max_retries is None else written.max_retries
        return KindRetrySettings(
            most, written.backoff or shipped.backoff, written.modification_hint
        )

    def rule_for(self, kind: FailureKind) -> RetryRule:
        cause = self.settings_for(kind)
        most = self.default_max_retries if cause.max_retries is None else cause.max_retries
        return RetryRule(most, cause.backoff or self.default_backoff)

    @property
    def content_retries_max(self) -> int:
        """The limit for all failures of the work together; a larger number for one kind raises it,
        since otherwise that number could never be reached.
        """
        written = (
            self.cause_specific.get(kind, KindRetrySettings()).max_retries or 0
            for kind in CONTENT_KINDS
        )
        return max(self.default_max_retries, *written)
