"""The store in plain SQL: one thin class over the modules of `tables/`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from threading import RLock
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.clock import StoreClock
from yaoki.adapters.store.tables.outbox import NoticeSelection
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.schedule import AGEING

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Database
    from yaoki.adapters.store.safety import BackupCopies, StoreSafety
    from yaoki.adapters.store.tables.budget_limits import BudgetLimits
    from yaoki.adapters.store.tables.task_loader import TaskLoader
    from yaoki.adapters.store.tables.writes import EventWriter
    from yaoki.ports import Clock


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits of a store, from the settings."""

    pending_runs_max: int = 20
    pending_tasks_max: int = 100_000
    max_in_progress: timedelta = timedelta(minutes=30)
    ageing: timedelta = AGEING
    backups_kept: int = 5
    notices: NoticeSelection = field(default_factory=NoticeSelection)
    day_budget: Mapping[str, float] = field(default_factory=dict)


class SqlStore:
    """`yaoki.ports.Store`, put together from its parts.  Every method is one transaction.

    The methods are those of the parts, so a signature and its documentation have one place.  A part
    is imported when one of its methods is first used: most commands only read.
    """

    def __init__(self, database: Database, clock: Clock, limits: StoreLimits) -> None:
        self.database = database
        # A date that the store compares must be taken from this clock.
        self.clock = StoreClock(clock, database)
        self._limits = limits
        self._exposing = RLock()

    if not TYPE_CHECKING:  # a type checker finds the methods where they are exposed

        def __getattr__(self, name: str) -> Any:
            part = PART_OF_METHOD.get(name)
            if part is None:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            with self._exposing:
                if name not in vars(self):
                    getattr(self, f"_expose_{part}")()
            return vars(self)[name]

    def _expose_loader(self) -> None:
        from yaoki.adapters.store.tables.task_loader import TaskLoader

        self.loader: TaskLoader = TaskLoader()

    def _expose_writer(self) -> None:
        from yaoki.adapters.store.tables.apply_events import EventApplier
        from yaoki.adapters.store.tables.budget_limits import BudgetLimits
        from yaoki.adapters.store.tables.writes import EventWriter

        applier = EventApplier(self._limits.ageing)
        self.writer: EventWriter = EventWriter(
            self.loader, applier, self.clock, self._limits.notices
        )
        self._budgets: BudgetLimits = BudgetLimits(self.writer, self._limits.day_budget)

    def _expose_safety(self) -> None:
        self._safety: StoreSafety = _safety_of(self.database, self._limits.backups_kept)
        self.backups: BackupCopies = self._safety.backups

    def _expose_claims(self) -> None:
        from yaoki.adapters.store.tables.claims import ClaimQueries

        claims = ClaimQueries(
            self.database,
            self.clock,
            self.loader,
            self.writer,
            self._budgets,
            max_in_progress=self._limits.max_in_progress,
        )
        self.claim = claims.claim
        self.claim_to_cancel = claims.claim_to_cancel
        self.competing_tasks = claims.competing_tasks
        self.landing_tasks = claims.landing_tasks
        self.has_dependents = claims.has_dependents
        self.spend_left = claims.spend_left
        self.heartbeat = claims.heartbeat
        self.expire_claims = claims.expire_claims

    def _expose_records(self) -> None:
        from yaoki.adapters.store.tables.task_changes import TaskChanges

        changes = TaskChanges(self.database, self.clock, self.loader, self.writer, self._budgets)
        self.record = changes.record
        self.record_candidate = changes.record_candidate
        self.amend = changes.amend
        self.amend_all = changes.amend_all
        self.amend_from_journal = changes.amend_from_journal
        self.note = changes.note
        self.cancel_run = changes.cancel_run
        self.cancel_task = changes.cancel_task

    def _expose_runs(self) -> None:
        from yaoki.adapters.store.tables.runs import RunQueries

        runs = RunQueries(
            self.database,
            self.clock,
            self.loader,
            self.writer,
            pending_runs_max=self._limits.pending_runs_max,
            pending_tasks_max=self._limits.pending_tasks_max,
        )
        self.submit = runs.submit
        self.add_tasks = runs.add_tasks
        self.extend = runs.extend
        self.revise_checks = runs.revise_checks
        self.pause = runs.pause
        self.unpause = runs.unpause
        self.end_iterations = runs.end_iterations
        self.update_run = runs.update_run
        self.summarize_run = runs.summarize_run

    def _expose_reads(self) -> None:
        from yaoki.adapters.store.tables.reads import ReadQueries

        reads = ReadQueries(self.database, self.loader, self._safety)
        self.run = reads.run
        self.runs = reads.runs
        self.task = reads.task
        self.rows = reads.rows
        self.needs = reads.needs
        self.count_by_state = reads.count_by_state
        self.is_idle = reads.is_idle
        self.next_due = reads.next_due
        self.total_spend = reads.total_spend
        self.tasks_to_stop = reads.tasks_to_stop
        self.tasks_awaiting_rerun = reads.tasks_awaiting_rerun
        self.tasks_to_undo = reads.tasks_to_undo
        self.open_planning_tasks = reads.open_planning_tasks
        self.accounts = reads.accounts
        self.journal = reads.journal
        self.last_seq = reads.last_seq
        self.version = reads.version
        self.watch_commits = reads.watch_commits
        self.read_journal_source = reads.read_journal_source
        self.check_integrity = reads.check_integrity
        self.lines_missing_in_journal_file = reads.lines_missing_in_journal_file
        self.journal_file_differences = reads.journal_file_differences
        self.illegal_rows = reads.illegal_rows
        self.audit = reads.audit

    def _expose_notices(self) -> None:
        from yaoki.adapters.store.tables.notices import NoticeQueries

        notices = NoticeQueries(self.database, self.clock, self.writer)
        self.take_notices = notices.take_notices
        self.mark_notice_sent = notices.mark_notice_sent
        self.mark_notice_failed = notices.mark_notice_failed
        self.count_waiting_notices = notices.count_waiting_notices

    def _expose_workers(self) -> None:
        from yaoki.adapters.store.tables.workers import WorkerRegistry

        workers = WorkerRegistry(self.database, self.clock)
        self.record_worker_heartbeat = workers.record_worker_heartbeat
        self.remove_worker = workers.remove_worker
        self.workers = workers.workers
        self.unfinished_runs = workers.unfinished_runs

    def _expose_ports(self) -> None:
        from yaoki.adapters.store.tables.leased_ports import PortLeases

        ports = PortLeases(self.database)
        self.lease_ports = ports.lease_ports
        self.free_ports = ports.free_ports

    def _expose_baselines(self) -> None:
        from yaoki.adapters.store.tables.baselines import BaselineFindings

        baselines = BaselineFindings(self.database)
        self.baseline = baselines.baseline
        self.save_baseline = baselines.save_baseline

    def _expose_verdicts(self) -> None:
        from yaoki.adapters.store.tables.verdicts import VerdictRows

        self.find_verdict = VerdictRows(self.database).find_verdict

    def _expose_treatments(self) -> None:
        from yaoki.adapters.store.tables.treatments import TreatmentRows

        treatments = TreatmentRows(self.database)
        self.treatment_counts = treatments.treatment_counts
        self.treatment_outcomes = treatments.treatment_outcomes

    def _expose_flaky_tests(self) -> None:
        from yaoki.adapters.store.tables.flaky_tests import FlakyTestRows

        flaky = FlakyTestRows(self.database)
        self.known_flaky_tests = flaky.known_flaky_tests
        self.flaky_tests = flaky.flaky_tests

    def _expose_hidden_files(self) -> None:
        from yaoki.adapters.store.tables.hidden_files import HiddenFileRows

        hidden = HiddenFileRows(self.database)
        self.hidden_files = hidden.hidden_files
        self.hidden_folders = hidden.hidden_folders
        self.save_hidden_files = hidden.save_hidden_files

    @property
    def journal_source(self) -> str:
        """The name of the source of `read_journal_source` in messages."""
        return self._safety.journal_name

    def close(self) -> None:
        self.database.close()


