"""The one transactional store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from yaoki.core.decide.merge_queue import CompetingTask
from yaoki.core.machine.events import Event
from yaoki.core.model import Finding, Lease, Pause, Run, RunId, Spend, State, Task, TaskId, TaskSpec
from yaoki.core.run_status import StateCounts
from yaoki.core.settings.resources import PortRanges
from yaoki.errors import RowInvalid
from yaoki.ports.notices import Notice
from yaoki.ports.workers import WorkerInfo, WorkerSeen


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line of the journal."""

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
    tags: str = ""
    worktree_host: str = ""
    landing_refusals: int = 0
    session: str = ""
    spend: Spend = field(default_factory=Spend)
    onto: str = ""
    # Of landed work: how its agent ended, where that was not with exit code 0.
    agent_exit: str = ""


@dataclass(frozen=True, slots=True)
class LimitedAccount:
    """An account whose service asked to wait; `probe` is the task that tries first after that."""

    name: str
    until: datetime
    reason: str
    probe_task: str = ""


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """What a heartbeat learned: claims that were lost, and tasks a person wants cancelled."""

    lost: frozenset[TaskId]
    cancel_requested: frozenset[TaskId]


class Baselines(Protocol):
    """What a check said of a commit that others build on."""

    def baseline(self, commit: str, command: str) -> Finding | None: ...
    def save_baseline(self, commit: str, command: str, finding: Finding) -> None: ...


