"""An agent inside the sandbox: the same agent, walled in with the folders of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from yaoki.agents.known import KnownAgent
from yaoki.core.model import AgentExit, AgentSpec
from yaoki.ports import SANDBOX, Agent, Launch, Look, Order
from yaoki.system.sandbox import Sandbox


class SandboxedAgent:
    """Fails before the first call when there is no sandbox to be had."""

    def __init__(self, agent: Agent, sandbox: Sandbox) -> None:
        self._agent, self._sandbox = agent, sandbox

    def preflight(self, spec: AgentSpec) -> None:
        self._agent.preflight(spec)
        self._sandbox.check()

    def launch(self, order: Order) -> Launch:
        launch = self._agent.launch(order)
        launch = replace(launch, env={**launch.env, SANDBOX: "on"})
        return self._sandbox.around(launch, order.folder, own_folders(self._agent, launch.env))

    def resumes(self, spec: AgentSpec) -> bool:
        return self._agent.resumes(spec)

    def read(self, folder: Path, look: Look) -> AgentExit:
        return self._agent.read(folder, look)

    def question(self, folder: Path) -> str:
        return self._agent.question(folder)

    def waits(self, folder: Path) -> timedelta:
        return self._agent.waits(folder)


def own_folders(agent: Agent, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Where a known agent keeps its conversations; of a bare command nobody knows any.

    A folder is named below the home, or by the variable that moves it: `$CODEX_HOME`.
    """
    if not isinstance(agent, KnownAgent):
        return ()
    home = env.get("HOME", "")
    named = (
        env.get(name[1:], "") if name.startswith("$") else f"{home}/{name}"
        for name in agent.description.state
    )
    return tuple(Path(name) for name in named if name.startswith("/") and home)
