"""Real agent programs whose service fails: the kind, the wait and the words that `yaoki why` tells.

One run for each program: every task meets another fault, on an account of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.place import Completed, holds
from tests.acceptance.real_agents import Scripts, Theatre, Theatres, theatres
from tests.model import Cut, Fault, Hang, Step

__all__ = ["theatres"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.slow,
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
def test_each_fault_of_a_service_is_told_by_its_kind_wait_and_words(theatres: Theatres) -> None:
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


@pytest.mark.spec("3.10", "5.4", "3.7")
def test_yaoki_waits_in_its_place_and_goes_on_in_the_same_conversation(theatres: Theatres) -> None:
    """The service asks for three seconds; the agent may wait two by itself."""
    theatres.play(("claude",), wait, assert_it_waited)


def wait(theatre: Theatre) -> Completed:
    words = "Write made.txt once the service lets you."
    limited = Fault(429, headers={"retry-after": "3"})
    steps: tuple[Step, ...] = (limited, *theatre.program.ran("echo good > made.txt"))
    with theatre.model({words: steps}) as model:
        plan = {
            "goal": "Rise",
            "agents": {"real": theatre.agent(model)},
            "agent": "real",
            "checks": {"made": holds("made.txt")},
            "tasks": [{"id": "made", "goal": words, "checks": ["made"]}],
        }
        return theatre.run(plan)


def assert_it_waited(theatre: Theatre, done: Completed) -> None:
    assert done.code == 0, done.out
    told = theatre.why("made")
    decision, (first, second) = told["decisions"][0], told["attempts"]
    assert decision["decision"] == "RETRY"
    assert (decision["inputs"]["kind"], decision["inputs"]["delay_s"]) == ("RATE_LIMIT", 3.0)
    assert "in 3 s (Retry-After)" in decision["reasoning"]
    assert first["session"] == second["session"] != ""
