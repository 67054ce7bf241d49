"""Class 12: an agent that says itself that it failed is believed that much."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, Case, Task, asks
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import GREEN, TESTS

pytestmark = pytest.mark.acceptance
WORK = "echo 'X = 1' > x.py\n"
SAYS = "yaoki result --status {} > /dev/null\n"
WHY = "--summary 'cannot do it'"
FAILED = SAYS.format(f"failed {WHY}")
NOTE = "printf '{}' > \"$YAOKI_RESULT\"\n"


def reporting_case(story: str, acts: str | tuple[str, ...], ends: Any = None, **more: Any) -> Case:
    held = {"files": GREEN, "checks": TESTS, "ends": ends or asks(), **more}
    return Case(story, acts=acts, **held)


ONCE_MORE = {"retry": {"max_retries": 1}}
SAID = [
    reporting_case("failed and exits with 1", f"{WORK}{FAILED}exit 1"),
    reporting_case("failed and exits with 0", f"{WORK}{FAILED}"),
    reporting_case(
        "failed by a note", WORK + NOTE.format('{"status": "failed", "summary": "cannot do it"}')
    ),
    reporting_case(
        "failed with partial changes", WORK + SAYS.format(f"failed {WHY} --partial-changes")
    ),
    reporting_case(
        "failed and is not safe to retry", WORK + SAYS.format(f"failed {WHY} --no-retry-safe")
    ),
    reporting_case("a question", WORK + SAYS.format("question --question 'Which of the two?'")),
    reporting_case(
        "a conflict of task and tests", WORK + SAYS.format("conflict --summary 'the test wants 4'")
    ),
    reporting_case("failed, twice", f"{WORK}{FAILED}", keys=ONCE_MORE),
    reporting_case(
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
    reporting_case("failed in a report", f"echo half a report\n{FAILED}", keys={"kind": "report"}),
]

HONEST = [
    reporting_case(
        "failed first and then did it", (f"{WORK}{FAILED}", WORK), LANDS, keys=ONCE_MORE
    ),
    reporting_case("done", WORK + SAYS.format("done --summary 'it is there'"), LANDS),
    reporting_case("nothing, and exits with 3", f"{WORK}exit 3", LANDS),
]


@pytest.mark.full
@pytest.mark.spec("16.8")
@pytest.mark.parametrize("batch", batches(SAID), ids=str)
def test_passing_checks_do_not_overrule_a_reported_failure(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.quick_cases(1)
@pytest.mark.spec("16.8", "4.2")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_work_without_a_reported_failure_lands(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.8")
def test_the_summary_of_a_reported_failure_is_in_the_question(case_runner: CaseRunner) -> None:
    ended = run_case(SAID[0], case_runner)

    (task,) = ended.status["tasks"]
    assert "cannot do it" in task["question"]


@pytest.mark.full
@pytest.mark.spec("16.8")
def test_a_reported_conflict_between_task_and_tests_is_escalated_without_a_retry(
    case_runner: CaseRunner,
) -> None:
    acts = WORK + SAYS.format("conflict --summary 'the test wants 4'")

    ended = run_case(reporting_case("a conflict", acts, keys={"retry": {}}), case_runner)

    (task,) = ended.status["tasks"]
    assert task["attempt"] == 1
    assert "the test wants 4" in task["question"]


@pytest.mark.full
@pytest.mark.spec("4.2")
def test_the_exit_code_of_an_agent_whose_work_landed_is_shown(case_runner: CaseRunner) -> None:
    case_runner.set_up(case := HONEST[2])
    assert case_runner.yaoki("run", str(case_runner.plan(case)), "--quiet")[0] == 0

    assert "code 3" in case_runner.yaoki("status")[1]
