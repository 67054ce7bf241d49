"""A check runs once on a base commit, whichever tasks need its result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.builders import a_task
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.engine.claim_context import ClaimContext, StopReason, unclaimed_context
from yaoki.engine.stages.baseline_comparison import BaselineComparison
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import commit_facts

SPEC = CheckSpec("tests", argv=("make", "test"))
CLAIM = unclaimed_context(lambda _name, _data: None)
BASE = "b" * 40
FACTS = commit_facts("c" * 40, {}, ())


class MemoryBaselines:
    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], Finding] = {}

    def baseline(self, commit: str, command: str) -> Finding | None:
        return self.stored.get((commit, command))

    def save_baseline(self, commit: str, command: str, finding: Finding) -> None:
        self.stored[commit, command] = finding


class SlowSession:
    """Runs end when the test says so."""

    def __init__(self, outcome: Outcome = Outcome.PASSED, **params: object) -> None:
        self.runs, self.outcome, self.params = 0, outcome, params
        self.incomplete_bases: dict[tuple[str, str], Finding] = {}
        self.started, self.may_end = Event(), Event()

    def run_check(self, spec: CheckSpec, commit: str, *_: Any, **__: Any) -> Finding:
        self.runs += 1
        self.started.set()
        assert self.may_end.wait(30)
        return Finding(spec.name, self.outcome, params=self.params)


def a_check(session: Any, claim: ClaimContext = CLAIM) -> ProofCheck:
    return ProofCheck(a_task("t"), SPEC, Path("1-tests"), claim, session)


@pytest.mark.spec("6.4")
def test_a_task_waits_for_the_run_on_the_base_that_another_task_has_started() -> None:
    session, comparison = SlowSession(), BaselineComparison(MemoryBaselines())
    found: list[Finding] = []

    def compare() -> None:
        found.append(comparison.baseline(a_check(session), FACTS, BASE))

    first, second = Thread(target=compare), Thread(target=compare)
    first.start()
    assert session.started.wait(30)
    second.start()
    session.may_end.set()
    first.join(30)
    second.join(30)

    assert session.runs == 1
    assert [finding.outcome for finding in found] == [Outcome.PASSED, Outcome.PASSED]


@pytest.mark.spec("6.4", "0.4")
def test_a_task_that_must_stop_does_not_wait_for_the_run_of_another() -> None:
    session, comparison = SlowSession(), BaselineComparison(MemoryBaselines())
    stopped = replace(CLAIM, stop_reason=lambda: StopReason.STOP)
    first = Thread(target=lambda: comparison.baseline(a_check(session), FACTS, BASE))
    first.start()
    assert session.started.wait(30)
    stopping = SlowSession()
    stopping.may_end.set()

    comparison.baseline(a_check(stopping, stopped), FACTS, BASE)

    assert first.is_alive()
    session.may_end.set()
    first.join(30)


@pytest.mark.spec("6.4")
def test_a_confirmed_failure_of_a_candidate_is_the_baseline_of_work_on_top_of_it() -> None:
    session, comparison = SlowSession(), BaselineComparison(MemoryBaselines())
    failed = Finding("tests", Outcome.FAILED, params={"passedCount": 3}, message="1 failure")

    comparison.save_failure(a_check(session), failed, BASE)

    assert comparison.baseline(a_check(session), FACTS, BASE).outcome is Outcome.FAILED
    assert session.runs == 0


@pytest.mark.spec("16.5", "17.1")
def test_a_base_without_a_passing_test_is_no_baseline_and_runs_once_in_a_verification() -> None:
    """Red first needs its failures; the next verification may meet a mended machine."""
    first, second = (SlowSession(Outcome.FAILED, passedCount=0) for _ in range(2))
    first.may_end.set()
    second.may_end.set()
    comparison = BaselineComparison(MemoryBaselines())

    base = comparison.baseline(a_check(first), FACTS, BASE)
    red = comparison.finding_on_base(a_check(first), FACTS, BASE)
    comparison.finding_on_base(a_check(second), FACTS, BASE)

    assert (base.outcome, red.outcome) == (Outcome.BROKEN, Outcome.FAILED)
    assert (first.runs, second.runs) == (1, 1)
