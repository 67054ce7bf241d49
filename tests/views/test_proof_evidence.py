"""The evidence of an attempt: red first, hidden checks, mutants, tell-tales."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_check, a_spec
from tests.views.test_history import entry
from yaoki.core.machine.journal_notes import check_finished_note
from yaoki.core.model import (
    CriterionLevel,
    Finding,
    FindingItem,
    HiddenFiles,
    Outcome,
    TaskKind,
    TaskSpec,
)
from yaoki.core.model.mutant import MutantRules
from yaoki.views.history import Attempt, build_history
from yaoki.views.history.values import MutantCounts
from yaoki.views.history.warnings import collect_warnings
from yaoki.views.indistinct import is_indistinct
from yaoki.views.proof_evidence import ProofEvidence, collect_evidence

DIGEST = "ab" * 32
ITEM = FindingItem("price.py:3", "no test notices if it returns None", "price.py")
NUMBERS = {"killed": 9, "survived": 1, "timed_out": 2, "unjudged": 3, "untried": 4}


def attempt_of(*verified: tuple[str, Finding]) -> Attempt:
    """Each check with its commit, as the journal records it."""
    start = [
        entry(1, "TASK_SUBMITTED", spec={}),
        entry(2, "TASK_CLAIMED"),
        entry(3, "ATTEMPT_STARTED", 1, attempt=1, agent="small"),
        entry(4, "AGENT_FINISHED", 1, exit={}),
    ]
    checks = [
        entry(n, "CHECK_FINISHED", 1, **check_finished_note(finding, commit).data)
        for n, (commit, finding) in enumerate(verified, start=5)
    ]
    return build_history([*start, *checks]).numbered_attempts[1]


def evidence_of(
    *findings: Finding, spec: TaskSpec | None = None, commit: str = "c1"
) -> ProofEvidence:
    return collect_evidence(attempt_of(*((commit, one) for one in findings)), spec or a_spec())


def finding(check: str, outcome: Outcome = Outcome.PASSED, **given: Any) -> Finding:
    return Finding(check, outcome, **given)


def hidden_check(name: str = "acceptance", digest: str = DIGEST) -> Any:
    return a_check(name, hidden=HiddenFiles("/elsewhere", digest, 1))


@pytest.mark.spec("12.5")
def test_a_plan_that_asks_for_nothing_has_no_evidence() -> None:
    seen = evidence_of(finding("tests"))

    assert (seen.red_first.is_asked, seen.mutants.is_asked) == (False, False)
    assert (seen.hidden_checks, seen.tell_tales.outcome) == ((), "")
    assert seen.commit == "c1"


@pytest.mark.spec("17.1", "17.3", "17.2")
def test_evidence_that_is_asked_for_and_did_not_run_has_no_outcome() -> None:
    spec = a_spec(
        red=CriterionLevel.REQUIRED,
        mutants=MutantRules(30, required=True),
        checks=(a_check(), hidden_check()),
    )

    seen = collect_evidence(attempt_of(), spec)

    red, mutants, (hidden,) = seen.red_first, seen.mutants, seen.hidden_checks
    assert (red.is_asked, red.is_required, red.outcome) == (True, True, "")
    assert (mutants.is_asked, mutants.is_required, mutants.outcome) == (True, True, "")
    assert (hidden.check, hidden.outcome, hidden.digest) == ("acceptance", "", DIGEST)


@pytest.mark.parametrize("kind", [TaskKind.CHECK, TaskKind.GROUP])
def test_a_task_without_an_agent_is_not_asked(kind: TaskKind) -> None:
    spec = a_spec(kind=kind, red=CriterionLevel.REQUIRED, mutants=MutantRules(30))

    seen = collect_evidence(attempt_of(), spec)

    assert (seen.red_first.is_asked, seen.mutants.is_asked) == (False, False)


@pytest.mark.spec("17.1")
def test_red_first_has_its_tests_or_the_reason_why_there_are_none() -> None:
    tests = ["test_half.py::test_odd"]
    red = finding("red-first", message="1 test fails", params={"failToPass": tests})
    green = finding("red-first", Outcome.FAILED, required=False, message="no test shows it")

    shown, missing = evidence_of(red).red_first, evidence_of(green).red_first

    assert (shown.outcome, shown.tests, shown.reason) == ("PASSED", tuple(tests), "")
    assert (missing.outcome, missing.tests) == ("FAILED", ())
    assert (missing.reason, missing.is_required) == ("no test shows it", False)


@pytest.mark.spec("17.2")
def test_a_hidden_check_has_its_outcome_and_the_digest_of_its_files() -> None:
    failing = finding("acceptance", Outcome.FAILED, params={"hiddenDigest": DIGEST})
    without = finding("lint", params={"hiddenDigest": "no files"})

    first, second = evidence_of(failing, without).hidden_checks

    assert (first.outcome, first.digest) == ("FAILED", DIGEST)
    assert (second.check, second.outcome, second.digest) == ("lint", "PASSED", "")


@pytest.mark.spec("17.2")
def test_a_waived_hidden_check_is_shown_as_waived() -> None:
    spec = a_spec(checks=(hidden_check(),))

    (hidden,) = evidence_of(finding("acceptance", Outcome.WAIVED), spec=spec).hidden_checks

    assert (hidden.outcome, hidden.digest) == ("WAIVED", DIGEST)


@pytest.mark.spec("17.3")
def test_mutants_have_their_numbers_and_survivors_or_the_reason_why_none_was_judged() -> None:
    judged = evidence_of(finding("mutants", items=(ITEM,), params={"mutants": NUMBERS})).mutants
    none = evidence_of(finding("mutants", message="no changed line can be mutated")).mutants

    assert judged.counts == MutantCounts(9, 1, 2, 3, 4)
    assert (judged.survivors, judged.reason) == ((ITEM,), "")
    assert (none.counts, none.survivors) == (None, ())
    assert (none.outcome, none.reason) == ("PASSED", "no changed line can be mutated")


@pytest.mark.spec("17.3")
def test_an_older_journal_has_two_numbers_of_mutants() -> None:
    old = finding("mutants", params={"mutants": {"killed": 2, "survived": 0}})

    assert evidence_of(old).mutants.counts == MutantCounts(2, 0)


@pytest.mark.spec("17.4")
def test_tell_tales_have_their_places_also_after_a_waiver() -> None:
    place = FindingItem("half.py:2", "finds out whether a test runs it", "half.py:2")
    found = finding("gamed", Outcome.FAILED, items=(place,))

    seen = evidence_of(found).tell_tales
    waived = evidence_of(found, finding("gamed", Outcome.WAIVED)).tell_tales

    assert (seen.outcome, seen.places) == ("FAILED", (place,))
    assert (waived.outcome, waived.places) == ("WAIVED", (place,))


def test_only_the_commit_that_was_verified_last_counts() -> None:
    """The run branch moved, and the work was verified again on top of it."""
    red = finding("red-first", params={"failToPass": ["test_odd"]})
    spec = a_spec(red=CriterionLevel.REQUIRED)

    seen = collect_evidence(
        attempt_of(("c1", finding("tests")), ("c1", red), ("c2", finding("tests", Outcome.FAILED))),
        spec,
    )

    assert (seen.commit, seen.red_first.outcome) == ("c2", "")


@pytest.mark.spec("17.1")
@pytest.mark.parametrize("same", [(), ("tests",), ("tests", "lint")])
def test_an_attempt_says_whether_its_checks_pass_without_its_work(same: tuple[str, ...]) -> None:
    checks = {"tests": "PASSED", "lint": "PASSED"}
    story = [
        entry(1, "TASK_CLAIMED"),
        entry(2, "ATTEMPT_STARTED", 1, attempt=1, agent="small"),
        entry(3, "QUALITY_JUDGMENT", 1, passed=True, commit="c1", checks=checks, same_at_base=same),
        entry(4, "TASK_LANDED", 1, commit="c1"),
    ]

    attempt = build_history(story).numbered_attempts[1]

    assert collect_evidence(attempt, a_spec()).is_indistinct is (len(same) == 2)
    assert bool(collect_warnings(story).by_text) is (len(same) == 2)
    assert not collect_warnings(story[:-1]).by_text, "it has not landed"


@pytest.mark.spec("17.1")
def test_one_check_or_one_red_test_that_shows_the_work_is_enough() -> None:
    passed = {"tests": "PASSED", "lint": "PASSED"}

    assert is_indistinct(passed, ("tests", "lint"))
    assert is_indistinct({**passed, "red-first": "FAILED", "scope": "WAIVED"}, ("tests", "lint"))
    assert not is_indistinct(passed, ("tests",))
    assert not is_indistinct({**passed, "red-first": "PASSED"}, ("tests", "lint"))
    assert not is_indistinct({"scope": "WAIVED"}, ())
