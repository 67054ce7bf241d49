"""Re-runs of a failed check: which runs are made, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW, HandClock, a_task
from yaoki.core.decide.quarantine import EXPIRED, QUARANTINED, TEST_RUNS
from yaoki.core.model import CheckSpec, Finding, FindingItem, HiddenFiles, Outcome
from yaoki.core.model.flaky_test import FlakyTest, QuarantineEntry
from yaoki.engine.claim_context import StopReason, unclaimed_context
from yaoki.engine.stages.check_rerun import CheckRerun
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import commit_facts

pytestmark = pytest.mark.spec("18.8", "6.5")

SPEC = CheckSpec("unit", argv=("pytest",))
CANDIDATE, BASE = "c" * 40, "b" * 40
FACTS = replace(commit_facts(CANDIDATE), onto=BASE)
TEST = "t.py::a"
ENTRY = QuarantineEntry(TEST, "mia", NOW + timedelta(days=1), "races")
CLAIM = unclaimed_context(lambda _name, _data: None)


def a_result(mark: str) -> Finding:
    if mark == "F":
        return Finding(
            "unit", Outcome.FAILED, message="1 failed", items=(FindingItem(TEST),), seconds=1.0
        )
    return Finding("unit", Outcome.PASSED, passing_tests=(TEST,), seconds=1.0)


class ScriptedSession:
    """The results of the re-runs on each commit, one letter each; the last one is repeated."""

    def __init__(self, candidate: str, base: str = ".") -> None:
        self._results = {CANDIDATE: candidate, BASE: base}
        self.runs: list[str] = []

    def run_check(self, _spec: CheckSpec, commit: str, folder: Path, *_: Any, **__: Any) -> Finding:
        letters = self._results[commit]
        done = sum(1 for name in self.runs if name.startswith(self._word(commit)))
        self.runs.append(folder.name.removeprefix("1-unit-"))
        return a_result(letters[min(done, len(letters) - 1)])

    @staticmethod
    def _word(commit: str) -> str:
        return "again" if commit == CANDIDATE else "onto"

    def setup_key(self, _commit: str) -> str:
        return "setup"


class OneTestChecker:
    """A runner that can run single tests, or not."""

    def __init__(self, *, narrows: bool = True) -> None:
        self._narrows = narrows

    def narrow(self, spec: CheckSpec, _finding: Finding) -> CheckSpec | None:
        return spec if self._narrows else None

    def identify_tools(self, _spec: CheckSpec) -> str:
        return "tools"


class KnownTests:
    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def known_flaky_tests(self) -> frozenset[str]:
        return self._names

    def flaky_tests(self) -> list[FlakyTest]:
        return []


def rerun(
    session: ScriptedSession,
    *,
    quarantine: Sequence[QuarantineEntry] = (),
    known: Sequence[str] = (),
    narrows: bool = True,
    clock: HandClock | None = None,
    spec: CheckSpec = SPEC,
) -> Finding:
    checker: Any = OneTestChecker(narrows=narrows)
    reruns = CheckRerun(checker, KnownTests(*known), quarantine, clock or HandClock())
    check = ProofCheck(a_task("t"), spec, Path("1-unit"), CLAIM, session)  # type: ignore[arg-type]
    return reruns.rerun_failed(check, a_result("F"), FACTS)


@pytest.mark.parametrize(
    ("candidate", "base", "runs", "outcome"),
    [
        (".....", ".", "again-1 again-2 again-3 again-4 again-5", Outcome.FLAKY),
        ("F", "..", "again-1 onto-1 onto-2", Outcome.FAILED),
        ("F", "FF", "again-1 onto-1 onto-2", Outcome.FAILED),
        (".F", ".....", "again-1 again-2 onto-1 onto-2 onto-3 onto-4 onto-5", Outcome.FAILED),
        (".F", "F.", "again-1 again-2 onto-1 onto-2", Outcome.FLAKY),
        ("FF.", "F.", "again-1 onto-1 onto-2 again-2 again-3", Outcome.FLAKY),
        (
            "FFFFF",
            "F.",
            "again-1 onto-1 onto-2 again-2 again-3 again-4 again-5",
            Outcome.FAILED,
        ),
    ],
)
def test_a_failure_is_flaky_only_if_it_passes_with_the_change(
    candidate: str, base: str, runs: str, outcome: Outcome
) -> None:
    session = ScriptedSession(candidate, base)

    finding = rerun(session)

    assert " ".join(session.runs) == runs
    assert finding.outcome is outcome
    assert len(finding.rerun_seconds) == len(session.runs)


@pytest.mark.parametrize(
    ("candidate", "narrows", "passes"),
    [(".F", False, "1 of the 2"), ("..F", True, "2 of the 3"), ("F", False, ""), ("F", True, "")],
)
def test_a_check_that_failed_and_passed_and_failed_is_said_to(
    candidate: str, narrows: bool, passes: str
) -> None:
    """Correct work was sent back as if its check had failed every time."""
    finding = rerun(ScriptedSession(candidate), narrows=narrows)

    words = f"; it passed {passes} times it was run again on the same commit" if passes else ""
    assert (finding.outcome, finding.message) == (Outcome.FAILED, f"1 failed{words}")
    assert finding.rerun_passes == int(passes[:1] or 0)


@pytest.mark.parametrize(
    ("base", "passed"), [("..", True), ("FF", False), (".F", False), ("F.", False)]
)
def test_a_test_that_always_passes_on_the_base_is_said_to(base: str, passed: bool) -> None:
    finding = rerun(ScriptedSession("F", base))

    assert finding.params.get("passedOnBase", False) is passed


@pytest.mark.parametrize(
    ("candidate", "base", "outcome"),
    [
        (".....", ".", Outcome.FLAKY),
        ("F.", ".", Outcome.FLAKY),
        (".F", ".", Outcome.FLAKY),
        ("FF.", "..F..", Outcome.FLAKY),
        ("FF.", ".....", Outcome.FAILED),
        ("FFFF.", "..F..", Outcome.FLAKY),
        ("FFFF.", ".....", Outcome.FAILED),
        ("FFFFF", ".....", Outcome.FAILED),
    ],
)
def test_a_quarantined_test_is_excused_if_it_passes_and_the_change_did_not_make_it_worse(
    candidate: str, base: str, outcome: Outcome
) -> None:
    finding = rerun(ScriptedSession(candidate, base), quarantine=(ENTRY,))

    assert finding.outcome is outcome
    assert (QUARANTINED in finding.params) is (outcome is Outcome.FLAKY)


def test_a_check_without_single_tests_is_repeated_whole_until_the_quarantined_test_passes() -> None:
    session = ScriptedSession("F.")

    finding = rerun(session, quarantine=(ENTRY,), narrows=False)

    assert session.runs == ["again-1", "again-2"]
    assert finding.outcome is Outcome.FLAKY


def test_a_check_without_single_tests_that_seldom_passes_is_compared_with_the_base() -> None:
    """A broken test hid behind its entry, because no run without the change was made."""
    worse, alike = ScriptedSession("FF.", "....."), ScriptedSession("FF.", "..F..")

    findings = [rerun(one, quarantine=(ENTRY,), narrows=False) for one in (worse, alike)]

    assert [one.outcome for one in findings] == [Outcome.FAILED, Outcome.FLAKY]
    assert sum(run.startswith("onto") for run in worse.runs) == 5


def test_the_clock_decides_at_each_verification_whether_an_entry_has_expired() -> None:
    """The worker and its settings are those from before the expiry."""
    clock = HandClock()
    before = rerun(ScriptedSession("F."), quarantine=(ENTRY,), clock=clock)
    clock.advance(timedelta(days=1))
    session = ScriptedSession(".....")

    after = rerun(session, quarantine=(ENTRY,), clock=clock)

    assert (before.outcome, after.outcome) == (Outcome.FLAKY, Outcome.FAILED)
    assert [entry["owner"] for entry in after.params[EXPIRED]] == ["mia"]
    assert "expired on" in after.message


def test_a_test_that_was_seen_flaky_runs_until_it_passes_so_that_its_rate_is_right() -> None:
    known, unknown = ScriptedSession("FF.", ".."), ScriptedSession("FF.", "..")

    counted = rerun(known, known=(TEST,))
    ignored = rerun(unknown)

    assert [run["passed"] for run in counted.params[TEST_RUNS]] == [1, 2]
    assert [run["failed"] for run in counted.params[TEST_RUNS]] == [3, 0]
    assert {run["commit"] for run in counted.params[TEST_RUNS]} == {CANDIDATE, BASE}
    assert all(len(run["environment"]) == 12 for run in counted.params[TEST_RUNS])
    assert counted.outcome is Outcome.FAILED, "a rate excuses nothing"
    assert TEST_RUNS not in ignored.params


def test_nothing_about_the_tests_of_a_hidden_check_is_recorded_or_excused() -> None:
    hidden = replace(SPEC, hidden=HiddenFiles("", ""))

    finding = rerun(ScriptedSession("F."), quarantine=(ENTRY,), known=(TEST,), spec=hidden)

    assert finding.outcome is Outcome.FAILED
    assert TEST_RUNS not in finding.params


def test_a_check_with_rerun_false_is_neither_repeated_nor_excused() -> None:
    session = ScriptedSession(".")

    finding = rerun(session, quarantine=(ENTRY,), spec=replace(SPEC, rerun=False))

    assert (session.runs, finding.outcome) == ([], Outcome.FAILED)


def test_a_stopped_worker_makes_no_further_run() -> None:
    session = ScriptedSession("F")
    stopped = replace(CLAIM, stop_reason=lambda: StopReason.STOP)
    checker: Any = OneTestChecker()
    reruns = CheckRerun(checker, KnownTests(TEST), (ENTRY,), HandClock())
    check = ProofCheck(a_task("t"), SPEC, Path("1-unit"), stopped, session)  # type: ignore[arg-type]

    finding = reruns.rerun_failed(check, a_result("F"), FACTS)

    assert session.runs == ["again-1"]
    assert finding.outcome is Outcome.FAILED


def test_the_pass_of_a_known_flaky_test_is_recorded_without_a_further_run() -> None:
    session, checker = ScriptedSession("."), OneTestChecker()
    reruns = CheckRerun(checker, KnownTests(TEST), (), HandClock())  # type: ignore[arg-type]
    check = ProofCheck(a_task("t"), SPEC, Path("1-unit"), CLAIM, session)  # type: ignore[arg-type]

    finding = reruns.observe_passes(check, a_result("."), CANDIDATE)

    assert [(run["test"], run["passed"]) for run in finding.params[TEST_RUNS]] == [(TEST, 1)]
    assert session.runs == []
