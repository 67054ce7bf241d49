"""The message and params of each failure, and how it quotes the agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import SECOND, a_failure, a_finding, an_exit
from yaoki.core.decide.exit_classification import (
    add_work_location,
    classify_before_verify,
    classify_contradiction,
    classify_exit,
    classify_git_refusal,
    classify_needless_run,
    classify_no_change,
    classify_oversize,
    classify_own_report,
    describe_failed_agent,
)
from yaoki.core.decide.failures import FATAL_CATALOGUE, make_failure, make_fatal, make_fault
from yaoki.core.decide.verdict_classification import classify_verdict
from yaoki.core.model import (
    AgentExit,
    AgentLimit,
    EndCause,
    Failure,
    FailureKind,
    FindingItem,
    OnFailure,
    Outcome,
    Reason,
    Verdict,
)
from yaoki.errors import FatalCode

pytestmark = pytest.mark.spec("4.2")

K = FailureKind
FAILED, BROKEN, SKIPPED = Outcome.FAILED, Outcome.BROKEN, Outcome.SKIPPED


def kind_and_message(failure: Failure | None) -> tuple[str, str]:
    assert failure is not None
    return failure.kind.value, failure.message


# ------------------------------------------------------------------ before verification


@pytest.mark.parametrize(
    ("exit_", "kind", "words"),
    [
        (an_exit(ended_by=EndCause.LEASE), "LOST", "the agent was interrupted with its worker"),
        (an_exit(question="Which port?"), "ESCALATE_REQUIRED", "Which port?"),
        (
            an_exit(start_error="out of memory", start_fault=True),
            "TRANSIENT_ERROR",
            "the agent could not be started: out of memory",
        ),
        (an_exit(start_error="no agent"), "FATAL_ERROR", "the agent did not start: no agent"),
        (
            an_exit(retry_safe=False, stderr_tail="paid\nfor it\n"),
            "ESCALATE_REQUIRED",
            "the agent reported retry_safe: false: for it",
        ),
        (
            an_exit(retry_safe=False),
            "ESCALATE_REQUIRED",
            "the agent reported retry_safe: false: no reason given",
        ),
    ],
)
def test_an_exit_that_needs_no_check_is_classified_with_its_message(
    exit_: AgentExit, kind: str, words: str
) -> None:
    assert kind_and_message(classify_before_verify(exit_)) == (kind, words)


@pytest.mark.parametrize(
    ("given", "code"),
    [({}, FatalCode.RESOURCE_NOT_FOUND), ({"start_denied": True}, FatalCode.PERMISSION_DENIED)],
)
def test_a_failed_start_has_its_code_and_reason(given: dict[str, Any], code: str) -> None:
    failure = classify_before_verify(an_exit(start_error="x", **given))

    assert failure is not None
    assert (failure.code, failure.reason) == (code, Reason.SYSTEM_ERROR_PERMANENT)
    assert not failure.is_our_fault
    assert failure.fingerprint


def test_a_failed_start_by_a_system_fault_is_not_the_agents_failure() -> None:
    failure = classify_before_verify(an_exit(start_error="x", start_fault=True))

    assert failure is not None
    assert failure.is_our_fault
    assert failure.reason is Reason.SYSTEM_ERROR_TRANSIENT


def test_a_failure_that_is_unsafe_to_retry_goes_to_a_planner_or_person() -> None:
    failure = classify_before_verify(an_exit(retry_safe=False))

    assert failure is not None
    assert (failure.retry_safe, failure.replan) == (False, True)
    assert failure.fingerprint == make_failure(failure.kind, failure.message).fingerprint


def test_an_ordinary_exit_is_left_to_the_checks() -> None:
    assert classify_before_verify(an_exit()) is None
    assert classify_before_verify(an_exit(code=1)) is None


def test_a_contradiction_quotes_both_sides_within_a_limit() -> None:
    failure = classify_contradiction(" the goal ", f"{'x' * 900} ")

    assert failure.kind is K.ESCALATE_REQUIRED
    assert failure.message == (
        "The agent says that the task and its checks contradict each other.\n\n"
        f"The task:\nthe goal\n\nThe agent:\n{'x' * 799}…"
    )


@pytest.mark.spec("14.4")
def test_an_oversized_change_names_its_first_excesses() -> None:
    excess = [f"f{n} is too large" for n in range(120)]

    failure = classify_oversize(excess)

    assert (failure.kind, failure.pattern, failure.check) == (
        K.INCOMPLETE,
        "too-large",
        "too-large",
    )
    assert failure.message == "; ".join(excess[:5])
    assert failure.params == {"tooLarge": excess[:100]}


@pytest.mark.spec("14.4")
def test_a_refusal_of_git_goes_back_to_the_agent_in_its_words() -> None:
    failure = classify_git_refusal("git add failed: fatal: BOM is required in 'a.py'")

    assert (failure.kind, failure.pattern) == (K.INCOMPLETE, "check-failed")
    assert failure.message == "git add failed: fatal: BOM is required in 'a.py'"


# ------------------------------------------------------------------ the end of the agent


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (
            {"ended_by": EndCause.DEADLINE, "seconds": 61.4},
            "TIMEOUT",
            "the agent was still working at its deadline and was ended after 1 min 1 s",
        ),
        (
            {"ended_by": EndCause.HANG, "seconds": 600.2},
            "TIMEOUT",
            "the agent hung: no CPU, output or file change; ended after 10 min",
        ),
        (
            {"ended_by": EndCause.OUTPUT, "output_bytes": 12, "output_bytes_max": 10},
            "RESOURCE_EXHAUSTED",
            "the agent wrote 12 bytes; 10 bytes are allowed",
        ),
        (
            {"ended_by": EndCause.OUTPUT, "output_bytes": 12},
            "RESOURCE_EXHAUSTED",
            "the agent wrote 12 bytes",
        ),
        (
            {"limit": AgentLimit.RATE},
            "RATE_LIMIT",
            "the agent's service answered with a rate limit",
        ),
        (
            {"limit": AgentLimit.OVERLOADED},
            "TRANSIENT_ERROR",
            "the agent's service was overloaded or unreachable",
        ),
        (
            {"limit": AgentLimit.AUTH},
            "FATAL_ERROR",
            "the agent's service refused the credentials",
        ),
        (
            {"limit": AgentLimit.MONEY},
            "RESOURCE_EXHAUSTED",
            "the agent's account has no money or credit left",
        ),
        (
            {"ended_by": EndCause.WAITING},
            "TRANSIENT_ERROR",
            "the agent waited too long for its service",
        ),
    ],
)
def test_an_exit_is_classified_with_its_message(
    given: dict[str, Any], kind: str, words: str
) -> None:
    assert kind_and_message(classify_exit(an_exit(**given))) == (kind, words)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"code": 1},
        {"limit": AgentLimit.TURNS},
        {"ended_by": EndCause.WAITING, "limit": AgentLimit.REQUEST},
    ],
)
def test_an_ordinary_exit_is_not_classified(given: dict[str, Any]) -> None:
    assert classify_exit(an_exit(**given)) is None


def test_a_timeout_and_a_rate_limit_carry_their_numbers() -> None:
    late = classify_exit(an_exit(ended_by=EndCause.DEADLINE, seconds=61.6))
    limited = classify_exit(an_exit(limit=AgentLimit.RATE, retry_after=7 * SECOND))

    assert late is not None
    assert late.params == {"elapsedSeconds": 62}
    assert limited is not None
    assert limited.retry_after == 7 * SECOND
    auth = classify_exit(an_exit(limit=AgentLimit.AUTH))
    assert auth is not None
    assert auth.code == FatalCode.AUTHENTICATION_FAILED


# ------------------------------------------------------------------ nothing changed


@pytest.mark.spec("3.5", "4.3")
@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({}, "INCOMPLETE", "nothing was changed"),
        ({"code": 3}, "INCOMPLETE", "nothing was changed; it ended with exit code 3"),
        (
            {"code": 3, "stderr_tail": "\n a \n\n b\n c\n d\n"},
            "INCOMPLETE",
            "nothing was changed; it ended with exit code 3: b | c | d",
        ),
        ({"stderr_tail": "a"}, "INCOMPLETE", "nothing was changed"),
        (
            {"limit": AgentLimit.TURNS},
            "INCOMPLETE",
            "nothing was changed; the agent reached its own limit of turns, cost or length",
        ),
        (
            {"limit": AgentLimit.CONTEXT, "code": 2},
            "INCOMPLETE",
            "nothing was changed; it ended with exit code 2; "
            "the conversation grew too long for the agent's model",
        ),
        (
            {"code": 126, "stderr_tail": "denied"},
            "FATAL_ERROR",
            "the agent's command ended with exit code 126: denied",
        ),
        ({"code": 127}, "FATAL_ERROR", "the agent's command ended with exit code 127"),
        ({"code": None, "signal": 9}, "TRANSIENT_ERROR", "the agent was killed by signal 9"),
        ({"code": 137}, "TRANSIENT_ERROR", "the agent was killed by signal 9"),
        ({"code": 129}, "TRANSIENT_ERROR", "the agent was killed by signal 1"),
        (
            {"code": 3, "output_tail": "thinking\nout of credits\n"},
            "INCOMPLETE",
            "nothing was changed; it ended with exit code 3: thinking | out of credits",
        ),
        ({"code": 128}, "INCOMPLETE", "nothing was changed; it ended with exit code 128"),
        (
            {"limit": AgentLimit.RATE, "code": 1},
            "RATE_LIMIT",
            "the agent's service answered with a rate limit",
        ),
        (
            {"limit": AgentLimit.REQUEST},
            "FATAL_ERROR",
            "the agent's service rejected the request as malformed",
        ),
        (
            {"limit": AgentLimit.NOT_FOUND},
            "FATAL_ERROR",
            "the agent, its model or a file that it needs was not found",
        ),
        (
            {"limit": AgentLimit.DENIED, "stderr_tail": "no\nmay I?"},
            "ESCALATE_REQUIRED",
            "may I?",
        ),
        (
            {"limit": AgentLimit.UNKNOWN, "stderr_tail": "odd"},
            "ESCALATE_REQUIRED",
            "the agent failed for a reason that yaoki does not know: odd",
        ),
        (
            {"reports_failure": True, "failure_claim": "no key"},
            "INCOMPLETE",
            "nothing was changed, and the agent reported that it failed: no key",
        ),
    ],
)
def test_an_exit_without_changes_is_classified_with_its_message(
    given: dict[str, Any], kind: str, words: str
) -> None:
    assert kind_and_message(classify_no_change(an_exit(**given))) == (kind, words)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"code": 3}, "the agent ended with exit code 3"),
        ({"code": 3, "stderr_tail": "a\nb\n"}, "the agent ended with exit code 3: b"),
        ({"code": 3, "output_tail": "a\nb\n"}, "the agent ended with exit code 3: b"),
        (
            {"code": 1, "reports_failure": True, "failure_claim": "no key"},
            "the agent reported that it failed: no key; the agent ended with exit code 1",
        ),
        (
            {"limit": AgentLimit.TURNS},
            "the agent reached its own limit of turns, cost or length",
        ),
    ],
)
def test_a_failed_agent_is_described_in_one_line(given: dict[str, Any], words: str) -> None:
    assert describe_failed_agent(an_exit(**given)) == words


@pytest.mark.spec("4.7")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"code": 126}, FatalCode.PERMISSION_DENIED),
        ({"code": 127}, FatalCode.RESOURCE_NOT_FOUND),
        ({"limit": AgentLimit.FORBIDDEN}, FatalCode.PERMISSION_DENIED),
        ({"limit": AgentLimit.REQUEST}, FatalCode.REQUEST_REFUSED),
    ],
)
def test_a_fatal_exit_has_an_entry_in_the_catalogue(given: dict[str, Any], code: str) -> None:
    failure = classify_no_change(an_exit(**given))

    assert failure.code == code
    assert code in FATAL_CATALOGUE


def test_an_exit_without_changes_has_its_pattern_and_reason() -> None:
    assert classify_no_change(an_exit()).pattern == "no-change"
    assert classify_no_change(an_exit(limit=AgentLimit.UNKNOWN)).reason is Reason.UNKNOWN
    assert classify_no_change(an_exit(limit=AgentLimit.DENIED)).reason is None


def test_the_last_words_of_an_agent_do_not_change_the_fingerprint() -> None:
    one, other = (classify_no_change(an_exit(code=3, stderr_tail=text)) for text in ("a", "b"))

    assert one.message != other.message
    assert one.fingerprint == other.fingerprint
    assert len(classify_no_change(an_exit(code=3, stderr_tail="x" * 900)).message) == 300 + len(
        "nothing was changed; it ended with exit code 3: "
    )


@pytest.mark.spec("3.5")
def test_a_needless_run_quotes_the_agents_message() -> None:
    silent, loud = (
        classify_needless_run(an_exit(output_tail=text)) for text in (" \n", f" a{'b' * 499} ")
    )

    assert kind_and_message(silent) == (
        "INCOMPLETE",
        "nothing was changed; if nothing needs changing, say why",
    )
    assert (silent.pattern, silent.check, silent.reason) == (
        "no-change",
        "no-change",
        Reason.NEEDS_HUMAN,
    )
    assert silent.params == {}
    assert loud.params == {"agentSaid": f"a{'b' * 499}"}
    longer = classify_needless_run(an_exit(output_tail=f"z{'b' * 500}"))
    assert longer.params == {"agentSaid": "b" * 500}


@pytest.mark.spec("3.5")
def test_work_outside_the_worktree_is_named() -> None:
    nothing = a_failure(K.INCOMPLETE, "nothing was changed", pattern="no-change", params={"a": 1})
    places = tuple(f"place{n}" for n in range(7))
    named = "place0; place1; place2; place3; place4"

    found = add_work_location(nothing, places)

    assert found.message == (
        f"nothing was changed. The work is in another place: {named}; move it to this branch"
    )
    assert found.params == {"a": 1, "elsewhere": named}
    assert add_work_location(nothing, ()) == nothing
    other = a_failure(K.INCOMPLETE, pattern="omission")
    assert add_work_location(other, places) == other


# ------------------------------------------------------------------ the agent's own report


@pytest.mark.spec("16.8")
def test_a_reported_failure_is_quoted_outside_the_fingerprint() -> None:
    one, other = (
        classify_own_report(an_exit(reports_failure=True, failure_claim=words, code=4))
        for words in ("no key", "no net")
    )

    assert kind_and_message(one) == ("INCOMPLETE", "the agent reported that it failed: no key")
    assert one.pattern == "agent-failed"
    assert one.params == {"claim": "no key", "exitCode": 4, "unreadable": ""}
    assert one.fingerprint == other.fingerprint
    silent = classify_own_report(an_exit(reports_failure=True))
    assert silent.message == "the agent reported that it failed"


@pytest.mark.spec("16.8", "12.7")
def test_an_unreadable_result_counts_as_a_reported_failure() -> None:
    failure = classify_own_report(an_exit(reports_failure=True, unreadable="not JSON"))

    assert failure.message == "the agent's result file cannot be read (not JSON)"
    assert failure.params["unreadable"] == "not JSON"


@pytest.mark.spec("16.8")
def test_a_classified_exit_takes_precedence_over_the_reported_failure_and_quotes_it() -> None:
    limited = an_exit(limit=AgentLimit.RATE, reports_failure=True)
    head = "the agent's service answered with a rate limit"

    assert classify_own_report(limited).message == head
    assert classify_own_report(replace(limited, failure_claim="429")).message == (
        f"{head}; the agent reported that it failed: 429"
    )
    assert classify_own_report(replace(limited, failure_claim="a rate limit")).message == head


# ------------------------------------------------------------------ verdicts


def verdict(*findings: Any) -> Verdict:
    return Verdict(tuple(findings))


@pytest.mark.spec("6.9")
def test_all_failed_checks_are_combined_in_one_failure() -> None:
    first = a_finding(
        FAILED, "lint", message="1 error", items=(FindingItem("a"),), params={"x": 1, "y": 1}
    )
    second = a_finding(
        FAILED, "tests", message="2 failed", items=(FindingItem("b"),), params={"y": 2, "z": 2}
    )
    passed = a_finding(Outcome.PASSED, "types", message="fine", items=(FindingItem("c"),))

    failure = classify_verdict(verdict(first, passed, second), an_exit())

    assert kind_and_message(failure) == ("QUALITY_FAILURE", "1 error; tests: 2 failed")
    assert (failure.check, failure.items) == ("lint", (FindingItem("a"), FindingItem("b")))
    assert failure.params == {"x": 1, "y": 1, "z": 2}
    assert [(one.check, one.message, one.items, one.params) for one in failure.failed_checks] == [
        ("lint", "1 error", (FindingItem("a"),), {"x": 1, "y": 1}),
        ("tests", "2 failed", (FindingItem("b"),), {"y": 2, "z": 2}),
    ]
    assert [one.check for one in failure.single_failures] == ["lint", "tests"]
    assert all(not one.failed_checks for one in failure.single_failures)


@pytest.mark.spec("3.3", "4.8")
def test_a_failed_check_counts_before_one_that_could_not_run() -> None:
    broken = a_finding(Outcome.BROKEN, "types", message="no tool")
    failed = a_finding(FAILED, "tests", message="2 failed")

    both = classify_verdict(verdict(broken, failed), an_exit())
    alone = classify_verdict(verdict(broken), an_exit())

    assert kind_and_message(both) == ("QUALITY_FAILURE", "2 failed")
    assert (both.check, both.failed_checks) == ("tests", ())
    assert (alone.check, alone.is_our_fault) == ("types", True)


@pytest.mark.spec("6.8", "3.3")
def test_one_check_that_ends_the_retries_ends_them_for_all() -> None:
    retried = a_finding(FAILED, "a", message="a")
    final = a_finding(FAILED, "b", message="b", on_failure=OnFailure.ABORT)

    failure = classify_verdict(verdict(retried, final), an_exit())

    assert failure.kind is K.ESCALATE_REQUIRED
    assert len(failure.failed_checks) == 2


@pytest.mark.spec("9.2")
def test_one_check_can_request_a_replan() -> None:
    plain, replan = a_finding(FAILED, "a", message="a"), a_finding(FAILED, "b", replan=True)

    failure = classify_verdict(verdict(plain, replan), an_exit())

    assert (failure.kind, failure.replan) == (K.ESCALATE_REQUIRED, True)


@pytest.mark.spec("16.4", "0.1")
def test_a_verdict_without_passed_checks_names_the_skipped_ones() -> None:
    skipped = verdict(a_finding(SKIPPED, "a"), a_finding(SKIPPED, "b"))

    assert kind_and_message(classify_verdict(verdict(), None)) == (
        "QUALITY_FAILURE",
        "nothing was proven: no required check that can fail has passed",
    )
    assert classify_verdict(skipped, None).message == (
        "nothing was proven: no required check that can fail has passed; skipped: a, b"
    )


@pytest.mark.spec("4.8", "6.7")
@pytest.mark.parametrize(
    ("given", "kind", "words", "code"),
    [
        ({"transient": True}, "TRANSIENT_ERROR", "could not run: why", ""),
        ({"transient": False}, "FATAL_ERROR", "could not run: why", FatalCode.RESOURCE_NOT_FOUND),
        (
            {"transient": False, "code": FatalCode.CHECK_UNFIT},
            "FATAL_ERROR",
            "its result cannot be trusted: why",
            FatalCode.CHECK_UNFIT,
        ),
        ({"transient": True, "code": "X"}, "TRANSIENT_ERROR", "could not run: why", ""),
    ],
)
def test_a_check_that_cannot_run_is_a_system_fault(
    given: dict[str, Any], kind: str, words: str, code: str
) -> None:
    failure = classify_verdict(verdict(a_finding(BROKEN, message="why", **given)), an_exit())

    assert (*kind_and_message(failure), failure.code) == (kind, words, code)
    assert (failure.check, failure.is_our_fault) == ("tests", True)


@pytest.mark.spec("6.7", "5.4")
def test_a_rate_limited_judge_is_classified_with_its_wait() -> None:
    broken = a_finding(BROKEN, message="429", account="judge", retry_after=9 * SECOND)

    failure = classify_verdict(verdict(broken), an_exit())

    assert kind_and_message(failure) == ("RATE_LIMIT", "could not run: 429")
    assert (failure.account, failure.retry_after, failure.check) == ("judge", 9 * SECOND, "tests")
    assert not failure.is_our_fault


@pytest.mark.parametrize(
    ("finding", "exit_", "kind"),
    [
        ({}, {}, "QUALITY_FAILURE"),
        ({"pattern": "omission"}, {}, "INCOMPLETE"),
        ({"on_failure": OnFailure.ABORT}, {}, "ESCALATE_REQUIRED"),
        ({"on_failure": OnFailure.ABORT}, {"limit": AgentLimit.RATE}, "ESCALATE_REQUIRED"),
        ({"replan": True}, {"limit": AgentLimit.RATE}, "ESCALATE_REQUIRED"),
        ({}, {"limit": AgentLimit.RATE}, "RATE_LIMIT"),
        ({}, {"limit": AgentLimit.AUTH}, "QUALITY_FAILURE"),
        ({}, {"limit": AgentLimit.AUTH, "code": 1}, "FATAL_ERROR"),
        ({}, {"limit": AgentLimit.OVERLOADED}, "QUALITY_FAILURE"),
        ({}, {"limit": AgentLimit.OVERLOADED, "code": 1}, "TRANSIENT_ERROR"),
        ({}, {"ended_by": EndCause.DEADLINE}, "TIMEOUT"),
        ({}, {"limit": AgentLimit.TURNS}, "INCOMPLETE"),
    ],
)
def test_an_exit_and_a_failed_check_are_classified_together(
    finding: dict[str, Any], exit_: dict[str, Any], kind: str
) -> None:
    failed = a_finding(FAILED, message="2 failed", **finding)

    assert classify_verdict(verdict(failed), an_exit(**exit_)).kind.value == kind


@pytest.mark.spec("4.3")
def test_a_partial_change_is_classified_as_incomplete() -> None:
    failed = a_finding(FAILED, message="2 failed")

    failure = classify_verdict(verdict(failed), an_exit(limit=AgentLimit.TURNS))

    words = "the agent reached its own limit of turns, cost or length; 2 failed"
    assert kind_and_message(failure) == ("INCOMPLETE", words)
    assert failure.fingerprint == make_failure(K.INCOMPLETE, words, check="tests").fingerprint
    omitted = a_finding(FAILED, message="left out", pattern="omission")
    assert classify_verdict(verdict(omitted), an_exit(limit=AgentLimit.TURNS)).message == "left out"


def test_a_failed_check_keeps_its_output_and_its_reason() -> None:
    failed = a_finding(
        FAILED, "no-change", message="m", pattern="no-change", output="x" * 9000, params={"a": 1}
    )

    failure = classify_verdict(verdict(failed), None)

    assert (failure.reason, failure.params, failure.pattern) == (
        Reason.NEEDS_HUMAN,
        {"a": 1},
        "no-change",
    )
    assert 5000 < len(failure.output.encode()) <= 6000
    assert classify_verdict(verdict(a_finding(FAILED)), None).reason is None


@pytest.mark.spec("16.8")
def test_a_reported_failure_is_appended_to_a_failed_check() -> None:
    failed = a_finding(FAILED, message="2 failed")
    exit_ = an_exit(reports_failure=True, failure_claim="I could not")

    assert classify_verdict(verdict(failed), exit_).message == (
        "2 failed; the agent reported that it failed: I could not"
    )
    passed = verdict(a_finding(Outcome.PASSED))
    assert classify_verdict(passed, exit_).pattern == "agent-failed"


# ------------------------------------------------------------------ faults


@pytest.mark.spec("4.8", "4.7", "11.4")
def test_system_faults_and_fatal_failures_have_their_codes() -> None:
    transient = make_fault("disk", transient=True)
    fatal = make_fatal(FatalCode.AUTHENTICATION_FAILED, "words")

    assert (transient.kind, transient.is_our_fault, transient.code) == (K.TRANSIENT_ERROR, True, "")
    assert transient.reason is Reason.SYSTEM_ERROR_TRANSIENT
    assert transient.fingerprint not in {"", make_fault("net", transient=True).fingerprint}
    assert (fatal.kind, fatal.is_our_fault) == (K.FATAL_ERROR, False)
    assert fatal.code is FatalCode.AUTHENTICATION_FAILED
    assert (fatal.message, fatal.reason) == ("words", Reason.SYSTEM_ERROR_PERMANENT)
    other = make_fatal(FatalCode.PERMISSION_DENIED, "words")
    assert len({fatal.fingerprint, other.fingerprint, ""}) == 3
    denied = make_fault("no bash", transient=False, code=FatalCode.PERMISSION_DENIED)
    assert denied.code is FatalCode.PERMISSION_DENIED
    # Rows and journals of older versions hold these digits.
    assert (transient.fingerprint, fatal.fingerprint) == ("e2a899ccce3f", "6421140fadef")
    undelivered = make_fault("x", transient=False, code=FatalCode.UNDELIVERED)
    assert (undelivered.reason, undelivered.is_our_fault) == (Reason.SYSTEM_ERROR_TRANSIENT, True)
