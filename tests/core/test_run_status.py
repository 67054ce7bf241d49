"""A run's status is derived from its tasks."""

from __future__ import annotations

import pytest

from tests.builders import a_run
from yaoki.core.model import Pause, PauseCause, State
from yaoki.core.run_status import (
    EXIT_CODES,
    RunStatus,
    current_run_status,
    derive_run_status,
    required_done,
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
def test_a_run_at_rest(
    required: tuple[State, ...], optional: tuple[State, ...], wanted: str
) -> None:
    assert derive_run_status(tally(required, optional), idle=True).value == wanted


@pytest.mark.spec("1.1", "0.6")
@pytest.mark.parametrize("states", [(D,), (E,), (C,), (W,)])
def test_a_run_that_does_not_rest_is_active_whatever_its_tasks(states: tuple[State, ...]) -> None:
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
def test_the_exit_codes() -> None:
    assert {s.value: code for s, code in EXIT_CODES.items()} == {
        "DONE": 0,
        "CANCELLED": 3,
        "ESCALATED": 4,
        "PAUSED": 5,
        "ACTIVE": 5,
    }


@pytest.mark.spec("9.4")
@pytest.mark.parametrize(
    ("required", "optional", "wanted"),
    [
        ((D,), (E, C, W), True),
        ((D, R), (), True),
        ((D, W), (), False),
        ((D, C), (), False),
        ((E,), (), False),
    ],
)
def test_only_required_tasks_hold_the_run_up(
    required: tuple[State, ...], optional: tuple[State, ...], wanted: bool
) -> None:
    assert required_done(tally(required, optional)) is wanted


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
