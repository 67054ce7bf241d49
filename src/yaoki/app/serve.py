"""Run the tasks of one run in the foreground, or of all open runs as a worker."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NoReturn

from yaoki.adapters.system.machine import current_holder, is_holder_dead, machine_id, machine_name
from yaoki.app.served_runs import ServedRuns
from yaoki.app.upkeep import Upkeep
from yaoki.app.warning_output import print_warning
from yaoki.core.text import list_some
from yaoki.core.time_of_day import parse_quiet_hours
from yaoki.engine.claim_context import StopReason
from yaoki.engine.loop.admission import Admission
from yaoki.engine.loop.pool import Pool, PoolSettings, StopRequest
from yaoki.engine.loop.presence import Presence
from yaoki.engine.loop.upkeep import PoolUpkeep
from yaoki.ports import WorkerInfo

if TYPE_CHECKING:
    from yaoki.adapters.processes.daemon import Daemon
    from yaoki.app.build import App
    from yaoki.core.model import Run

# The exit code of a command that a signal ended.
INTERRUPTED = 130
FINISHING_FIRST = "running agents finish first, with their checks"
STOPPING_NOW = "stopping now; interrupt again to end this process at once, nothing is lost"
SHOW_CURSOR = b"\x1b[?25h"


def serve_run(
    app: App,
    run: Run,
    *,
    slots: int = 0,
    tags: Sequence[str] = (),
    stop_at: datetime | None = None,
    on_stop_request: Callable[[StopRequest], None] = lambda _: None,
    receive_stop: Callable[[StopRequest], None] | None = None,
) -> Pool:
    """Run the tasks until each is finished or needs a person, or until `stop_at`; signals ask it
    to stop.

    `on_stop_request` is called for each signal, inside its handler.  With `receive_stop` the
    caller gets the request that stops the pool, and signals keep their handlers.
    """
    app.trust.require_trusted()
    upkeep, row_guard = Upkeep(app), app.services.row_guard
    pool = _build_pool(app, upkeep, slots or run.parallel, tags=tags, run=run.id, stop_at=stop_at)
    if receive_stop is not None:
        receive_stop(pool.stop)
    else:
        _handle_signals(pool.stop, on_stop_request, app.store.database.stop_waiting)
    preparations: tuple[Callable[[], object], ...] = (
        upkeep.back_up_if_due,
        lambda: row_guard.run_guarded(lambda: app.control.resume(run)),
        lambda: row_guard.run_guarded(lambda: app.control.sweep(run)),
        upkeep.expire_snapshots,
    )
    for prepare in preparations:
        # Each may take long; a pool that has to stop needs none of them.
        if not pool.stop.drain:
            prepare()
    with (
        app.services.notifier.in_background(),
        _export_traces(app),
        upkeep.drop_prepared_on_exit(),
    ):
        pool.serve([run.id])
        app.services.completion.complete(run.id)
    upkeep.run_when_idle()
    return pool


def serve_open_runs(
    app: App,
    *,
    slots: int,
    tags: Sequence[str] = (),
    run: str = "",
    background: Daemon | None = None,
    on_stop_request: Callable[[StopRequest], None] = lambda _: None,
    on_signals_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve every open run, and new ones, until a signal asks to stop.

    From `on_signals_ready` on, a signal asks the worker to stop instead of ending the process.
    """
    app.trust.require_trusted()
    upkeep = Upkeep(app)
    pool = _build_pool(app, upkeep, slots, tags=tags, run=run, background=background)
    _handle_signals(pool.stop, on_stop_request, app.store.database.stop_waiting)
    on_signals_ready()
    upkeep.back_up_if_due()
    upkeep.expire_snapshots()
    runs = ServedRuns(app, run, print_warning)
    if background is not None:
        pool.announce()
        background.mark_ready(slots=slots, tags=list(app.services.worker_tags(tags)))
    try:
        with (
            app.services.notifier.in_background(),
            _export_traces(app),
            upkeep.drop_prepared_on_exit(),
        ):
            pool.serve_all(runs)
    finally:
        runs.close()


