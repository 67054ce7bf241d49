"""The transactional store, as small protocols named for their callers.

Every method is one transaction.  An engine class takes the smallest protocol that it needs; only
the composition root sees the whole `Store`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from yaoki.core.machine.events import Event
from yaoki.core.model import (
    CheckRevision,
    CheckSpec,
    CompetingTask,
    Finding,
    Lease,
    Pause,
    Run,
    RunId,
    Spend,
    State,
    Task,
    TaskId,
    TaskSpec,
)
from yaoki.core.model.flaky_test import FlakyTest
from yaoki.core.model.treatment import TreatmentCount, TreatmentOutcome
from yaoki.core.model.verdict_key import VerdictKey, VerdictOrigin
from yaoki.core.run_status import StateCounts
from yaoki.core.settings.budget import SpendLeft
from yaoki.core.settings.resources import PortRanges
from yaoki.errors import RowInvalid
from yaoki.ports.notices import Notice
from yaoki.ports.stored_values import AccountRow, HeartbeatResult, JournalEntry, TaskRow
from yaoki.ports.workers import Claimant, ClaimScope, WorkerInfo, WorkerSeen

# ------------------------------------------------------------------ reading


class Reads(Protocol):
    """Runs and tasks as they are."""

    def run(self, run_id: str) -> Run: ...
    def runs(self) -> list[Run]: ...
    def unfinished_runs(self) -> list[tuple[RunId, str, str]]:
        """Runs without a final summary: id, repository and base commit."""

    def task(self, task_id: str) -> Task: ...
    def rows(self, run_id: RunId) -> list[TaskRow]: ...
    def needs(self, run_id: RunId) -> dict[TaskId, tuple[TaskId, ...]]: ...
    def count_by_state(self, run_id: RunId) -> dict[tuple[State, bool], int]:
        """Count tasks per (state, required)."""

    def is_idle(self, run_id: RunId) -> bool:
        """Is no task of this run claimed, ready or due later?"""


class OpenWork(Protocol):
    """The work that a run must settle before it can end."""

    def tasks_awaiting_rerun(self, run_id: RunId) -> list[Task]:
        """Tasks that wait for a re-run until everything else is finished or needs a person."""

    def tasks_to_undo(self, run_id: RunId) -> list[Task]:
        """Tasks whose landed work is to be reverted: a person or a failed check wants it."""

    def open_planning_tasks(self, run_id: RunId) -> list[tuple[Task, datetime]]:
        """Open plan tasks that can start and have a deadline, with the instant it passes."""

    def illegal_rows(self, run_id: RunId) -> list[RowInvalid]:
        """Rows with a state or stage that yaoki does not know."""


class DueTasks(Protocol):
    """Tasks that wait for a time."""

    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None:
        """The first time at which a task that waits can start; None if none waits."""


class Journal(Protocol):
    """The journal, and the copy of it that proves what was recorded."""

    def journal(
        self, *, run_id: str = "", task_id: str = "", after: int = 0, limit: int = 1000
    ) -> list[JournalEntry]: ...

    def note(
        self, run_id: RunId, name: str, data: Mapping[str, Any], task_id: str = "", attempt: int = 0
    ) -> None:
        """Append an entry that changes no row."""

    @property
    def journal_source(self) -> str:
        """The name of the source of `read_journal_source` in messages."""

    def read_journal_source(
        self, run_id: RunId, events: Collection[str] = ()
    ) -> Iterator[JournalEntry]:
        """The entries of a run from the journal file, or on a server from the journal.

        Only entries named in `events`, if there are any.
        """


class Baselines(Protocol):
    """Results of checks on commits that tasks build on."""

    def baseline(self, commit: str, command: str) -> Finding | None: ...
    def save_baseline(self, commit: str, command: str, finding: Finding) -> None: ...


class Verdicts(Protocol):
    """Passed checks of all runs, by what they depend on."""

    def find_verdict(self, key: VerdictKey) -> VerdictOrigin | None:
        """The proof that passed a check with this key, if the journal confirms it."""


class Treatments(Protocol):
    """The treatments of failures in all runs, archived ones included."""

    def treatment_counts(self) -> list[TreatmentCount]:
        """Every treatment, the most used first."""

    def treatment_outcomes(self, pattern: str) -> tuple[TreatmentOutcome, ...]:
        """The newest decided treatments of a pattern; the newest is first."""


class FlakyTests(Protocol):
    """The tests of all runs that gave different results on the same commit."""

    def known_flaky_tests(self) -> frozenset[str]:
        """Their names."""

    def flaky_tests(self) -> list[FlakyTest]:
        """Each with its counts and its evidence, the last seen first."""


class HiddenFileStore(Protocol):
    """The files of hidden checks, as text, by their digest."""

    def hidden_files(self, digest: str) -> str | None: ...
    def hidden_folders(self) -> Sequence[Path]:
        """The folders that they were read from: no agent may see them."""

    def save_hidden_files(self, digest: str, folder: str, content: str) -> None: ...


# ------------------------------------------------------------------ writing


class Claims(Protocol):
    """The right of a worker to act on a task, and its end."""

    def claim(
        self,
        claimant: Claimant,
        limit: int,
        *,
        runs: Sequence[RunId] = (),
        scope: ClaimScope = ...,
    ) -> list[Task]:
        """Claim up to `limit` ready tasks; `scope` says what may be begun."""

    def claim_to_cancel(self, claimant: Claimant, runs: Sequence[RunId]) -> list[Task]: ...

    def competing_tasks(self, task: Task) -> list[CompetingTask]:
        """The other active tasks on the same branch."""

    def landing_tasks(self, task: Task) -> list[Task]:
        """The other tasks on the same branch that wait for their landing apart from the queue."""

    def has_dependents(self, task_id: TaskId) -> bool:
        """Does any task need this one?"""

    def spend_left(self, run_id: RunId) -> tuple[SpendLeft, ...]:
        """The rest of each budget of the run and the day; running agents are not counted."""

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> HeartbeatResult: ...

    def expire_claims(
        self, is_dead: Callable[[str], bool], *, counted: bool, runs: Sequence[RunId] = ()
    ) -> list[TaskId]:
        """Return the claims of dead holders."""

    def tasks_to_stop(self) -> frozenset[TaskId]:
        """The active tasks that a person wants cancelled."""

    def version(self) -> int:
        """Changes with every commit of any process; cheap enough to poll."""

    def watch_commits(self, callback: Callable[[], None]) -> None:
        """Call it soon after commits of any process; only a hint, and only where a server sends
        one.
        """


class Records(Protocol):
    """Changes of tasks."""

    def record(self, lease: Lease, decide: Callable[[Task], Sequence[Event]]) -> Task: ...

    def record_candidate(
        self,
        lease: Lease,
        race_task: TaskId,
        decide: Callable[[Task], Sequence[Event]],
        follow: Callable[
            [Task, Sequence[Task], Task, Task | None], Sequence[tuple[TaskId, Sequence[Event]]]
        ],
    ) -> list[Task]:
        """As `record`, with what follows for the racing task and its other candidates.

        `follow` gets the racing task, its candidates, the recorded one, and the judge of the round
        if one was asked.  Returns every task that changed, the candidate first.
        """

    def amend(self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]) -> Task:
        """A person's change: it needs no lease, because `decide` sees a live claim."""

    def amend_all(
        self, changes: Sequence[tuple[TaskId, Callable[[Task], Sequence[Event]]]]
    ) -> list[Task]:
        """Changes of several tasks that belong together: all or none."""

    def amend_from_journal(
        self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]
    ) -> Task:
        """Amend the task as its journal describes it, because the row is not trusted."""

    def cancel_task(self, task_id: TaskId, why: str) -> Task: ...


