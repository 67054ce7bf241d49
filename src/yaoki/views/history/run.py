"""The history of a whole run: its tasks, what its agents used, and what people answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import PERSON_AGENT
from yaoki.ports import JournalEntry
from yaoki.views.history.check_runs import CheckRunLog, CheckRuns
from yaoki.views.history.entry_values import read_agent_run
from yaoki.views.history.task import TaskHistory
from yaoki.views.history.values import RecordedAnswer
from yaoki.views.history.warnings import RunWarnings
from yaoki.views.plain_words import read_refusal_cause

if TYPE_CHECKING:
    from yaoki.core.model import Catalogue
    from yaoki.views.history.forecast_record import ForecastRecord
    from yaoki.views.history.frozen_plan import FrozenPlan

ANSWERS_MAX = 200
COUNTED_EVENTS = ("LEASE_EXPIRED", "LAND_REFUSED", "RESULT_REFUSED", "TASK_UNLANDED", "TASK_UNDONE")


@dataclass(slots=True)
class AgentUsage:
    """Runs of agents and what they used.

    A run counts from its start, because its end may never be reported.  A cost or token count that
    is not reported is counted as unknown, never as zero.  Work that a person does is no agent run.
    """

    EVENTS: ClassVar[tuple[str, ...]] = ("ATTEMPT_STARTED", "PROMPT_SENT", "AGENT_FINISHED")
    runs: int = 0
    seconds: float = 0.0
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


@dataclass(slots=True)
class RunHistory:
    """Everything that happened in one run so far; the journal itself is not kept."""

    tasks: dict[str, TaskHistory] = field(default_factory=dict)
    usage: AgentUsage = field(default_factory=AgentUsage)
    event_counts: Counter[str] = field(default_factory=Counter)
    refusal_counts: Counter[str] = field(default_factory=Counter)
    answers: list[RecordedAnswer] = field(default_factory=list)
    answers_left_out: int = 0
    warnings: RunWarnings = field(default_factory=RunWarnings)
    merged_into: str = ""
    # The executions for merges and undos, which no task made.
    check_run_log: CheckRunLog = field(default_factory=CheckRunLog)
    last_at: datetime | None = None
    forecast: ForecastRecord | None = None
    # Only a report needs it.
    plan: FrozenPlan | None = None

    def add(self, entry: JournalEntry) -> None:
        self.last_at = entry.at
        self.usage.add(entry)
        self.warnings.add(entry)
        if self.plan is not None:
            self.plan.add(entry)
        if self.forecast is not None:
            self.forecast.add(entry)
        elif entry.event == "RUN_FORECAST":
            self._begin_forecast(entry)
        if entry.event in COUNTED_EVENTS:
            self.event_counts[entry.event] += 1
        if entry.event == "LAND_REFUSED":
            self.refusal_counts[read_refusal_cause(entry.data)] += 1
        if entry.event == "RUN_MERGED":
            self.merged_into = str(entry.data.get("branch", ""))
        if entry.task_id:
            self._add_to_task(entry)
        elif entry.event == "CHECKS_RAN":
            self.check_run_log.add(entry)
            self.check_run_log.judge()

    def _begin_forecast(self, entry: JournalEntry) -> None:
        from yaoki.views.history.forecast_record import ForecastRecord

        self.forecast = ForecastRecord()
        self.forecast.add(entry)

    @property
    def check_runs(self) -> list[CheckRuns]:
        """All executions of checks in the run."""
        of_tasks = (run for task in self.tasks.values() for run in task.check_runs)
        return [*of_tasks, *self.check_run_log.runs]

    def _add_to_task(self, entry: JournalEntry) -> None:
        task = self.tasks.setdefault(entry.task_id, TaskHistory())
        answered = len(task.answers)
        task.add(entry)
        if len(task.answers) == answered:
            return
        if len(self.answers) < ANSWERS_MAX:
            self.answers.append(task.answers[-1])
        else:
            self.answers_left_out += 1


def build_run_history(
    entries: Iterable[JournalEntry], catalogue: Catalogue | None = None
) -> RunHistory:
    """`entries` are the journal of one run or of several, oldest first.

    With the catalogue of a run the history has the frozen plan as well.
    """
    history = RunHistory()
    if catalogue is not None:
        from yaoki.views.history.frozen_plan import FrozenPlan

        history.plan = FrozenPlan(catalogue)
    for entry in entries:
        history.add(entry)
    return history
