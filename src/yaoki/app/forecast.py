"""Forecasts of plans and of running runs, from the newest attempts in the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.tables import journal_pages
from yaoki.app.warning_output import print_warning
from yaoki.core.forecast.forecast import Forecast, make_forecast
from yaoki.core.forecast.forecast_note import forecast_note
from yaoki.core.forecast.planned_task import (
    OPEN_ENDED_KINDS,
    CandidatePhase,
    ForecastCandidate,
    ForecastTask,
    RunConditions,
    forecast_task,
    plan_tasks,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.value_codec import spec_from_data
from yaoki.core.model import Spend, Stage, State
from yaoki.core.run_status import RunStatus
from yaoki.core.settings.budget import BudgetMeasure
from yaoki.core.text import format_count
from yaoki.core.time_of_day import parse_quiet_hours
from yaoki.errors import StoreError
from yaoki.views.forecasts import score_document
from yaoki.views.history.forecast_record import ForecastRecord, collect_forecasts
from yaoki.views.history.measured_attempts import MeasuredAttempts, measure_attempts
from yaoki.views.tasks import is_proof

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.forecast.samples import AttemptSample
    from yaoki.core.model import Run, TaskSpec
    from yaoki.formats.plan import Plan
    from yaoki.ports import TaskRow
    from yaoki.views.tasks import RunView, TaskView

# How far back the journal is read, and how many entries: about 300 attempts.
LINES_BACK, LINES_MAX = 200_000, 2_000
# No forecast looks further ahead than this, so quiet hours after it do not matter.
QUIET_DAYS = 30
# Smaller limits for screens that are drawn again and again.
RUNNING_LINES_MAX, RUNNING_ROUNDS_MAX = 1_000, 100
ENTRIES_MAX = 50_000
VALID_FOR = timedelta(seconds=15)
PAUSE_FACTOR = 50
RUNS_KEPT = 20
OPEN_STATES = frozenset({State.WAITING, State.ACTIVE})


def load_measured_attempts(
    app: App, lines_max: int = LINES_MAX, *, warns: bool = True
) -> list[AttemptSample]:
    """Empty when the store is missing or unreachable.

    `warns`: say how many entries cannot be read; not for screens that are drawn again and again.
    """
    if not app.has_store:
        return []
    try:
        after = max(0, app.store.last_seq() - LINES_BACK)
        found = journal_pages.read_newest(
            app.store.database,
            events=MeasuredAttempts.EVENTS,
            after=after,
            limit=lines_max,
            mark_damaged=True,
        )
    except StoreError:
        return []
    intact = list(journal_pages.intact_entries(reversed(found)))
    unreadable = sorted({entry.seq for entry in found} - {entry.seq for entry in intact})
    samples = measure_attempts(intact, unreadable)
    if unreadable and warns:
        print_warning(describe_unreadable(unreadable))
    return samples


def describe_unreadable(seqs: Sequence[int]) -> str:
    entries = format_count(len(seqs), "entry", "entries")
    words = f"{entries} of the journal cannot be read (the first is {min(seqs)})"
    return f"{words}; forecasts leave them out: yaoki doctor"


# ------------------------------------------------------------------ before the start


def forecast_plan(app: App, plan: Plan, parallel: int = 0) -> Forecast | None:
    """The forecast of a plan that would start now."""
    samples = load_measured_attempts(app)
    if not samples:
        return None  # the store may be unreachable, and a plan is shown without it
    budget = {**app.settings.budget.run, **plan.budget}
    slots = parallel or app.settings.limits.parallel
    conditions = _conditions(app, slots, budget, Spend(), timedelta(0))
    return _forecast_specs(
        plan.specs, plan.done_when, samples, conditions, more_to_come=bool(plan.continuous)
    )


def forecast_approval(app: App, run: Run) -> Forecast | None:
    """The forecast of a planned run that a person is asked to start."""
    rows = [row for row in app.store.rows(run.id) if row.state in OPEN_STATES]
    specs = [app.store.task(row.id).spec for row in rows]
    spent, age = app.store.total_spend(run.id), app.clock.now() - run.created_at
    conditions = _conditions(app, run.parallel, run.budget, spent, age, run)
    samples = load_measured_attempts(app)
    return _forecast_specs(
        specs, run.done_when, samples, conditions, more_to_come=bool(run.continuous)
    )


def _forecast_specs(
    specs: Sequence[TaskSpec],
    done_when: Sequence[str],
    samples: Sequence[AttemptSample],
    conditions: RunConditions,
    *,
    more_to_come: bool,
) -> Forecast | None:
    is_open_ended = more_to_come or any(spec.kind in OPEN_ENDED_KINDS for spec in specs)
    return make_forecast(
        plan_tasks(specs, done_when),
        samples,
        conditions,
        Random(_seed(spec.name for spec in specs)).random,
        is_open_ended=is_open_ended,
    )


def record_forecast(app: App, run: Run, forecast: Forecast | None) -> None:
    """Record the forecast that the user sees at the start; the report compares it with the result.

    For a run whose tasks are still to be planned, it is recorded after the planning.
    """
    if forecast is not None and not forecast.is_open_ended:
        note = forecast_note(forecast)
        app.store.note(run.id, note.name, note.data)


def _seed(names: Iterable[str]) -> str:
    """The same plan and the same journal give the same figures."""
    return "\n".join(names)


# ------------------------------------------------------------------ while it runs


def forecast_running(app: App, view: RunView) -> Forecast | None:
    """The rest of an active run; what it used so far is part of its runs and its cost."""
    if view.status is not RunStatus.ACTIVE:
        return None
    measured = load_measured_attempts(app, RUNNING_LINES_MAX, warns=False)
    specs = _load_specs(app, view) if measured else {}
    tasks = _open_tasks(app, view, specs) if measured else []
    run, now = view.run, app.clock.now()
    forecast = make_forecast(
        tasks,
        measured,
        _conditions(app, run.parallel, run.budget, view.spent, now - run.created_at, run),
        Random(_seed([run.id])).random,
        run=run.id,
        is_open_ended=bool(run.continuous)
        or any(task.row.kind in OPEN_ENDED_KINDS for task in view.tasks if _is_open(task)),
        rounds_max=RUNNING_ROUNDS_MAX,
    )
    return _with_spent(forecast, view.spent) if forecast else None


def with_forecast(app: App, view: RunView) -> RunView:
    """The view of an active run with its forecast."""
    now = app.clock.now()
    return replace(view, forecast=forecast_running(app, view), forecast_at=now)


def load_forecast_score(app: App, run: Run) -> dict[str, Any] | None:
    """The forecast at the start of a run beside what happened; None without one."""
    entries = journal_pages.read_forward(
        app.store.database,
        run_id=run.id,
        events=ForecastRecord.EVENTS,
        limit=ENTRIES_MAX,
        mark_damaged=True,
    )
    record = collect_forecasts(journal_pages.intact_entries(entries), []).get(run.id)
    return score_document(record) if record else None


def _with_spent(forecast: Forecast, spent: Spend) -> Forecast:
    money = forecast.money.shift(spent.money) if forecast.money else None
    if money and not money.high and spent.unknown:
        money = None  # no agent is left, and those before it reported nothing
    return replace(forecast, agent_runs=forecast.agent_runs.shift(spent.attempts), money=money)


def _is_open(task: TaskView) -> bool:
    """Candidates are a part of their racing task."""
    return task.row.state in OPEN_STATES and not task.blocked and not task.row.race_task


def _open_tasks(app: App, view: RunView, specs: Mapping[str, TaskSpec]) -> list[ForecastTask]:
    """The open tasks that no question blocks, and the final check that is still to come."""
    open_ = [task for task in view.tasks if _is_open(task)]
    positions: dict[str, int] = {task.row.id: n for n, task in enumerate(open_)}
    now = app.clock.now()
    seen = _last_events(app, view.tasks)

    def forecast_one(task: TaskView) -> ForecastTask:
        last_event = seen.get(task.row.id)
        return forecast_open(task, specs[task.row.id], positions, last_event, now)

    rows = {task.row.id: task for task in view.tasks}
    tasks = []
    for task in open_:
        one = forecast_one(task)
        if task.row.awaiting_race:
            # A round that began after the view was read is simulated from its start.
            ids = app.store.task(task.row.id).candidates
            members = [rows[candidate] for candidate in ids if candidate in rows]
            one = replace(
                one,
                candidates=tuple(
                    ForecastCandidate(
                        _candidate_phase(member.row),
                        replace(forecast_one(member), is_retry=one.is_retry),
                    )
                    for member in members
                ),
            )
        tasks.append(one)
    if view.run.done_when and tasks and not any(map(is_proof, open_)):
        checks = tuple(sorted(view.run.done_when))
        tasks.append(ForecastTask(tuple(range(len(tasks))), checks=checks, retries=0))
    return tasks


def forecast_open(
    task: TaskView,
    spec: TaskSpec,
    positions: Mapping[str, int],
    last_event: datetime | None,
    now: datetime,
) -> ForecastTask:
    """An open task of a run.  `positions` are those of the open tasks, by their ids."""
    row = task.row
    known, is_active = forecast_task(spec, {}), row.state is State.ACTIVE
    is_proving = row.stage in {Stage.VERIFY, Stage.LAND}
    if row.worktree_host:
        known = replace(known, race=None, agents=())  # a person has taken it over
    elif row.waivers and is_proving:
        known = replace(known, agents=())  # a person is asked about any other failure
    has_winner = known.race is not None and is_proving
    if known.race is not None and not is_proving:
        is_active = False  # it starts a race, which takes no time
    is_begun = is_active or has_winner or row.awaiting_race
    failures = max(0, row.attempt - is_begun)
    due = (row.due_at - now).total_seconds() if row.due_at else 0.0
    return replace(
        known,
        needs=tuple(positions[need] for need in task.unmet_needs if need in positions),
        retries=max(0, known.retries - failures),
        is_retry=bool(failures),
        is_active=is_active,
        is_proving=is_proving,
        elapsed_s=max(0.0, (now - (last_event or now)).total_seconds()),
        due_s=max(0.0, due),
        has_winner=has_winner,
    )


def _candidate_phase(row: TaskRow) -> CandidatePhase:
    if row.state.is_final:
        return CandidatePhase.FAILED
    if row.awaiting_race:
        # A worker has had it, or it was never released.
        return CandidatePhase.PROVEN if row.epoch else CandidatePhase.UNRELEASED
    return CandidatePhase.STARTED if row.state is State.ACTIVE else CandidatePhase.RELEASED


def _load_specs(app: App, view: RunView) -> dict[str, TaskSpec]:
    """One query: the submissions are at the beginning of a run's journal."""
    entries = journal_pages.read_forward(
        app.store.database,
        run_id=view.run.id,
        events=("TASK_SUBMITTED",),
        limit=max(1, len(view.tasks)),
    )
    catalogue = view.run.catalogue
    return {entry.task_id: spec_from_data(entry.data["spec"], catalogue) for entry in entries}