class Runs(Protocol):
    """Changes of runs."""

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
        """Add tasks to a run; nothing happens if it has a task named `unless`.

        `replaces` maps a new task's name to the id of the task that it replaces; `retire` are
        failed tasks that the new ones make pointless.  `event`, with `data`, is journalled and the
        run's columns `fields` are changed in the same transaction.
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
        """Add tasks as the next revision of the plan; returns their ids and its number.

        `refuse` raises when the run, as it is in the transaction, takes no more tasks.  Where the
        planner asked for it, a replacement counts against its lineage.
        """

    def revise_checks(
        self,
        run_id: RunId,
        checks: Mapping[str, CheckSpec],
        revise: Callable[[Run, Sequence[Task]], Mapping[TaskId, CheckRevision]],
        how: str,
    ) -> tuple[list[TaskId], int]:
        """Replace checks as the next revision of the plan; returns the tasks and its number.

        `revise` says which tasks change, by the run and its tasks as they are in the transaction,
        or raises.
        """

    def pause(
        self,
        run_id: RunId,
        pause: Pause,
        *,
        event: str = "",
        data: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Start nothing new until a person says so; `event` and `fields` as in `add_tasks`."""

    def unpause(self, run_id: RunId, words: str, how: str = "") -> Run: ...

    def end_iterations(
        self, run_id: RunId, number: int, event: str, data: Mapping[str, Any]
    ) -> None:
        """Journal once why the iteration of this number was the last one."""

    def update_run(
        self, run_id: RunId, event: str, data: Mapping[str, Any], **fields: Any
    ) -> Run: ...

    def summarize_run(
        self, run_id: RunId, summarize: Callable[[StateCounts], Mapping[str, Any] | None]
    ) -> None:
        """Finish a run with a summary of its tasks as they are in the same transaction."""

    def cancel_run(self, run_id: RunId, why: str) -> list[TaskId]: ...


