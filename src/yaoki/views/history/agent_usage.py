"""The runs of agents and what they used, of one run or of several."""

from __future__ import annotations

from typing import ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import PERSON_AGENT
from yaoki.ports import JournalEntry
from yaoki.views.history.entry_values import read_agent_run


@dataclass(slots=True)
class AgentUsage:
    """Runs of agents and what they used.

    A run counts from its start, because its end may never be reported.  A cost or token count that
    is not reported is counted as unknown, never as zero.  Work that a person does is no agent run.
    """

    EVENTS: ClassVar[tuple[str, ...]] = (
        "ATTEMPT_STARTED",
        "PROMPT_SENT",
        "AGENT_FINISHED",
        "AGENT_RUN_LOST",
    )
    runs: int = 0
    seconds: float = 0.0
    seconds_unknown_runs: int = 0
    cost: float = 0.0
    cost_unknown_runs: int = 0
    tokens: int = 0
    tokens_unknown_runs: int = 0
    _person_tasks: set[str] = field(default_factory=set)
    # Tasks whose agent was started and counted, and has not ended yet.
    _running_tasks: set[str] = field(default_factory=set)

    def add(self, entry: JournalEntry) -> None:
        match entry.event:
            case "ATTEMPT_STARTED" if entry.data.get("agent") == PERSON_AGENT:
                self._person_tasks.add(entry.task_id)
            case "PROMPT_SENT":
                self._begin(entry.task_id)
            case "AGENT_FINISHED" if entry.task_id in self._person_tasks:
                self._person_tasks.discard(entry.task_id)
            case "AGENT_FINISHED":
                self._end(entry)
            case "AGENT_RUN_LOST":
                self._lose(entry)
            case _:
                pass  # says nothing about an agent's run

    @property
    def known_cost(self) -> float | None:
        """None when no run reported a cost; a lower bound when only some did."""
        return round(self.cost, 6) if self.cost_unknown_runs < self.runs else None

    @property
    def known_tokens(self) -> int | None:
        return self.tokens if self.tokens_unknown_runs < self.runs else None

    def _begin(self, task_id: str) -> None:
        self._running_tasks.add(task_id)
        self.runs += 1
        self.cost_unknown_runs += 1
        self.tokens_unknown_runs += 1

    def _lose(self, entry: JournalEntry) -> None:
        """Its cost stays unknown; its seconds are known up to its last sign of life."""
        seconds = entry.data.get("seconds")
        self._running_tasks.discard(entry.task_id)
        self.seconds += seconds or 0.0
        self.seconds_unknown_runs += seconds is None

    def _end(self, entry: JournalEntry) -> None:
        run = read_agent_run(entry)
        if entry.task_id not in self._running_tasks:
            self._begin(entry.task_id)
        self._running_tasks.discard(entry.task_id)
        self.seconds += run.seconds
        self.cost += run.cost or 0.0
        self.cost_unknown_runs -= run.cost is not None
        self.tokens += run.tokens or 0
        self.tokens_unknown_runs -= run.tokens is not None
