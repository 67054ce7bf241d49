"""The history of a whole run: its tasks, what its agents used, and what people answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.ports import JournalEntry
from yaoki.views.history.agent_usage import AgentUsage
from yaoki.views.history.check_runs import CheckRunLog, CheckRuns
from yaoki.views.history.stoppages import Stoppage
from yaoki.views.history.task import TaskHistory
from yaoki.views.history.values import RecordedAnswer
from yaoki.views.history.warnings import NOTED_EVENTS, RunWarnings
from yaoki.views.plain_words import read_refusal_cause

if TYPE_CHECKING:
    from yaoki.core.model import Catalogue
    from yaoki.views.history.forecast_record import ForecastRecord
    from yaoki.views.history.frozen_plan import FrozenPlan

ANSWERS_MAX = 200
COUNTED_EVENTS = ("LEASE_EXPIRED", "LAND_REFUSED", "RESULT_REFUSED", "TASK_UNLANDED", "TASK_UNDONE")


@dataclass(slots=True)
class RunHistory:
    """Everything that happened in one run so far; the journal itself is not kept."""

    tasks: dict[str, TaskHistory] = field(default_factory=dict)
    usage: AgentUsage = field(default_factory=AgentUsage)
    event_counts: Counter[str] = field(default_factory=Counter)
    refusal_counts: Counter[str] = field(default_factory=Counter)
    answers: list[RecordedAnswer] = field(default_factory=list)
    answers_left_out: int = 0
    warnings: RunWarnings = field(default_factory=lambda: RunWarnings(events=NOTED_EVENTS))
    merged_into: str = ""
    # The executions for merges and undos, which no task made.
    check_run_log: CheckRunLog = field(default_factory=CheckRunLog)
    # When it started nothing new until a person said so.
    pauses: list[Stoppage] = field(default_factory=list)
    last_at: datetime | None = None
    forecast: ForecastRecord | None = None
    # Only a report needs it.
    plan: FrozenPlan | None = None
    # By the head after the revert: the tasks that were reverted with the one that is undone.
    _reverted: dict[str, list[str]] = field(default_factory=dict)

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
        if entry.event == "RUN_PAUSED":
            self.pauses.append(Stoppage(entry.at))
        if entry.event == "RUN_RESUMED" and self.pauses:
            self.pauses[-1].until = entry.at
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
        if entry.event == "TASK_UNLANDED":
            self._reverted.setdefault(str(entry.data.get("head", "")), []).append(entry.task_id)
        if named := entry.data.get("retried_task"):
            self._add_follower(str(named), entry.task_id)
        if len(task.answers) == answered:
            return
        if len(self.answers) < ANSWERS_MAX:
            # Only the undo of a task is recorded with the head after its revert.
            followers = self._reverted.pop(str(entry.data.get("commit", "")), ())
            self.answers.append(replace(task.answers[-1], followers=tuple(followers)))
        else:
            self.answers_left_out += 1

    def _add_follower(self, named: str, follower: str) -> None:
        """The end of the named task's wait is recorded first, in the same transaction."""
        if self.answers and (last := self.answers[-1]).task_id == named:
            self.answers[-1] = replace(last, followers=(*last.followers, follower))


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