class Store(Baselines, Protocol):
    """The one transactional store.  Every method is one transaction."""

    def submit(
        self, run: Run, specs: Sequence[TaskSpec], request: Mapping[str, Any]
    ) -> list[TaskId]: ...

    def add_tasks(
        self,
        run_id: RunId,
        specs: Sequence[TaskSpec],
        *,
        unless: str = "",
        replaces: Mapping[str, str] | None = None,
        retire: Sequence[TaskId] = (),
        event: str = "",
        data: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> list[TaskId]:
        """Add tasks to a run; `unless` names a task whose presence makes this a no-op.

        `replaces` maps a new task's name to the id of the one it takes the place of; `retire` are
        failed ones that what comes now makes pointless.  `event` and
        `fields` are told and kept of the run in the same transaction.
        """

    def extend(
        self,
        run_id: RunId,
        specs: Sequence[TaskSpec],
        replaces: Mapping[str, str],
        refuse: Callable[[Run], None],
        *,
        by_planner: bool = False,
    ) -> tuple[list[TaskId], int]:
        """Add tasks as the next revision of the plan; returns them and its number.

        `refuse` raises when the run, as it is in the transaction, takes no more tasks.  `planned`:
        no person asked for it, so a replacement counts against its lineage.
        """

    def amend_all(
        self, changes: Sequence[tuple[TaskId, Callable[[Task], Sequence[Event]]]]
    ) -> list[Task]:
        """Changes of several tasks that belong together: all or none."""

    def tasks_awaiting_rerun(self, run_id: RunId) -> list[Task]:
        """Those that wait for a re-run until everything else rests."""

    def tasks_to_undo(self, run_id: RunId) -> list[Task]:
        """Those whose landed work is to be taken back: a person or a proof wants it."""

    def open_planning_tasks(self, run_id: RunId) -> list[tuple[Task, datetime]]:
        """Open plan tasks that can start and have a deadline, with the instant it passes."""

    def pause(
        self,
        run_id: RunId,
        pause: Pause,
        *,
        event: str = "",
        data: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Nothing new is begun until a person says so; `event` and `fields` as in `add`."""

    def end_iterations(
        self, run_id: RunId, number: int, event: str, data: Mapping[str, Any]
    ) -> None:
        """Tell why the iteration of this number was the last one; once, whoever looks again."""

    def unpause(self, run_id: RunId, words: str, how: str = "") -> Run: ...

    def claim(
        self,
        holder: str,
        lease: timedelta,
        limit: int,
        *,
        runs: Sequence[RunId] = (),
        host: str = "",
        host_max: int = 0,
        is_alive: Callable[[str], bool] = ...,
        tags: Collection[str] = ...,
        place: str = "",
        scope: str = ...,
    ) -> list[Task]:
        """`alive` says that a holder lives on this machine; such a one keeps its task for a while
        even when its lease ran out.  Tasks that need more than `tags`, or a person's work that lies
        in another `place`, are left to others; `begin` is one of ALL, BEGUN and NOTHING_NEW.
        """

    def record_worker_heartbeat(self, worker: WorkerInfo, gone_after: timedelta) -> None:
        """It lives; whoever did not say so for too long is forgotten."""

    def remove_worker(self, holder: str) -> None: ...
    def workers(self) -> list[WorkerSeen]: ...
    def unfinished_runs(self) -> list[tuple[RunId, str, str]]:
        """Runs that are not summed up: id, repository and base commit."""

    def lease_ports(
        self, task_id: str, host: str, ports: PortRanges, avoid: Iterable[tuple[int, int]]
    ) -> int | None:
        """The base of the task's range of ports; nothing when all are taken."""

    def free_ports(self, task_id: str) -> None: ...

    def claim_to_cancel(
        self, holder: str, lease: timedelta, runs: Sequence[RunId]
    ) -> list[Task]: ...

    def competing_tasks(self, task: Task) -> list[CompetingTask]:
        """Other tasks that somebody proves or lands on the same line."""

    def record(self, lease: Lease, decide: Callable[[Task], Sequence[Event]]) -> Task: ...

    def amend(self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]) -> Task:
        """A person's change: no lease needed, fenced by what `decide` sees."""

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> HeartbeatResult: ...

    def expire_claims(
        self, is_dead: Callable[[str], bool], *, counted: bool, runs: Sequence[RunId] = ()
    ) -> list[TaskId]:
        """Take the claims of dead holders back."""

    def cancel_run(self, run_id: RunId, why: str) -> list[TaskId]: ...
    def cancel_task(self, task_id: TaskId, why: str) -> Task: ...
    def tasks_to_stop(self) -> frozenset[TaskId]: ...
    def accounts(self) -> list[LimitedAccount]: ...
    def take_notices(self, limit: int = 20) -> list[Notice]:
        """What is due, marked as being sent."""

    def mark_notice_sent(self, notice: Notice) -> None: ...
    def mark_notice_failed(
        self, notice: Notice, reason: str, *, permanent: bool, retry_after: timedelta | None = None
    ) -> None:
        """`retry_after` is the wait that the receiver asked for."""

    def total_spend(self, run_id: RunId) -> Spend: ...
    def audit(self, run_id: RunId) -> list[str]: ...

    @property
    def journal_source(self) -> str:
        """What `witnessed` reads, in words: the journal file, or of a server the journal."""

    def read_journal_source(
        self, run_id: RunId, events: Collection[str] = ()
    ) -> Iterator[JournalEntry]:
        """The lines of a run as the journal file holds them; of `events` alone, if named."""

    def illegal_rows(self, run_id: RunId) -> list[RowInvalid]:
        """Rows whose state or stage is none that yaoki knows."""

    def amend_from_journal(
        self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]
    ) -> Task:
        """As `amend`, but of the task as its journal has it: the row is not trusted."""

    def note(
        self, run_id: RunId, name: str, data: Mapping[str, Any], task_id: str = "", attempt: int = 0
    ) -> None: ...

    def run(self, run_id: str) -> Run: ...
    def runs(self) -> list[Run]: ...
    def update_run(
        self, run_id: RunId, event: str, data: Mapping[str, Any], **fields: Any
    ) -> Run: ...
    def summarize_run(
        self, run_id: RunId, summarize: Callable[[StateCounts], Mapping[str, Any] | None]
    ) -> None:
        """The end of a run, told of its tasks as they stand in the same transaction."""

    def task(self, task_id: str) -> Task: ...
    def rows(self, run_id: RunId) -> list[TaskRow]: ...
    def needs(self, run_id: RunId) -> dict[TaskId, tuple[TaskId, ...]]: ...
    def count_by_state(self, run_id: RunId) -> dict[tuple[State, bool], int]:
        """How many tasks per (state, required)."""

    def is_idle(self, run_id: RunId) -> bool:
        """Is nothing of this run claimed, ready or due later?"""

    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None: ...
    def journal(
        self, *, run_id: str = "", task_id: str = "", after: int = 0, limit: int = 1000
    ) -> list[JournalEntry]: ...
    def version(self) -> int:
        """Changes whenever anybody commits; cheap enough to poll."""

    def close(self) -> None: ...