def finish_cancelled(app: App, run: Run) -> None:
    """End the active tasks of a cancelled run, when no live worker does."""
    app.store.expire_claims(is_holder_dead, counted=False, runs=[run.id])
    worker = app.services.build_worker(1)
    while tasks := worker.claim_cancelled([run.id]):
        for task in tasks:
            worker.run_task(task, lambda: StopReason.CANCEL, nullcontext)


def _build_pool(
    app: App,
    upkeep: Upkeep,
    slots: int,
    *,
    tags: Sequence[str] = (),
    run: str = "",
    background: Daemon | None = None,
    stop_at: datetime | None = None,
) -> Pool:
    """`tags` are added to those of the settings; with `run` the pool serves that run only."""
    services, limits = app.services, app.settings.limits
    _warn_of_expired_quarantines(app)
    tags, lease = services.worker_tags(tags), timedelta(seconds=limits.lease_s)
    admission = Admission(
        services.measure_free_capacity,
        disk_min=limits.disk_free_bytes,
        memory_min=limits.memory_free_bytes,
        ports_exhausted=lambda: services.resources.exhausted_reason,
        quiet_reason=lambda: _quiet_reason(limits.quiet_hours, app.clock.now()),
        remote_unreachable=app.workspace.remote.remote_problem,
    )
    worker = WorkerInfo(
        current_holder(),
        machine_id(),
        machine_name(),
        slots,
        tags,
        (run,) if run else (),
        background=bool(background),
    )
    return Pool(
        app.store,
        services.build_worker(slots, tags),
        app.store.clock,
        PoolSettings(
            slots=slots,
            lease=lease,
            heartbeat=timedelta(seconds=limits.heartbeat_s),
            park_after=timedelta(seconds=app.settings.retry.rate_limit_wait_max_s),
            stop_at=stop_at,
        ),
        complete=services.completion.complete,
        admission=admission.decide,
        presence=Presence(app.store, worker, lease),
        upkeep=PoolUpkeep(
            scan=lambda: upkeep.run_at_heartbeat(background),
            when_idle=upkeep.run_when_idle,
            prepare_ahead=upkeep.prepare_worktrees_ahead,
        ),
    )


def _warn_of_expired_quarantines(app: App) -> None:
    now = app.clock.now()
    expired = [entry.words for entry in app.settings.quarantine if entry.has_expired(now)]
    if expired:
        names = list_some(expired, 3)
        print_warning(f"the quarantine of {names} has expired: a failure of the test counts")


def _quiet_reason(setting: str, now: datetime) -> str:
    """The reason why no agent is started at this hour; empty if it may be."""
    hours = parse_quiet_hours(setting)
    until = hours.end_after(now.astimezone().replace(tzinfo=None)) if hours else None
    return f"quiet hours until {until:%H:%M} (limits.quiet_hours)" if until else ""


def _export_traces(app: App) -> AbstractContextManager[None]:
    """Send traces in the background, where the environment names a collector."""
    if not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
        return nullcontext()
    from yaoki.app.telemetry import open_trace_exporter

    exporter = open_trace_exporter(app, print_warning)
    return exporter.in_background() if exporter else nullcontext()


def _handle_signals(
    stop: StopRequest, on_stop_request: Callable[[StopRequest], None], hurry: Callable[[], None]
) -> None:
    """A second signal also ends the wait for an unreachable store.

    A third one ends the process like `kill -9`: a thread that never returns would not notice a
    request.  The next worker continues with its tasks and its agents.
    """

    def handle(*_: object) -> None:
        was_stopping = stop.now
        if was_stopping:
            _end_process()
        stop.escalate()
        if stop.now:
            hurry()
        on_stop_request(stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def _end_process() -> NoReturn:
    if os.isatty(sys.stderr.fileno()):
        os.write(sys.stderr.fileno(), SHOW_CURSOR)
    os._exit(INTERRUPTED)
