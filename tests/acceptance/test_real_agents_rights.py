"""What real agents may do, what they are given, and what they leave in a person's own settings.

`python3 dev.py agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Completed
from tests.acceptance.real_agents import (
    SETTINGS,
    RealAgentRun,
    RealAgentRuns,
    ScriptedModel,
    real_agent_runs,
)
from tests.scripted_model import Step, say, shell, use
from tests.scripted_model.programs import HOME

__all__ = ["real_agent_runs"]

pytestmark = [pytest.mark.acceptance, pytest.mark.agents, pytest.mark.timeout(300)]

GOAL = "Write NOTE.txt that says hello."
QUESTION = "Which greeting is meant?"
WRITE = "cat > NOTE.txt <<'END'\nhello\nEND"
CHECK = "sh check.sh"
FILES = {"check__sh": "grep -q hello NOTE.txt && echo it is there\n"}


def the_plan(agent: dict[str, Any]) -> dict[str, Any]:
    return {
        "goal": "Greet",
        "agents": {"real": agent},
        "agent": "real",
        "checks": {"greets": {"run": CHECK.split()}},
        "tasks": [
            {"id": "note", "goal": GOAL, "checks": ["greets"], "retry": {"max_retries": 0}},
        ],
    }


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder beyond the temporary ones, which Codex lets its commands write to."""
    folder = Path(tempfile.mkdtemp(dir=HOME))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.spec("12.8", "14.3")
def test_an_agent_limited_to_edits_writes_files_runs_its_check_and_nothing_else(
    real_agent_runs: RealAgentRuns, outside: Path
) -> None:
    def act(agent_run: RealAgentRun) -> tuple[Completed, ScriptedModel]:
        agent_run.commit_files(**FILES)
        # Its own sandbox works only with a home that is not a temporary folder.
        home = outside / agent_run.name
        home.mkdir()
        planted = f"{sys.executable} -c \"open('{home}/planted', 'w')\""
        turns = (shell(planted), *agent_run.program.wrote("NOTE.txt", "hello\n")[:-1])
        steps = (*turns, shell(CHECK), say("Done."))
        with agent_run.model({GOAL: steps}) as model:
            agent = {**agent_run.program.agent(model.url, home), "permissions": "edits"}
            return agent_run.run(the_plan(agent)), model

    def judge(agent_run: RealAgentRun, seen: tuple[Completed, ScriptedModel]) -> None:
        done, model = seen
        assert done.code == 0, done.out
        assert "limited to edits, by their own programs: real" in done.out
        assert not (outside / agent_run.name / "planted").exists()
        assert model.requests_by_script[GOAL][-1].holds("it is there"), "its check may run"
        assert agent_run.project.task("note")["state"] == "DONE"

    real_agent_runs.run_each(("claude", "codex"), act, judge)


def asking(agent_run: RealAgentRun, *before: Step, **agent: Any) -> Completed:
    """A run in which the model takes these steps and asks."""
    agent_run.commit_files(**FILES)
    search = (use("ToolSearch", query="select:mcp__yaoki__ask"),)
    tools = search if agent_run.name == "claude" else ()
    steps = (*before, *tools, use("ask", question=QUESTION))
    with agent_run.model({GOAL: (*steps, say("I asked."))}) as model:
        return agent_run.run(the_plan(agent_run.agent(model, **agent)))


def assert_question_reached_a_person(agent_run: RealAgentRun, done: Completed) -> None:
    assert done.code == 4, done.out
    task = agent_run.project.task("note")
    assert (task["state"], task["attempt"]) == ("ESCALATED", 1)
    assert QUESTION in agent_run.project.query("why", "note").out
    events = agent_run.project.event_names("note")
    assert "RESULT_NOTED" in events


@pytest.mark.spec("12.7", "12.8", "3.9")
def test_an_agent_asks_through_the_server_that_its_preset_brings(
    real_agent_runs: RealAgentRuns,
) -> None:
    def judge(agent_run: RealAgentRun, done: Completed) -> None:
        assert_question_reached_a_person(agent_run, done)
        assert "tool `ask`" in agent_run.project.prompt(agent_run.project.task("note"), 1)

    real_agent_runs.run_each(("claude", "codex", "opencode"), asking, judge)


@pytest.mark.spec("12.7")
def test_a_server_of_the_users_own_codex_settings_finds_its_attempt(
    real_agent_runs: RealAgentRuns,
) -> None:
    """Codex passes no variables on; the line is the one of the guide."""

    def act(agent_run: RealAgentRun) -> Completed:
        agent_run.project.settings(f"{SETTINGS}\n[mcp]\noffer = false\n")
        settings = agent_run.project.folder / "agent-home" / ".codex" / "config.toml"
        settings.parent.mkdir(parents=True)
        yaoki = Path(sys.executable).with_name("yaoki")
        settings.write_text(f'[mcp_servers.yaoki]\ncommand = "{yaoki}"\nargs = ["mcp"]\n')
        # Codex does not wait for this server before its first request.
        return asking(agent_run, shell("sleep 8"))

    def judge(agent_run: RealAgentRun, done: Completed) -> None:
        assert_question_reached_a_person(agent_run, done)
        prompt = agent_run.project.prompt(agent_run.project.task("note"), 1)
        assert "no one answers questions" in prompt

    real_agent_runs.run_each(("codex",), act, judge)


@pytest.mark.spec("14.3", "16.13")
def test_a_run_leaves_the_checkout_untrusted_also_with_the_users_own_service(
    real_agent_runs: RealAgentRuns,
) -> None:
    def act(agent_run: RealAgentRun) -> tuple[Completed, str, str]:
        agent_run.commit_files(**FILES)
        with agent_run.model({GOAL: agent_run.program.ran(WRITE)}) as model:
            agent = agent_run.agent(model)
            own = f'{{name="own",base_url="{model.url}/v1",env_key="OPENAI_API_KEY"}}'
            settings = Path(agent["env"]["HOME"]) / ".codex" / "config.toml"
            settings.parent.mkdir()
            settings.write_text(f'model_provider = "own"\nmodel_providers.own = {own}\n')
            before = settings.read_text()
            del agent["options"]["base_url"]
            return agent_run.run(the_plan(agent)), before, settings.read_text()

    def judge(agent_run: RealAgentRun, seen: tuple[Completed, str, str]) -> None:
        done, before, after = seen
        assert (done.code, after) == (0, before), done.out
        assert agent_run.project.task("note")["state"] == "DONE"

    real_agent_runs.run_each(("codex",), act, judge)
