"""From facts to a failure: structure first, prose never."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import MINUTE, a_finding, a_verdict, an_exit
from yaoki.core.decide.exit_classification import (
    classify_before_verify,
    classify_exit,
    classify_no_change,
)
from yaoki.core.decide.failures import FATAL_CATALOGUE, make_fault
from yaoki.core.decide.verdict_classification import classify_verdict
from yaoki.core.model import (
    AgentExit,
    AgentLimit,
    FailureKind,
    FindingItem,
    OnFailure,
    Outcome,
    Reason,
    Verdict,
)
from yaoki.errors import FatalCode

FAILING = Verdict((a_finding(Outcome.FAILED, message="test_login failed", pattern="test-failed"),))

# The classification of an exit without verified work.
EXITS = [
    (an_exit(ended_by="deadline"), "TIMEOUT"),
    (an_exit(ended_by="hang"), "TIMEOUT"),
    (an_exit(ended_by="output", output_bytes=9), "RESOURCE_EXHAUSTED"),
    (an_exit(code=1, limit=AgentLimit("rate")), "RATE_LIMIT"),
    (an_exit(code=0, limit=AgentLimit("rate")), "RATE_LIMIT"),
    (an_exit(code=1, limit=AgentLimit("auth")), "FATAL_ERROR"),
    (an_exit(code=1, limit=AgentLimit("overloaded")), "TRANSIENT_ERROR"),
    (an_exit(code=0), None),
    (an_exit(code=1), None),
    (an_exit(code=None, signal=9), None),
]


@pytest.mark.spec("4.2", "3.10")
@pytest.mark.parametrize(("exit_", "kind"), EXITS)
def test_an_exit_is_classified_by_its_structured_fields(exit_: AgentExit, kind: str | None) -> None:
    found = classify_exit(exit_)

    assert (found.kind.value if found else None) == kind


PROSE = ["HTTP 429 too many requests", "authentication failed", "401", "rate limit", "timeout"]


@pytest.mark.spec("4.2")
@pytest.mark.parametrize("words", PROSE)
def test_prose_of_an_agent_is_not_classified(words: str) -> None:
    """An agent that writes about limits is not limited."""
    exit_ = an_exit(code=1, stderr_tail=words)

    assert classify_exit(exit_) is None
    assert classify_before_verify(exit_) is None
    assert classify_no_change(exit_).kind is FailureKind.INCOMPLETE
    assert classify_verdict(FAILING, exit_).kind is FailureKind.QUALITY_FAILURE


NOTHING = [
    (an_exit(code=0), "INCOMPLETE", ""),
    (an_exit(code=1), "INCOMPLETE", ""),
    (an_exit(code=126), "FATAL_ERROR", FatalCode.PERMISSION_DENIED),
    (an_exit(code=127), "FATAL_ERROR", FatalCode.RESOURCE_NOT_FOUND),
    (an_exit(code=None, signal=11), "TRANSIENT_ERROR", ""),
    (an_exit(code=1, limit=AgentLimit("rate")), "RATE_LIMIT", ""),
    (an_exit(code=1, limit=AgentLimit("auth")), "FATAL_ERROR", FatalCode.AUTHENTICATION_FAILED),
    (an_exit(ended_by="deadline"), "TIMEOUT", ""),
]


@pytest.mark.spec("4.2", "3.5")
@pytest.mark.parametrize(("exit_", "kind", "code"), NOTHING)
def test_an_exit_without_changes_is_classified_by_its_cause(
    exit_: AgentExit, kind: str, code: str
) -> None:
    failure = classify_no_change(exit_)

    assert (failure.kind.value, failure.code) == (kind, code)
    assert not failure.is_our_fault


@pytest.mark.spec("4.2", "4.5")
def test_an_agent_without_changes_fails_with_its_pattern_and_exit_code() -> None:
    assert classify_no_change(an_exit(code=3)).pattern == "no-change"
    assert "exit code 3" in classify_no_change(an_exit(code=3)).message


@pytest.mark.spec("5.4")
def test_a_rate_limit_carries_the_named_wait() -> None:
    found = classify_exit(an_exit(limit=AgentLimit("rate"), retry_after=MINUTE))

    assert found is not None
    assert found.retry_after == MINUTE


BEFORE = [
    (an_exit(question="Which database?"), "ESCALATE_REQUIRED", ""),
    # The words come from the system, in whatever language it speaks; only the fact decides.
    (
        an_exit(code=None, start_error="Keine Berechtigung", start_denied=True),
        "FATAL_ERROR",
        FatalCode.PERMISSION_DENIED,
    ),
    (
        an_exit(code=None, start_error="cannot run /opt/permissions/agent: No such file"),
        "FATAL_ERROR",
        FatalCode.RESOURCE_NOT_FOUND,
    ),
    (an_exit(code=1, retry_safe=False), "ESCALATE_REQUIRED", ""),
]


@pytest.mark.spec("3.9", "4.2", "5.7")
@pytest.mark.parametrize(("exit_", "kind", "code"), BEFORE)
def test_some_exits_are_classified_before_verification(
    exit_: AgentExit, kind: str, code: str
) -> None:
    failure = classify_before_verify(exit_)

    assert failure is not None
    assert (failure.kind.value, failure.code) == (kind, code)


@pytest.mark.spec("3.9")
def test_a_question_is_kept_verbatim() -> None:
    failure = classify_before_verify(an_exit(question="Which database?"))

    assert failure is not None
    assert failure.message == "Which database?"


@pytest.mark.spec("5.7")
def test_the_last_output_line_explains_an_unsafe_retry() -> None:
    failure = classify_before_verify(
        an_exit(retry_safe=False, stderr_tail="a\nhalf a migration ran\n")
    )

    assert failure is not None
    assert not failure.retry_safe
    assert "half a migration ran" in failure.message


@pytest.mark.spec("4.2")
@pytest.mark.parametrize("code", [0, 1, 2, 126, 127])
def test_an_exit_code_alone_decides_nothing(code: int) -> None:
    assert classify_before_verify(an_exit(code=code)) is None


# ------------------------------------------------------------------ verdicts


@pytest.mark.spec("0.1", "16.4")
@pytest.mark.parametrize(
    ("verdict", "passed"),
    [
        (a_verdict(), False),
        (a_verdict(Outcome.PASSED), True),
        (a_verdict(Outcome.WAIVED), True),
        (Verdict((a_finding(Outcome.WAIVED, check="scope"),)), False),
        (a_verdict(Outcome.SKIPPED), False),
        (a_verdict(Outcome.PASSED, Outcome.SKIPPED), True),
        (a_verdict(Outcome.PASSED, Outcome.FAILED), False),
        (a_verdict(Outcome.PASSED, Outcome.BROKEN), False),
        (Verdict((a_finding(Outcome.FAILED, required=False),)), False),
        (Verdict((a_finding(), a_finding(Outcome.FAILED, required=False))), True),
        (Verdict((a_finding(), a_finding(Outcome.BROKEN, required=False))), True),
        (Verdict((a_finding(can_fail=False),)), False),
        (Verdict((a_finding(required=False),)), False),
        (Verdict((a_finding(can_fail=False), a_finding(Outcome.SKIPPED))), False),
        (Verdict((a_finding(can_fail=False), a_finding())), True),
    ],
)
def test_a_verdict_passes_only_with_a_passed_required_check(verdict: Verdict, passed: bool) -> None:
    assert verdict.passed is passed


@pytest.mark.spec("0.1", "4.4")
def test_a_verdict_without_findings_is_a_quality_failure() -> None:
    assert classify_verdict(a_verdict(), None).kind is FailureKind.QUALITY_FAILURE


@pytest.mark.spec("4.4", "4.5", "6.9")
def test_the_failure_of_a_check_has_its_items_and_output() -> None:
    items = (FindingItem("test_login", "assert 1 == 2", "tests/a.py:3"),)
    finding = a_finding(
        Outcome.FAILED, message="1 failed", pattern="test-failed", items=items, output="log"
    )

    failure = classify_verdict(Verdict((finding,)), an_exit())

    assert (failure.kind, failure.pattern) == (FailureKind.QUALITY_FAILURE, "test-failed")
    assert (failure.check, failure.items, failure.output) == ("tests", items, "log")
    assert failure.fingerprint


@pytest.mark.spec("4.8")
@pytest.mark.parametrize(
    ("transient", "kind", "code"),
    [(True, "TRANSIENT_ERROR", ""), (False, "FATAL_ERROR", FatalCode.RESOURCE_NOT_FOUND)],
)
def test_a_check_that_cannot_run_is_a_system_fault(transient: bool, kind: str, code: str) -> None:
    broken = Verdict((a_finding(Outcome.BROKEN, message="no pytest", transient=transient),))

    failure = classify_verdict(broken, an_exit(limit=AgentLimit("rate")))

    assert failure.is_our_fault
    assert (failure.kind.value, failure.code) == (kind, code)


@pytest.mark.spec("4.8", "4.7")
def test_an_unfit_check_must_be_fixed_in_the_plan() -> None:
    unfit = Verdict((a_finding(Outcome.BROKEN, message="it writes", code=FatalCode.CHECK_UNFIT),))

    failure = classify_verdict(unfit, an_exit())

    assert (failure.code, failure.is_our_fault, failure.check) == (
        FatalCode.CHECK_UNFIT,
        True,
        "tests",
    )
    assert failure.message == "its result cannot be trusted: it writes"
    assert "change the check's command" in FATAL_CATALOGUE[failure.code].actions[0]


@pytest.mark.spec("5.4", "6.7")
def test_a_limited_judge_is_a_rate_limit_of_its_own_account() -> None:
    wait = timedelta(minutes=7)
    limited = a_finding(Outcome.BROKEN, transient=True, account="critic", retry_after=wait)

    failure = classify_verdict(Verdict((limited,)), an_exit())

    assert (failure.kind, failure.is_our_fault) == (FailureKind.RATE_LIMIT, False)
    assert (failure.account, failure.retry_after) == ("critic", wait)


@pytest.mark.spec("4.2", "4.6")
def test_the_last_words_of_an_agent_are_reported_outside_the_fingerprint() -> None:
    one, other = (
        classify_no_change(an_exit(code=1, stderr_tail=f"a\nError: {n}\n"))
        for n in ("flux", "flow")
    )

    assert one.message == "nothing was changed; it ended with exit code 1: a | Error: flux"
    assert one.fingerprint == other.fingerprint


@pytest.mark.spec("4.2")
def test_a_rate_limit_takes_precedence_over_a_failing_check() -> None:
    assert (
        classify_verdict(FAILING, an_exit(limit=AgentLimit("rate"))).kind is FailureKind.RATE_LIMIT
    )


@pytest.mark.spec("6.8")
def test_a_check_may_forbid_retries() -> None:
    final = Verdict((a_finding(Outcome.FAILED, on_failure=OnFailure.ABORT),))

    assert classify_verdict(final, an_exit()).kind is FailureKind.ESCALATE_REQUIRED


@pytest.mark.spec("0.4")
def test_the_output_kept_with_a_failure_is_bounded() -> None:
    loud = Verdict((a_finding(Outcome.FAILED, output="x" * 100_000 + "the end"),))

    output = classify_verdict(loud, an_exit()).output

    assert len(output) <= 6_000
    assert output.endswith("the end")


# ------------------------------------------------------------------ fatal


@pytest.mark.spec("4.7")
@pytest.mark.parametrize(
    "code",
    [FatalCode.AUTHENTICATION_FAILED, FatalCode.PERMISSION_DENIED, FatalCode.RESOURCE_NOT_FOUND],
)
def test_each_entry_of_the_fatal_catalogue_has_a_message_and_a_remedy(code: FatalCode) -> None:
    entry = FATAL_CATALOGUE[code]

    assert entry.message
    assert entry.actions
    assert all(entry.actions)


@pytest.mark.spec("4.2", "4.7")
def test_a_refused_key_is_a_permanent_error() -> None:
    failure = classify_exit(an_exit(limit=AgentLimit("auth")))

    assert failure is not None
    assert failure.reason is Reason.SYSTEM_ERROR_PERMANENT
    assert failure.message == FATAL_CATALOGUE[FatalCode.AUTHENTICATION_FAILED].message


@pytest.mark.spec("4.8")
def test_a_system_fault_is_not_the_agents_failure() -> None:
    assert make_fault("disk", transient=True).is_our_fault
    assert make_fault("disk", transient=False).is_our_fault
    assert make_fault("disk", transient=False).reason is Reason.SYSTEM_ERROR_PERMANENT
