"""An agent in the sandbox, with its own repository, state and caches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.agents.command import CommandAgent
from yaoki.adapters.agents.preset_agent import PresetAgent
from yaoki.adapters.agents.private_state import PrivateState
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import AgentExit, AgentSpec, Usage
from yaoki.errors import FatalCode, Fault
from yaoki.ports import (
    SANDBOX_VARIABLE,
    AgentDriver,
    AttemptRequest,
    Launch,
    ProcessState,
    SandboxFolders,
)

# By the second, Claude Code decides whether root may run it without confirmations.
SANDBOX_VARIABLES = {SANDBOX_VARIABLE: "on", "IS_SANDBOX": "1"}

# Added once, at the beginning of a conversation, so that the agent knows its limits.
SANDBOX_PROMPT = """
# Where you are

- You are in a sandbox: you can write in the current directory, in $TMPDIR and in the package
  caches that are set for you. Everything else is read-only or hidden; do not try to get around it.
- You may commit on the branch that you are on. Pushes, tags and other branches are refused.
- Servers that you start listen on 127.0.0.1, from port $YAOKI_PORT_BASE on; they end with you.
"""


class SandboxedAgent:
    """Fails in `preflight` if no sandbox is available, or if it hides the agent's program.

    `lend` gives an agent that works in the worktree of a task a repository to commit to.
    """

    def __init__(
        self,
        agent: AgentDriver,
        sandbox: Sandbox,
        lend: Callable[[str, Path], SandboxFolders | None],
    ) -> None:
        self._agent, self._sandbox, self._lend = agent, sandbox, lend

    def preflight(self, spec: AgentSpec) -> None:
        self._agent.preflight(spec)
        self._sandbox.check_available()
        if not isinstance(self._agent, CommandAgent):
            return
        if hidden := self._sandbox.find_hidden_program(*self._agent.describe_start(spec)):
            place = f"{hidden.name} is in {hidden.parent}"
            raise Fault(
                f"agent {spec.name!r}: {place}, which the sandbox hides",
                transient=False,
                code=FatalCode.RESOURCE_NOT_FOUND,
                hint='install it elsewhere, or sandbox.mode = "off" in yaoki.toml',
            )

    def build_launch(self, attempt: AttemptRequest) -> Launch:
        request = (
            attempt
            if attempt.session
            else replace(attempt, prompt=f"{attempt.prompt}{SANDBOX_PROMPT}")
        )
        launch, repository = (
            self._agent.build_launch(request),
            self._lend(attempt.task_id, attempt.worktree),
        )
        # A judge has no worktree of its own and commits nothing.
        repository = repository or SandboxFolders(attempt.folder / "private", (), {})
        state = PrivateState(repository.folder / "state").make_copies(self._state_folders(launch))
        writable = (*repository.writable, *state.values())
        launch = replace(launch, env={**launch.env, **SANDBOX_VARIABLES})
        return self._sandbox.wrap(
            launch,
            attempt.folder,
            writable,
            {**repository.read_only_mounts, **state},
            self._programs(attempt.agent),
        )

    def _programs(self, spec: AgentSpec) -> tuple[str, ...]:
        agent = self._agent
        return (agent.describe_start(spec)[0],) if isinstance(agent, CommandAgent) else ()

    def _state_folders(self, launch: Launch) -> dict[Path, tuple[str, ...]]:
        """The state folders of a known agent, with the patterns that are not copied.

        A preset names a folder below the home, or by a variable such as `$CODEX_HOME`.  A folder
        of the task itself needs no copy.
        """
        if not isinstance(self._agent, PresetAgent):
            return {}
        home, about = launch.env.get("HOME", ""), self._agent.preset
        named = (
            launch.env.get(name[1:], "") if name.startswith("$") else f"{home}/{name}"
            for name in about.state
        )
        own = set(launch.writable)
        folders = (Path(n) for n in named if n.startswith("/") and home and n not in own)
        return dict.fromkeys(folders, about.history)

    def can_resume(self, spec: AgentSpec) -> bool:
        return self._agent.can_resume(spec)

    def read(self, folder: Path, look: ProcessState) -> AgentExit:
        return self._agent.read(folder, look)

    def pending_question(self, folder: Path) -> str:
        return self._agent.pending_question(folder)

    def announced_wait(self, folder: Path) -> timedelta:
        return self._agent.announced_wait(folder)

    def usage_so_far(self, folder: Path) -> Usage:
        return self._agent.usage_so_far(folder)
