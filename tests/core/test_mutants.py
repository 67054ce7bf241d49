"""Which mutants count, and what follows from those that survive."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import a_finding
from yaoki.core.commands.test_runners import stop_at_first_failure
from yaoki.core.decide.mutants import (
    MutantOutcome,
    MutantResult,
    combine_runs,
    judge_mutants,
    judge_run,
    mutant_deadline,
)
from yaoki.core.model import Finding, FindingItem, OnFailure, Outcome
from yaoki.core.model.mutant import HiddenCode, Mutant, MutantRules

pytestmark = pytest.mark.spec("17.3")

KILLED, SURVIVED, UNJUDGED = MutantOutcome.KILLED, MutantOutcome.SURVIVED, MutantOutcome.UNJUDGED
TIMED_OUT = MutantOutcome.TIMED_OUT
COUNTED = a_finding(params={"testCount": 3})
RULES = MutantRules(10, required=True)


def failed(*items: tuple[str, str], **params: object) -> Finding:
    return a_finding(
        Outcome.FAILED, items=tuple(FindingItem(*item) for item in items), params=params
    )


def results(killed: int, survived: int, unjudged: int = 0) -> list[MutantResult]:
    outcomes = [KILLED] * killed + [SURVIVED] * survived + [UNJUDGED] * unjudged
    return [
        MutantResult(Mutant("calc.py", n, "it returns None", ""), outcome, 0.5)
        for n, outcome in enumerate(outcomes, start=1)
    ]


def judge(found: list[MutantResult], rules: MutantRules = RULES, **more: Any) -> Finding:
    made = more.pop("made", len(found))
    return judge_mutants(found, rules, made, has_tests=more.pop("has_tests", True), **more)


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (a_finding(), SURVIVED),
        (failed(("test_a", "assert 1 == 2")), KILLED),
        (failed(("test_a", "TypeError: half is not a function")), KILLED),
        (failed(timedOut=True), TIMED_OUT),
        (failed(("a.py", "SyntaxError: invalid syntax")), UNJUDGED),
        (failed(("test_a", "ImportError: no name")), UNJUDGED),
        (failed(("test_a", "ImportError: no"), ("test_b", "assert 0")), KILLED),
        (failed(("test_a", "assert 0"), loadError=True), UNJUDGED),
        (failed(), UNJUDGED),
        (a_finding(Outcome.BROKEN), UNJUDGED),
        (a_finding(Outcome.SKIPPED), UNJUDGED),
    ],
)
def test_a_test_that_fails_or_hangs_kills_a_mutant(run: Finding, outcome: MutantOutcome) -> None:
    assert judge_run(run, COUNTED) is outcome


def test_a_check_that_counts_no_tests_kills_by_its_exit_code() -> None:
    assert judge_run(failed(), a_finding()) is KILLED


def test_a_failure_that_the_base_has_as_well_kills_nothing() -> None:
    normal = a_finding(params={"known": ["old"]})

    assert judge_run(failed(("old", "assert 0")), normal) is UNJUDGED
    assert judge_run(failed(("old", "assert 0"), ("new", "assert 0")), normal) is KILLED


@pytest.mark.parametrize(
    ("outcomes", "together"),
    [
        ([SURVIVED, KILLED], KILLED),
        ([SURVIVED, TIMED_OUT], TIMED_OUT),
        ([UNJUDGED, TIMED_OUT], TIMED_OUT),
        ([SURVIVED, SURVIVED], SURVIVED),
        ([SURVIVED, UNJUDGED], UNJUDGED),
        ([UNJUDGED], UNJUDGED),
    ],
)
def test_one_check_that_notices_is_enough(
    outcomes: list[MutantOutcome], together: MutantOutcome
) -> None:
    assert combine_runs(outcomes) is together


def test_few_survivors_pass_and_are_named() -> None:
    finding = judge(results(7, 3))

    assert (finding.outcome, finding.pattern) == (Outcome.PASSED, "")
    assert finding.message == "3 of 10 mutants survive (limit 30 %)"
    numbers = {"killed": 7, "survived": 3, "timed_out": 0, "unjudged": 0, "untried": 0}
    assert finding.params["mutants"] == numbers
    assert finding.items[0] == FindingItem(
        "calc.py:8", "no test notices if it returns None", "calc.py"
    )
    assert finding.seconds == 5.0
    assert not finding.is_proof, "it proves the tests, not the work"


def test_more_survivors_than_allowed_fail_if_mutants_are_required() -> None:
    finding = judge(results(6, 4))
    reported = judge(results(6, 4), MutantRules(10))

    assert (finding.outcome, finding.pattern) == (Outcome.FAILED, "mutant-survived")
    assert finding.on_failure is OnFailure.RETRY
    assert not finding.is_acceptable
    assert reported.is_acceptable
    assert finding.params["survivors"][0] == {
        "name": "calc.py:7",
        "message": "no test notices if it returns None",
    }


def test_the_message_says_what_was_not_judged_and_not_tried() -> None:
    finding = judge(results(2, 1, 2), MutantRules(10, 0.0), made=9)

    assert finding.message == (
        "1 of 3 mutants survives (limit 0 %); 2 more could not be judged; "
        "4 more were not tried within 10 min"
    )


def test_the_numbers_say_what_the_time_limit_killed_and_what_was_left_out() -> None:
    found = [*results(2, 1, 2), MutantResult(Mutant("calc.py", 9, "", ""), TIMED_OUT)]

    finding = judge(found, MutantRules(10, 0.25), made=9)

    assert finding.params["mutants"] == {
        "killed": 3,
        "survived": 1,
        "timed_out": 1,
        "unjudged": 2,
        "untried": 3,
    }
    assert finding.outcome is Outcome.PASSED, "one of four survives"


@pytest.mark.parametrize("outcome", MutantOutcome)
def test_a_time_limit_kills_as_a_test_does(outcome: MutantOutcome) -> None:
    assert outcome.is_kill is (outcome in {KILLED, TIMED_OUT})


def test_a_change_without_a_line_to_mutate_passes() -> None:
    finding = judge([])

    assert (finding.outcome, finding.message) == (Outcome.PASSED, "no changed line can be mutated")
    assert "mutants" not in finding.params
    assert finding.seconds == 0


@pytest.mark.parametrize(
    ("found", "has_tests", "why"),
    [
        (results(0, 0, 2), True, "with each of them the code cannot load"),
        ([], False, "no check runs tests"),
    ],
)
def test_mutants_that_nothing_can_judge_are_a_question_for_a_person(
    found: list[MutantResult], has_tests: bool, why: str
) -> None:
    finding = judge(found, made=2, has_tests=has_tests)

    assert (finding.outcome, finding.on_failure) == (Outcome.FAILED, OnFailure.ABORT)
    assert finding.message == f"2 mutants, but none could be judged: {why}"


def test_the_deadline_follows_the_duration_of_the_check() -> None:
    minute = timedelta(minutes=1)

    assert mutant_deadline(2.0, minute) == timedelta(seconds=15)
    assert mutant_deadline(100.0, minute) == minute


@pytest.mark.parametrize(
    ("words", "added"),
    [
        ("pytest -q", ["-x"]),
        ("python -m pytest tests", ["-x"]),
        ("python -m unittest", ["-f"]),
        ("pytest -x", []),
        ("pytest -- tests", []),
        ("npm test", []),
        ("", []),
    ],
)
def test_a_runner_that_can_is_told_to_stop_at_the_first_failure(
    words: str, added: list[str]
) -> None:
    argv = words.split()

    assert list(stop_at_first_failure(argv)) == [*argv, *added]


@pytest.mark.parametrize("killed", [0, 9])
def test_code_that_no_mutant_reaches_fails_whatever_share_may_survive(killed: int) -> None:
    hidden = HiddenCode("calc.py", 3, "exec of a name")

    finding = judge(results(killed, 0), hidden=[hidden])

    assert finding.outcome is Outcome.FAILED
    assert finding.message.endswith("; not mutated: exec of a name in calc.py:3")
    assert [(one.name, one.message) for one in finding.items] == [
        ("calc.py:3", "not mutated: exec of a name")
    ]
    assert finding.params["mutants"]["survived"] == 1
    assert finding.params["survivors"] == [
        {"name": "calc.py:3", "message": "not mutated: exec of a name"}
    ]
