"""Class 12: an agent that says itself that it failed is believed that much."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, Case, Task, asks
from tests.false_success.case_runner import Arena, settle
from tests.false_success.sample_projects import GREEN, TESTS

pytestmark = pytest.mark.acceptance
WORK = "echo 'X = 1' > x.py\n"
SAYS = "yaoki result --status {} > /dev/null\n"
WHY = "--summary 'cannot do it'"
FAILED = SAYS.format(f"failed {WHY}")
NOTE = "printf '{}' > \"$YAOKI_RESULT\"\n"


def says(story: str, acts: str | tuple[str, ...], ends: Any = None, **more: Any) -> Case:
    held = {"files": GREEN, "checks": TESTS, "ends": ends or asks(), **more}
    return Case(story, acts=acts, **held)


ONCE_MORE = {"retry": {"max_retries": 1}}
SAID = [
    says("failed and exits with 1", f"{WORK}{FAILED}exit 1"),
    says("failed and exits with 0", f"{WORK}{FAILED}"),
    says("failed by a note", WORK + NOTE.format('{"status": "failed", "summary": "cannot do it"}')),
    says("failed with partial changes", WORK + SAYS.format(f"failed {WHY} --partial-changes")),
    says("failed and is not safe to retry", WORK + SAYS.format(f"failed {WHY} --no-retry-safe")),
    says("a question", WORK + SAYS.format("question --question 'Which of the two?'")),
    says(
        "a conflict of task and tests", WORK + SAYS.format("conflict --summary 'the test wants 4'")
    ),
    says("failed, twice", f"{WORK}{FAILED}", keys=ONCE_MORE),
    says(
        "failed in a subtask",
        "",
        tasks=(
            Task(
                "grp",
                keys={
                    "kind": "group",
                    "checks": ["tests"],
                    "tasks": [
                        Task("good", "echo 'Y = 1' > y.py"),
                        Task("work", f"{WORK}{FAILED}"),
                    ],
                },
            ),
        ),
        guilty="work",
    ),
    says("failed in a report", f"echo half a report\n{FAILED}", keys={"kind": "report"}),
]

HONEST = [
    says("failed first and then did it", (f"{WORK}{FAILED}", WORK), LANDS, keys=ONCE_MORE),
    says("done", WORK + SAYS.format("done --summary 'it is there'"), LANDS),
    says("nothing, and exits with 3", f"{WORK}exit 3", LANDS),
]


@pytest.mark.full
@pytest.mark.spec("16.8")
@pytest.mark.parametrize("case", SAID, ids=str)
def test_passing_checks_do_not_overrule_a_reported_failure(case: Case, arena: Arena) -> None:
    settle(case, arena)


@pytest.mark.quick_cases(1)
@pytest.mark.spec("16.8", "4.2")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_work_without_a_reported_failure_lands(case: Case, arena: Arena) -> None:
    settle(case, arena)


@pytest.mark.full
@pytest.mark.spec("16.8")
def test_the_summary_of_a_reported_failure_is_in_the_question(arena: Arena) -> None:
    ended = settle(SAID[0], arena)

    (task,) = ended.stands["tasks"]
    assert "cannot do it" in task["question"]


@pytest.mark.full
@pytest.mark.spec("16.8")
def test_a_reported_conflict_between_task_and_tests_is_escalated_without_a_retry(
    arena: Arena,
) -> None:
    acts = WORK + SAYS.format("conflict --summary 'the test wants 4'")

    ended = settle(says("a conflict", acts, keys={"retry": {}}), arena)

    (task,) = ended.stands["tasks"]
    assert task["attempt"] == 1
    assert "the test wants 4" in task["question"]


@pytest.mark.full
@pytest.mark.spec("4.2")
def test_the_exit_code_of_an_agent_whose_work_landed_is_shown(arena: Arena) -> None:
    arena.lay(case := HONEST[2])
    assert arena.yaoki("run", str(arena.plan(case)), "--quiet")[0] == 0

    assert "code 3" in arena.yaoki("status")[1]
