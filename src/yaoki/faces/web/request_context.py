"""The context of requests: one repository, its store, and cached views of its runs."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from yaoki.adapters.store.tables import journal_pages
from yaoki.app.build import App
from yaoki.app.forecast import RunForecaster
from yaoki.app.run_watch import RunWatch
from yaoki.app.telemetry import Metrics
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Run, RunId, Task, TaskId
from yaoki.core.redact import mask, mask_document, secret_values
from yaoki.core.run_status import RunStatus
from yaoki.errors import Unknown, YaokiError
from yaoki.faces.web.incremental_fold import IncrementalFold, JournalFold
from yaoki.ports import JournalEntry
from yaoki.views import RunView
from yaoki.views.dependency_graph import DependencyGraph
from yaoki.views.history.faults import Reliability
from yaoki.views.history.progress import Burndown
from yaoki.views.history.stoppages import Stoppages

# Limits on cached runs and their tasks, because of memory.
WATCHED_MAX = 8
WATCHED_TASKS_MAX = 60_000
FOLDS_KEPT = 32
NAMES_KEPT = 50_000
# A worker may die and a wait may end without a commit, so views expire.
VIEW_VALID_FOR = timedelta(seconds=2)
CachedType = TypeVar("CachedType")
FoldedType = TypeVar("FoldedType", bound=JournalFold)


@dataclass(slots=True)
class _CachedRun:
    """A cached run with its last view, and values derived from that view."""

    watch: RunWatch
    turn: threading.Lock = field(default_factory=threading.Lock)
    version: int | None = None
    until: datetime | None = None
    view: RunView | None = None
    # When a worker was last seen: a killed worker leaves no journal entry.
    carried_at: datetime | None = None
    made: dict[str, Any] = field(default_factory=dict)


class RequestContext:
    """Thread-safe.  Nothing here is cached for longer than the store's version."""

    def __init__(self, where: Path, *, store: str = "") -> None:
        self._where, self._store = where, store
        self._app = App(where, store=store)
        self._has_store = False
        self._cached_runs: OrderedDict[str, _CachedRun] = OrderedDict()
        self._burndowns: OrderedDict[str, IncrementalFold[Burndown]] = OrderedDict()
        self._stops: OrderedDict[str, IncrementalFold[Stoppages]] = OrderedDict()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._accounts: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    # -------------------------------------------------------------- the store

    @property
    def has_store(self) -> bool:
        """False before the first run; once true it stays true, and a lost store is an error."""
        if not self._has_store:
            self._has_store = self._app.has_store
        return self._has_store

    @property
    def app(self) -> App:
        if not self.has_store:
            raise Unknown("there is no run here yet", hint="yaoki run PLAN")
        return self._app

    @property
    def app_without_store(self) -> App:
        """The app for requests that need no store."""
        return self._app

    def reopen(self) -> None:
        """Open the store again after it was replaced."""
        old = self._app
        with self._lock:
            self._app, self._has_store = App(self._where, store=self._store), False
            self._cached_runs.clear()
            self._burndowns.clear()
            self._stops.clear()
            self._names.clear()
            self._accounts.clear()
            self.__dict__.pop("limits", None)
            self.__dict__.pop("reliability", None)
            self.__dict__.pop("forecaster", None)
            self.__dict__.pop("_metrics", None)
        old.close()

    def open_newest_run(self) -> None:
        """Open the store and cache the newest run early; the first request reports errors."""
        with suppress(YaokiError):
            if self.newest_run_id:
                self.view(self.newest_run_id)

    def close(self) -> None:
        self._app.close()

    # -------------------------------------------------------------- looking

    @property
    def now(self) -> datetime:
        return self._app.clock.now()

    @property
    def cursor(self) -> int:
        return self._app.reads.last_seq() if self.has_store else 0

    @property
    def newest_run_id(self) -> str | None:
        """The newest run, which a new page most often shows."""
        runs = self._app.reads.runs() if self.has_store else []
        return runs[-1].id if runs else None

    def run(self, named: str) -> Run:
        """A full id is read directly; a prefix or an archived run is searched for."""
        try:
            return self.app.reads.run(named)
        except Unknown:
            return self.app.lookup.find_run(named)

    def task(self, named: str) -> Task:
        try:
            return self.app.reads.task(named)
        except Unknown:
            return self.app.reads.task(self.app.lookup.find_task(named))

    def view(self, run: str) -> RunView:
        """The current view of the run, built once until the store changes."""
        cached = self._cached_run(self.run(run).id)
        with cached.turn:
            return self._refresh(cached)

    def cached(
        self, run: str, what: str, make: Callable[[RunView, DependencyGraph], CachedType]
    ) -> CachedType:
        """A value derived from the whole run, computed once per view."""
        cached = self._cached_run(self.run(run).id)
        with cached.turn:
            view = self._refresh(cached)
            if what not in cached.made:
                cached.made[what] = make(view, cached.watch.dependency_graph)
            found: CachedType = cached.made[what]
            return found

    def _cached_run(self, run_id: RunId) -> _CachedRun:
        with self._lock:
            cached = self._cached_runs.get(run_id)
            if cached is None:
                # Under the lock, so that `reopen` cannot miss it.
                cached = self._cached_runs[run_id] = _CachedRun(RunWatch(self._app, run_id))
            self._cached_runs.move_to_end(run_id)
            while len(self._cached_runs) > 1 and self._is_over_limit():
                self._cached_runs.popitem(last=False)
            return cached

    def _is_over_limit(self) -> bool:
        tasks = sum(len(cached.watch) for cached in self._cached_runs.values())
        return len(self._cached_runs) > WATCHED_MAX or tasks > WATCHED_TASKS_MAX

    def _refresh(self, cached: _CachedRun) -> RunView:
        version, began = self.app.reads.version(), self.now
        if cached.view and cached.until and cached.version == version and began < cached.until:
            return cached.view
        view = cached.watch.refresh()
        # A view that took long to build is kept for longer.
        cached.until = self.now + max(VIEW_VALID_FOR, 4 * (self.now - began))
        cached.version, cached.view, cached.made = version, view, {}
        if view.is_carried and view.status is RunStatus.ACTIVE:
            cached.carried_at = began
        return view

    def last_carried_at(self, run_id: RunId) -> datetime | None:
        return self._cached_run(run_id).carried_at

    def task_name(self, task_id: str) -> str:
        """A task's name never changes; a task that left the store has none."""
        if not task_id:
            return ""
        name = self._names.get(task_id)
        if name is None:
            try:
                name = self.app.reads.task(task_id).spec.name
            except Unknown:
                name = ""
            self._store_bounded(self._names, task_id, name, NAMES_KEPT)
        return name

    # -------------------------------------------------------------- folds

    def burndown(self, run_id: str) -> IncrementalFold[Burndown]:
        return self._fold_of_run(self._burndowns, run_id, Burndown)

    def stoppages(self, run_id: str) -> IncrementalFold[Stoppages]:
        return self._fold_of_run(self._stops, run_id, Stoppages)

    @cached_property
    def limits(self) -> IncrementalFold[Stoppages]:
        """Limits of all runs: a task waits for its account, whichever run hit the limit."""
        return IncrementalFold(Stoppages(self._account), self._reader(""))

    def _account(self, entry: JournalEntry, agent: str) -> str:
        """The account of an agent by its run's plan; its own name when the task left the store."""
        key = f"{entry.run_id} {agent}"
        account = self._accounts.get(key)
        if account is None:
            try:
                agents = self.app.reads.task(TaskId(entry.task_id)).spec.agents
            except Unknown:
                agents = ()
            account = next((one.account for one in agents if one.name == agent), "") or agent
            self._store_bounded(self._accounts, key, account, NAMES_KEPT)
        return account

    def _fold_of_run(
        self,
        kept: OrderedDict[str, IncrementalFold[FoldedType]],
        run_id: str,
        begin: Callable[[], FoldedType],
    ) -> IncrementalFold[FoldedType]:
        with self._lock:
            found = kept.get(run_id)
        if found is None:
            found = IncrementalFold(begin(), self._reader(run_id))
            self._store_bounded(kept, run_id, found, FOLDS_KEPT)
        return found

    @cached_property
    def reliability(self) -> IncrementalFold[Reliability]:
        return IncrementalFold(Reliability(), self._reader(""))

    @cached_property
    def forecaster(self) -> RunForecaster:
        return RunForecaster(self._app)

    @cached_property
    def _metrics(self) -> Metrics:
        return Metrics(self._app)

    def metrics_text(self) -> str:
        return self._metrics.render()

    def _reader(self, run_id: str) -> Callable[..., Any]:
        def read(events: tuple[str, ...], after: int, before: int, limit: int) -> Any:
            return journal_pages.read_forward(
                self.app.store.database,
                run_id=run_id,
                events=events,
                after=after,
                before=before,
                limit=limit,
            )

        return read

    def _store_bounded(
        self, where: OrderedDict[str, CachedType], key: str, value: CachedType, most: int
    ) -> None:
        with self._lock:
            where[key] = value
            where.move_to_end(key)
            while len(where) > most:
                where.popitem(last=False)

    # -------------------------------------------------------------- secrets

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        return secret_values(os.environ)

    @cached_property
    def clean_text(self) -> Callable[[str], str]:
        """Masks a text; cached, because names repeat often."""
        return lru_cache(maxsize=NAMES_KEPT)(lambda text: mask(text, self._secrets))

    def mask(self, value: Any) -> Any:
        return mask_document(value, self._secrets)
