"""Real agent programs whose service fails: the kind, the wait and the words that `yaoki why` tells.

One run for each program: every task meets another fault, on an account of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.place import holds
from tests.acceptance.real_agents import Theatre, homes, on, theatre
from tests.model import Cut, Fault, Hang, Step, say

__all__ = ["homes", "theatre"]

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
    "claude": {**USUAL, "rate": Told(RATE.kind, RATE.words, wait_s=4.0)},
    "codex": USUAL,
    "gemini": USUAL,
    "pi": USUAL,
    # It waits in silence: the deadline is all there is.
    "opencode": {**USUAL, "rate": LATE, "overloaded": LATE, "cut": LATE},
}
# Its first start in a new home takes long, and others at the same time may fail over it.
ALONE_AT_FIRST, WARM = {"opencode"}, "Say that you are here."
# How long the service asks to wait; gemini and pi wait themselves, in silence.
RETRY_AFTER = {"gemini": "1", "pi": "1"}


def faults(theatre: Theatre) -> dict[str, Step]:
    wait = RETRY_AFTER.get(theatre.program.name, "4")
    return {
        "rate": Fault(429, headers={"retry-after": wait}),
        "overloaded": Fault(529),
        "auth": Fault(401),
        "cut": Cut(),
        "hang": Hang(),
    }


def a_task(theatre: Theatre, name: str) -> dict[str, Any]:
    late = EXPECTED[theatre.program.name][name] is LATE
    return {
        "id": name,
        "goal": f"Meet the fault called {name}.",
        "agent": name,
        "checks": [f"made-{name}"],
        "timeout": "20s" if late else "90s",
        "retry": {"max_retries": 0},
        "needs": ["warm"] if theatre.program.name in ALONE_AT_FIRST else [],
    }


def warm_up(theatre: Theatre) -> list[dict[str, Any]]:
    task = {"id": "warm", "goal": WARM, "kind": "report", "agent": "hang", "checks": ["here"]}
    return [task] if theatre.program.name in ALONE_AT_FIRST else []


@pytest.mark.spec("4.2", "5.4", "3.8", "3.10", "4.7")
@on(*EXPECTED)
def test_each_fault_of_a_service_is_told_by_its_kind_wait_and_words(theatre: Theatre) -> None:
    met = faults(theatre)
    scripts = {f"Meet the fault called {name}.": (step,) for name, step in met.items()}
    first = warm_up(theatre)

    with theatre.model({WARM: (say("I am here."),), **scripts}) as model:
        plan = {
            "goal": "Fall",
            "agents": {name: theatre.agent(model, account=name) for name in met},
            "checks": {f"made-{name}": holds(f"{name}.txt") for name in met}
            | ({"here": holds("README", "hello")} if first else {}),
            "tasks": [*first, *(a_task(theatre, name) for name in met)],
        }
        done = theatre.run(plan, "--parallel", "4")

    assert done.code == 4, done.out
    told = {name: theatre.why(name) for name in met}
    expected = EXPECTED[theatre.program.name]
    # On a busy machine a program may come to its deadline before it has asked anything.
    quick = [words for name, words in zip(met, scripts, strict=True) if expected[name] is not LATE]
    assert all(model.asked[words] for words in quick), "every program met its fault"
    assert {name: seen(held) for name, held in told.items()} == expected


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
@on("claude")
def test_yaoki_waits_in_its_place_and_goes_on_in_the_same_conversation(theatre: Theatre) -> None:
    """The service asks for four seconds; the agent may wait two by itself."""
    words = "Write made.txt once the service lets you."
    limited = Fault(429, headers={"retry-after": "4"})
    steps: tuple[Step, ...] = (limited, *theatre.program.ran("echo good > made.txt"))

    with theatre.model({words: steps}) as model:
        plan = {
            "goal": "Rise",
            "agents": {"real": theatre.agent(model)},
            "agent": "real",
            "checks": {"made": holds("made.txt")},
            "tasks": [{"id": "made", "goal": words, "checks": ["made"]}],
        }
        done = theatre.run(plan)

    assert done.code == 0, done.out
    told = theatre.why("made")
    decision, (first, second) = told["decisions"][0], told["attempts"]
    assert decision["decision"] == "RETRY"
    assert (decision["inputs"]["kind"], decision["inputs"]["delay_s"]) == ("RATE_LIMIT", 4.0)
    assert "in 4 s (Retry-After)" in decision["reasoning"]
    assert first["session"] == second["session"] != ""
