"""Tries a real agent in a temporary repository: does it start, write, resume and report usage?

As everywhere, the files decide, not what the agent claims.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.agents.preset_agent import PresetAgent
from yaoki.adapters.agents.remedies import describe_remedy
from yaoki.adapters.agents.sandboxed_agent import SandboxedAgent
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentExit, AgentSpec, EndCause, TaskId
from yaoki.core.text import format_duration
from yaoki.errors import Fault
from yaoki.ports import (
    AgentDriver,
    AttemptRequest,
    Clock,
    Processes,
    ProcessPhase,
    SandboxFolders,
)

FILE, WORD = "yaoki.txt", "risen"
FIRST_PROMPT = (
    f"Create a file named {FILE} in the current folder. It holds one line: {WORD}\nThen stop."
)
SECOND_PROMPT = (
    "Add a second line to the file you have just made: the same word in capital letters. Then stop."
)
POLL = timedelta(milliseconds=100)
# A line that only repeats the exit code.
CODE = lazy_compile(r"exit code \d+$")


@dataclass(frozen=True, slots=True)
class RehearsalStep:
    """A step: whether it succeeded, and the remedy if not."""

    name: str
    passed: bool
    message: str
    remedy: str = ""


class Rehearsal:
    """A rehearsal of at most two attempts: one writes a file, one resumes the conversation.

    `sandbox` is the one in which a run would start the agent; None: it would start it outside.
    """

    def __init__(
        self,
        agent: PresetAgent,
        spec: AgentSpec,
        processes: Processes,
        clock: Clock,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._agent, self._spec, self._sandbox = agent, spec, sandbox
        self._processes, self._clock = processes, clock

    def run(self, worktree: Path, folder: Path, limit: timedelta) -> Iterator[RehearsalStep]:
        """Yields each step as it finishes; stops at the first failure."""
        driver = self._open_driver(folder)
        try:
            driver.preflight(self._spec)
        except Fault as fault:
            yield RehearsalStep(
                "program", False, fault.sentence, self._install_hint() or fault.hint
            )
            return
        program = self._agent.resolve_spec(self._spec).command[0]
        where = ", in the sandbox" if self._sandbox else ""
        yield RehearsalStep("program", True, f"{program}{where}")
        request = self._make_request(worktree, folder / "1", limit)
        first = self._attempt(driver, request)
        wrote = self._make_step(self._lines(worktree) == [WORD], "work", f"it wrote {FILE}", first)
        yield wrote
        if not wrote.passed:
            return
        yield RehearsalStep("usage", True, _describe_usage(first))
        if not first.session:
            yield RehearsalStep(
                "resume", True, "it cannot resume; each attempt gets the whole prompt"
            )
            return
        second_request = replace(
            request, folder=folder / "2", prompt=SECOND_PROMPT, session=first.session
        )
        second = self._attempt(driver, second_request)
        has_resumed = self._lines(worktree) == [WORD, WORD.upper()]
        yield self._make_step(has_resumed, "resume", f"it continued {first.session}", second)

    def _install_hint(self) -> str:
        """The installation command of a missing program; unknown for one named by --program."""
        about, program = self._agent.preset, str(self._spec.options.get("program", ""))
        if shutil.which(program or about.program):
            return ""
        option = "name the program: --program FILE"
        return f"{about.install}, or {option}" if about.program and not program else option

    def _make_step(
        self, succeeded: bool, name: str, success: str, exit_: AgentExit
    ) -> RehearsalStep:
        """The files decide; the exit explains a failure."""
        if succeeded:
            return RehearsalStep(name, True, f"{success} in {format_duration(exit_.seconds)}")
        lines = [
            line for line in exit_.stderr_tail.splitlines() if line.strip() and not CODE.match(line)
        ]
        ending = exit_.limit or exit_.ended_by or f"exit code {exit_.code}"
        failure = f"failed ({ending}){': ' + lines[-1].strip() if lines else ''}"
        return RehearsalStep(name, False, failure, self._remedy(exit_))

    def _remedy(self, exit_: AgentExit) -> str:
        remedy = describe_remedy(exit_.limit, self._agent.preset)
        return remedy or _REMEDIES.get(exit_.ended_by, "read the logs")

    def _make_request(self, worktree: Path, folder: Path, limit: timedelta) -> AttemptRequest:
        return AttemptRequest(
            task_id=TaskId("rehearsal-1"),
            attempt=1,
            epoch=1,
            agent=self._spec,
            prompt=FIRST_PROMPT,
            worktree=worktree,
            folder=folder,
            timeout=limit,
            hang=timedelta(0),
            lease=timedelta(0),
        )

    def _open_driver(self, folder: Path) -> AgentDriver:
        """Both attempts use the same private folder: the conversation is stored in it."""
        if self._sandbox is None:
            return self._agent
        own = SandboxFolders(folder / "private", (), {})
        return SandboxedAgent(self._agent, self._sandbox, lambda _task, _worktree: own)

    def _attempt(self, driver: AgentDriver, request: AttemptRequest) -> AgentExit:
        self._processes.start(request.folder, driver.build_launch(request))
        try:
            while (look := self._processes.inspect(request.folder)).phase == ProcessPhase.RUNNING:
                if driver.announced_wait(request.folder) > request.timeout:
                    break
                self._clock.sleep(POLL)
        finally:
            look = self._processes.end(request.folder, EndCause.WAITING)
        return driver.read(request.folder, look)

    def _lines(self, worktree: Path) -> list[str]:
        file = worktree / FILE
        if not file.is_file() or file.is_symlink():
            return []
        return file.read_text(encoding="utf-8", errors="replace")[:1000].split()


def _describe_usage(exit_: AgentExit) -> str:
    cost = "cost unknown" if exit_.cost is None else f"{exit_.cost:.4f} US dollars"
    tokens = "tokens unknown" if exit_.tokens is None else f"{exit_.tokens} tokens"
    turns = "turns unknown" if exit_.turns is None else f"{exit_.turns} turns"
    return f"{cost}, {tokens}, {turns}"


_REMEDIES: Mapping[EndCause, str] = {
    EndCause.DEADLINE: "it needs more time (--seconds), or waits for something",
    EndCause.WAITING: "it waits for its service: try again later",
}
