"""Wiring: the only package that knows every class.  `App` does whole jobs with the parts."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from yaoki.adapters.processes.daemon import Daemon
from yaoki.adapters.system.machine import current_holder, is_holder_dead, machine_id, machine_name
from yaoki.adapters.workspace import resolve_base
from yaoki.app.plan_preflight import PlanPreflight
from yaoki.app.planner_answer import PlanAnswerReader
from yaoki.app.repository import print_warning
from yaoki.core.model import State
from yaoki.core.redact import mask, secret_values
from yaoki.engine.claim_context import StopReason
from yaoki.errors import StoreError, Unknown, WorkspaceError
from yaoki.ports import PlannerAnswer, WorkerInfo

if TYPE_CHECKING:
    from yaoki.core.model import Run, RunId
    from yaoki.engine.commands.control import Control
    from yaoki.engine.commands.lookup import RunLookup
    from yaoki.engine.loop.pool import Pool, StopRequest
    from yaoki.formats.plan import Plan

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
BACKUP_EVERY = timedelta(minutes=10)


def new_run_id() -> str:
    """Eight letters and digits that nobody mistakes for each other; the first is a letter."""
    first = secrets.choice(ALPHABET[:24])
    return first + "".join(secrets.choice(ALPHABET) for _ in range(7))


class App(PlanPreflight):
    """One repository, and what can be done with its runs."""

    # The run that this process carries, or is about to: nobody need ask who is at it.
    carried_run_id = ""

    @cached_property
    def control(self) -> Control:
        from yaoki.engine.commands.control import Control

        known = secret_values(os.environ)
        return Control(
            self.store,
            self.workspace,
            self.store.clock,
            is_dead=is_holder_dead,
            new_id=new_run_id,
            verify_commit=lambda *asked: self.stages.verify_commit(*asked),
            complete=self.completion.complete,
            mask=lambda text: mask(text, known),
            archived_hint=self._archived,
            on_release=self.resources.release,
            host=self.workspace.remote.worktree_host(machine_id()),
            end_processes=lambda task: self.stages.end_leftovers(task),
        )

    @cached_property
    def lookup(self) -> RunLookup:
        from yaoki.engine.commands.lookup import RunLookup

        return RunLookup(self.store, self._archived)

    def _archived(self, text: str) -> str:
        from yaoki.app.retention import find_archive_hint

        return find_archive_hint(self, text)

    def build_pool(
        self,
        slots: int,
        *,
        tags: Sequence[str] = (),
        run: str = "",
        background: Daemon | None = None,
    ) -> Pool:
        """`tags` besides those of the settings; `run` is the only one it serves, if given."""
        from yaoki.engine.loop.admission import Admission
        from yaoki.engine.loop.pool import Pool
        from yaoki.engine.loop.presence import Presence

        limits, tags = self.settings.limits, self.worker_tags(tags)
        admission = Admission(
            self.measure_free_capacity,
            disk_min=limits.disk_free_bytes,
            memory_min=limits.memory_free_bytes,
            ports_exhausted=lambda: self.resources.exhausted_reason,
            remote_unreachable=self.workspace.remote.remote_problem,
        )
        runs = (run,) if run else ()
        here = WorkerInfo(
            current_holder(),
            machine_id(),
            machine_name(),
            slots,
            tags,
            runs,
            background=bool(background),
        )
        return Pool(
            self.store,
            self.build_worker(slots, tags),
            self.store.clock,
            slots=slots,
            lease=timedelta(seconds=limits.lease_s),
            heartbeat=timedelta(seconds=limits.heartbeat_s),
            park_after=timedelta(seconds=self.settings.retry.rate_limit_wait_max_s),
            complete=self.completion.complete,
            scan=lambda: self.run_heartbeat_upkeep(background),
            admission=admission.decide,
            presence=Presence(self.store, here, timedelta(seconds=limits.lease_s)),
            idle_task=self.run_idle_upkeep,
            prepare_ahead=self.prepare_worktrees_ahead,
        )

    def submit(
        self,
        plan: Plan,
        *,
        base: str = "",
        parallel: int = 0,
        approved: bool = True,
        tags: Sequence[str] = (),
    ) -> Run:
        """Freeze a plan as a run of this repository; `tags` are those of who will carry it."""
        from yaoki.engine.commands.submit import Submission

        self.trust.require_trusted()
        self.check_references(plan)
        self.check_agents(plan)
        self.check_programs(plan)
        self.check_tags(plan.specs, tags)
        branch, commit = resolve_base(self.repository, base or plan.base)
        submission = Submission(
            goal=plan.goal,
            specs=plan.specs,
            catalogue=plan.catalogue,
            done_when=plan.done_when,
            source=plan.source,
            repo=str(self.repository.top),
            base_branch=branch,
            base=commit,
            parallel=parallel or self.settings.limits.parallel,
            priority=plan.priority,
            planner=plan.planner_agents,
            chain=plan.default_agents,
            budget={**self.settings.budget.run, **plan.budget},
            continuous=plan.continuous,
            language=plan.language,
            approved=approved,
        )
        request: dict[str, Any] = {"goal": plan.goal, "base": branch, "tasks": len(plan.specs)}
        return self.control.submit(submission, request)

    def parse_added_tasks(self, run: Run, text: str, name: str) -> PlannerAnswer:
        """Tasks that somebody wrote for a run on its way."""
        reading = PlanAnswerReader(self.store, self.settings.limits.task_text_bytes)
        return reading.read_text(run, text, name)

    def serve_run(
        self,
        run: Run,
        *,
        slots: int = 0,
        tags: Sequence[str] = (),
        on_stop_request: Callable[[StopRequest], None] = lambda _: None,
        receive_stop: Callable[[StopRequest], None] | None = None,
    ) -> Pool:
        """Carry the run until it rests, in the foreground; signals ask it to stop.

        `asked` hears of each signal, inside its handler.  With `hand_over` the caller is given what
        stops it, and signals stay as they are.
        """
        self.trust.require_trusted()
        self.back_up_if_due()
        self.row_guard.run_guarded(lambda: self.control.resume(run))
        self.row_guard.run_guarded(lambda: self.control.sweep(run))
        self.expire_snapshots()
        pool = self.build_pool(slots or run.parallel, tags=tags, run=run.id)
        if receive_stop is not None:
            receive_stop(pool.stop)
        else:
            _obey_signals(pool.stop, on_stop_request, self.store.database.stop_waiting)
        with self.notifier.in_background(), self.export_traces(), self.drop_prepared_on_exit():
            pool.serve([run.id])
            self.completion.complete(run.id)
        self.run_idle_upkeep()
        return pool

    def serve_open_runs(
        self,
        *,
        slots: int,
        tags: Sequence[str] = (),
        run: str = "",
        background: Daemon | None = None,
        on_stop_request: Callable[[StopRequest], None] = lambda _: None,
        on_signals_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Carry every open run, and those that come, until a signal asks to stop.

        From when `begun` is called a signal does ask, and no longer just ends the process.
        """
        from yaoki.app.served_runs import ServedRuns

        self.trust.require_trusted()
        pool = self.build_pool(slots, tags=tags, run=run, background=background)
        _obey_signals(pool.stop, on_stop_request, self.store.database.stop_waiting)
        on_signals_ready()
        self.back_up_if_due()
        self.expire_snapshots()
        runs = ServedRuns(self, run, print_warning)
        if background is not None:
            pool.announce()
            background.mark_ready(slots=slots, tags=list(self.worker_tags(tags)))
        try:
            with self.notifier.in_background(), self.export_traces(), self.drop_prepared_on_exit():
                pool.serve_all(runs)
        finally:
            runs.close()

    def run_heartbeat_upkeep(self, background: Daemon | None = None) -> None:
        """Every heartbeat: claims of dead holders come back, backups stay fresh, logs short."""
        if background is not None:
            background.rotate_own_log()
        self.store.database.refuse_if_replaced()
        self.row_guard.run_guarded(lambda: self.store.expire_claims(is_holder_dead, counted=True))
        for run_id in self.list_open_run_ids():
            self.completion.expire(run_id)
        self.back_up_if_due()

    def back_up_if_due(self) -> None:
        """A copy that cannot be made is a warning: the run goes on with the store it has."""
        try:
            self.store.backups.take_if_older(self.clock.now(), BACKUP_EVERY)
        except (OSError, StoreError) as error:
            words = f"no backup of the store could be made: {error}"
            if words != self._backup_warning:
                self._backup_warning = words
                for run_id in self.list_open_run_ids():
                    self.store.note(run_id, "WARNING", {"message": words})

    def run_idle_upkeep(self) -> None:
        """In a quiet moment: worktrees that nobody needs, and what is owed to the remote; what
        fails is found again.
        """
        try:
            self.control.sweep_again()
            self.workspace.worktrees.remove_orphans()
            self.workspace.remote.catch_up_with_remote()
        except (StoreError, WorkspaceError) as failed:
            if failed.sentence != self._behind_warning:
                self._behind_warning = failed.sentence
                print_warning(failed.sentence)

    def prepare_worktrees_ahead(self, runs: Sequence[RunId], wanted: int) -> None:
        """Beside the agents at work: worktrees for as many of the tasks that wait."""
        try:
            for run_id in runs if self.workspace.worktrees.prepares_ahead else ():
                tally = self.store.count_by_state(run_id).items()
                waiting = sum(n for (state, _), n in tally if state is State.WAITING)
                self.workspace.worktrees.prepare_ahead(self.store.run(run_id), min(wanted, waiting))
        except (StoreError, WorkspaceError):
            return  # whoever needs one makes it, and tells what is wrong

    @contextmanager
    def drop_prepared_on_exit(self) -> Iterator[None]:
        """What was made ready for nobody goes with us; what cannot go is found by the next."""
        try:
            yield
        finally:
            with suppress(WorkspaceError):
                self.workspace.worktrees.drop_prepared_worktrees()

    def finish_cancelled(self, run: Run) -> None:
        """Carry what a cancelled run left at work to its end, when no live worker does."""
        self.store.expire_claims(is_holder_dead, counted=False, runs=[run.id])
        worker = self.build_worker(1)
        while tasks := worker.claim_cancelled([run.id]):
            for task in tasks:
                worker.run_task(task, lambda: StopReason.CANCEL, nullcontext)

    def expire_snapshots(self) -> list[str]:
        """Old ones go; those of tasks that are not over, or not known here, are needed."""
        hours = timedelta(hours=self.settings.recovery.snapshot_retention_hours)
        until = self.clock.now() - hours
        needed = {
            snapshot.id
            for snapshot in self.workspace.recovery.list_snapshots()
            if snapshot.at < until and self._unfinished(snapshot.task_id)
        }
        return self.workspace.recovery.expire_snapshots(until, needed)

    def _unfinished(self, task_id: str) -> bool:
        try:
            return not self.store.task(task_id).state.is_final
        except Unknown:
            # Of another store that serves this clone as well: not ours to throw away.
            return True

    def export_traces(self) -> AbstractContextManager[None]:
        """The trace is sent beside the work, where the environment names a collector."""
        if not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
            return nullcontext()
        from yaoki.app.telemetry import open_trace_exporter

        found = open_trace_exporter(self, print_warning)
        return found.in_background() if found else nullcontext()


def _obey_signals(
    stop: StopRequest, asked: Callable[[StopRequest], None], hurry: Callable[[], None]
) -> None:
    """Asked once more, it no longer waits for a store that is away."""

    def obey(*_: object) -> None:
        stop.escalate()
        if stop.now:
            hurry()
        asked(stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, obey)
