"""The journal's attempts as samples."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW
from yaoki.core.forecast.samples import AttemptResult, AttemptSample
from yaoki.ports import JournalEntry
from yaoki.views.history.measured_attempts import SAMPLES_MAX, MeasuredAttempts, measure_attempts

pytestmark = pytest.mark.spec("18.9")
Line = tuple[str, float, dict[str, Any]]


def entry(n: int, line: Line, task: str = "run-1") -> JournalEntry:
    event, at, data = line
    return JournalEntry(n, NOW + timedelta(seconds=at), "run", task, 1, event, data)


def measured(*lines: Line) -> list[AttemptSample]:
    return measure_attempts((entry(n, line) for n, line in enumerate(lines)), [])


def start(at: float, agent: str = "mine") -> list[Line]:
    return [("TASK_CLAIMED", at, {}), ("ATTEMPT_STARTED", at + 1, {"agent": agent})]


def ended(at: float, cost: float | None = 0.5, **more: Any) -> Line:
    return ("AGENT_FINISHED", at, {"exit": {"code": 0, "cost": cost}, **more})


def judged(at: float, *checks: str) -> Line:
    return ("QUALITY_JUDGMENT", at, {"passed": True, "checks": dict.fromkeys(checks, "PASSED")})


def failed(event: str, at: float, kind: str, **more: Any) -> Line:
    return (event, at, {"failure": {"kind": kind, "message": "m", **more}, "delay_ms": 5000})


LANDED: Line = ("TASK_LANDED", 100, {"commit": "c"})


def test_a_landed_attempt_has_its_work_its_proof_and_its_cost() -> None:
    assert measured(*start(0), ended(60), judged(90, "types", "tests"), LANDED) == [
        AttemptSample(
            "run", "mine", False, ("tests", "types"), 60.0, 40.0, AttemptResult.PASSED, 0.5
        )
    ]


def test_the_attempt_after_a_failed_one_is_a_retry() -> None:
    first, second = measured(
        *start(0),
        ended(60),
        judged(70, "tests"),
        failed("RETRY_DECISION", 80, "QUALITY_FAILURE"),
        *start(85),
        ended(90),
        judged(95, "tests"),
        LANDED,
    )

    assert (first.result, first.delay_s, first.is_retry) == (AttemptResult.FAILED, 5.0, False)
    assert (second.result, second.is_retry, second.work_s) == (AttemptResult.PASSED, True, 5.0)


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (failed("RETRY_DECISION", 80, "RATE_LIMIT"), AttemptResult.REPEATED),
        (failed("RETRY_DECISION", 80, "QUALITY_FAILURE", ours=True), AttemptResult.REPEATED),
        (failed("ESCALATE_DECISION", 80, "QUALITY_FAILURE"), AttemptResult.FAILED),
        (failed("RERUN_HELD", 80, "INCOMPLETE"), AttemptResult.FAILED),
        (failed("ESCALATE_DECISION", 80, "ESCALATE_REQUIRED"), AttemptResult.ASKED),
    ],
)
def test_the_cause_decides_what_an_attempt_leads_to(line: Line, result: AttemptResult) -> None:
    assert [one.result for one in measured(*start(0), ended(60), line)] == [result]


def test_a_limit_that_closes_the_account_is_known() -> None:
    closure = {"closure": {"since": NOW.isoformat()}}
    limit = failed("RETRY_DECISION", 80, "RATE_LIMIT", **closure)

    assert [one.closes_account for one in measured(*start(0), ended(60), limit)] == [True]


@pytest.mark.parametrize("end", ["TASK_CLAIMED", "WAIT_ENDED", "TASK_CANCELLED"])
def test_a_wait_that_ended_early_counts_as_long_as_it_was(end: str) -> None:
    """The service announced 16 hours, and a person ended the wait after 28 seconds."""
    decision = failed("RETRY_DECISION", 80, "RATE_LIMIT", closure={"since": NOW.isoformat()})
    announced = (*decision[:2], {**decision[2], "delay_ms": 16 * 3_600_000})

    (sample,) = measured(*start(0), ended(60), announced, (end, 108, {}), ("TASK_CLAIMED", 200, {}))
    (open_,) = measured(*start(0), ended(60), announced)

    assert (sample.delay_s, open_.delay_s) == (28.0, 16 * 3600.0)


def test_a_task_that_is_claimed_late_has_waited_as_announced() -> None:
    """It may have waited for a slot, which the simulation adds itself."""
    decision = failed("RETRY_DECISION", 80, "RATE_LIMIT")

    (sample,) = measured(*start(0), ended(60), decision, ("TASK_CLAIMED", 500, {}))

    assert sample.delay_s == 5.0


def test_a_task_that_only_runs_checks_has_only_a_proof() -> None:
    (sample,) = measured(*start(0, agent=""), judged(90, "tests"), LANDED)

    assert (sample.agent, sample.work_s, sample.proof_s) == ("", 0.0, 100.0)


def test_interrupted_attempts_and_the_work_of_people_are_not_measured() -> None:
    released: Line = ("LEASE_RELEASED", 50, {})

    assert measured(*start(0), released, LANDED) == []
    assert measured(*start(0), ended(60, by_person=True), LANDED) == []
    assert measured(*start(0, agent="person"), ended(60), LANDED) == []
    assert measured(LANDED) == []


@pytest.mark.parametrize(
    ("exit_", "tree", "is_measured"),
    [
        ({"start_error": "cannot run claude", "seconds": 0.01}, "before", False),
        ({"code": 1, "limit": "auth", "seconds": 4.0}, "before", False),
        ({"code": 1, "limit": "money", "seconds": 4.0}, "before", False),
        ({"code": 1, "limit": "notfound", "seconds": 4.0}, "before", False),
        ({"code": 1, "limit": "auth", "seconds": 400.0}, "after", True),
        ({"code": 1, "seconds": 0.9}, "before", False),
        ({"signal": 11, "seconds": 0.9}, "before", False),
        ({"code": 1, "limit": "unknown", "seconds": 0.9}, "before", False),
        ({"code": 1, "seconds": 1.0}, "before", True),
        ({"code": 1, "seconds": 0.9}, "after", True),
        ({"code": 0, "seconds": 0.9}, "before", True),
        ({"code": 1, "limit": "rate", "seconds": 0.9}, "before", True),
    ],
)
def test_an_agent_that_never_worked_teaches_no_duration(
    exit_: dict[str, Any], tree: str, is_measured: bool
) -> None:
    started = [
        ("TASK_CLAIMED", 0.0, {}),
        ("ATTEMPT_STARTED", 1.0, {"agent": "a", "tree": "before"}),
    ]
    finished = ("AGENT_FINISHED", 2.0, {"exit": exit_, "tree": tree})

    failure = failed("RETRY_DECISION", 3, "INCOMPLETE")

    assert bool(measured(*started, finished, failure)) is is_measured
    assert len(measured(*started, finished, LANDED)) == 1, "its work was not needed"


def test_the_attempt_after_a_crash_is_a_retry() -> None:
    crash = ("AGENT_FINISHED", 2.0, {"exit": {"code": 1, "seconds": 0.1}})

    (sample,) = measured(
        *start(0),
        crash,
        failed("RETRY_DECISION", 3, "INCOMPLETE"),
        *start(5),
        ended(60),
        LANDED,
    )

    assert (sample.is_retry, sample.work_s) == (True, 55.0)


def test_only_the_newest_attempts_are_kept() -> None:
    fold = MeasuredAttempts()
    for n in range(SAMPLES_MAX + 5):
        for line in (*start(0), ended(float(n + 1)), ("TASK_LANDED", n + 2.0, {})):
            fold.add(entry(n, line, f"run-{n}"))

    assert len(fold.samples) == SAMPLES_MAX
    assert fold.samples[0].work_s == 6.0


# ------------------------------------------------------------------ races


@pytest.mark.spec("18.4")
def test_each_candidate_of_a_race_is_a_sample_and_the_racing_task_is_none() -> None:
    """Its attempt is the whole round, and its landing repeats the proof of the winner."""
    race = [
        entry(0, ("TASK_CLAIMED", 0, {})),
        entry(1, ("ATTEMPT_STARTED", 0, {"agent": ""})),
        entry(2, ("RACE_STARTED", 0, {"candidates": ["run-2", "run-3", "run-4"]})),
    ]
    for n, task in enumerate(("run-2", "run-3", "run-4"), start=1):
        race += [entry(10 * n + place, line, task) for place, line in enumerate(start(1))]
    race += [
        entry(50, ended(41), "run-2"),
        entry(51, failed("CANDIDATE_FAILED", 51, "QUALITY_FAILURE"), "run-2"),
        entry(52, ended(61), "run-3"),
        entry(53, judged(70, "tests"), "run-3"),
        entry(54, ("CANDIDATE_PROVEN", 71, {"score": {}}), "run-3"),
        entry(55, ("CANDIDATE_RETIRED", 71, {"won": True}), "run-3"),
        entry(56, ended(72, None), "run-4"),
        entry(57, ("CANDIDATE_RETIRED", 72, {}), "run-4"),
        entry(58, ("TASK_CLAIMED", 73, {})),
        entry(59, judged(80, "tests")),
        entry(60, LANDED),
    ]

    samples = [(one.result, one.work_s, one.proof_s) for one in measure_attempts(race, [])]

    assert samples == [
        (AttemptResult.FAILED, 40.0, 10.0),
        (AttemptResult.PASSED, 60.0, 10.0),
        (AttemptResult.STOPPED, 71.0, 0.0),
    ]


@pytest.mark.spec("18.4")
def test_a_lost_round_is_no_sample_and_the_next_candidates_are_retries() -> None:
    told = {"feedback": {"kind": "QUALITY_FAILURE"}}
    lines = [
        entry(0, ("TASK_CLAIMED", 0, {})),
        entry(1, ("ATTEMPT_STARTED", 0, {"agent": ""})),
        entry(2, ("RACE_STARTED", 0, {})),
        entry(3, failed("RETRY_DECISION", 80, "QUALITY_FAILURE")),
        entry(4, ("CANDIDATE_RELEASED", 90, told), "run-2"),
        *(entry(5 + n, line, "run-2") for n, line in enumerate(start(90))),
        entry(8, ended(95), "run-2"),
        entry(9, ("CANDIDATE_PROVEN", 100, {"score": {}}), "run-2"),
    ]

    (sample,) = measure_attempts(lines, [])

    assert (sample.result, sample.is_retry) == (AttemptResult.PASSED, True)


def test_an_entry_with_damaged_fields_is_left_out_and_counted() -> None:
    finished = ("AGENT_FINISHED", 5.0, {"exit": "gone"})
    lines = [*(entry(n, line) for n, line in enumerate(start(0))), entry(7, finished)]
    unreadable: list[int] = []

    measure_attempts([*lines, entry(8, ("TASK_LANDED", 9.0, {}))], unreadable)

    assert unreadable == [7]
