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
from yaoki.adapters.system.machine import holder_dead, holder_name, machine_id, node
from yaoki.adapters.workspace import resolve_base
from yaoki.app.plan_preflight import Gate
from yaoki.app.planner_answer import PlanReading
from yaoki.app.repository import warn
from yaoki.core.model import State
from yaoki.core.redact import mask, secret_values
from yaoki.engine.claim_context import Hold
from yaoki.errors import StoreError, Unknown, WorkspaceError
from yaoki.ports import PlanAnswer, Serving

if TYPE_CHECKING:
    from yaoki.core.model import Run, RunId
    from yaoki.engine.commands.control import Control
    from yaoki.engine.commands.lookup import Naming
    from yaoki.engine.loop.pool import Pool, Stop
    from yaoki.formats.plan import Plan

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
BACKUP_EVERY = timedelta(minutes=10)


def new_run_id() -> str:
    """Eight letters and digits that nobody mistakes for each other; the first is a letter."""
    first = secrets.choice(ALPHABET[:24])
    return first + "".join(secrets.choice(ALPHABET) for _ in range(7))


class App(Gate):
    """One repository, and what can be done with its runs."""

    # The run that this process carries, or is about to: nobody need ask who is at it.
    carrying = ""

    @cached_property
    def control(self) -> Control:
        from yaoki.engine.commands.control import Control

        known = secret_values(os.environ)
        return Control(
            self.store,
            self.workspace,
            self.store.clock,
            dead=holder_dead,
            new_id=new_run_id,
            prove=lambda *asked: self.stages.prove(*asked),
            settle=self.closing.rests,
            mask=lambda text: mask(text, known),
            archived=self._archived,
            released=self.resources.free,
            host=self.workspace.host(machine_id()),
            end=lambda task: self.stages.end_leftovers(task),
        )

    @cached_property
    def naming(self) -> Naming:
        from yaoki.engine.commands.lookup import Naming

        return Naming(self.store, self._archived)

    def _archived(self, text: str) -> str:
        from yaoki.app.retention import archived_hint

        return archived_hint(self, text)

    def pool(
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

        limits, tags = self.settings.limits, self.tags(tags)
        admission = Admission(
            self.room,
            disk_min=limits.disk_free_bytes,
            memory_min=limits.memory_free_bytes,
            full=lambda: self.resources.full,
            away=self.workspace.away,
        )
        runs = (run,) if run else ()
        here = Serving(
            holder_name(), machine_id(), node(), slots, tags, runs, background=bool(background)
        )
        return Pool(
            self.store,
            self.worker(slots, tags),
            self.store.clock,
            slots=slots,
            lease=timedelta(seconds=limits.lease_s),
            heartbeat=timedelta(seconds=limits.heartbeat_s),
            park=timedelta(seconds=self.settings.retry.rate_limit_wait_max_s),
            rests=self.closing.rests,
            scan=lambda: self.scan(background),
            admits=admission.ask,
            presence=Presence(self.store, here, timedelta(seconds=limits.lease_s)),
            aside=self.catch_up,
            ahead=self.ahead,
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

        self.trust.refuse()
        self.check(plan)
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
            planner=plan.planner,
            chain=plan.chain,
            budget={**self.settings.budget.run, **plan.budget},
            continuous=plan.continuous,
            language=plan.language,
            approved=approved,
        )
        request: dict[str, Any] = {"goal": plan.goal, "base": branch, "tasks": len(plan.specs)}
        return self.control.submit(submission, request)

    def tasks_of(self, run: Run, text: str, name: str) -> PlanAnswer:
        """Tasks that somebody wrote for a run on its way."""
        reading = PlanReading(self.store, self.settings.limits.task_text_bytes)
        return reading.from_text(run, text, name)

    def serve(
        self,
        run: Run,
        *,
        slots: int = 0,
        tags: Sequence[str] = (),
        asked: Callable[[Stop], None] = lambda _: None,
        hand_over: Callable[[Stop], None] | None = None,
    ) -> Pool:
        """Carry the run until it rests, in the foreground; signals ask it to stop.

        `asked` hears of each signal, inside its handler.  With `hand_over` the caller is given what
        stops it, and signals stay as they are.
        """
        self.trust.refuse()
        self.back_up()
        self.row_guard.guarded(lambda: self.control.resumed(run))
        self.row_guard.guarded(lambda: self.control.sweep(run))
        self.expire_snapshots()
        pool = self.pool(slots or run.parallel, tags=tags, run=run.id)
        if hand_over is not None:
            hand_over(pool.stop)
        else:
            _obey_signals(pool.stop, asked, self.store.database.hurry)
        with self.sending.beside(), self.traced(), self.leaving():
            pool.serve([run.id])
            self.closing.rests(run.id)
        self.catch_up()
        return pool

    def serve_all(
        self,
        *,
        slots: int,
        tags: Sequence[str] = (),
        run: str = "",
        background: Daemon | None = None,
        asked: Callable[[Stop], None] = lambda _: None,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Carry every open run, and those that come, until a signal asks to stop.

        From when `begun` is called a signal does ask, and no longer just ends the process.
        """
        from yaoki.app.served_runs import OpenRuns

        self.trust.refuse()
        pool = self.pool(slots, tags=tags, run=run, background=background)
        _obey_signals(pool.stop, asked, self.store.database.hurry)
        begun()
        self.back_up()
        self.expire_snapshots()
        runs = OpenRuns(self, run, warn)
        if background is not None:
            pool.appear()
            background.ready(slots=slots, tags=list(self.tags(tags)))
        try:
            with self.sending.beside(), self.traced(), self.leaving():
                pool.serve_all(runs)
        finally:
            runs.close()

    def scan(self, background: Daemon | None = None) -> None:
        """Every heartbeat: claims of dead holders come back, backups stay fresh, logs short."""
        if background is not None:
            background.bound_log()
        self.store.database.present()
        self.row_guard.guarded(lambda: self.store.expire(holder_dead, counted=True))
        for run_id in self.open_runs():
            self.closing.expire(run_id)
        self.back_up()

    def back_up(self) -> None:
        """A copy that cannot be made is a warning: the run goes on with the store it has."""
        try:
            self.store.backups.take_if_older(self.clock.now(), BACKUP_EVERY)
        except (OSError, StoreError) as error:
            words = f"no backup of the store could be made: {error}"
            if words != self._backup_warning:
                self._backup_warning = words
                for run_id in self.open_runs():
                    self.store.note(run_id, "WARNING", {"message": words})

    def catch_up(self) -> None:
        """In a quiet moment: worktrees that nobody needs, and what is owed to the remote; what
        fails is found again.
        """
        try:
            self.control.sweep_again()
            self.workspace.catch_up()
        except (StoreError, WorkspaceError) as failed:
            if failed.sentence != self._behind_warning:
                self._behind_warning = failed.sentence
                warn(failed.sentence)

    def ahead(self, runs: Sequence[RunId], wanted: int) -> None:
        """Beside the agents at work: worktrees for as many of the tasks that wait."""
        try:
            for run_id in runs if self.workspace.works_ahead else ():
                tally = self.store.tally(run_id).items()
                waiting = sum(n for (state, _), n in tally if state is State.WAITING)
                self.workspace.ahead(self.store.run(run_id), min(wanted, waiting))
        except (StoreError, WorkspaceError):
            return  # whoever needs one makes it, and tells what is wrong

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """What was made ready for nobody goes with us; what cannot go is found by the next."""
        try:
            yield
        finally:
            with suppress(WorkspaceError):
                self.workspace.leave()

    def end_cancelled(self, run: Run) -> None:
        """Carry what a cancelled run left at work to its end, when no live worker does."""
        self.store.expire(holder_dead, counted=False, runs=[run.id])
        worker = self.worker(1)
        while tasks := worker.claim_cancelled([run.id]):
            for task in tasks:
                worker.carry(task, Hold(lambda: "cancel"))

    def expire_snapshots(self) -> list[str]:
        """Old ones go; those of tasks that are not over, or not known here, are needed."""
        hours = timedelta(hours=self.settings.recovery.snapshot_retention_hours)
        until = self.clock.now() - hours
        needed = {
            snapshot.id
            for snapshot in self.workspace.snapshots()
            if snapshot.at < until and self._unfinished(snapshot.task_id)
        }
        return self.workspace.expire_snapshots(until, needed)

    def _unfinished(self, task_id: str) -> bool:
        try:
            return not self.store.task(task_id).state.final
        except Unknown:
            # Of another store that serves this clone as well: not ours to throw away.
            return True

    def traced(self) -> AbstractContextManager[None]:
        """The trace is sent beside the work, where the environment names a collector."""
        if not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
            return nullcontext()
        from yaoki.app.telemetry import tracing

        found = tracing(self, warn)
        return found.beside() if found else nullcontext()


def _obey_signals(stop: Stop, asked: Callable[[Stop], None], hurry: Callable[[], None]) -> None:
    """Asked once more, it no longer waits for a store that is away."""

    def obey(*_: object) -> None:
        stop.ask()
        if stop.now:
            hurry()
        asked(stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, obey)
