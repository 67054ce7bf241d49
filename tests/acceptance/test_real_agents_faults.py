"""Real agent programs whose service fails: the kind, the wait and the message in `yaoki why`.

One run for each program: every task meets another fault, on a separate account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.acceptance.project import Completed, file_contains
from tests.acceptance.real_agents import (
    SETTINGS,
    RealAgentRun,
    RealAgentRuns,
    ScriptedModel,
    real_agent_runs,
)
from tests.scripted_model import Cut, Fault, Hang, Step, shell
from tests.scripted_model.matrix import FAILED, PARTIAL, SEEN
from tests.scripted_model.programs import PROGRAMS

__all__ = ["real_agent_runs"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.timeout(400),
]


# A person is asked at once.
IMPATIENT = f"{SETTINGS}\n[retry]\naccount_wait_max_s = 0.0\n"


@dataclass(frozen=True)
class ExpectedFailure:
    """The expected report of one fault."""

    kind: str
    words: str
    wait_s: float | None = None
    reason: str = "SYSTEM_ERROR_TRANSIENT"


RATE = ExpectedFailure("RATE_LIMIT", "the agent's service answered with a rate limit")
AWAY = ExpectedFailure("TRANSIENT_ERROR", "the agent's service was overloaded or out of reach")
AUTH = ExpectedFailure(
    "FATAL_ERROR",
    "the agent's service refused the credentials",
    reason="SYSTEM_ERROR_PERMANENT",
)
LATE = ExpectedFailure(
    "TIMEOUT", "the agent was still working at its deadline and was ended", reason="MAX_RETRIES"
)
USUAL = {"rate": RATE, "overloaded": AWAY, "auth": AUTH, "cut": AWAY, "hang": LATE}
COLUMNS = {
    "rate": "429",
    "overloaded": "overloaded",
    "auth": "wrong key",
    "cut": "cut off",
    "hang": "hang",
}
# These take the part of an answer that they got for the whole answer.
PARTLY = ExpectedFailure(
    "INCOMPLETE",
    "nothing was changed; the checks fail",
    reason="MAX_RETRIES",
)
# It announces that it waits, at a limit and at an overload in the same words.
CAPACITY = {"rate": RATE, "overloaded": RATE}
DIFFERENT: Mapping[str, Mapping[str, ExpectedFailure]] = {
    **{name: {"cut": PARTLY} for name in ("vibe", "vibe-acp")},
    **{name: {"cut": PARTLY, **CAPACITY} for name in ("qwen", "qwen-acp")},
}
# These announce a wait with its time, so they are ended at once.
NAMES_WAITS = {"claude": ("rate",), "gptme": ("rate", "overloaded")}
NAMES_WAITS |= dict.fromkeys(("qwen", "qwen-acp"), ("rate", "overloaded"))
# How long the service asks to wait; gemini and pi wait themselves, in silence, and so does Qwen
# Code for half a minute.
RETRY_AFTER = {"gemini": "1", "pi": "1", "qwen": "40", "qwen-acp": "40"}


def faults(agent_run: RealAgentRun) -> dict[str, Step]:
    wait = RETRY_AFTER.get(agent_run.name, "3")
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
        "timeout": "12s" if USUAL[name] is LATE else "240s",
        "retry": {"max_retries": 0},
    }


def goal(name: str) -> str:
    return f"Meet the fault called {name}."


def run_all_faults(agent_run: RealAgentRun) -> tuple[Completed, ScriptedModel]:
    agent_run.project.settings(IMPATIENT)
    met = faults(agent_run)
    with agent_run.model({goal(name): (step,) for name, step in met.items()}) as model:
        plan = {
            "goal": "Fall",
            "agents": {name: agent_run.agent(model, home=name, account=name) for name in met},
            "checks": {f"made-{name}": file_contains(f"{name}.txt") for name in met},
            "tasks": [a_task(name) for name in met],
        }
        return agent_run.run(plan, "--parallel", "5"), model


@pytest.mark.spec("4.2", "5.4", "3.8", "3.10", "4.7")
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_of_a_service_is_reported_with_kind_wait_and_message(
    real_agent_runs: RealAgentRuns, name: str
) -> None:
    real_agent_runs.run_each((name,), run_all_faults, assert_each_fault_is_reported)


def assert_each_fault_is_reported(
    agent_run: RealAgentRun, played: tuple[Completed, ScriptedModel]
) -> None:
    done, model = played
    assert done.code == 4, done.out
    # On a busy machine a program may come to its deadline before it has asked anything.
    quick = [name for name, told in USUAL.items() if told is not LATE]
    assert all(model.requests_by_script[goal(name)] for name in quick), (
        "every program met its fault"
    )
    told = {name: reported_failure(agent_run.why(name)) for name in USUAL}
    waits = {name for name, failure in told.items() if failure.wait_s is not None}
    expected = {**USUAL, **DIFFERENT.get(agent_run.name, {})}
    for name, failure in told.items():
        is_right = replace(failure, wait_s=None) == expected[name]
        right = PARTIAL if expected[name] is PARTLY else SEEN
        agent_run.cells[COLUMNS[name]] = right if is_right else FAILED
    assert {name: replace(failure, wait_s=None) for name, failure in told.items()} == expected
    assert waits == set(NAMES_WAITS.get(agent_run.name, ()))


def reported_failure(document: dict[str, Any]) -> ExpectedFailure:
    """The failure as `yaoki why` reports it."""
    decision = document["decisions"][0]
    assert decision["decision"] in {"ESCALATE", "HOLD"}
    inputs, failure = decision["inputs"], decision["failure"]
    # What follows in parentheses says how often it was tried.
    words = failure.rpartition(" (")[0] or failure
    name = document["task"]["name"]
    # For an agent with exit code 0 the failed check is reported too.
    told = words.removeprefix(f"made-{name}: ")
    told = told.partition(" after ")[0] if inputs["kind"] == "TIMEOUT" else told
    # The words of the service follow.
    told = told.partition(": ")[0]
    assert document["attempts"][0]["agent"] == name
    return ExpectedFailure(
        inputs["kind"], told, inputs["retry_after_s"], document["task"]["reason"]
    )


@pytest.mark.spec("5.4", "3.10")
def test_a_wait_of_an_hour_named_by_the_service_is_read(real_agent_runs: RealAgentRuns) -> None:
    """Without yaoki's setting Claude Code would exit at once without naming the time."""
    real_agent_runs.run_each(("claude",), run_hour_limit, assert_hour_is_reported)


