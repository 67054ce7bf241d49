"""Values that the store returns besides runs and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import AccountProblem, RunId, Spend, State, TaskId
from yaoki.core.model.spec import title_of_agent


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A line of the journal."""

    seq: int
    at: datetime
    run_id: str
    task_id: str
    attempt: int
    event: str
    data: Mapping[str, Any]
    subtask: str = ""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task as screens need it, read without its specification and history."""

    id: TaskId
    run_id: RunId
    n: int
    name: str
    kind: str
    state: State
    stage: str
    attempt: int
    epoch: int
    holder: str
    due_at: datetime | None
    lease_until: datetime | None
    open_needs: int
    required: bool
    reason: str
    agent: str
    cancel_requested: bool
    landed_commit: str
    question: str
    undo_requested: bool = False
    parent: str = ""
    awaiting_rerun: bool = False
    phase: str = ""
    account: str = ""
    # Those of the other agents of its chain that may continue.
    other_accounts: tuple[str, ...] = ()
    tags: str = ""
    worktree_host: str = ""
    is_queued: bool = False
    session: str = ""
    spend: Spend = field(default_factory=Spend)
    onto: str = ""
    # The end of the agent of landed work, unless it was exit code 0.
    agent_exit: str = ""
    # Set for a task that asks a person about the account of its agent.
    account_problem: AccountProblem = AccountProblem.NONE
    # The checks that a person waived for its work.
    waivers: tuple[str, ...] = ()
    # A racing task whose candidates work, or a candidate that must not be claimed.
    awaiting_race: bool = False
    # The task that a candidate races for.
    race_task: TaskId = TaskId("")

    @property
    def agent_title(self) -> str:
        """Its agent as people see it, with the account if the agent has several."""
        return title_of_agent(self.agent, self.account)


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A closed account; after `until`, `probe_task` is the one task that tries first.

    While `asking_task` asks a person about it, no task does.  `is_avoided`: a task whose chain has
    an open account does not wait for this one.
    """

    name: str
    until: datetime
    reason: str
    probe_task: str = ""
    problem: AccountProblem = AccountProblem.RATE_LIMIT
    asking_task: str = ""
    is_avoided: bool = False


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """The result of a heartbeat: claims that were lost, and tasks that a person cancelled."""

    lost: frozenset[TaskId]
    cancel_requested: frozenset[TaskId]
