"""Evidence in the journal: each reason why DONE is not justified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from yaoki.core.evidence import (
    CheckEvidence,
    TaskEvidence,
    expected_commits,
    find_foreign_commits,
    find_unproven,
    fold_evidence,
    may_land,
)
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
def test_a_row_in_state_done_is_justified_by_its_journal(lines: tuple[Line, ...]) -> None:
    assert find_unproven(fold_evidence(lines), [Row()]) == []


@pytest.mark.parametrize(("lines", "why"), NOT_JUSTIFIED.values(), ids=NOT_JUSTIFIED)
def test_a_row_in_state_done_without_proof_is_named_with_the_reason(
    lines: tuple[Line, ...], why: str
) -> None:
    (found,) = find_unproven(fold_evidence(lines), [Row()])

    assert found.task_id == "r-1"
    assert "the row of login says DONE, the journal file has no proof of it" in found.message
    assert why in found.message


def test_a_row_that_claims_less_than_the_journal_is_accepted() -> None:
    for state in (State.WAITING, State.ACTIVE, State.ESCALATED, State.CANCELLED):
        assert find_unproven(fold_evidence([SUBMITTED]), [Row(state=state, landed_commit="")]) == []


def test_a_landed_commit_missing_on_the_branch_is_unproven() -> None:
    (found,) = find_unproven(fold_evidence(GOOD), [Row()], missing_commits=[COMMIT])

    assert found.message.endswith("the run branch does not contain cccccccccccc")


def test_a_plan_made_by_a_person_needs_no_commit() -> None:
    row = Row(kind="plan", landed_commit="")

    assert find_unproven(fold_evidence([submitted(kind="plan"), BY_A_PERSON]), [row]) == []
    assert find_unproven(fold_evidence([submitted(kind="plan")]), [row])


@pytest.mark.parametrize("event", ["TASK_REPLACED", "TASK_BLAMED"])
def test_a_replaced_row_needs_its_journal_entry(event: str) -> None:
    row, line = Row(state=State.REPLACED, landed_commit=""), Line(event, {"by": "r-2"})

    assert find_unproven(fold_evidence([SUBMITTED, line]), [row]) == []
    (found,) = find_unproven(fold_evidence([SUBMITTED]), [row])
    assert "says REPLACED" in found.message


def test_a_required_task_with_an_optional_row_is_named() -> None:
    optional = replace(Row(state=State.ESCALATED, landed_commit=""), required=False)

    (found,) = find_unproven(fold_evidence([SUBMITTED]), [optional])
    assert "says that it is optional" in found.message
    assert find_unproven(fold_evidence([submitted(required=False)]), [optional]) == []


def test_a_row_without_an_entry_and_an_entry_without_a_row_are_named() -> None:
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


def test_a_subtask_is_expected_on_the_branch_only_after_its_group() -> None:
    group = Row("r-9", "group", "group", State.WAITING, "")
    inside = Row(parent="r-9")

    assert expected_commits(fold_evidence(GOOD), [inside, group]) == []
    assert expected_commits(fold_evidence(GOOD), [inside, replace(group, landed_commit=OTHER)]) == [
        COMMIT
    ]


def test_a_commit_of_the_branch_without_a_journal_entry_is_foreign() -> None:
    undoing = Step("e" * 40, undoes=COMMIT)

    assert find_foreign_commits(fold_evidence(GOOD), [Step(COMMIT), Step(OTHER)]) == [OTHER]
    assert find_foreign_commits(fold_evidence(GOOD), [Step(COMMIT), undoing]) == [undoing.commit]
    assert find_foreign_commits(fold_evidence([*GOOD, UNDONE]), [Step(COMMIT), undoing]) == []
    accepted = Line("RECONCILED", {"mismatch": "foreign step", "commit": OTHER}, "")
    assert find_foreign_commits(fold_evidence([*GOOD, accepted]), [Step(COMMIT), Step(OTHER)]) == []


# ------------------------------------------------------------------ the fold, and its words


@pytest.mark.parametrize(
    ("lines", "row", "words"),
    [
        (
            (*GOOD, UNLANDED),
            Row(),
            "the row of login says DONE, the store has no proof of it: its landing was reverted",
        ),
        (
            (SUBMITTED, *PROVEN, landed()),
            Row(landed_commit=OTHER),
            "the row of login says DONE, the store has no proof of it: "
            "it landed as cccccccccccc, the row says dddddddddddd",
        ),
        (
            (SUBMITTED, *PROVEN, landed()),
            Row(landed_commit=""),
            "the row of login says DONE, the store has no proof of it: "
            "it landed as cccccccccccc, the row says nothing",
        ),
        (
            (SUBMITTED, checked(), landed()),
            Row(),
            "the row of login says DONE, the store has no proof of it: "
            "no judgment passed cccccccccccc before it landed",
        ),
        (
            (
                SUBMITTED,
                checked("FAILED", check="a"),
                checked("BROKEN", check="b"),
                judged(),
                landed(),
            ),
            Row(),
            "the row of login says DONE, the store has no proof of it: "
            "a, b did not pass on cccccccccccc",
        ),
        (
            (SUBMITTED, judged(), landed()),
            Row(),
            "the row of login says DONE, the store has no proof of it: "
            "no required check passed on cccccccccccc",
        ),
        (
            (SUBMITTED,),
            Row(state=State.REPLACED),
            "the row of login says REPLACED, the store names no replacement",
        ),
        (
            (SUBMITTED,),
            Row(required=False),
            "the row of login says that it is optional, the store that it is required",
        ),
        ((), Row(), "the store has no line that submits login"),
        ((landed(),), Row(), "the store has no line that submits login"),
    ],
)
def test_an_unproven_row_is_refused_with_its_message(
    lines: tuple[Line, ...], row: Row, words: str
) -> None:
    (found,) = find_unproven(fold_evidence(lines), [row], source="the store")

    assert (found.task_id, found.message) == ("r-1", words)


def test_the_evidence_of_a_task_is_folded_from_its_entries() -> None:
    slow = checked("SKIPPED", check="slow", required=False, seconds=2)

    evidence = fold_evidence([SUBMITTED, checked(seconds=1.5), slow, judged(), landed()])

    task = evidence.tasks["r-1"]
    tests, skipped = (
        CheckEvidence("tests", "PASSED", True, 1.5),
        CheckEvidence("slow", "SKIPPED", False, 2.0),
    )
    assert task == TaskEvidence(
        name="login",
        kind="change",
        required=True,
        verified_commit=COMMIT,
        onto=ONTO,
        checks=(tests, skipped),
        landed_commit=COMMIT,
    )
    assert task.landed_own_commit
    assert not TaskEvidence(landed_commit=ONTO, onto=ONTO).landed_own_commit
    assert evidence.line_count == 5


def test_a_subtask_is_never_required_by_itself() -> None:
    inside = Line(
        "TASK_SUBMITTED", {"n": 1, "spec": {"name": "a", "kind": "check"}, "parent": "r-9"}
    )

    task = fold_evidence([inside]).tasks["r-1"]

    assert (task.required, task.kind) == (False, "check")


@pytest.mark.parametrize(
    ("kind", "event", "replaced"),
    [
        ("change", "TASK_REPLACED", True),
        ("check", "TASK_BLAMED", True),
        ("group", "TASK_BLAMED", False),
        ("group", "TASK_REPLACED", True),
    ],
)
def test_a_group_is_reopened_when_a_subtask_is_blamed(
    kind: str, event: str, replaced: bool
) -> None:
    lines = [submitted(kind=kind), Line(event, {})]

    assert fold_evidence(lines).tasks["r-1"].is_replaced is replaced
    assert not fold_evidence([*lines, UNLANDED]).tasks["r-1"].is_replaced


def test_a_revert_removes_the_landing_and_a_persons_plan() -> None:
    planned = fold_evidence([submitted(kind="plan"), BY_A_PERSON, UNDONE]).tasks["r-1"]
    reverted = fold_evidence([*GOOD, UNDONE]).tasks["r-1"]
    again = fold_evidence([*GOOD, UNDONE, landed()]).tasks["r-1"]

    assert (planned.planned_by, planned.is_reverted) == ("", False)
    assert (reverted.landed_commit, reverted.is_reverted) == ("", True)
    assert fold_evidence([*GOOD, UNDONE, UNLANDED]).tasks["r-1"].is_reverted
    assert (again.landed_commit, again.is_reverted) == (COMMIT, False)


def test_a_judgment_replaces_the_previous_one() -> None:
    task = fold_evidence([*GOOD, judged(OTHER, passed=False)]).tasks["r-1"]

    assert (task.verified_commit, task.landed_commit) == ("", "")


def test_a_result_of_an_earlier_judgment_of_the_same_commit_counts_no_more() -> None:
    """A person waived what failed, and the criterion about it has nothing to report."""
    lines = (
        submitted(),
        checked("FAILED"),
        checked("FAILED", check="Q5"),
        judged(passed=False),
        checked("WAIVED"),
        judged(),
        landed(),
    )

    assert find_unproven(fold_evidence(lines), [Row()]) == []


def test_the_evidence_of_a_run_is_folded_from_its_entries() -> None:
    lines = [
        *GOOD,
        Line("FINAL_SUMMARY", {}, ""),
        Line("RECONCILED", {"mismatch": "foreign step", "commit": "f" * 40}, ""),
        Line("SOMETHING_ELSE", {}, ""),
    ]

    run = fold_evidence(lines)

    assert run.known_commits == {COMMIT, "f" * 40}
    assert (run.has_reverts, run.was_repaired, run.is_summed_up) == (False, False, True)
    assert set(run.tasks) == {"r-1"}
    assert run.line_count == len(lines)
    assert not fold_evidence([*lines, Line("RUN_REOPENED", {}, "")]).is_summed_up
    assert fold_evidence([judged(ONTO)]).known_commits == set()
    assert fold_evidence([judged(passed=False)]).known_commits == set()
    for revert in (UNDONE, UNLANDED):
        taken_back = fold_evidence([*GOOD, revert])
        assert taken_back.known_commits == {COMMIT, OTHER}
        assert taken_back.has_reverts


def test_no_commit_is_foreign_after_a_repair_of_the_store() -> None:
    repaired = Line("RECONCILED", {"mismatch": "corrupt store"}, "")
    other = Line("RECONCILED", {"mismatch": "something"}, "")

    evidence = fold_evidence([*GOOD, repaired, other])

    assert evidence.was_repaired
    assert find_foreign_commits(evidence, [Step(OTHER)]) == []
    assert not fold_evidence([other]).was_repaired


@pytest.mark.spec("0.1", "3.4")
@pytest.mark.parametrize(
    ("lines", "commit", "may"),
    [
        ((SUBMITTED, *PROVEN), COMMIT, True),
        ((SUBMITTED, *PROVEN), OTHER, False),
        ((SUBMITTED,), "", False),
        ((SUBMITTED, checked(), judged(passed=False)), COMMIT, False),
        ((), COMMIT, False),
    ],
)
def test_only_the_judged_commit_may_land(lines: tuple[Line, ...], commit: str, may: bool) -> None:
    assert may_land(fold_evidence(lines).tasks.get("r-1"), commit) is may
