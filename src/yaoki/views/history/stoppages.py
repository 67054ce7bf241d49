"""Times in which no task of a run could start despite free workers: pauses and account limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import ClassVar

from yaoki.core.decide.backoff import DEFAULT_LIMIT_WAIT, LIMITS_WITHOUT_ANSWER
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.ports import JournalEntry
from yaoki.views.history.entry_values import read_agent_run, read_failure


@dataclass(slots=True)
class Stoppage:
    """A pause or a limit; without an end it still lasts."""

    start: datetime
    until: datetime | None = None
    words: str = ""


def agent_as_account(_: JournalEntry, agent: str) -> str:
    """The agent's own name, used as its account while that is unknown."""
    return agent


@dataclass(slots=True)
class Stoppages:
    """Folded from the journal of one run, or of all: then `account_of` names an agent's account.

    When a limit ends, one task of the account tries first, the probe; the others wait for the
    account until the probe has its answer.
    """

    EVENTS: ClassVar[tuple[str, ...]] = (
        "RUN_PAUSED",
        "RUN_RESUMED",
        "TASK_CLAIMED",
        "ATTEMPT_STARTED",
        "AGENT_FINISHED",
        "RETRY_DECISION",
        "ESCALATE_DECISION",
        "ESCALATION_ANSWERED",
        "WAIT_ENDED",
        "LEASE_EXPIRED",
        "LEASE_RELEASED",
        "TASK_LANDED",
        "TASK_CANCELLED",
        "JUDGE_ENDED",
    )
    account_of: Callable[[JournalEntry, str], str] = agent_as_account
    pauses: list[Stoppage] = field(default_factory=list)
    limits: dict[str, list[Stoppage]] = field(default_factory=lambda: defaultdict(list))
    # Until when each account is limited, and the task that probes it.
    _limited_until: dict[str, datetime] = field(default_factory=dict)
    _probes: dict[str, tuple[str, Stoppage]] = field(default_factory=dict)
    # The account about which a task asks a person.
    _questions: dict[str, str] = field(default_factory=dict)
    _claimed: dict[str, datetime] = field(default_factory=dict)
    _agents: dict[str, str] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> None:
        APPLY_EVENT[entry.event](self, entry)

    def limits_of(self, account: str, accounts: Mapping[str, str]) -> list[Stoppage]:
        """The limits of one account; `accounts` maps agents to accounts."""
        mine = [name for name in list(self.limits) if accounts.get(name, name) == account]
        return [stop for name in mine for stop in self.limits[name]] if account else []

    # -------------------------------------------------------------- steps

    def on_paused(self, entry: JournalEntry) -> None:
        self.pauses.append(Stoppage(entry.at, None, str(entry.data.get("why", ""))))

    def on_resumed(self, entry: JournalEntry) -> None:
        if self.pauses and self.pauses[-1].until is None:
            self.pauses[-1].until = entry.at

    def on_claimed(self, entry: JournalEntry) -> None:
        self._claimed[entry.task_id] = entry.at

    def on_started(self, entry: JournalEntry) -> None:
        self._agents[entry.task_id] = str(entry.data.get("agent", ""))
        claimed = self._claimed.pop(entry.task_id, entry.at)
        name, until = self._limit_of(entry)
        if until is not None and until <= entry.at and name not in self._probes:
            stop = Stoppage(max(until, claimed), None, name)
            self.limits[name].append(stop)
            self._probes[name] = (entry.task_id, stop)

    def on_finished(self, entry: JournalEntry) -> None:
        limit = read_agent_run(entry).limit
        name, until = self._limit_of(entry)
        if limit not in LIMITS_WITHOUT_ANSWER and until is not None and until <= entry.at:
            del self._limited_until[name]
            self._end_probe(name, entry.at)

    def on_decided(self, entry: JournalEntry) -> None:
        failure = read_failure(entry)
        agent = self._agents.get(entry.task_id, "")
        self.on_lease_ended(entry)
        name = failure.account or (self.account_of(entry, agent) if agent else "")
        if not failure.is_limit or not name:
            return
        if entry.event == "ESCALATE_DECISION" and failure.closes_account:
            self._begin_question(name, entry)
            return
        due = entry.data.get("due_at") or entry.data.get("account_until")
        until = datetime.fromisoformat(due) if due else entry.at + DEFAULT_LIMIT_WAIT
        self._begin_limit(name, entry.at, until)

    def on_answered(self, entry: JournalEntry) -> None:
        name = self._questions.pop(entry.task_id, "")
        if name:
            self.limits[name][-1].until = entry.at
            self._limited_until[name] = entry.at

    def on_wait_ended(self, entry: JournalEntry) -> None:
        """The journal of one run knows an account only by the agent of the task."""
        for name in {str(entry.data.get("account") or ""), self._limit_of(entry)[0]}:
            until = self._limited_until.get(name)
            if entry.data.get("account") and until is not None and until > entry.at:
                self.limits[name][-1].until = entry.at
                self._limited_until[name] = entry.at

    def on_lease_ended(self, entry: JournalEntry) -> None:
        """A task without a worker no longer probes."""
        for name, (task_id, _) in list(self._probes.items()):
            if task_id == entry.task_id:
                self._end_probe(name, entry.at)

    def on_task_over(self, entry: JournalEntry) -> None:
        """Forget finished tasks: all runs together have many."""
        self.on_lease_ended(entry)
        self.on_answered(entry)
        self._agents.pop(entry.task_id, None)
        self._claimed.pop(entry.task_id, None)

    def on_judge_ended(self, entry: JournalEntry) -> None:
        """The judge of a race waits for no account, but its limit holds for other tasks."""
        if entry.data.get("failure"):
            self.on_decided(entry)
        self.on_task_over(entry)

    def _limit_of(self, entry: JournalEntry) -> tuple[str, datetime | None]:
        """The account of the task's agent, and until when it is limited."""
        agent = self._agents.get(entry.task_id, "") if self._limited_until else ""
        name = self.account_of(entry, agent) if agent else ""
        return name, self._limited_until.get(name)

    def _begin_limit(self, name: str, at: datetime, until: datetime) -> None:
        """The newest limit replaces an earlier one."""
        last = self.limits[name][-1] if self.limits[name] else None
        if last is not None and (last.until is None or last.until > at):
            last.until = at
        self._limited_until[name] = until
        self.limits[name].append(Stoppage(at, until, name))

    def _begin_question(self, name: str, entry: JournalEntry) -> None:
        """No task uses the account until a person has answered."""
        self._begin_limit(name, entry.at, entry.at)
        self.limits[name][-1].until = None
        self._questions[entry.task_id] = name

    def _end_probe(self, name: str, at: datetime) -> None:
        _, stop = self._probes.pop(name, ("", None))
        if stop is not None and stop.until is None:
            stop.until = at


APPLY_EVENT: Mapping[str, Callable[[Stoppages, JournalEntry], None]] = {
    "RUN_PAUSED": Stoppages.on_paused,
    "RUN_RESUMED": Stoppages.on_resumed,
    "TASK_CLAIMED": Stoppages.on_claimed,
    "ATTEMPT_STARTED": Stoppages.on_started,
    "AGENT_FINISHED": Stoppages.on_finished,
    "RETRY_DECISION": Stoppages.on_decided,
    "ESCALATE_DECISION": Stoppages.on_decided,
    "ESCALATION_ANSWERED": Stoppages.on_answered,
    "WAIT_ENDED": Stoppages.on_wait_ended,
    "LEASE_EXPIRED": Stoppages.on_lease_ended,
    "LEASE_RELEASED": Stoppages.on_lease_ended,
    "TASK_LANDED": Stoppages.on_task_over,
    "TASK_CANCELLED": Stoppages.on_task_over,
    "JUDGE_ENDED": Stoppages.on_judge_ended,
}
