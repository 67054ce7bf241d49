"""Results: findings of checks, verdicts, the exit of an agent, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model.agent_enums import (
    AccountProblem,
    AgentLimit,
    EndCause,
    FailOverCause,
)
from yaoki.core.model.enums import (
    FailureKind,
    FaultSource,
    OnFailure,
    Outcome,
    Reason,
)
from yaoki.core.model.names import BUILT_IN_CHECKS
from yaoki.core.model.stored_word import stored_as
from yaoki.errors import FatalCode

# In the params of a finding: the command that a shell did not find.
MISSING_COMMAND_PARAM = "missingCommand"
# In the params of a finding: the check may be wrong itself.  It names a file or an option that does
# not exist, or it found no test.
DOUBTFUL_PARAM = "checkDoubtful"
# In the params of a finding: the program of the check could not even open its script, or does not
# know an option.
CANNOT_START_PARAM = "checkCannotStart"
# In the params of a finding: the path that the command of the check names, which neither the commit
# nor the one below it contains.
MISSING_PATH_PARAM = "checkPathMissing"
# In the params of a failure: how many attempts in a row met exactly it, each time in files that the
# task did not change.  A wrong check, or its environment, may be the cause.
OUTSIDE_CHANGE_PARAM = "sameOutsideChange"
# In the params of a finding: the check, or each test that fails now, passed on the base; so the
# task's work caused the failure.
PASSED_ON_BASE_PARAM = "passedOnBase"
# In the params of a failure: the range of commits that landed after the same work had passed.
LANDED_SINCE_PARAM = "landedSince"
# The param of a finding whose check was ended at its deadline.
TIMED_OUT_PARAM = "timedOut"
# In the params of a conflict: files in which the work itself has markers of an earlier conflict.
MARKED_FILES_PARAM = "markedFiles"


@dataclass(frozen=True, slots=True)
class FindingItem:
    """A detail of a failing check: a test, a file, a line.

    `unlisted_count`: in the last item of a shortened list, the number of items that are left out.
    """

    name: str
    message: str = ""
    where: str = ""
    unlisted_count: int = field(default=0, metadata=stored_as("more"))


# People and agents see so many failures of a check.
ITEMS_MAX = 20


def bound_items(items: Sequence[FindingItem], count: int) -> tuple[FindingItem, ...]:
    """The first items, and one that counts the others."""
    unlisted_count = count - ITEMS_MAX
    if unlisted_count <= 0:
        return tuple(items)
    return (
        *items[:ITEMS_MAX],
        FindingItem(f"and {unlisted_count} more", unlisted_count=unlisted_count),
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check on one commit.

    `transient`: the cause may be gone at the next try; otherwise `code` may name an entry of the
    fatal catalogue.  `retry_after` and `account` belong to a judge whose service reported a limit.
    `fault`: our own code failed on the output of the check.  `passing_tests` names all tests that
    passed, or none where they are unknown or too many; a baseline keeps it, an agent never sees it.
    `failing_tests` names all that failed in the same way; `items` are only the first of them, and
    `unlisted` are the others, or none where they are unknown or too many.
    `can_fail`: a passing result proves something.  `replan`: the task itself is wrong, so no
    further try helps.
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
    code: FatalCode = FatalCode.NONE
    retry_after: timedelta | None = None
    account: str = ""
    fault: str = ""
    passing_tests: tuple[str, ...] = field(default=(), metadata=stored_as("passing"))
    failing_tests: tuple[str, ...] = field(default=(), metadata=stored_as("failing"))
    unlisted: tuple[FindingItem, ...] = ()
    can_fail: bool = field(default=True, metadata=stored_as("proves"))
    replan: bool = False
    # The durations of the re-runs that tell a real failure from a flaky one.
    rerun_seconds: tuple[float, ...] = ()
    # Re-runs that passed, of a check that counts as failed.
    rerun_passes: int = 0

    @property
    def is_acceptable(self) -> bool:
        """Does this finding let the work land, as far as this check is concerned?"""
        return self.outcome not in {Outcome.FAILED, Outcome.BROKEN} or not self.required

    @property
    def is_late(self) -> bool:
        """Did the check exceed its timeout?  It then says nothing about the work."""
        return self.outcome is Outcome.FAILED and bool(self.params.get(TIMED_OUT_PARAM))

    @property
    def is_proof(self) -> bool:
        """Does this finding alone prove something about the work?"""
        good = self.outcome in {Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED}
        return good and self.required and self.can_fail and self.check not in BUILT_IN_CHECKS


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of all checks on one commit.

    Nothing checked is nothing proven: a verdict passes only with a required check that could have
    failed and that passed (or was waived by a person); skipped is not passed.  The built-in checks
    on every change prove nothing about this one.
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return any(f.is_proof for f in self.findings) and all(
            f.is_acceptable for f in self.findings
        )

    @property
    def all_failing(self) -> tuple[Finding, ...]:
        """All findings against the work; those of checks that could not run, if there is no other.

        An agent can fix what failed even while another check waits for a person.
        """
        bad = tuple(f for f in self.findings if not f.is_acceptable)
        return tuple(f for f in bad if f.outcome is Outcome.FAILED) or bad

    @property
    def first_failing(self) -> Finding | None:
        return next(iter(self.all_failing), None)


CUT_OFF_CAUSES = frozenset({EndCause.CANCEL, EndCause.LEASE, EndCause.STOP})


# Each retry after a conflict has the run branch merged in, as a re-run would.
NO_TRY_AFTER_CONFLICT = "a conflict gets no re-run from the run branch"
# Why yaoki ended an agent, in words that follow "the agent".
END_WORDS: Mapping[str, str] = {
    EndCause.DEADLINE: "took too long and was stopped",
    EndCause.HANG: "hung and was stopped",
    EndCause.LEASE: "was interrupted with its worker",
    EndCause.CANCEL: "was cancelled",
    EndCause.OUTPUT: "wrote too much output and was stopped",
    EndCause.STOP: "was stopped on request",
    EndCause.WAITING: "waited too long for its service and was stopped",
    EndCause.QUESTION: "asked a question and was stopped",
    EndCause.TASK_BUDGET: "reached the budget of its task and was stopped",
    EndCause.RUN_BUDGET: "reached the budget of the run and was stopped",
    EndCause.OTHER: "was stopped",
}


def describe_exit(code: int | None, signal: int | None, ended_by: str) -> str:
    """Describe the end of an agent, if it is worth reporting even where its work passed."""
    if ended_by:
        return END_WORDS.get(ended_by, END_WORDS[EndCause.OTHER])
    if signal is not None:
        return f"signal {signal}"
    return f"exit code {code}" if code else ""


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of an agent as it reports it: US dollars, tokens in and out, model calls.

    None means unknown, never zero.
    """

    cost: float | None = None
    tokens: int | None = None
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class AgentExit:
    """The end of an agent process.

    `stderr_tail` is the end of its stderr, `output_tail` the end of its stdout, `report_bytes` the
    size of its stdout.  `question`: the question that it asked.  `reports_failure`: its result file
    or last event says that it failed, and `failure_claim` is the text.  `unreadable`: why its
    result file could not be read, which counts as a failure.  `contradiction`: its description of a
    contradiction between the task and its checks.  `limit_is_unsure`: only its stdout names the
    limit, and its model may have written that; so the limit explains only an attempt that changed
    nothing.  `start_fault`: this machine could not start it; `start_denied`: the program is not
    executable.  `cost` (US dollars), `tokens` and `turns` are its own figures; None means unknown,
    never zero.  `model_responded`: its model said or did anything; None if the output does not show
    it.  `service_message`: what its service said about `limit`; `remedy`: what a person can do.
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
    limit_is_unsure: bool = False
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
    model_responded: bool | None = None
    service_message: str = ""
    remedy: str = ""

    @property
    def was_cut_off(self) -> bool:
        """We ended it, so its result is unknown; only its cost counts."""
        return self.ended_by in CUT_OFF_CAUSES

    @property
    def ended_cleanly(self) -> bool:
        """Did the agent end by itself, with exit code 0, and report no failure?"""
        bad = self.ended_by or self.start_error or self.limit or self.reports_failure
        return self.code == 0 and not bad


@dataclass(frozen=True, slots=True)
class AccountClosure:
    """How long the service of an account has not answered.

    `since` is the time of the first attempt without an answer, `probes` the number of such
    attempts, and `promised` the part of the time since then for which the service asked to wait.
    """

    since: datetime
    probes: int = 1
    promised: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class GivenUpAgent:
    """An agent of the chain that another one took over from, and what it met."""

    index: int
    name: str
    cause: FailOverCause
    message: str = ""


@dataclass(frozen=True, slots=True)
class ClosedAccount:
    """The account of a task as the store has it when an attempt has failed.

    `until`: no task tries before.  `probe_task` is the one task that tries first, `asking_task` the
    one whose question to a person concerns the account.
    """

    problem: AccountProblem
    closure: AccountClosure
    until: datetime
    probe_task: str = ""
    asking_task: str = ""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """One of several checks that failed in the same attempt, as it is reported to the agent."""

    check: str
    message: str
    pattern: str = ""
    items: tuple[FindingItem, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why an attempt did not land.

    If several checks failed, `failed_checks` lists them; the other fields describe all together.
    `account`: the account at its limit, if it is not that of the task's own agent.  `source`: the
    part of our infrastructure that failed.  `replan`: a planner is asked first, if the run has one.
    `account_problem` and `closure` concern the account of the task's own agent; `unanswered`: the
    model never answered in this attempt.  `remedy`: what a person can do about the failure.
    `agent_end`: how the agent ended and what it reported, besides the failed checks.
    `agent_problem`: why this agent cannot work at all, so that another agent may succeed.
    `stopped_on_request`: the worker was asked to stop, and ended the agent in an orderly way.
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
    # Set NEEDS_HUMAN where a re-run would meet the same cause; otherwise rule 8.4 re-runs first.
    reason: Reason | None = None
    code: FatalCode = FatalCode.NONE
    account: str = ""
    source: FaultSource | None = None
    replan: bool = False
    account_problem: AccountProblem = AccountProblem.NONE
    closure: AccountClosure | None = None
    unanswered: bool = False
    remedy: str = ""
    agent_end: str = ""
    agent_problem: FailOverCause = FailOverCause.NONE
    failed_checks: tuple[FailedCheck, ...] = ()
    stopped_on_request: bool = False

    @property
    def single_failures(self) -> tuple[Failure, ...]:
        """A failure for each failed check; the failure itself if there is only one."""
        return tuple(
            replace(
                self,
                message=one.message,
                pattern=one.pattern,
                check=one.check,
                items=one.items,
                params=one.params,
                output=one.output,
                failed_checks=(),
            )
            for one in self.failed_checks
        ) or (self,)
