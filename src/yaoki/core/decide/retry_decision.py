"""The decision after a failure: retry or escalate, with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum, unique

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import FailOverCause, FailureKind, Reason, RetryMethod
from yaoki.core.model.treatment import ArmDraw, AttemptConversation

# The rule of a decision that an exhausted budget, not the failure, ended the retries.
BUDGET_RULE = "10.6"


@unique
class RetryAction(StrEnum):
    """The action after a failure."""

    RETRY = "RETRY"
    ESCALATE = "ESCALATE"


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """Retry or escalate, with everything that led to the decision.

    `closes_account`: a failure that concerns the account closes it for other tasks.  `promised` is
    the part of the delay that only the service asked for.  With `fail_over` the agent with
    `agent_index` continues, and the account that it leaves is closed for `account_wait`.
    `account_avoided`: tasks with another account do not wait for this one.  `conversation` is that
    of the next attempt, and `draw` chose it and its agent, if there was one.
    """

    action: RetryAction
    kind: FailureKind
    tries: int
    tries_max: int
    reasoning: str
    rule: str
    otherwise: str
    delay: timedelta = timedelta(0)
    reason: Reason | None = None
    strategy: RetryMethod = RetryMethod.CONTINUE
    closes_account: bool = True
    promised: timedelta = timedelta(0)
    agent_index: int | None = None
    fail_over: FailOverCause = FailOverCause.NONE
    account_avoided: bool = False
    account_wait: timedelta = timedelta(0)
    conversation: AttemptConversation = AttemptConversation.CONTINUED
    draw: ArmDraw | None = None
    # Further inputs of the decision, for the rationale.
    inputs: Mapping[str, str] = field(default_factory=dict)
