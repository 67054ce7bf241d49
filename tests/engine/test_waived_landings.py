"""What a failing check of a joint commit is compared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders import a_check, a_run, a_spec, a_task
from yaoki.core.model import Finding, FindingItem, Outcome, Task, TaskId
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.engine.stages.waived_landings import WaivedLandings
from yaoki.ports import CheckFacts, LandedStep, commit_facts

pytestmark = pytest.mark.spec("10.4", "17.7", "0.1")

FAILING = Finding(
    "tests",
    Outcome.FAILED,
    pattern="test-failed",
    message="1 test fails",
    items=(FindingItem("test_x", "AssertionError: no"),),
    params={"failureCount": 1, "passedCount": 3},
)
PASSING = replace(FAILING, outcome=Outcome.PASSED, items=())


class Comparison:
    """The check fails on these commits."""

    def __init__(self, *failing: str) -> None:
        self._failing = failing

    def baseline(self, _check: Any, _facts: CheckFacts, commit: str) -> Finding:
        return FAILING if commit in self._failing else PASSING


def weigh(comparison: Comparison) -> Finding:
    """The check fails on a joint commit; `a` landed with a waiver for it."""
    landed = a_task(spec=a_spec("a"), waivers=("tests",), landed_commit="landing")
    step = LandedStep(landed.id, "landing")
    workspace: Any = SimpleNamespace(branches=SimpleNamespace(list_landings=lambda _: [step]))

    def find_task(_: TaskId) -> Task:
        return landed

    claim: Any = SimpleNamespace(stop_reason=lambda: "")
    session: Any = None
    check = ProofCheck(a_task(spec=a_spec("b")), a_check(), Path("checks/tests"), claim, session)
    facts = replace(commit_facts("joint"), onto="join", verified_below="below")
    waived: Any = comparison
    return WaivedLandings(workspace, find_task).weigh(a_run(), check, FAILING, facts, waived)


def test_a_failure_that_is_on_the_branch_below_is_waived() -> None:
    assert weigh(Comparison("landing", "below", "join")).outcome is Outcome.WAIVED


def test_a_failure_of_work_that_is_taken_along_counts() -> None:
    assert weigh(Comparison("landing", "join")).outcome is Outcome.FAILED