def run_hour_limit(agent_run: RealAgentRun) -> Completed:
    agent_run.project.settings(IMPATIENT)
    with agent_run.model({goal("rate"): (Fault(429, headers={"retry-after": "3600"}),)}) as model:
        plan = {
            "goal": "Rest",
            "agents": {"rate": agent_run.agent(model)},
            "checks": {"made-rate": file_contains("rate.txt")},
            "tasks": [a_task("rate")],
        }
        done = agent_run.run(plan)
        assert len(model.requests_by_script[goal("rate")]) == 1
        return done


def assert_hour_is_reported(agent_run: RealAgentRun, done: Completed) -> None:
    assert done.code == 4, done.out
    assert reported_failure(agent_run.why("rate")) == ExpectedFailure(
        RATE.kind, RATE.words, wait_s=3600.0
    )


@pytest.mark.spec("5.4", "3.7", "5.5")
def test_a_rate_limit_before_the_first_answer_is_retried_in_a_new_conversation(
    real_agent_runs: RealAgentRuns,
) -> None:
    """There is no conversation yet: the next attempt starts one with the same prompt."""
    real_agent_runs.run_each(
        ("gemini", "codex"), run_limit_before_first_answer, assert_new_conversation, "429, ok"
    )


def run_limit_before_first_answer(agent_run: RealAgentRun) -> tuple[Completed, ScriptedModel]:
    words = "Write made.txt when the service has time."
    # As often as it asks by itself in one attempt.
    tries = {"gemini": 2, "codex": 1}[agent_run.name]
    refused = Fault(429, "Rate limit reached. Please retry in 1s")
    steps: tuple[Step, ...] = (*(refused,) * tries, *agent_run.program.ran("echo good > made.txt"))
    with agent_run.model({words: steps}) as model:
        return agent_run.run(one_task(agent_run.agent(model), words)), model


def one_task(agent: dict[str, Any], words: str) -> dict[str, Any]:
    return {
        "goal": "Rise",
        "agents": {"real": agent},
        "agent": "real",
        "checks": {"made": file_contains("made.txt")},
        "tasks": [{"id": "made", "goal": words, "checks": ["made"]}],
    }


def assert_new_conversation(
    agent_run: RealAgentRun, played: tuple[Completed, ScriptedModel]
) -> None:
    done, _ = played
    assert done.code == 0, done.out
    told = agent_run.why("made")
    assert [held["inputs"]["kind"] for held in told["decisions"]] == ["RATE_LIMIT"]
    first, second = told["attempts"]
    assert (first["session"] or "", bool(second["session"])) == ("", True)
    task = agent_run.project.task("made")
    assert agent_run.project.prompt(task, 1) == agent_run.project.prompt(task, 2)


@pytest.mark.spec("3.10", "5.4", "3.7")
def test_yaoki_waits_instead_of_the_agent_and_continues_the_same_conversation(
    real_agent_runs: RealAgentRuns,
) -> None:
    """The service asks for three seconds; the agent may wait two by itself."""
    real_agent_runs.run_each(
        ("claude",), run_short_limit, assert_same_conversation_after_wait, "429, ok"
    )


def run_short_limit(agent_run: RealAgentRun) -> Completed:
    words = "Write made.txt once the service lets you."
    limited = Fault(429, headers={"retry-after": "3"})
    done = agent_run.program.ran("echo good > made.txt")
    steps: tuple[Step, ...] = (shell("echo begun"), limited, *done)
    with agent_run.model({words: steps}) as model:
        return agent_run.run(one_task(agent_run.agent(model), words))


def assert_same_conversation_after_wait(agent_run: RealAgentRun, done: Completed) -> None:
    assert done.code == 0, done.out
    told = agent_run.why("made")
    decision, (first, second) = told["decisions"][0], told["attempts"]
    assert decision["decision"] == "RETRY"
    assert (decision["inputs"]["kind"], decision["inputs"]["delay_s"]) == ("RATE_LIMIT", 3.0)
    assert "in 3 s" in decision["reasoning"]
    assert first["session"] == second["session"] != ""
