"""Real agent programs whose service fails: the kind, the wait and the words that `yaoki why` tells.

One run for each program: every task meets another fault, on an account of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.project import Completed, holds
from tests.acceptance.real_agents import Scripts, Theatre, Theatres, theatres
from tests.scripted_model import Cut, Fault, Hang, Step, shell

__all__ = ["theatres"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.timeout(300),
]


@dataclass(frozen=True)
class Told:
    """What must be told of one fault."""

    kind: str
    words: str
    wait_s: float | None = None
    reason: str = "SYSTEM_ERROR_TRANSIENT"


RATE = Told("RATE_LIMIT", "the agent's service answered with a rate limit")
AWAY = Told("TRANSIENT_ERROR", "the agent's service was overloaded or out of reach")
AUTH = Told(
    "FATAL_ERROR",
    "the agent's service refused the credentials",
    reason="SYSTEM_ERROR_PERMANENT",
)
LATE = Told(
    "TIMEOUT", "the agent was still working at its deadline and was ended", reason="MAX_RETRIES"
)
USUAL = {"rate": RATE, "overloaded": AWAY, "auth": AUTH, "cut": AWAY, "hang": LATE}
EXPECTED: Mapping[str, Mapping[str, Told]] = {
    # It announces each wait, so it is ended at once and the wait is known.
    "claude": {**USUAL, "rate": Told(RATE.kind, RATE.words, wait_s=3.0)},
    "codex": USUAL,
    "gemini": USUAL,
    "pi": USUAL,
    # Only its log tells that it waits, and not for how long.
    "opencode": USUAL,
}
# How long the service asks to wait; gemini and pi wait themselves, in silence.
RETRY_AFTER = {"gemini": "1", "pi": "1"}


def faults(theatre: Theatre) -> dict[str, Step]:
    wait = RETRY_AFTER.get(theatre.name, "3")
    return {
        "rate": Fault(429, headers={"retry-after": wait}),
        "overloaded": Fault(529),
        "auth": Fault(401),
        "cut": Cut(),
        "hang": Hang(),
    }


def a_task(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "goal": goal(name),
        "agent": name,
        "checks": [f"made-{name}"],
        "timeout": "12s" if USUAL[name] is LATE else "140s",
        "retry": {"max_retries": 0},
    }


def goal(name: str) -> str:
    return f"Meet the fault called {name}."


def fall(theatre: Theatre) -> tuple[Completed, Scripts]:
    met = faults(theatre)
    with theatre.model({goal(name): (step,) for name, step in met.items()}) as model:
        plan = {
            "goal": "Fall",
            "agents": {name: theatre.agent(model, home=name, account=name) for name in met},
            "checks": {f"made-{name}": holds(f"{name}.txt") for name in met},
            "tasks": [a_task(name) for name in met],
        }
        return theatre.run(plan, "--parallel", "3"), model


@pytest.mark.spec("4.2", "5.4", "3.8", "3.10", "4.7")
def test_each_fault_of_a_service_is_reported_with_kind_wait_and_message(theatres: Theatres) -> None:
    theatres.play(tuple(EXPECTED), fall, assert_each_is_told)


def assert_each_is_told(theatre: Theatre, played: tuple[Completed, Scripts]) -> None:
    done, model = played
    assert done.code == 4, done.out
    # On a busy machine a program may come to its deadline before it has asked anything.
    quick = [name for name, told in USUAL.items() if told is not LATE]
    assert all(model.asked[goal(name)] for name in quick), "every program met its fault"
    told = {name: seen(theatre.why(name)) for name in USUAL}
    assert told == EXPECTED[theatre.name]


def seen(document: dict[str, Any]) -> Told:
    """As `why` tells it."""
    decision = document["decisions"][0]
    assert decision["decision"] in {"ESCALATE", "HOLD"}
    inputs, words = decision["inputs"], decision["failure"].partition(": ")[2]
    name = document["task"]["name"]
    # Of an agent that exits 0 the check that failed is told as well.
    told = words.removeprefix(f"made-{name}: ")
    told = told.partition(" after ")[0] if inputs["kind"] == "TIMEOUT" else told
    assert document["attempts"][0]["agent"] == name
    return Told(inputs["kind"], told, inputs["retry_after_s"], document["task"]["reason"])


@pytest.mark.spec("5.4", "3.10")
def test_a_wait_of_an_hour_named_by_the_service_is_read(theatres: Theatres) -> None:
    """Left to itself Claude Code would end at once, without the time, and be asked in vain."""
    theatres.play(("claude",), rest, assert_the_hour_is_told)


def rest(theatre: Theatre) -> Completed:
    with theatre.model({goal("rate"): (Fault(429, headers={"retry-after": "3600"}),)}) as model:
        plan = {
            "goal": "Rest",
            "agents": {"rate": theatre.agent(model)},
            "checks": {"made-rate": holds("rate.txt")},
            "tasks": [a_task("rate")],
        }
        done = theatre.run(plan)
        assert len(model.asked[goal("rate")]) == 1
        return done


def assert_the_hour_is_told(theatre: Theatre, done: Completed) -> None:
    assert done.code == 4, done.out
    assert seen(theatre.why("rate")) == Told(RATE.kind, RATE.words, wait_s=3600.0)


@pytest.mark.spec("5.4", "3.7", "5.5")
def test_a_rate_limit_before_the_first_answer_is_retried_in_a_new_conversation(
    theatres: Theatres,
) -> None:
    """There is no conversation yet: the next attempt is a new one with the very same words."""
    theatres.play(("gemini", "codex"), begin_again, assert_it_began_again)


def begin_again(theatre: Theatre) -> tuple[Completed, Scripts]:
    words = "Write made.txt when the service has time."
    # As often as it asks by itself in one attempt.
    tries = {"gemini": 2, "codex": 1}[theatre.name]
    refused = Fault(429, "Rate limit reached. Please retry in 1s")
    steps: tuple[Step, ...] = (*(refused,) * tries, *theatre.program.ran("echo good > made.txt"))
    with theatre.model({words: steps}) as model:
        return theatre.run(one_task(theatre.agent(model), words)), model


def one_task(agent: dict[str, Any], words: str) -> dict[str, Any]:
    return {
        "goal": "Rise",
        "agents": {"real": agent},
        "agent": "real",
        "checks": {"made": holds("made.txt")},
        "tasks": [{"id": "made", "goal": words, "checks": ["made"]}],
    }


def assert_it_began_again(theatre: Theatre, played: tuple[Completed, Scripts]) -> None:
    done, _ = played
    assert done.code == 0, done.out
    told = theatre.why("made")
    assert [held["inputs"]["kind"] for held in told["decisions"]] == ["RATE_LIMIT"]
    first, second = told["attempts"]
    assert (first["session"] or "", bool(second["session"])) == ("", True)
    task = theatre.place.task("made")
    assert theatre.place.prompt(task, 1) == theatre.place.prompt(task, 2)


@pytest.mark.spec("3.10", "5.4", "3.7")
def test_yaoki_waits_instead_of_the_agent_and_continues_the_same_conversation(
    theatres: Theatres,
) -> None:
    """The service asks for three seconds; the agent may wait two by itself."""
    theatres.play(("claude",), wait, assert_it_waited)


def wait(theatre: Theatre) -> Completed:
    words = "Write made.txt once the service lets you."
    limited = Fault(429, headers={"retry-after": "3"})
    done = theatre.program.ran("echo good > made.txt")
    steps: tuple[Step, ...] = (shell("echo begun"), limited, *done)
    with theatre.model({words: steps}) as model:
        return theatre.run(one_task(theatre.agent(model), words))


def assert_it_waited(theatre: Theatre, done: Completed) -> None:
    assert done.code == 0, done.out
    told = theatre.why("made")
    decision, (first, second) = told["decisions"][0], told["attempts"]
    assert decision["decision"] == "RETRY"
    assert (decision["inputs"]["kind"], decision["inputs"]["delay_s"]) == ("RATE_LIMIT", 3.0)
    assert "in 3 s (Retry-After)" in decision["reasoning"]
    assert first["session"] == second["session"] != ""
