"""Every real agent program by itself: two tasks at once, a limit that passes, one of 90 minutes.

`python3 dev.py agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.acceptance.project import Completed, file_contains, wait_until
from tests.acceptance.real_agents import (
    BOUND_S,
    RealAgentRun,
    RealAgentRuns,
    ScriptedModel,
    real_agent_runs,
)
from tests.acceptance.test_real_agents import (
    FAILING,
    GOALS,
    TESTS,
    CompletedRun,
    assert_log_is_readable,
    only_first_task,
    the_plan,
)
from tests.scripted_model import Fault, Request, Step
from tests.scripted_model.matrix import FAILED, SEEN
from tests.scripted_model.programs import PROGRAMS

__all__ = ["real_agent_runs"]

pytestmark = [pytest.mark.acceptance, pytest.mark.agents, pytest.mark.timeout(400)]

LIMITED = "limited"
TOGETHER = ("other", LIMITED)
LONG_LIMIT_S = 5400
# Only these name the time of a limit; Qwen Code half a minute after it began.
NAMED_WAITS_S = {"claude": LONG_LIMIT_S, "qwen": LONG_LIMIT_S - 30, "qwen-acp": LONG_LIMIT_S - 30}
# gptme names a minute, whatever its service says.
SHORTENED_WAITS_S = {"gptme": 60}
WITHOUT_CONVERSATIONS = ("mini-swe-agent", "aider", "continue", "gptme", "openhands")
FEEDBACK = "What failed in the last attempt"


def goal(name: str) -> str:
    return f"Write {name}.txt that says good."


def steps_that_write(agent_run: RealAgentRun, path: str, text: str) -> tuple[Step, ...]:
    """By its shell, because the worktree has no name yet; aider has none, and edits by answers."""
    if not agent_run.program.has_tools:
        return agent_run.program.wrote(path, text)
    return agent_run.program.ran(f"cat > {path} <<'END'\n{text}END")


def unlimited(agent: dict[str, Any]) -> dict[str, Any]:
    """With the right to run commands, which agents over ACP ask for."""
    if agent["preset"].endswith("-acp"):
        agent["options"]["allow"] = ["*"]
    return agent


def make_plan(agent: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {
        "goal": "Do it",
        "agents": {"real": unlimited(agent)},
        "agent": "real",
        "checks": {name: file_contains(f"{name}.txt") for name in names},
        "tasks": [
            {
                "id": name,
                "goal": goal(name),
                "checks": [name],
            }
            for name in names
        ],
    }


class MeetingModel(ScriptedModel):
    """Answers the first request of each of two tasks only when both have asked."""

    def __init__(self, scripts: Mapping[str, Sequence[Step]], *, tools: bool) -> None:
        super().__init__(scripts, tools=tools)
        self._expected = {goal(name) for name in TOGETHER}
        self._arrived: set[str] = set()
        self._complete = threading.Event()
        self.met = False

    def next(self, request: Request) -> Step:
        here = {words for words in self._expected if request.holds(words)}
        if len(here) == 1 and not request.side:
            self._arrived |= here
            if self._arrived == self._expected:
                self._complete.set()
            self.met = self._complete.wait(BOUND_S / 2)
        return super().next(request)


@pytest.mark.spec("12.8", "2.1", "5.4")
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_tasks_run_at_once_and_a_limit_that_passes_costs_no_question(
    real_agent_runs: RealAgentRuns, name: str
) -> None:
    """Both agents share a home and an account; one of them meets a 429 first."""
    real_agent_runs.run_each((name,), run_two_tasks, assert_both_met_and_all_landed)


def run_two_tasks(agent_run: RealAgentRun) -> tuple[Completed, MeetingModel]:
    scripts = {goal(n): steps_that_write(agent_run, f"{n}.txt", "good\n") for n in TOGETHER}
    refused = Fault(429, headers={"retry-after": "1"})
    scripts[goal(LIMITED)] = (refused, *scripts[goal(LIMITED)])
    with MeetingModel(scripts, tools=agent_run.program.has_tools) as model:
        assert isinstance(model, MeetingModel)
        return agent_run.run(make_plan(agent_run.agent(model), TOGETHER)), model


def assert_both_met_and_all_landed(
    agent_run: RealAgentRun, seen: tuple[Completed, MeetingModel]
) -> None:
    done, model = seen
    states = {name: agent_run.project.task(name)["state"] for name in TOGETHER}
    both = model.met and set(states.values()) == {"DONE"}
    agent_run.cells |= dict.fromkeys(("happy", "two tasks"), SEEN if both else FAILED)
    agent_run.cells["429, ok"] = SEEN if states[LIMITED] == "DONE" else FAILED
    assert done.code == 0, done.out
    assert both, "both had asked their model before one of them was answered"
    assert "ESCALATE_DECISION" not in agent_run.project.event_names()
    kinds = {one["inputs"]["kind"] for one in agent_run.why(LIMITED)["decisions"]}
    assert kinds <= {"RATE_LIMIT"}, kinds


# ------------------------------------------------------------------ a limit of 90 minutes


@pytest.mark.spec("5.4", "3.10", "18.6")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_limit_of_ninety_minutes_is_waited_for_and_nobody_is_asked(
    real_agent_runs: RealAgentRuns, name: str
) -> None:
    """The task waits for the named time, or for one that yaoki chooses."""
    real_agent_runs.run_each((name,), run_long_limit, assert_limit_is_waited_for)


def run_long_limit(agent_run: RealAgentRun) -> tuple[Completed, ScriptedModel]:
    limited = Fault(429, headers={"retry-after": str(LONG_LIMIT_S)})
    with agent_run.model({goal(LIMITED): (limited,)}) as model:
        plan = make_plan(agent_run.agent(model), [LIMITED])
        child = agent_run.start(plan)
        wait_until(lambda: has_decided(agent_run, child), "decided", BOUND_S)
        child.send_signal(signal.SIGINT)
        return agent_run.finish(child), model


def has_decided(agent_run: RealAgentRun, child: subprocess.Popen[str]) -> bool:
    if child.poll() is not None:
        return True
    shown = agent_run.project.query("why", LIMITED, "--json")
    return shown.code == 0 and bool(shown.document["decisions"])


def assert_limit_is_waited_for(
    agent_run: RealAgentRun, seen: tuple[Completed, ScriptedModel]
) -> None:
    done, _ = seen
    agent_run.cells["429 for 90 min"] = FAILED
    document = agent_run.why(LIMITED)
    decision = document["decisions"][0]
    inputs = decision["inputs"]
    assert (decision["decision"], inputs["kind"]) == ("RETRY", "RATE_LIMIT"), done.out
    assert document["task"]["state"] == "WAITING"
    assert "ESCALATE_DECISION" not in agent_run.project.event_names()
    assert "no retry is used" in decision["reasoning"]
    named = NAMED_WAITS_S.get(agent_run.name)
    expected = named or SHORTENED_WAITS_S.get(agent_run.name)
    assert inputs["retry_after_s"] == (pytest.approx(expected, abs=5) if expected else None)
    agent_run.cells["429 for 90 min"] = f"{SEEN} {named} s" if named else f"{SEEN} no time"


# ------------------------------------------------------------------ agents without conversations


@pytest.mark.spec("12.8", "3.7", "0.1")
@pytest.mark.parametrize("name", WITHOUT_CONVERSATIONS)
def test_a_false_claim_is_sent_back_with_the_whole_task_and_the_fix_lands(
    real_agent_runs: RealAgentRuns, name: str
) -> None:
    real_agent_runs.run_each((name,), run_false_claim_anew, assert_fix_lands_anew, "lie, fix")


def run_false_claim_anew(agent_run: RealAgentRun) -> CompletedRun:
    agent_run.commit_files(**TESTS)
    lie, fix = (
        steps_that_write(agent_run, "add.py", f"def add(a, b):\n    return a {sign} b\n")
        for sign in "-+"
    )
    # Some ask their model again although it has ended, so the prompt chooses the answer.
    with agent_run.model({GOALS["add"]: lie, FEEDBACK: fix}) as model:
        plan = only_first_task(the_plan(agent_run.agent(model)))
        return CompletedRun(agent_run.run(plan), model)


def assert_fix_lands_anew(agent_run: RealAgentRun, played: CompletedRun) -> None:
    project = agent_run.project
    assert played.done.code == 0, played.done.out
    add = project.task("add")
    assert (add["state"], add["attempt"], add["session"]) == ("DONE", 2, None)
    assert "a + b" in project.show(project.status()["run_branch"], "add.py")
    prompt = project.prompt(add, 2)
    assert FAILING in prompt
    assert GOALS["add"] in prompt, "each attempt is told everything"
    agent_run.cells["conv."] = "no"
    agent_run.cells["told"] = "tokens" if add["tokens"] else "nothing"
    assert bool(add["tokens"]) is (agent_run.name == "aider")
    assert add["cost"] is None, "no price is known for this model"
    ends_without_words = agent_run.name in {"aider", "mini-swe-agent"}
    assert_log_is_readable(agent_run, "add.py" if ends_without_words else "Done.")