class Notices(Protocol):
    """Notices on their way to people."""

    def take_notices(self, limit: int = 20) -> list[Notice]:
        """The notices that are due, marked as being sent."""

    def mark_notice_sent(self, notice: Notice) -> None: ...
    def mark_notice_failed(
        self, notice: Notice, reason: str, *, permanent: bool, retry_after: timedelta | None = None
    ) -> None:
        """`retry_after` is the wait that the receiver asked for."""


class Workers(Protocol):
    """Workers by their heartbeats."""

    def record_worker_heartbeat(self, worker: WorkerInfo, gone_after: timedelta) -> None:
        """Store that the worker lives; workers that were silent for too long are forgotten."""

    def remove_worker(self, holder: str) -> None: ...
    def workers(self) -> list[WorkerSeen]: ...


class LeasedPorts(Protocol):
    """The port ranges of tasks."""

    def lease_ports(
        self, task_id: str, host: str, ports: PortRanges, avoid: Iterable[tuple[int, int]]
    ) -> int | None:
        """The base of the task's port range; None when all are taken."""

    def free_ports(self, task_id: str) -> None: ...


# ------------------------------------------------------------------ what callers combine


class StatusReads(Reads, OpenWork, Protocol):
    """The store as `load_run_status` uses it."""


class JournalReads(Reads, Journal, Protocol):
    """The store as guards use it that compare tasks with the journal."""


class ProofStore(Reads, Baselines, Verdicts, FlakyTests, Protocol):
    """The store as a verification uses it."""


class BaselineReads(Reads, Baselines, Protocol):
    """The store as the choice of a run's required checks uses it."""


class TaskStore(Reads, Records, Protocol):
    """The store as commands on single tasks use it."""


class RunStore(JournalReads, Records, Runs, Protocol):
    """The store as commands on runs, and their guards, use it."""


class CompletionStore(RunStore, OpenWork, DueTasks, Baselines, Verdicts, Protocol):
    """The store as the steps use it that follow when nothing can be claimed."""

    def accounts(self) -> list[AccountRow]: ...


class PoolStore(Claims, DueTasks, Journal, Protocol):
    """The store as the pool of slots uses it."""


class WorkerStore(RunStore, Claims, Protocol):
    """The store as a worker uses it."""

    def accounts(self) -> list[AccountRow]: ...


class CommandStore(CompletionStore, Claims, Protocol):
    """The store as the commands of people use it."""


class Store(CommandStore, HiddenFileStore, FlakyTests, Notices, Workers, LeasedPorts, Protocol):
    """The whole store, for the composition root."""

    def total_spend(self, run_id: RunId) -> Spend: ...
    def audit(self, run_id: RunId) -> list[str]: ...
    def close(self) -> None: ...
