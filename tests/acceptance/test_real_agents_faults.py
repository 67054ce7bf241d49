"""Real agent programs whose service fails: the kind, the wait and the message in `yaoki why`.

One run for each program: every task meets another fault, on a separate account.  The rate limit is
one of 90 minutes: it is waited for, and nobody is asked.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from tests.acceptance.project import Completed, file_contains, wait_until
from tests.acceptance.real_agents import (
    BOUND_S,
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


# No service is tried a second time: the first wait is a part of the longest, five minutes of it.
ONE_TRY = f"{SETTINGS}\n[retry]\naccount_probe_max_s = 36000.0\n"
LONG_LIMIT_S = 5400


@dataclass(frozen=True)
class ExpectedFailure:
    """The expected report of one fault; without a reason the task waits."""

    kind: str
    words: str
    wait_s: float | None = None
    reason: str | None = None


RATE = ExpectedFailure("RATE_LIMIT", "the agent's service answered with a rate limit")
AWAY = ExpectedFailure("TRANSIENT_ERROR", "the agent's service was overloaded or unreachable")
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
# Only these name the time of a limit; Qwen Code half a minute after it began.
NAMED_WAITS_S = {"claude": LONG_LIMIT_S, "qwen": LONG_LIMIT_S - 30, "qwen-acp": LONG_LIMIT_S - 30}
# gptme names a minute, whatever its service says.
SHORTENED_WAITS_S = {"gptme": 60}
# These announce a wait with its time also at an overload.
NAMES_WAITS_AT_OVERLOAD = {"gptme", "qwen", "qwen-acp"}
FAULTS: Mapping[str, Step] = {
    "rate": Fault(429, headers={"retry-after": str(LONG_LIMIT_S)}),
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
    agent_run.project.settings(ONE_TRY)
    with agent_run.model({goal(name): (step,) for name, step in FAULTS.items()}) as model:
        plan = {
            "goal": "Fall",
            "agents": {name: agent_run.agent(model, home=name, account=name) for name in FAULTS},
            "checks": {f"made-{name}": file_contains(f"{name}.txt") for name in FAULTS},
            "tasks": [a_task(name) for name in FAULTS],
        }
        child = agent_run.start(plan, "--parallel", "5")
        wait_until(lambda: have_ended(agent_run, child), "all have ended", BOUND_S)
        for name in FAULTS:
            wait_until(partial(has_decided, agent_run, child, name), name, BOUND_S)
        # The limit of 90 minutes is waited for.
        child.send_signal(signal.SIGINT)
        return agent_run.finish(child), model


def have_ended(agent_run: RealAgentRun, child: subprocess.Popen[str]) -> bool:
    """A question to the files: one to yaoki costs as much as a part of a program's start."""
    ended = (agent_run.project.repo / ".yaoki" / "runs").glob("*/*/1/exit.json")
    return child.poll() is not None or len(list(ended)) == len(FAULTS)


def has_decided(agent_run: RealAgentRun, child: subprocess.Popen[str], name: str) -> bool:
    if child.poll() is not None:
        return True
    shown = agent_run.project.query("why", name, "--json")
    return shown.code == 0 and bool(shown.document["decisions"])


@pytest.mark.spec("4.2", "5.4", "3.8", "3.10", "4.7", "18.6")
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_of_a_service_is_reported_and_a_limit_of_ninety_minutes_is_waited_for(
    real_agent_runs: RealAgentRuns, name: str
) -> None:
    real_agent_runs.run_each((name,), run_all_faults, assert_each_fault_is_reported)


def assert_each_fault_is_reported(
    agent_run: RealAgentRun, played: tuple[Completed, ScriptedModel]
) -> None:
    done, model = played
    agent_run.cells |= dict.fromkeys((*COLUMNS.values(), "429 for 90 min"), FAILED)
    # On a busy machine a program may come to its deadline before it has asked anything.
    quick = [name for name, told in USUAL.items() if told is not LATE]
    assert all(model.requests_by_script[goal(name)] for name in quick), (
        f"every program met its fault: {done.out}"
    )
    told = {name: reported_failure(agent_run.why(name)) for name in USUAL}
    # A part of an answer counts as one if the program passed it on in time.
    told["cut"] = replace(told["cut"], reason=expected_reason(told["cut"]))
    expected = {**USUAL, **DIFFERENT.get(agent_run.name, {})}
    for name, failure in told.items():
        is_right = replace(failure, wait_s=None) == expected[name]
        right = PARTIAL if expected[name] is PARTLY else SEEN
        agent_run.cells[COLUMNS[name]] = right if is_right else FAILED
    assert {name: replace(failure, wait_s=None) for name, failure in told.items()} == expected
    named = {name for name, failure in told.items() if failure.wait_s is not None} - {"rate"}
    assert named == ({"overloaded"} if agent_run.name in NAMES_WAITS_AT_OVERLOAD else set())
    assert_limit_is_waited_for(agent_run)


def expected_reason(failure: ExpectedFailure) -> str | None:
    """Nobody answered: it waits.  Somebody did: without retries a person is asked."""
    is_asked = (failure.kind, failure.reason) == (AWAY.kind, "SYSTEM_ERROR_TRANSIENT")
    return None if is_asked else failure.reason


def assert_limit_is_waited_for(agent_run: RealAgentRun) -> None:
    """The task waits for the named time, or for one that yaoki chooses."""
    document = agent_run.why("rate")
    (decision,) = document["decisions"]
    assert decision["decision"] == "RETRY"
    assert document["task"]["state"] == "WAITING"
    assert "ESCALATE_DECISION" not in agent_run.project.event_names("rate")
    assert "no retry is used" in decision["reasoning"]
    named = NAMED_WAITS_S.get(agent_run.name)
    expected = named or SHORTENED_WAITS_S.get(agent_run.name)
    wait_s = decision["inputs"]["retry_after_s"]
    assert wait_s == (pytest.approx(expected, abs=5) if expected else None)
    agent_run.cells["429 for 90 min"] = f"{SEEN} {named} s" if named else f"{SEEN} no time"


def reported_failure(document: dict[str, Any]) -> ExpectedFailure:
    """The failure as `yaoki why` reports it."""
    decision = document["decisions"][0]
    assert (decision["decision"] == "RETRY") is (document["task"]["reason"] is None)
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


def one_task(agent: dict[str, Any], words: str) -> dict[str, Any]:
    return {
        "goal": "Rise",
        "agents": {"real": agent},
        "agent": "real",
        "checks": {"made": file_contains("made.txt")},
        "tasks": [{"id": "made", "goal": words, "checks": ["made"]}],
    }


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
