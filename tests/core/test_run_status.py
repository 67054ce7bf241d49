"""A run's status is derived from its tasks."""

from __future__ import annotations

import pytest

from tests.builders import NOW, a_run
from yaoki.core.model import Pause, PauseCause, State
from yaoki.core.run_status import (
    EXIT_CODES,
    RunStatus,
    current_run_status,
    derive_run_status,
    exit_code,
)

W, A, E, D, C, R = (
    State.WAITING,
    State.ACTIVE,
    State.ESCALATED,
    State.DONE,
    State.CANCELLED,
    State.REPLACED,
)

# (required states, optional states) of a run at rest.
AT_REST = [
    ((D,), (), "DONE"),
    ((D, R), (), "DONE"),
    ((D,), (E,), "DONE"),
    ((D,), (C,), "DONE"),
    ((), (E,), "DONE"),
    ((D, E), (), "ESCALATED"),
    ((E, C), (), "ESCALATED"),
    ((E, W), (), "ESCALATED"),
    ((D, C), (), "CANCELLED"),
    ((C, W), (), "CANCELLED"),
    ((W,), (E,), "ESCALATED"),
    ((W,), (C,), "CANCELLED"),
]


def tally(
    required: tuple[State, ...], optional: tuple[State, ...]
) -> dict[tuple[State, bool], int]:
    found: dict[tuple[State, bool], int] = {}
    for needed, states in ((True, required), (False, optional)):
        for state in states:
            found[state, needed] = found.get((state, needed), 0) + 1
    return found


@pytest.mark.spec("1.1", "9.4")
@pytest.mark.parametrize(("required", "optional", "wanted"), AT_REST)
def test_an_idle_run_has_the_status_of_its_tasks(
    required: tuple[State, ...], optional: tuple[State, ...], wanted: str
) -> None:
    assert derive_run_status(tally(required, optional), idle=True).value == wanted


@pytest.mark.spec("1.1", "0.6")
@pytest.mark.parametrize("states", [(D,), (E,), (C,), (W,)])
def test_a_run_that_is_not_idle_is_active(states: tuple[State, ...]) -> None:
    assert derive_run_status(tally(states, ()), idle=False) is RunStatus.ACTIVE


@pytest.mark.spec("1.1", "0.6")
@pytest.mark.parametrize("states", [((A,), ()), ((D, A), ()), ((D, C), (A,)), ((E,), (A,))])
def test_a_run_whose_last_task_lands_between_two_reads_is_active(
    states: tuple[tuple[State, ...], tuple[State, ...]],
) -> None:
    """Tasks are counted before the store is asked whether all rest."""
    assert derive_run_status(tally(*states), idle=True) is RunStatus.ACTIVE
    assert (
        current_run_status(
            a_run(pause=Pause(PauseCause.BUDGET, "used up")), tally(*states), idle=True
        )
        is RunStatus.ACTIVE
    )


@pytest.mark.spec("12.1")
def test_every_status_has_its_exit_code() -> None:
    assert {s.value: code for s, code in EXIT_CODES.items()} == {
        "DONE": 0,
        "CANCELLED": 3,
        "ESCALATED": 4,
        "PAUSED": 5,
        "ACTIVE": 5,
    }


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("", None),
        ("budget: 6 of 6 attempts: all", Pause(PauseCause.BUDGET, "6 of 6 attempts: all")),
        ("somebody said so", Pause(PauseCause.UNKNOWN, "somebody said so")),
        ("unknown: so", Pause(PauseCause.UNKNOWN, "unknown: so")),
    ],
)
def test_a_pause_reads_back_from_its_stored_text(text: str, pause: Pause | None) -> None:
    assert Pause.parse(text) == pause
    assert a_run(pause=pause).pause_reason == text


@pytest.mark.spec("9.3", "1.1")
def test_a_run_with_a_final_check_is_done_when_it_passed() -> None:
    landed = tally((D,), ())
    checked = a_run(done_when=("tests",))

    assert current_run_status(a_run(), landed, idle=True) is RunStatus.DONE
    assert current_run_status(checked, landed, idle=True) is RunStatus.ACTIVE
    finished = a_run(done_when=("tests",), finished_at=NOW)
    assert current_run_status(finished, landed, idle=True) is RunStatus.DONE


@pytest.mark.spec("9.8", "9.5", "10.6")
@pytest.mark.parametrize(
    ("pause", "cancelled", "idle", "states", "status"),
    [
        (True, False, True, (W,), RunStatus.PAUSED),
        (False, False, True, (D,), RunStatus.DONE),
        (True, False, False, (W,), RunStatus.ACTIVE),
        (True, False, True, (A,), RunStatus.ACTIVE),
        (True, True, True, (C,), RunStatus.CANCELLED),
    ],
)
def test_a_pause_shows_once_the_active_tasks_have_ended(
    pause: bool, cancelled: bool, idle: bool, states: tuple[State, ...], status: RunStatus
) -> None:
    held = Pause(PauseCause.UNKNOWN, "look at it") if pause else None
    run = a_run(pause=held, cancel_requested=cancelled)

    assert current_run_status(run, tally(states, ()), idle=idle) is status


@pytest.mark.spec("12.1")
@pytest.mark.parametrize(
    ("status", "cause", "code"),
    [
        (RunStatus.DONE, None, 0),
        (RunStatus.CANCELLED, None, 3),
        (RunStatus.ESCALATED, None, 4),
        (RunStatus.ACTIVE, None, 5),
        (RunStatus.PAUSED, PauseCause.BUDGET, 5),
        (RunStatus.PAUSED, PauseCause.UNKNOWN, 4),
        (RunStatus.DONE, PauseCause.BUDGET, 0),
    ],
)
def test_a_run_has_the_exit_code_of_its_status(
    status: RunStatus, cause: PauseCause | None, code: int
) -> None:
    run = a_run(pause=Pause(cause, "why") if cause else None)

    assert exit_code(run, status) == code
