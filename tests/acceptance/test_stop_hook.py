"""Hook mode in sessions of the real programs, headless, against a scripted model.

`python3 dev.py agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, tap_script
from tests.scripted_model import ModelServer, Step
from tests.scripted_model.programs import Program, environ, needed
from tests.scripted_model.turns import say, shell

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

BOUND_S = 120
PLUGIN = Path(__file__).parents[2] / "plugins" / "claude-code"
SETTINGS = """\
[checks.tests]
run = ["sh", "test_a.sh"]
reader = "tap"
pattern = "test-failed"
rerun = false
"""
TEST = tap_script(test_adds="grep -q 'return x + y' a.py")
BAD, GOOD = "def add(x, y):\n    return x - y\n", "def add(x, y):\n    return x + y\n"
ARGV: dict[str, Sequence[str]] = {
    "claude": (
        *("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
        *("--model", "claude-sonnet-4-5"),
    ),
    "codex": (
        *("exec", "--json", "--dangerously-bypass-approvals-and-sandbox"),
        *("--dangerously-bypass-hook-trust", "-c", "allow_login_shell=false", "-m", "scripted"),
        *("-c", "model_provider=x", "-c"),
        'model_providers.x={name="x",base_url="{url}/v1",env_key="OPENAI_API_KEY",'
        'wire_api="responses"}',
        "-",
    ),
    "gemini": ("--yolo", "--skip-trust", "--output-format", "stream-json", "-m", "gemini-2.5-pro"),
}
HOOKS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini"}


class AgentSession(Project):
    """A repository with one failing test, and an interactive session of an agent in it."""

    def __init__(
        self, folder: Path, pycache: Path, store: str, program: Program, model: ModelServer
    ) -> None:
        super().__init__(folder, pycache, store)
        self.program, self.model = program, model
        self.name = HOOKS[program.name]
        self.settings(SETTINGS)
        for name, text in {"a.py": BAD, "test_a.sh": TEST}.items():
            (self.repo / name).write_text(text)
        self.git("add", "-A")
        self.git(*GIT_IDENTITY, "commit", "-qm", "a test")
        # The person's own home: the settings that this program needs to find the model.
        self.person = folder / "person"
        self.person.mkdir()
        made = program.agent(model.url, self.person)
        bin_ = str(Path(sys.executable).parent)
        known = {**environ(), **made["env"], "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        urls = {"ANTHROPIC_BASE_URL": model.url, "GOOGLE_GEMINI_BASE_URL": model.url}
        # Without this setting it ignores the hooks of an untrusted project.
        trust = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
        self.session_env = {**self.env, **known, **quiet, **urls, **trust, "TERM": "dumb"}

    def run_session(
        self, prompt: str, *steps: Step, more: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Everything the program said until it came to its own end."""
        self.model.play(*steps)
        words = (word.replace("{url}", self.model.url) for word in ARGV[self.program.name])
        done = subprocess.run(
            (str(self.program.program), *words, *more),
            cwd=self.repo,
            env=self.session_env,
            input=prompt,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        assert done.stdout.strip(), done.stderr
        lines = (line for line in done.stdout.splitlines() if line.startswith("{"))
        return [json.loads(line) for line in lines]

    def hook_status(self) -> dict[str, Any]:
        document: dict[str, Any] = self.yaoki("hook", "status", "--json").document
        return document

    def install(self) -> None:
        done = self.yaoki("hook", "install", self.name, env={"PATH": self.session_env["PATH"]})
        assert done.code == 0, done.err


@pytest.fixture
def session(
    request: pytest.FixtureRequest, tmp_path: Path, pycache: Path, store_url: str
) -> Iterator[AgentSession]:
    program = needed(request.param)
    with ModelServer(say("Done."), worktree=str(tmp_path / "repo")) as model:
        yield AgentSession(tmp_path, pycache, store_url, program, model)
        assert model.defects == ()


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("session", names, indirect=True)


FIX = (say("All done."), shell("sed -i 's/x - y/x + y/' a.py"), say("Now it is done."))


@pytest.mark.spec("12.6")
@on("codex", "gemini")
def test_an_early_stop_is_refused_with_the_failing_test_and_allowed_after_the_fix(
    session: AgentSession,
) -> None:
    """The same with claude is a part of the stories below."""
    session.install()

    session.run_session("Make add work.", *FIX)

    asked = session.model.requests
    assert len(asked) == 3
    assert not asked[0].holds("test_adds")
    assert asked[1].holds("test_adds"), "the failing test by its name"
    assert asked[1].holds("try 1 of 4")
    assert (session.repo / "a.py").read_text() == GOOD
    (stood,) = session.hook_status()["sessions"]
    assert (stood["count"], stood["asked"]) == (0, False)


@pytest.mark.spec("12.6", "10.4")
@on("codex", "gemini")
def test_an_agent_that_never_fixes_the_test_may_stop_at_the_limit_and_a_person_is_asked(
    session: AgentSession,
) -> None:
    session.install()
    session.yaoki("hook", "begin", "--phase", "p1", "--subtask", "p1.2", "--max-iterations", "2")

    session.run_session("Make add work.", say("All done."))

    assert len(session.model.requests) == 2, "sent back once, then let go"
    (stood,) = session.hook_status()["sessions"]
    assert (stood["asked"], stood["count"], stood["phase"]) == (True, 2, "p1")
    assert stood["subtask"] == "p1.2"
    assert "test_adds" in stood["reason"]


@pytest.mark.spec("12.6", "10.4")
@on("claude")
def test_a_session_at_its_limit_stays_usable_and_continues_after_an_answer(
    session: AgentSession,
) -> None:
    session.install()
    session.yaoki("hook", "begin", "--phase", "p1", "--subtask", "p1.2", "--max-iterations", "1")
    last = session.run_session("Make add work.", say("All done."))[-1]
    resume = ("--resume", last["session_id"])
    let_go = len(session.model.requests)
    (asking,) = session.hook_status()["sessions"]

    session.run_session("What is two and two?", say("Four."), more=resume)
    unlocked = session.model.requests
    session.run_session("yaoki: go on, and read the test", *FIX[1:], more=resume)
    brought = session.model.requests

    assert (last["type"], last["terminal_reason"]) == ("result", "stop_hook_prevented")
    assert let_go == 1
    assert (asking["asked"], asking["count"], asking["phase"]) == (True, 1, "p1")
    assert asking["subtask"] == "p1.2"
    assert "test_adds" in asking["reason"]
    assert len(unlocked) == 1, "no stop is held while the person is asked"
    assert not unlocked[0].holds("The last failure")
    assert brought[0].holds("The last failure")
    assert brought[0].holds("and read the test")
    assert (session.repo / "a.py").read_text() == GOOD
    (stood,) = session.hook_status()["sessions"]
    assert (stood["asked"], stood["count"]) == (False, 0)


@pytest.mark.spec("12.6")
@on("claude")
def test_the_plugin_works_without_project_settings_and_a_person_can_disable_it(
    session: AgentSession,
) -> None:
    plugin = ("--plugin-dir", str(PLUGIN))
    session.session_env["YAOKI_HOOK"] = "off"
    session.run_session("Make add work.", say("All done."), more=plugin)
    disabled = len(session.model.requests)
    without = session.hook_status()["sessions"]
    del session.session_env["YAOKI_HOOK"]

    session.run_session("Make add work.", *FIX, more=plugin)

    assert (disabled, without) == (1, [])
    asked = session.model.requests
    assert len(asked) == 3
    assert not asked[0].holds("test_adds")
    assert asked[1].holds("test_adds")
    assert asked[1].holds("try 1 of 4")
    assert (session.repo / "a.py").read_text() == GOOD
    assert not (session.repo / ".claude").exists()