# Each method and object that a part exposes; a test compares this table with the parts.
_EXPOSED: Mapping[str, tuple[str, ...]] = {
    "loader": ("loader",),
    "writer": (
        "writer",
        "_budgets",
    ),
    "safety": (
        "_safety",
        "backups",
    ),
    "claims": (
        "claim",
        "claim_to_cancel",
        "competing_tasks",
        "landing_tasks",
        "has_dependents",
        "spend_left",
        "heartbeat",
        "expire_claims",
    ),
    "records": (
        "record",
        "record_candidate",
        "amend",
        "amend_all",
        "amend_from_journal",
        "note",
        "cancel_run",
        "cancel_task",
    ),
    "runs": (
        "submit",
        "add_tasks",
        "extend",
        "revise_checks",
        "pause",
        "unpause",
        "end_iterations",
        "update_run",
        "summarize_run",
    ),
    "reads": (
        "run",
        "runs",
        "task",
        "rows",
        "needs",
        "count_by_state",
        "is_idle",
        "next_due",
        "total_spend",
        "tasks_to_stop",
        "tasks_awaiting_rerun",
        "tasks_to_undo",
        "open_planning_tasks",
        "accounts",
        "journal",
        "last_seq",
        "version",
        "watch_commits",
        "read_journal_source",
        "check_integrity",
        "lines_missing_in_journal_file",
        "journal_file_differences",
        "illegal_rows",
        "audit",
    ),
    "notices": (
        "take_notices",
        "mark_notice_sent",
        "mark_notice_failed",
        "count_waiting_notices",
    ),
    "workers": (
        "record_worker_heartbeat",
        "remove_worker",
        "workers",
        "unfinished_runs",
    ),
    "ports": (
        "lease_ports",
        "free_ports",
    ),
    "baselines": (
        "baseline",
        "save_baseline",
    ),
    "verdicts": ("find_verdict",),
    "treatments": (
        "treatment_counts",
        "treatment_outcomes",
    ),
    "flaky_tests": (
        "known_flaky_tests",
        "flaky_tests",
    ),
    "hidden_files": (
        "hidden_files",
        "hidden_folders",
        "save_hidden_files",
    ),
}
PART_OF_METHOD = {name: part for part, names in _EXPOSED.items() for name in names}


def _safety_of(database: Database, backups_kept: int) -> StoreSafety:
    from yaoki.adapters.store.sqlite.database import SqliteDatabase

    if isinstance(database, SqliteDatabase):
        from yaoki.adapters.store.sqlite.safety import FileSafety

        return FileSafety(database, backups_kept)
    from yaoki.adapters.store.safety import ServerSafety

    return ServerSafety()
