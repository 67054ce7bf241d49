"""Agents, and the text about a failure that they get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import AgentExit, AgentSpec, Failure, FailureKind, TaskId, Usage
from yaoki.ports.processes import Launch, ProcessState


@dataclass(frozen=True, slots=True)
class AttemptRequest:
    """The request to an agent for one attempt.

    `session` is the agent's own conversation to continue; empty: a new one.  `check_commands` are
    commands of checks that an agent limited to edits may run.  `tool_server` is the command of
    yaoki's MCP server, for agents that take one; empty: none.
    """

    task_id: TaskId
    attempt: int
    epoch: int
    agent: AgentSpec
    prompt: str
    worktree: Path
    folder: Path
    timeout: timedelta
    hang: timedelta
    lease: timedelta
    output_bytes_max: int = 1 << 30
    environment: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    check_commands: tuple[str, ...] = ()
    tool_server: tuple[str, ...] = ()


class AgentDriver(Protocol):
    """Starts one kind of agent and reads its result.

    A driver that cannot keep `permissions: edits` refuses it in `preflight`.
    """

    def preflight(self, spec: AgentSpec) -> None:
        """Raise `Fault` when the agent cannot run (binary missing, not executable)."""

    def build_launch(self, order: AttemptRequest) -> Launch: ...

    def can_resume(self, spec: AgentSpec) -> bool:
        """Can the agent continue an earlier conversation?"""

    def read(self, folder: Path, look: ProcessState) -> AgentExit: ...

    def pending_question(self, folder: Path) -> str:
        """The question of an agent that still runs; empty when it asks nothing."""

    def announced_wait(self, folder: Path) -> timedelta:
        """The wait that the agent announces; zero while it works."""

    def usage_so_far(self, folder: Path) -> Usage:
        """The least that an agent which still runs has used, according to its output."""


class PromptText(Protocol):
    """The text about a failure, the file it comes from, how that file was chosen, and any fault."""

    @property
    def text(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def steps(self) -> tuple[str, ...]: ...
    @property
    def fault(self) -> str: ...


class PromptWriter(Protocol):
    def write(
        self, failure: Failure, hints: Mapping[FailureKind, str], template: str = ""
    ) -> PromptText:
        """The text about a failure, by the fitting template of that name or the usual one."""

    def fitting_templates(self, failure: Failure) -> tuple[str, ...]:
        """The templates that the project has for the pattern; the usual one is first."""
