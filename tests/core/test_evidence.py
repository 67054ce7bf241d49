"""What the lines of a journal prove: each way in which DONE is not justified, by its own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from yaoki.core.evidence import expected_commits, find_foreign_commits, find_unproven, fold_evidence
from yaoki.core.model import State

pytestmark = pytest.mark.spec("16.11")

COMMIT, OTHER, ONTO = "c" * 40, "d" * 40, "0" * 40


@dataclass(frozen=True)
class Line:
    event: str
    data: Mapping[str, Any]
    task_id: str = "r-1"


@dataclass(frozen=True)
class Row:
    id: str = "r-1"
    name: str = "login"
    kind: str = "change"
    state: State = State.DONE
    landed_commit: str = COMMIT
    parent: str = ""
    required: bool = True


@dataclass(frozen=True)
class Step:
    commit: str
    undoes: str = ""


def submitted(task_id: str = "r-1", name: str = "login", **spec: Any) -> Line:
    return Line("TASK_SUBMITTED", {"n": 1, "spec": {"name": name, "goal": "g", **spec}}, task_id)


def checked(outcome: str = "PASSED", commit: str = COMMIT, **more: Any) -> Line:
    data = {"check": "tests", "outcome": outcome, "commit": commit, **more}
    return Line("CHECK_FINISHED", data)


def judged(commit: str = COMMIT, *, passed: bool = True, onto: str = ONTO) -> Line:
    return Line("QUALITY_JUDGMENT", {"passed": passed, "commit": commit, "onto": onto})


def landed(commit: str = COMMIT) -> Line:
    return Line("TASK_LANDED", {"commit": commit})


SUBMITTED, PROVEN = submitted(), (checked(), judged())
GOOD = (SUBMITTED, *PROVEN, landed())
UNLANDED = Line("TASK_UNLANDED", {"head": OTHER, "why": "a proof fails"})
UNDONE = Line("TASK_UNDONE", {"commit": OTHER})
REFUSED = Line("ROW_REFUSED", {"why": "no proof"})
BY_A_PERSON = Line("TASKS_PLANNED", {"names": ["a"], "by": "person"})

JUSTIFIED: Mapping[str, tuple[Line, ...]] = {
    "proven and landed": GOOD,
    "flaky counts as passed": (SUBMITTED, checked("FLAKY"), judged(), landed()),
    "waived by a person": (SUBMITTED, checked("WAIVED"), judged(), landed()),
    "landed again after it was taken back": (*GOOD, UNLANDED, *PROVEN, landed()),
    "an optional check failed beside": (
        SUBMITTED,
        checked(),
        checked("FAILED", check="style", required=False),
        judged(),
        landed(),
    ),
    "failed on another commit before": (
        SUBMITTED,
        checked("FAILED", OTHER),
        judged(OTHER, passed=False),
        *PROVEN,
        landed(),
    ),
}

NOT_JUSTIFIED: Mapping[str, tuple[tuple[Line, ...], str]] = {
    "nothing happened": ((SUBMITTED,), "it never landed"),
    "proven, never landed": ((SUBMITTED, *PROVEN), "it never landed"),
    "landed without a judgment": ((SUBMITTED, checked(), landed()), "no judgment passed"),
    "another commit was judged": ((SUBMITTED, *PROVEN, landed(OTHER)), "it landed as dddd"),
    "the judgment did not pass": (
        (SUBMITTED, checked(), judged(passed=False), landed()),
        "no judgment passed",
    ),
    "undone": ((*GOOD, UNDONE), "its landing was reverted"),
    "unlanded": ((*GOOD, UNLANDED), "its landing was reverted"),
    "refused before": ((*GOOD, REFUSED), "its landing was reverted"),
    "no check was run": ((SUBMITTED, judged(), landed()), "no required check passed"),
    "checks of another commit": (
        (SUBMITTED, checked(commit=OTHER), judged(), landed()),
        "no required check passed",
    ),
    "only skipped checks": ((SUBMITTED, checked("SKIPPED"), judged(), landed()), "no required"),
    "only optional checks": (
        (SUBMITTED, checked(required=False), judged(), landed()),
        "no required check passed",
    ),
    "a required check failed": (
        (SUBMITTED, checked(), checked("FAILED", check="style"), judged(), landed()),
        "style did not pass",
    ),
}


@pytest.mark.parametrize("lines", JUSTIFIED.values(), ids=JUSTIFIED)
def test_done_is_justified(lines: tuple[Line, ...]) -> None:
    assert find_unproven(fold_evidence(lines), [Row()]) == []


@pytest.mark.parametrize(("lines", "why"), NOT_JUSTIFIED.values(), ids=NOT_JUSTIFIED)
def test_done_is_not_justified_and_the_reason_is_named(lines: tuple[Line, ...], why: str) -> None:
    (found,) = find_unproven(fold_evidence(lines), [Row()])

    assert found.task_id == "r-1"
    assert "the row of login says DONE, the journal file has no proof of it" in found.message
    assert why in found.message


def test_a_row_that_claims_less_is_nobodys_business_here() -> None:
    for state in (State.WAITING, State.ACTIVE, State.ESCALATED, State.CANCELLED):
        assert find_unproven(fold_evidence([SUBMITTED]), [Row(state=state, landed_commit="")]) == []


def test_a_commit_that_the_branch_lacks_proves_nothing() -> None:
    (found,) = find_unproven(fold_evidence(GOOD), [Row()], missing_commits=[COMMIT])

    assert found.message.endswith("the run branch does not hold cccccccccccc")


def test_a_plan_made_by_a_person_needs_no_commit() -> None:
    row = Row(kind="plan", landed_commit="")

    assert find_unproven(fold_evidence([submitted(kind="plan"), BY_A_PERSON]), [row]) == []
    assert find_unproven(fold_evidence([submitted(kind="plan")]), [row])


@pytest.mark.parametrize("event", ["TASK_REPLACED", "TASK_BLAMED"])
def test_replaced_is_believed_only_by_its_line(event: str) -> None:
    row, line = Row(state=State.REPLACED, landed_commit=""), Line(event, {"by": "r-2"})

    assert find_unproven(fold_evidence([SUBMITTED, line]), [row]) == []
    (found,) = find_unproven(fold_evidence([SUBMITTED]), [row])
    assert "says REPLACED" in found.message


def test_a_required_task_is_not_optional_because_its_row_says_so() -> None:
    optional = replace(Row(state=State.ESCALATED, landed_commit=""), required=False)

    (found,) = find_unproven(fold_evidence([SUBMITTED]), [optional])
    assert "says that it is optional" in found.message
    assert find_unproven(fold_evidence([submitted(required=False)]), [optional]) == []


def test_a_row_without_a_line_and_a_line_without_a_row_are_named() -> None:
    evidence = fold_evidence([*GOOD, submitted("r-2", "logout")])

    words = [one.message for one in find_unproven(evidence, [Row(), Row("r-3", "forged")])]

    assert words == [
        "the journal file has no line that submits forged",
        "logout has no row; the journal file has the task",
    ]


def test_the_branch_must_contain_every_commit_that_landed() -> None:
    unchanged = [submitted("r-2"), replace(judged(onto=COMMIT), task_id="r-2")]
    evidence = fold_evidence([*GOOD, *unchanged, replace(landed(), task_id="r-2")])

    assert expected_commits(evidence, [Row(), Row("r-2")]) == [COMMIT]


def test_a_subtask_comes_to_the_branch_with_its_group() -> None:
    group = Row("r-9", "group", "group", State.WAITING, "")
    inside = Row(parent="r-9")

    assert expected_commits(fold_evidence(GOOD), [inside, group]) == []
    assert expected_commits(fold_evidence(GOOD), [inside, replace(group, landed_commit=OTHER)]) == [
        COMMIT
    ]


def test_a_step_of_the_branch_that_no_line_accounts_for_is_foreign() -> None:
    undoing = Step("e" * 40, undoes=COMMIT)

    assert find_foreign_commits(fold_evidence(GOOD), [Step(COMMIT), Step(OTHER)]) == [OTHER]
    assert find_foreign_commits(fold_evidence(GOOD), [Step(COMMIT), undoing]) == [undoing.commit]
    assert find_foreign_commits(fold_evidence([*GOOD, UNDONE]), [Step(COMMIT), undoing]) == []
    accepted = Line("RECONCILED", {"mismatch": "foreign step", "commit": OTHER}, "")
    assert find_foreign_commits(fold_evidence([*GOOD, accepted]), [Step(COMMIT), Step(OTHER)]) == []
