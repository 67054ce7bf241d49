"""Where requests are carried out: one repository, its store, and what was looked at just now."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from yaoki.app import App
from yaoki.app.looking import look
from yaoki.app.observing import Metrics
from yaoki.core.model import Run, Task
from yaoki.core.redact import secret_values
from yaoki.errors import Unknown
from yaoki.store import pages
from yaoki.views import RunView, masked
from yaoki.web.folds import Burndown, Folds, Reliability

VIEWS_KEPT = 8
FOLDS_KEPT = 32
NAMES_KEPT = 50_000
# Who holds a task may die without a commit, and a wait may end without one.
VIEW_HOLDS = timedelta(seconds=2)
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class _Seen:
    version: int
    until: datetime
    view: RunView


class Desk:
    """Asked from many threads at once.  Nothing here is true for longer than the store says."""

    def __init__(self, where: Path, *, store: str = "") -> None:
        self._where, self._store = where, store
        self._app = App(where, store=store)
        self._has_store = False
        self._views: OrderedDict[str, _Seen] = OrderedDict()
        self._burndowns: OrderedDict[str, Folds[Burndown]] = OrderedDict()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._turn = threading.Lock()
        self._looking: dict[str, threading.Lock] = {}

    # -------------------------------------------------------------- the store

    @property
    def has_store(self) -> bool:
        """Before the first run there is none; one that was there once is looked for by using it."""
        if not self._has_store:
            self._has_store = self._app.has_store
        return self._has_store

    @property
    def app(self) -> App:
        if not self.has_store:
            raise Unknown("there is no run here yet", hint="yaoki run PLAN")
        return self._app

    @property
    def bare(self) -> App:
        """For what needs no store."""
        return self._app

    def reopen(self) -> None:
        """The store was replaced: what we hold open is not what people see."""
        old = self._app
        with self._turn:
            self._app, self._has_store = App(self._where, store=self._store), False
            self._views.clear()
            self._burndowns.clear()
            self._names.clear()
            self.__dict__.pop("reliability", None)
            self.__dict__.pop("cures", None)
            self.__dict__.pop("_metrics", None)
        old.close()

    def close(self) -> None:
        self._app.close()

    # -------------------------------------------------------------- looking

    @property
    def now(self) -> datetime:
        return self._app.clock.now()

    @property
    def cursor(self) -> int:
        return self._app.store.cursor() if self.has_store else 0

    def run(self, named: str) -> Run:
        """By its whole id at once; the beginning of one, or what was archived, is looked for."""
        try:
            return self.app.store.run(named)
        except Unknown:
            return self.app.control.find_run(named)

    def task(self, named: str) -> Task:
        try:
            return self.app.store.task(named)
        except Unknown:
            return self.app.store.task(self.app.control.find_task(named))

    def view(self, run: str) -> RunView:
        """The run as it stands; looked at once however many ask, until somebody commits."""
        app = self.app
        run_id = self.run(run).id
        with self._turn:
            looking = self._looking.setdefault(run_id, threading.Lock())
        with looking:
            version, began = app.store.version(), self.now
            seen = self._views.get(run_id)
            if seen and seen.version == version and began < seen.until:
                return seen.view
            view = look(app, app.store.run(run_id))
            # What took long to look at is held for longer.
            until = self.now + max(VIEW_HOLDS, 4 * (self.now - began))
            self._keep(self._views, run_id, _Seen(version, until, view), VIEWS_KEPT)
            return view

    def name(self, task_id: str) -> str:
        """A task's name never changes; one that has left the store has none any more."""
        if not task_id:
            return ""
        known = self._names.get(task_id)
        if known is None:
            try:
                known = self.app.store.task(task_id).spec.name
            except Unknown:
                known = ""
            self._keep(self._names, task_id, known, NAMES_KEPT)
        return known

    # -------------------------------------------------------------- folds

    def burndown(self, run_id: str) -> Folds[Burndown]:
        with self._turn:
            found = self._burndowns.get(run_id)
        if found is None:
            found = Folds(Burndown(), self._onward(run_id))
            self._keep(self._burndowns, run_id, found, FOLDS_KEPT)
        return found

    @cached_property
    def reliability(self) -> Folds[Reliability]:
        return Folds(Reliability(), self._onward(""))

    @cached_property
    def cures(self) -> Folds[Any]:
        from yaoki.views.cures import Cures

        return Folds(Cures(), self._onward(""))

    @cached_property
    def _metrics(self) -> Metrics:
        return Metrics(self._app)

    def metrics_text(self) -> str:
        return self._metrics.text()

    def _onward(self, run_id: str) -> Callable[..., Any]:
        def read(events: tuple[str, ...], after: int, limit: int) -> Any:
            database = self.app.store.database
            return pages.onward(database, run_id=run_id, events=events, after=after, limit=limit)

        return read

    def _keep(self, where: OrderedDict[str, Kept], key: str, value: Kept, most: int) -> None:
        with self._turn:
            where[key] = value
            where.move_to_end(key)
            while len(where) > most:
                where.popitem(last=False)

    # -------------------------------------------------------------- secrets

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        return secret_values(os.environ)

    def masked(self, value: Any) -> Any:
        return masked(value, self._secrets)