def _last_events(app: App, tasks: Sequence[TaskView]) -> dict[str, datetime]:
    """When the stage of each active task began; there are few of them."""
    active = [task.row.id for task in tasks if task.row.state is State.ACTIVE]
    pages = {
        task_id: journal_pages.read_newest(app.store.database, task_id=task_id, limit=1)
        for task_id in active
    }
    return {task_id: entries[0].at for task_id, entries in pages.items() if entries}


class RunForecaster:
    """Forecasts for screens that are drawn again and again; thread-safe."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[int, datetime, RunView]] = OrderedDict()

    def refresh(self, view: RunView) -> RunView:
        """The view with a forecast that is at most a few seconds old."""
        if view.status is not RunStatus.ACTIVE:
            return view
        with self._lock:
            done, until, known = self._known.get(view.run.id, (-1, None, view))
            now = self._app.clock.now()
            if until is None or now >= until or done != view.counts[State.DONE.value]:
                known = self._compute(view, now)
        return replace(view, forecast=known.forecast, forecast_at=known.forecast_at)

    def _compute(self, view: RunView, now: datetime) -> RunView:
        known = with_forecast(self._app, view)
        # A forecast that takes long is kept for longer.
        until = now + max(VALID_FOR, PAUSE_FACTOR * (self._app.clock.now() - now))
        self._known[view.run.id] = (view.counts[State.DONE.value], until, known)
        self._known.move_to_end(view.run.id)
        while len(self._known) > RUNS_KEPT:
            self._known.popitem(last=False)
        return known


# ------------------------------------------------------------------ conditions


def _conditions(
    app: App,
    slots: int,
    budget: Mapping[str, float],
    spent: Spend,
    since_start: timedelta,
    run: Run | None = None,
) -> RunConditions:
    grants = 1 + (run.budget_grants if run else 0)
    used = {
        BudgetMeasure.MONEY: spent.money,
        BudgetMeasure.ATTEMPTS: spent.attempts,
        BudgetMeasure.SECONDS: spent.seconds,
        BudgetMeasure.WALL_S: since_start.total_seconds(),
    }
    left = {
        measure: budget[measure] * grants - amount
        for measure, amount in used.items()
        if measure in budget
    }
    return RunConditions(
        slots,
        _quiet_times(app),
        _closed_accounts(app),
        left.get(BudgetMeasure.MONEY),
        left.get(BudgetMeasure.ATTEMPTS),
        left.get(BudgetMeasure.SECONDS),
        left.get(BudgetMeasure.WALL_S),
    )


def _quiet_times(app: App) -> list[tuple[float, float]]:
    """The quiet hours of the next days, in seconds from now."""
    hours = parse_quiet_hours(app.settings.limits.quiet_hours)
    now = app.clock.now().astimezone()
    times = hours.list_times(now, QUIET_DAYS) if hours else []
    return [((start - now).total_seconds(), (end - now).total_seconds()) for start, end in times]


def _closed_accounts(app: App) -> dict[str, float]:
    if not app.has_store:
        return {}
    now = app.clock.now()
    return {one.name: (one.until - now).total_seconds() for one in app.store.accounts()}
