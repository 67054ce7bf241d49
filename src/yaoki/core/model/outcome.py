"""What was seen: findings, verdicts, how an agent ended, failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from yaoki.core.model.enums import (
    BUILT_IN_CHECKS,
    AgentLimit,
    EndCause,
    FailureKind,
    FaultSource,
    OnFailure,
    Outcome,
    Reason,
)
from yaoki.core.model.stored_word import stored_as


@dataclass(frozen=True, slots=True)
class FindingItem:
    """One detail of a failing check: a test, a file, a line.

    `more` is above zero in the item that ends a list which was cut: so many are not listed.
    """

    name: str
    message: str = ""
    where: str = ""
    unlisted_count: int = field(default=0, metadata=stored_as("more"))


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check saw on one commit.

    `transient`: what broke it may be gone at the next try; `code` is an entry of the fatal
    catalogue where it never is.  `retry_after` and `account` are of a judge whose service named
    a limit.  `fault`: something of ours failed over it and is written down.  `passing` names the
    tests that passed, all of them or, where they are too many or unknown, none; it is kept with a
    baseline and never told to an agent.  `proves`: the check could have failed.  `replan`: the task
    itself is wrong, so no further try helps.
    """

    check: str
    outcome: Outcome
    required: bool = True
    on_failure: OnFailure = OnFailure.RETRY
    pattern: str = ""
    message: str = ""
    items: tuple[FindingItem, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int | None = None
    output: str = ""
    log: str = ""
    seconds: float = 0.0
    transient: bool = False
    code: str = ""
    retry_after: timedelta | None = None
    account: str = ""
    fault: str = ""
    passing_tests: tuple[str, ...] = field(default=(), metadata=stored_as("passing"))
    can_fail: bool = field(default=True, metadata=stored_as("proves"))
    replan: bool = False

    @property
    def is_acceptable(self) -> bool:
        """Does this finding let the list go on?"""
        return self.outcome not in {Outcome.FAILED, Outcome.BROKEN} or not self.required

    @property
    def is_proof(self) -> bool:
        """Does this finding alone prove something of the work?"""
        good = self.outcome in {Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED}
        return good and self.required and self.can_fail and self.check not in BUILT_IN_CHECKS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checks said of one commit.

    Nothing checked is nothing proven: a verdict without a required finding that could have failed
    and passed (or was waived by a person) does not pass, and skipped is not passed.  What must
    hold of any change proves nothing of this one.
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return any(f.is_proof for f in self.findings) and all(
            f.is_acceptable for f in self.findings
        )

    @property
    def first_failing(self) -> Finding | None:
        return next((f for f in self.findings if not f.is_acceptable), None)


CUT_OFF_CAUSES = frozenset({EndCause.CANCEL, EndCause.LEASE, EndCause.STOP})


def describe_exit(code: int | None, signal: int | None, ended_by: str) -> str:
    """An end that deserves a word even where the work was proven."""
    if ended_by:
        return f"ended by its {ended_by}" if ended_by == EndCause.DEADLINE else f"ended: {ended_by}"
    if signal is not None:
        return f"signal {signal}"
    return f"exit code {code}" if code else ""


@dataclass(frozen=True, slots=True)
class AgentExit:
    """How an agent ended.  `error` is the bounded tail of its
    error channel; `question` what it asked.  `failed`: its own note or last event says so, `claim`
    in which words; `unreadable`: why its note could not be read, which is no word of success.
    `contradiction`: it says that the task and its checks contradict each other.  `start_fault`:
    this machine could not start it; `start_denied`: it may not be executed here.
    `report_bytes`: how much it said on its
    output; `said`: the end of it.  `cost` (US dollars), `tokens` and `turns` are what it reported
    of itself; None when it did not, which is unknown and never zero.
    """

    code: int | None = None
    signal: int | None = None
    ended_by: EndCause = EndCause.NONE
    seconds: float = 0.0
    output_bytes: int = 0
    output_bytes_max: int = 0
    stderr_tail: str = field(default="", metadata=stored_as("error"))
    question: str = ""
    retry_after: timedelta | None = None
    limit: AgentLimit = AgentLimit.NONE
    retry_safe: bool = True
    session: str = ""
    start_error: str = ""
    start_fault: bool = False
    start_denied: bool = False
    reports_failure: bool = field(default=False, metadata=stored_as("failed"))
    failure_claim: str = field(default="", metadata=stored_as("claim"))
    unreadable: str = ""
    contradiction: str = ""
    report_bytes: int = 0
    output_tail: str = field(default="", metadata=stored_as("said"))
    cost: float | None = None
    tokens: int | None = None
    turns: int | None = None

    @property
    def was_cut_off(self) -> bool:
        """Ended for our own reasons: nobody knows what it would have done, only what it cost."""
        return self.ended_by in CUT_OFF_CAUSES

    @property
    def exit_description(self) -> str:
        """How it ended, where that was not by itself with exit code 0; else empty."""
        return describe_exit(self.code, self.signal, self.ended_by)

    @property
    def ended_cleanly(self) -> bool:
        """Nothing it left behind says that it did not come to its own end."""
        bad = self.ended_by or self.start_error or self.limit or self.reports_failure
        return self.code == 0 and not bad


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt did not land.

    `account`: whose limit it was when it was not that of the task's own agent.  `source`: what
    of ours failed.  `replan`: a planner is asked first, if the run has one.
    """

    kind: FailureKind
    message: str
    pattern: str = ""
    check: str = ""
    items: tuple[FindingItem, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    fingerprint: str = ""
    retry_after: timedelta | None = None
    retry_safe: bool = True
    is_our_fault: bool = field(default=False, metadata=stored_as("ours"))
    reason: Reason | None = None
    code: str = ""
    account: str = ""
    source: FaultSource | None = None
    replan: bool = False
