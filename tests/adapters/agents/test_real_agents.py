"""The real agent programs at the Agent port, against a scripted model: nothing is pretended.

tests/acceptance has whole runs; these tests cover what such runs do not show.
`python3 dev.py agents` installs them; `pytest -m "not agents"` leaves them out.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.scripted_model import Cut, Fault, Hang, Malformed, ModelServer, Step, say, shell
from tests.scripted_model.matrix import cell
from tests.scripted_model.programs import Program, environ, needed
from yaoki.adapters.agents.preset import load_preset
from yaoki.adapters.agents.preset_agent import PresetAgent
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.model import AgentExit, AgentSpec, EndCause, TaskId
from yaoki.ports import AttemptRequest, ProcessPhase

# Real programs on a busy machine take their time; the bounds are for those that never end.
pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

PROCESSES = ShimProcesses()
CLOCK = SystemClock()
# What `limits.agent_wait_s` is to a worker: who waits longer by itself is ended.
PATIENCE = timedelta(seconds=2)
TIMEOUT = timedelta(seconds=100)
RESUMING = ("claude", "codex", "gemini", "opencode", "pi")


class RealAgent:
    """One program, one worktree, one model; each call is an attempt."""

    def __init__(self, program: Program, top: Path, home: Path) -> None:
        self.program, self.top, self.home = program, top, home
        self.worktree = top / "tree"
        self.worktree.mkdir()
        self.agent = PresetAgent(load_preset(program.name), environ())
        _git(self.worktree, "init", "-q")
        _git(self.worktree, "commit", "-q", "--allow-empty", "-m", "base")
        self.model = ModelServer(Hang(), worktree=str(self.worktree)).__enter__()
        self._folders: list[Path] = []

    def spec(self) -> AgentSpec:
        made = self.program.agent(self.model.url, self.home)
        return AgentSpec(name="mine", **made)

    def attempt(
        self,
        *steps: Step,
        prompt: str = "Write hello.txt.",
        session: str = "",
        timeout: timedelta = TIMEOUT,
        spec: AgentSpec | None = None,
    ) -> AgentExit:
        """As a worker does: start, inspect, end an agent that waits too long, read."""
        self.model.play(*steps)
        folder = self.top / "attempts" / str(len(self._folders) + 1)
        self._folders.append(folder)
        order = AttemptRequest(
            task_id=TaskId("abcd1234-1"),
            attempt=len(self._folders),
            epoch=1,
            agent=spec or self.spec(),
            prompt=prompt,
            worktree=self.worktree,
            folder=folder,
            timeout=timeout,
            hang=timedelta(0),
            lease=timedelta(0),
            session=session,
        )
        PROCESSES.start(folder, self.agent.build_launch(order))
        while (look := PROCESSES.inspect(folder)).phase == ProcessPhase.RUNNING:
            if self.agent.announced_wait(folder) > PATIENCE:
                look = PROCESSES.end(folder, EndCause.WAITING)
                break
            CLOCK.sleep(timedelta(milliseconds=50))
        return self.agent.read(folder, look)

    def close(self) -> None:
        for folder in self._folders:
            PROCESSES.end(folder, EndCause.STOP)
        self.model.__exit__(None, None, None)


def _git(where: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    argv = ["git", *identity, *words]
    return subprocess.run(argv, cwd=where, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """One home for each program: its first start in a new one may be slow."""
    made: dict[str, Path] = {}

    def home(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(f"home-{name}")
        return made[name]

    return home


@pytest.fixture
def real_agent(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    homes: Callable[[str], Path],
    record_property: Callable[[str, object], None],
) -> Iterator[RealAgent]:
    program = needed(request.param)
    for mark in request.node.iter_markers("matrix"):
        record_property(*cell(program.name, *mark.args))
    real_agent = RealAgent(program, tmp_path, homes(program.name))
    yield real_agent
    real_agent.close()
    assert real_agent.model.defects == ()


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("real_agent", names, indirect=True)


# ------------------------------------------------------------------ work


@pytest.mark.spec("3.7", "10.6")
@on("claude", "codex")
def test_earlier_usage_of_a_conversation_is_not_counted_again(real_agent: RealAgent) -> None:
    """Claude Code counts the money of the whole conversation, Codex its tokens."""
    first = real_agent.attempt(*real_agent.program.wrote("hello.txt", "hello\n"))

    second = real_agent.attempt(
        *real_agent.program.ran("printf again >> hello.txt"),
        prompt="The check wants 'again'.",
        session=first.session,
    )

    assert second.ended_cleanly, second
    assert (real_agent.worktree / "hello.txt").read_text() == "hello\nagain"
    assert second.tokens == first.tokens == 240
    assert second.cost == (pytest.approx(first.cost) if first.cost else None)


@pytest.mark.spec("3.7")
@on(*RESUMING)
def test_a_lost_conversation_is_reported(real_agent: RealAgent) -> None:
    exit_ = real_agent.attempt(Fault(500), session="00000000-0000-4000-8000-000000000000")

    assert (exit_.limit, exit_.session) == ("session", "")
    assert real_agent.model.requests == ()


# ------------------------------------------------------------------ faults of the service


@pytest.mark.spec("4.2", "3.10")
@pytest.mark.matrix("wrong key")
@on("gemini")
def test_a_key_that_google_refuses_as_a_bad_request_is_reported(real_agent: RealAgent) -> None:
    exit_ = real_agent.attempt(Fault(400, "API key not valid. Please pass a valid API key."))

    assert exit_.limit == "auth", exit_


@pytest.mark.spec("4.2")
@on("claude", "codex", "pi")
def test_an_answer_that_is_not_json_is_reported(real_agent: RealAgent) -> None:
    exit_ = real_agent.attempt(Malformed())

    assert exit_.limit == "overloaded", exit_


@pytest.mark.spec("3.10", "4.2")
@on("claude", "codex", "pi")
def test_the_agent_itself_recovers_from_one_broken_stream(real_agent: RealAgent) -> None:
    exit_ = real_agent.attempt(Cut(), *real_agent.program.wrote("hello.txt", "hello\n"))

    assert (exit_.limit, exit_.ended_by) == ("", ""), exit_
    assert (real_agent.worktree / "hello.txt").exists()


AWAY = "http://127.0.0.1:9"


@pytest.mark.spec("3.10", "4.2")
@pytest.mark.parametrize(
    ("fault", "limit"),
    [
        (Fault(429, headers={"retry-after": "3600"}), "rate"),
        (Fault(529), "overloaded"),
        (None, "overloaded"),
    ],
    ids=["limit", "overload", "unreachable"],
)
@on("codex")
def test_the_waits_of_codex_with_a_service_of_the_users_own_settings_are_read(
    real_agent: RealAgent, fault: Fault | None, limit: str
) -> None:
    """Without a base_url its own retries cannot be shortened, and without network it never ends."""
    url = real_agent.model.url if fault else AWAY
    provider = f'{{name="own",base_url="{url}/v1",env_key="OPENAI_API_KEY"}}'
    settings = real_agent.home / ".codex" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    spec = real_agent.spec()
    own = replace(spec, options={"program": spec.options["program"]})
    settings.write_text(f'model_provider = "own"\nmodel_providers.own = {provider}\n')
    try:
        exit_ = real_agent.attempt(fault or Hang(), spec=own)
    finally:
        settings.unlink()

    assert (exit_.limit, exit_.ended_by) == (limit, "waiting"), exit_
    assert exit_.model_responded is False


@pytest.mark.spec("3.9", "12.8")
@on("opencode-acp")
def test_a_denial_that_ends_the_turn_is_reported_to_a_person(real_agent: RealAgent) -> None:
    exit_ = real_agent.attempt(shell("touch made.txt"), say("Done."))

    assert exit_.limit == "denied", exit_
    assert (
        "not allowed to use execute (execute is not allowed): touch made.txt" in exit_.stderr_tail
    )
    assert not (real_agent.worktree / "made.txt").exists()
