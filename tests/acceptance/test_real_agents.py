"""Real agent programs execute a plan to its verified end, against a scripted model.

One run for each program shows most of it: two tasks at once that share a home and an account.  One
task is claimed to be done and is not; the other one meets a rate limit before its first answer.
Programs that work in the sandbox do this there.

`python3 dev.py agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.project import Completed, file_contains
from tests.acceptance.real_agents import (
    BOUND_S,
    RealAgentRun,
    RealAgentRuns,
    ScriptedModel,
    real_agent_runs,
)
from tests.acceptance.sandboxed_hour import (
    HOUR,
    assert_hour_passed,
    hour_variables,
    package_index,
    why_not_sandboxed,
)
from tests.scripted_model import Fault, Request, Step, say, shell, write
from tests.scripted_model.matrix import FAILED, SEEN

__all__ = ["real_agent_runs"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.timeout(300),
]

ADD = "Write add.py with a function add that adds two numbers."
LIMITED = "Write limited.txt that says good."
FILES = {
    "__gitignore": "__pycache__/\n",
    "test_add__py": """\
import unittest
from add import add

class Adding(unittest.TestCase):
    def test_two_and_three_are_five(self):
        self.assertEqual(add(2, 3), 5)
""",
}
LIMIT = Fault(429, headers={"retry-after": "1"})
# With the header codex would wait by itself.
SPOKEN_LIMIT = Fault(429, "Rate limit reached. Please retry in 1s")
FAILING = "test_two_and_three_are_five"
FEEDBACK = "The last failure"
RESUMING = ("claude", "codex", "gemini", "opencode", "pi")
FURTHER = ("qwen", "vibe", "copilot")
OVER_ACP = ("opencode-acp", "claude-acp", "codex-acp", "vibe-acp", "qwen-acp")
WITHOUT_CONVERSATIONS = ("gemini-acp", "mini-swe-agent", "aider", "continue", "gptme", "openhands")
# Codex over ACP has a sandbox of its own, which cannot start inside another one.
SANDBOXED = {*RESUMING, *FURTHER, *OVER_ACP, "gemini-acp"} - {"codex-acp"}
# Two turns of the scripted model; few programs know the price of such a model.
TOKENS, PRICED = 240, {"claude", "claude-acp", "vibe", "vibe-acp"}
# On a busy machine it was seen to end one of its turns without the cost.
OMITS_COSTS = {"claude-acp"}
# One reports no tokens, opencode over ACP only those of its last step, which are not taken, and one
# makes further calls of its own.
UNCOUNTED, TALKATIVE = {"copilot", "opencode-acp"}, {"qwen"}
# Those without conversations that report their tokens.
COUNTED = {"aider", "gemini-acp"}


def task_words(goal: str) -> str:
    """How a prompt names its task: some agents read the git log, which names other goals too."""
    return f"# Task\n\n{goal}"


class MeetingModel(ScriptedModel):
    """Answers the first request of each of two tasks only when both have asked."""

    def __init__(self, scripts: Mapping[str, Sequence[Step]], *, tools: bool) -> None:
        super().__init__(scripts, tools=tools)
        self._expected = {task_words(ADD), task_words(LIMITED)}
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


@dataclass(frozen=True)
class PlayedStory:
    """How a run ended, and what its model was asked."""

    done: Completed
    model: MeetingModel


def add_check() -> dict[str, Any]:
    run = [sys.executable, "-m", "unittest", "test_add"]
    return {"adds": {"run": run, "pattern": "test-failed"}}


def the_plan(agent: dict[str, Any]) -> dict[str, Any]:
    return {
        "goal": "Count",
        "agents": {"real": agent},
        "agent": "real",
        "checks": {**add_check(), "limited": file_contains("limited.txt")},
        "tasks": [
            {"id": "add", "goal": ADD, "checks": ["adds"]},
            {"id": "limited", "goal": LIMITED, "checks": ["limited"]},
        ],
    }


def steps_that_write(
    agent_run: RealAgentRun, path: str, text: str, then: str = ""
) -> tuple[Step, ...]:
    """By its shell: the worktree of a task has no name before it is made.  Aider has no shell, and
    edits by its answers.
    """
    if not agent_run.program.has_tools:
        return agent_run.program.wrote(path, text)
    return agent_run.program.ran(f"cat > {path} <<'END'\n{text}END\n{then}".rstrip())


def unlimited(agent: dict[str, Any]) -> dict[str, Any]:
    """With the right to run commands, which agents over ACP ask for."""
    if agent["preset"].endswith("-acp"):
        agent["options"]["allow"] = ["*"]
    return agent


def is_sandboxed(agent_run: RealAgentRun) -> bool:
    return agent_run.name in SANDBOXED and not why_not_sandboxed()


def run_story(agent_run: RealAgentRun) -> PlayedStory:
    hour = {"hour__sh": HOUR} if is_sandboxed(agent_run) else {}
    agent_run.commit_files(**FILES, **hour)
    lie, fix = (
        steps_that_write(agent_run, "add.py", f"def add(a, b):\n    return a {sign} b\n", then)
        for sign, then in (("-", "sh ./hour.sh" if hour else ""), ("+", ""))
    )
    refused = SPOKEN_LIMIT if agent_run.name == "codex" else LIMIT
    limited = (refused, *steps_that_write(agent_run, "limited.txt", "good\n"))
    scripts: dict[str, Sequence[Step]] = {task_words(LIMITED): limited}
    if agent_run.name in WITHOUT_CONVERSATIONS:
        # Some ask their model again although it has ended, so the prompt chooses the answer.
        scripts |= {task_words(ADD): lie, FEEDBACK: fix}
    else:
        scripts |= {task_words(ADD): (*lie, *fix)}
    with ExitStack() as held:
        model = held.enter_context(MeetingModel(scripts, tools=agent_run.program.has_tools))
        assert isinstance(model, MeetingModel)
        agent = unlimited(agent_run.agent(model))
        if hour:
            agent_run.project.env["YAOKI_SANDBOX_MODE"] = "auto"
            index = held.enter_context(package_index(agent_run.project.folder / "index"))
            agent["env"] = {**agent["env"], **hour_variables(index)}
        return PlayedStory(agent_run.run(the_plan(agent)), model)


# ------------------------------------------------------------------ programs with conversations


@pytest.mark.spec("12.8", "3.7", "0.1", "10.6", "2.1", "5.4", "16.13", "14.3", "11.9")
@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, id=f"first-{name}") for name in RESUMING),
        *(pytest.param(name, id=f"further-{name}") for name in (*FURTHER, *OVER_ACP)),
    ],
)
def test_a_false_claim_is_sent_back_in_the_same_conversation_and_the_fix_lands(
    real_agent_runs: RealAgentRuns, subtests: pytest.Subtests, name: str
) -> None:
    """The model claims success with a wrong file, and fixes it after the failing test."""
    skip_sandbox_with_reason(subtests, name)
    real_agent_runs.run_each((name,), run_story, assert_conversation_is_continued, "lie, fix")


def skip_sandbox_with_reason(subtests: pytest.Subtests, name: str) -> None:
    """Without a sandbox the program is tried without one, and the summary says so."""
    if name in SANDBOXED and (why := why_not_sandboxed()):
        with subtests.test("sandbox"):
            pytest.skip(why)


def assert_conversation_is_continued(agent_run: RealAgentRun, played: PlayedStory) -> None:
    assert_both_met_and_all_landed(agent_run, played)
    status = agent_run.project.status()
    add, limited = status["tasks"][:2]
    assert_log_is_readable(agent_run)
    assert_prompt_has_only_the_failure(agent_run, played, add)
    tries = agent_run.why("add")["attempts"]
    first, second = tries
    assert first["session"] == second["session"] == add["session"] != ""
    assert add["session"] != limited["session"] != ""
    agent_run.cells["conv."] = "yes"
    assert_tokens_are_reported_or_unknown(agent_run, status, tries)
    assert_cost_is_reported_or_unknown(agent_run, status, tries)
    assert_report_is_complete(agent_run, status)


def assert_both_met_and_all_landed(agent_run: RealAgentRun, played: PlayedStory) -> None:
    project, done = agent_run.project, played.done
    columns = ("happy", "two tasks", "429, ok", *(("sandbox",) * is_sandboxed(agent_run)))
    agent_run.cells |= dict.fromkeys(columns, FAILED)
    add, limited = project.task("add"), project.task("limited")
    assert (add["state"], add["attempt"]) == ("DONE", 2), done.out
    agent_run.cells["happy"] = SEEN
    assert limited["state"] == "DONE", done.out
    agent_run.cells["429, ok"] = SEEN
    assert done.code == 0, done.out
    assert played.model.met, "both had asked their model before one of them was answered"
    agent_run.cells["two tasks"] = SEEN
    assert "a + b" in project.show(project.status()["run_branch"], "add.py")
    assert "ESCALATE_DECISION" not in project.event_names()
    assert_limit_costs_no_retry(agent_run)
    if is_sandboxed(agent_run):
        assert_hour_passed(project, done.out)
        agent_run.cells["sandbox"] = SEEN


def assert_limit_costs_no_retry(agent_run: RealAgentRun) -> None:
    """Some try again by themselves; else a new conversation starts with the same prompt, because
    there was none yet.
    """
    told, task = agent_run.why("limited"), agent_run.project.task("limited")
    kinds = [one["inputs"]["kind"] for one in told["decisions"]]
    assert set(kinds) <= {"RATE_LIMIT"}, kinds
    assert len(told["attempts"]) == len(kinds) + 1
    prompts = {agent_run.project.prompt(task, number + 1) for number in range(len(kinds) + 1)}
    assert len(prompts) == 1
    # At least one program does not try by itself.
    assert kinds or agent_run.name != "codex"


def assert_log_is_readable(agent_run: RealAgentRun, words: str = "Done.") -> None:
    """`yaoki logs` shows words and tools, and no line of JSON."""
    shown = agent_run.project.query("logs", "add", "--attempt", "1").out.splitlines()
    assert [line for line in shown if line.startswith('{"')] == []
    assert any(words in line for line in shown), shown
    agent_run.cells["words"] = "yes"


def assert_tokens_are_reported_or_unknown(
    agent_run: RealAgentRun, status: dict[str, Any], tries: Sequence[dict[str, Any]]
) -> None:
    tokens = [one["tokens"] for one in tries]
    agent_run.cells["told"] = "nothing" if agent_run.name in UNCOUNTED else "tokens"
    if agent_run.name in UNCOUNTED:
        assert tokens == [None] * 2
    elif agent_run.name in TALKATIVE:
        # Its own calls are counted as well, and the first conversation only once.
        assert all(TOKENS <= count < 2 * TOKENS for count in tokens), tokens
    else:
        # Nothing is counted twice, whether a program reports the turn or the conversation.
        assert tokens == [TOKENS] * 2
        add = status["tasks"][0]
        assert (add["tokens"], status["tokens"]) == (2 * TOKENS, 3 * TOKENS)


def assert_prompt_has_only_the_failure(
    agent_run: RealAgentRun, played: PlayedStory, add: dict[str, Any]
) -> None:
    feedback = agent_run.project.prompt(add, 2)
    again = played.model.requests_by_script[task_words(ADD)][2]
    assert FAILING in feedback
    assert ADD not in feedback, "it knows its task"
    assert again.holds(FAILING)
    assert again.holds(ADD)


def assert_cost_is_reported_or_unknown(
    agent_run: RealAgentRun, status: dict[str, Any], tries: Sequence[dict[str, Any]]
) -> None:
    """An unreported cost is unknown, never zero; sums contain only reported costs."""
    costs = [task["cost"] for task in status["tasks"][:2]]
    every = [*tries, *agent_run.why("limited")["attempts"]]
    assert status["untold"] == sum(one["cost"] is None for one in every)
    if agent_run.name not in PRICED:
        assert costs == [None] * 2
        assert {one["cost"] for one in every} == {None}
        assert status["cost"] is None
        return
    agent_run.cells["told"] = "$, tokens"
    known = [one["cost"] for one in tries if one["cost"] is not None]
    assert len(known) == 2 or (known and agent_run.name in OMITS_COSTS), tries
    assert all(cost > 0 for cost in known)
    assert sum(known) == pytest.approx(costs[0], abs=1e-5)
    assert sum(costs) == pytest.approx(status["cost"], abs=1e-5)


def assert_report_is_complete(agent_run: RealAgentRun, status: dict[str, Any]) -> None:
    output = agent_run.project.query("report", status["run"]).out
    for task in status["tasks"][:2]:
        assert task["session"] in output
    assert ("unknown" in output) is (status["untold"] > 0)


# ------------------------------------------------------------------ programs without conversations


@pytest.mark.spec("12.8", "3.7", "0.1", "10.6", "2.1", "5.4")
@pytest.mark.parametrize("name", WITHOUT_CONVERSATIONS)
def test_a_false_claim_is_sent_back_with_the_whole_task_and_the_fix_lands(
    real_agent_runs: RealAgentRuns, subtests: pytest.Subtests, name: str
) -> None:
    skip_sandbox_with_reason(subtests, name)
    real_agent_runs.run_each((name,), run_story, assert_fix_lands_anew, "lie, fix")


def assert_fix_lands_anew(agent_run: RealAgentRun, played: PlayedStory) -> None:
    assert_both_met_and_all_landed(agent_run, played)
    project = agent_run.project
    add = project.task("add")
    assert not add["session"]
    prompt = project.prompt(add, 2)
    assert FAILING in prompt
    assert ADD in prompt, "each attempt is told everything"
    agent_run.cells["conv."] = "no"
    agent_run.cells["told"] = "tokens" if add["tokens"] else "nothing"
    assert bool(add["tokens"]) is (agent_run.name in COUNTED)
    assert add["cost"] is None, "no price is known for this model"
    if not is_sandboxed(agent_run):
        changed = project.git("diff", "--name-only", f"main...{project.status()['run_branch']}")
        assert changed.split() == ["add.py", "limited.txt"], "it leaves no files of its own"
    ends_without_words = agent_run.name in {"aider", "mini-swe-agent"}
    assert_log_is_readable(agent_run, "add.py" if ends_without_words else "Done.")


# ------------------------------------------------------------------ over the protocol


@pytest.mark.spec("12.8", "3.9")
def test_a_tool_call_that_is_not_allowed_is_denied_over_acp(
    real_agent_runs: RealAgentRuns,
) -> None:
    """Gemini goes on after it; opencode ends its turn, which tests of the port show."""
    real_agent_runs.run_each(("gemini-acp",), run_denied_call, assert_call_is_denied)


def run_denied_call(agent_run: RealAgentRun) -> Completed:
    agent_run.commit_files(**FILES)
    file = write("add.py", "def add(a, b):\n    return a + b\n")
    with agent_run.model({ADD: (file, shell("touch no"), say("Done."))}) as model:
        plan = the_plan(agent_run.agent(model))
        return agent_run.run({**plan, "tasks": plan["tasks"][:1], "checks": add_check()})


def assert_call_is_denied(agent_run: RealAgentRun, done: Completed) -> None:
    project = agent_run.project
    assert done.code == 0, done.out
    assert project.task("add")["state"] == "DONE"
    run_branch = project.status()["run_branch"]
    assert "no" not in project.git("ls-tree", "--name-only", run_branch).split()
    said = project.query("logs", "add").out
    assert "[denied: execute (execute is not allowed)" in said
    assert "touch no" in said
