"""One minute with a real agent in a throwaway place: does it start, write, remember, and tell?

Its claims are held against the files it left, as everywhere.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.agents.preset_agent import PresetAgent
from yaoki.core.model import AgentExit, AgentLimit, AgentSpec, EndCause, TaskId
from yaoki.errors import Fault
from yaoki.ports import AttemptRequest, Clock, Processes

FILE, WORD = "yaoki.txt", "risen"
FIRST_PROMPT = (
    f"Create a file named {FILE} in the current folder. It holds one line: {WORD}\nThen stop."
)
SECOND_PROMPT = (
    "Add a second line to the file you have just made: the same word in capital letters. Then stop."
)
POLL = timedelta(milliseconds=100)
# A line that only repeats how it ended.
CODE = re.compile(r"exit code \d+$")
KEY = re.compile(r"_(?:API_KEY|TOKEN)$")


@dataclass(frozen=True, slots=True)
class RehearsalStep:
    """One thing that was tried: how it went, and what to do when it went badly."""

    name: str
    passed: bool
    message: str
    remedy: str = ""


class Rehearsal:
    """Two attempts at most: one that writes, one that goes on with the conversation."""

    def __init__(
        self, agent: PresetAgent, spec: AgentSpec, processes: Processes, clock: Clock
    ) -> None:
        self._agent, self._spec = agent, spec
        self._processes, self._clock = processes, clock

    def run(self, worktree: Path, folder: Path, limit: timedelta) -> Iterator[RehearsalStep]:
        """What was seen, as it is seen; it ends at the first thing that is bad."""
        try:
            self._agent.preflight(self._spec)
        except Fault as fault:
            yield RehearsalStep("program", False, fault.sentence, self._instead() or fault.hint)
            return
        yield RehearsalStep("program", True, self._agent.resolve_spec(self._spec).command[0])
        order = self._order(worktree, folder / "1", limit)
        first = self._attempt(order)
        wrote = self._held(self._lines(worktree) == [WORD], "work", f"it wrote {FILE}", first)
        yield wrote
        if not wrote.passed:
            return
        yield RehearsalStep("usage", True, _used(first))
        if not first.session:
            yield RehearsalStep(
                "resume", True, "it has no conversations; each attempt is told everything"
            )
            return
        again = replace(order, folder=folder / "2", prompt=SECOND_PROMPT, session=first.session)
        second = self._attempt(again)
        went_on = self._lines(worktree) == [WORD, WORD.upper()]
        yield self._held(went_on, "resume", f"it went on with {first.session}", second)

    def _instead(self) -> str:
        """How the program is come by if it is not there; of one named by hand nobody knows."""
        about, given = self._agent.preset, str(self._spec.options.get("program", ""))
        if shutil.which(given or about.program):
            return ""
        named = "name the program: --program FILE"
        return f"{about.install}, or {named}" if about.program and not given else named

    def _held(self, done: bool, name: str, words: str, exit_: AgentExit) -> RehearsalStep:
        """The files decide; the exit says why not."""
        if done:
            return RehearsalStep(name, True, f"{words} in {exit_.seconds:.0f} s")
        said = [
            line for line in exit_.stderr_tail.splitlines() if line.strip() and not CODE.match(line)
        ]
        ended = exit_.limit or exit_.ended_by or f"exit code {exit_.code}"
        why = f"it did not ({ended}){': ' + said[-1].strip() if said else ''}"
        return RehearsalStep(name, False, why, self._remedy(exit_))

    def _remedy(self, exit_: AgentExit) -> str:
        about = self._agent.preset
        if exit_.limit is AgentLimit.AUTH:
            keys = [name for name in about.pass_env if KEY.search(name)]
            either = f", or set {' or '.join(keys)}" if keys else ""
            return f"log in: start {about.program} once by yourself{either}"
        return _REMEDIES.get(exit_.limit) or _REMEDIES.get(exit_.ended_by, "read the logs")

    def _order(self, worktree: Path, folder: Path, limit: timedelta) -> AttemptRequest:
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

    def _attempt(self, order: AttemptRequest) -> AgentExit:
        self._processes.start(order.folder, self._agent.build_launch(order))
        try:
            while (look := self._processes.inspect(order.folder)).phase == "running":
                if self._agent.announced_wait(order.folder) > order.timeout:
                    break
                self._clock.sleep(POLL)
        finally:
            look = self._processes.end(order.folder, EndCause.WAITING)
        return self._agent.read(order.folder, look)

    def _lines(self, worktree: Path) -> list[str]:
        file = worktree / FILE
        if not file.is_file() or file.is_symlink():
            return []
        return file.read_text(encoding="utf-8", errors="replace")[:1000].split()


def _used(exit_: AgentExit) -> str:
    cost = "cost unknown" if exit_.cost is None else f"{exit_.cost:.4f} US dollars"
    tokens = "tokens unknown" if exit_.tokens is None else f"{exit_.tokens} tokens"
    turns = "turns unknown" if exit_.turns is None else f"{exit_.turns} turns"
    return f"{cost}, {tokens}, {turns}"


_REMEDIES: Mapping[AgentLimit | EndCause, str] = {
    AgentLimit.OVERLOADED: "its service cannot be reached: check your network, or --base-url",
    EndCause.DEADLINE: "it needs longer, or waits for something: --seconds",
    EndCause.WAITING: "it waits for its service: try again later",
    AgentLimit.RATE: "its account is at a limit: try again later",
    AgentLimit.MONEY: "its account has no credit left",
    AgentLimit.NOT_FOUND: "name a model that the account has: --model",
    AgentLimit.FORBIDDEN: "it may not run here unattended; yaoki agents show says what it needs",
}
