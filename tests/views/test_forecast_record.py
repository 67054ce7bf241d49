"""A recorded forecast is compared with the run until its first end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW
from yaoki.core.forecast.forecast import Forecast, Quantiles
from yaoki.core.forecast.forecast_note import forecast_note
from yaoki.core.model import Spend
from yaoki.ports import JournalEntry
from yaoki.views.forecasts import coverage, rest_words, score_document, score_words
from yaoki.views.history.forecast_record import ForecastRecord, collect_forecasts

pytestmark = pytest.mark.spec("18.9")
TOLD = Forecast(
    Quantiles(3600, 7800, 14400), Quantiles(2, 3, 4), Quantiles(1, 2, 3), 0.0, 0.0, 34, 400
)


def entries(*events: tuple[str, float, dict[str, Any]]) -> list[JournalEntry]:
    """Events of one task, each with its minute; the forecast comes first."""
    told = ("RUN_FORECAST", 0.0, dict(forecast_note(TOLD).data))
    return [
        JournalEntry(n, NOW + timedelta(minutes=at), "run", "run-1", 1, event, data)
        for n, (event, at, data) in enumerate((told, *events), start=1)
    ]


def agent_run(at: float, cost: float | None = 1.0) -> list[tuple[str, float, dict[str, Any]]]:
    exit_ = {"exit": {"code": 0, "seconds": 60.0, "cost": cost}}
    return [
        ("TASK_CLAIMED", at, {}),
        ("ATTEMPT_STARTED", at, {"agent": "mine"}),
        ("PROMPT_SENT", at, {}),
        ("AGENT_FINISHED", at + 1, exit_),
    ]


LANDED: tuple[str, float, dict[str, Any]] = ("TASK_LANDED", 159, {"commit": "c"})
FINISHED: tuple[str, float, dict[str, Any]] = ("FINAL_SUMMARY", 160, {"status": "DONE"})
ASKED: tuple[str, float, dict[str, Any]] = (
    "ESCALATE_DECISION",
    30,
    {"failure": {"kind": "ESCALATE_REQUIRED", "message": "?"}},
)


def recorded(*events: tuple[str, float, dict[str, Any]]) -> ForecastRecord:
    return collect_forecasts(entries(*events), [])["run"]


def test_a_finished_run_is_compared_with_what_was_told() -> None:
    record = recorded(*agent_run(1), *agent_run(90), LANDED, FINISHED)

    assert score_words(record) == (
        "forecast 2 h 10 min (90 %: 4 h), 3 agent runs (90 %: 4), $2.00 (90 %: $3.00);"
        " took 2 h 40 min: inside, 2 agent runs: inside, $2.00: inside"
    )


def test_the_rest_of_a_run_is_told_without_what_it_has_used() -> None:
    spent = Spend(money=1.5, attempts=2)
    free = replace(TOLD, agent_runs=Quantiles(2, 2, 2), money=None)

    assert rest_words(TOLD, spent) == "1 more agent run (90 %: 2), $0.50 more (90 %: $1.50)"
    assert rest_words(free, spent) == "0 more agent runs (90 %: 0), cost unknown"


def test_a_run_below_or_above_the_interval_is_outside() -> None:
    quick = recorded(*agent_run(1), ("FINAL_SUMMARY", 20, {"status": "DONE"})).score
    late = recorded(*agent_run(1), ("FINAL_SUMMARY", 300, {"status": "DONE"})).score
    assert quick is not None
    assert late is not None

    assert (quick.time_result, quick.runs_result) == ("below", "below")
    assert late.time_result == "above"
    assert coverage([quick, late])["time"] == {"runs": 2, "inside": 0, "below": 1, "above": 1}


def test_a_question_is_an_end_and_what_follows_the_answer_is_not_counted() -> None:
    asked = recorded(*agent_run(1), ASKED)
    answered = recorded(
        *agent_run(1),
        ASKED,
        ("ESCALATION_ANSWERED", 500, {"choice": "retry"}),
        *agent_run(501),
        ("FINAL_SUMMARY", 600, {"status": "DONE"}),
    )

    assert asked.score is not None
    assert asked.score.seconds == 30 * 60
    assert answered.score == asked.score


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("ESCALATION_ANSWERED", "a person answered before its end"),
        ("PLAN_EXTENDED", "its plan was extended"),
        ("RUN_PAUSED", "it was paused"),
        ("CANCEL_REQUESTED", "a person cancelled some of it"),
        ("LEASE_EXPIRED", "it was stopped and resumed"),
    ],
)
def test_a_run_that_became_another_one_is_not_compared(event: str, words: str) -> None:
    record = recorded(*agent_run(1), (event, 10, {"counted": False}), LANDED, FINISHED)

    document = score_document(record)

    assert record.score is None
    assert document is not None
    assert (document["took"], document["not_compared"]) == (None, words)
    assert document["words"].endswith(f"not compared: {words}")


def test_a_lost_worker_does_not_prevent_the_comparison() -> None:
    lost = ("LEASE_EXPIRED", 10.0, {"counted": True})

    assert recorded(*agent_run(1), lost, LANDED, FINISHED).score is not None


def test_a_cost_that_one_agent_run_did_not_report_is_not_compared() -> None:
    score = recorded(*agent_run(1), *agent_run(50, cost=None), LANDED, FINISHED).score

    assert score is not None
    assert (score.cost, score.cost_result) == (None, None)
    assert coverage([score])["cost"]["runs"] == 0


def test_an_approved_plan_begins_its_forecast_anew() -> None:
    first = recorded(*agent_run(1), ("TASKS_PLANNED", 5, {}))
    again = recorded(
        *agent_run(1),
        ("TASKS_PLANNED", 5, {}),
        ("RUN_FORECAST", 60, dict(forecast_note(TOLD).data)),
        *agent_run(61),
        LANDED,
        FINISHED,
    )

    assert first.obstacle == "tasks were planned later"
    assert again.score is not None
    assert (again.score.seconds, again.score.agent_runs) == (100 * 60, 1)


def test_a_run_that_is_going_on_has_no_score_yet() -> None:
    record = recorded(*agent_run(1))

    assert record.score is None
    assert score_words(record).startswith("forecast 2 h 10 min")
    assert collect_forecasts(entries(*agent_run(1))[1:], []) == {}


@pytest.mark.spec("18.4")
def test_the_end_of_a_race_is_no_cancellation_by_a_person() -> None:
    """The race stops its other candidate; afterwards the racing task asks, which is an end."""

    def lines(task: str, *events: tuple[str, float]) -> list[JournalEntry]:
        return [replace(one, task_id=task) for one in entries(*((e, at, {}) for e, at in events))]

    race = [
        *entries(("TASK_CLAIMED", 1, {}), ("RACE_STARTED", 1, {"candidates": ["run-2", "run-3"]})),
        *lines("run-2", ("TASK_CLAIMED", 2), ("CANDIDATE_FAILED", 9))[1:],
        *lines("run-3", ("TASK_CLAIMED", 2), ("CANCEL_REQUESTED", 9), ("CANDIDATE_RETIRED", 10))[
            1:
        ],
        *entries(ASKED)[1:],
    ]

    record = collect_forecasts(race, [])["run"]

    assert record.obstacle == ""
    assert record.score is not None
    assert record.score.seconds == 30 * 60


def test_a_run_with_damaged_entries_is_not_compared_and_they_are_counted() -> None:
    """Its agent runs would be counted without the damaged one."""
    lines = entries(*agent_run(1), ("AGENT_FINISHED", 2, {"exit": "gone"}), FINISHED)
    unreadable: list[int] = []

    record = collect_forecasts(lines, unreadable)["run"]

    assert len(unreadable) == 1
    assert (record.score, record.obstacle) == (None, "entries of its journal cannot be read")
