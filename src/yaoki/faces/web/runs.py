"""Answers about runs: their list, one of them, its tasks, timeline and burn-down."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from yaoki.adapters.store.tables import journal_pages, run_changes
from yaoki.app.run_view import carried, head, journal_of
from yaoki.core.model import DONE_WHEN, State, TaskId
from yaoki.core.run_status import Status
from yaoki.faces.web.charts import thinned
from yaoki.faces.web.parameters import Asked
from yaoki.faces.web.request_context import Desk
from yaoki.faces.web.stoppages import Stop
from yaoki.faces.web.timeline import Life, life_document, life_of
from yaoki.faces.web.waits import waits_document
from yaoki.ports import Row
from yaoki.views import SCHEMA, RunView, TaskView, runs_document, status_document
from yaoki.views.dependency_graph import Shape
from yaoki.views.tasks import is_proof

ASKING_MAX = 100
LOOKED_AT_MAX = 2_000
NEEDS_SHOWN = 3
# How many of the tasks that were made last are looked at for a proof of the whole.
LAST_LOOKED = 32
Document = dict[str, Any]


def listed(desk: Desk, asked: Asked) -> Document:
    """Newest first; the cursor is how many newer ones were shown."""
    if not desk.has_store:
        return {"schema": SCHEMA, "cursor": 0, "runs": [], "next_cursor": None}
    cursor, skip, limit = desk.cursor, asked.number("cursor"), asked.query["limit"]
    runs = desk.app.store.runs()[::-1]
    page = [head(desk.app, run) for run in runs[skip : skip + limit]]
    more = str(skip + limit) if len(runs) > skip + limit else None
    told = runs_document(page)
    for view, document in zip(page, told["runs"], strict=True):
        document |= {"blocked": _blocked(desk, view), "carried": _carried(desk, view)}
        document |= {"proofs": _proofs(desk, view)}
    return {"cursor": cursor, **told, "next_cursor": more}


def _blocked(desk: Desk, view: RunView) -> int | None:
    """Only where something waits and something is stuck are the tasks looked at.

    Of a large run in a list of many that would take too long; its own page tells.
    """
    counts = view.counts
    if not counts["WAITING"] or not (counts["ESCALATED"] or counts["CANCELLED"]):
        return 0
    if sum(counts.values()) > LOOKED_AT_MAX:
        return None
    return sum(task.blocked for task in desk.view(view.run.id).tasks)


def _carried(desk: Desk, view: RunView) -> bool:
    """Of one that rests nobody asks."""
    return view.status is not Status.ACTIVE or carried(desk.app, view.run)


def one(desk: Desk, asked: Asked) -> Document:
    cursor, view = desk.cursor, desk.view(asked.run)
    told = status_document(replace(view, tasks=()))
    del told["tasks"]
    return {
        **told,
        "cursor": cursor,
        "notes": [task.row.id for task in view.notes][:ASKING_MAX],
        "asking": [task.row.id for task in view.asking][:ASKING_MAX],
        "landed": len(view.landed),
        "planned": len(view.planned),
        "carried": view.carried,
        "moved_at": _moved_at(desk, view),
        "seconds": view.spent.seconds,
        "agent_runs": view.spent.attempts,
        "parallel": view.run.parallel,
        "phases": list(dict.fromkeys(t.row.phase for t in view.tasks if t.row.phase)),
        "blocked": sum(task.blocked for task in view.tasks),
        "held": sum(task.row.held for task in view.tasks),
        "proofs": _tallied(task.row for task in view.tasks if is_proof(task)),
        "actions": actions(view),
    }


def _moved_at(desk: Desk, view: RunView) -> str:
    """When anything last happened in it: whoever waits for a person takes no time.

    An agent may work for an hour without a line: whoever was at it was there until it was last
    seen, or last renewed its lease.
    """
    run, lease = view.run, timedelta(seconds=desk.app.settings.limits.lease_s)
    newest = journal_pages.newest(desk.app.store.database, run_id=run.id, limit=1)
    rows = [task.row for task in view.tasks if task.row.state is State.ACTIVE]
    renewed = [row.lease_until - lease for row in rows if row.lease_until is not None]
    seen = [at for at in (desk.carried_at(run.id),) if at is not None]
    known = [at for at in (*renewed, *seen) if at <= desk.now]
    return max([run.created_at, *(entry.at for entry in newest), *known]).isoformat()


def _proofs(desk: Desk, view: RunView) -> dict[str, int]:
    """The run's own last proofs stand behind all tasks of the plan, so few are looked at."""
    if not view.run.done_when:
        return {}
    made = sum(view.counts.values())
    last = [TaskId(f"{view.run.id}-{n}") for n in range(max(1, made - LAST_LOOKED + 1), made + 1)]
    rows = run_changes.rows_again(desk.app.store.database, view.run.id, last)
    wanted = {row.id: row for row in rows if row.id in last}
    return _tallied(
        r for r in wanted.values() if r.kind == "check" and r.name.startswith(DONE_WHEN)
    )


def _tallied(rows: Iterable[Row]) -> dict[str, int]:
    return dict(Counter(row.state.value for row in rows))


def actions(view: RunView) -> list[str]:
    """What can be asked of the run now."""
    open_ = view.status not in {Status.DONE, Status.CANCELLED} and not view.run.cancel_wanted
    go = ["go"] if view.run.paused and not view.run.cancel_wanted else []
    return [*go, *(["cancel"] if open_ else [])]


# ------------------------------------------------------------------ tasks


def tasks(desk: Desk, asked: Asked) -> Document:
    cursor, view = desk.cursor, desk.view(asked.run)
    found = sieved(desk, view, asked)
    page, more = paged(found, asked)
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "total": len(view.tasks),
        "matched": len(found),
        "tasks": task_documents(view, page, desk.now, names_of(desk, view)),
        "next_cursor": more,
    }


def sieved(desk: Desk, view: RunView, asked: Asked) -> Sequence[TaskView]:
    states, ids = asked.query["state"], asked.query.get("ids", ())
    text = asked.query["text"].casefold()
    among = _named(desk, view, ids) if ids else view.tasks
    if not states and not text:
        return among
    return [
        task
        for task in among
        if (not states or task.row.state.value in states)
        and (not text or text in task.row.name.casefold() or text in task.row.id)
    ]


def _named(desk: Desk, view: RunView, ids: Iterable[str]) -> list[TaskView]:
    """A few of ten thousand: found by their ids, and set in the order of the plan."""
    places = desk.made(view.run.id, "places", lambda view, _: _places(view))
    found = sorted(places[one] for one in set(ids) if one in places)
    return [view.tasks[at] for at in found if at < len(view.tasks)]


def _places(view: RunView) -> dict[str, int]:
    return {task.row.id: at for at, task in enumerate(view.tasks)}


def paged(found: Sequence[TaskView], asked: Asked) -> tuple[Sequence[TaskView], str | None]:
    """In the order of the plan; the cursor is the number of the last task shown."""
    after, limit = asked.number("cursor"), asked.query["limit"]
    first = bisect_right(found, after, key=lambda task: task.row.n)
    page = found[first : first + limit]
    return page, str(page[-1].row.n) if len(found) > first + limit else None


def task_documents(
    view: RunView, shown: Sequence[TaskView], now: datetime, names: Mapping[str, str]
) -> list[Document]:
    """As `status --json` has them, with what each waits for: in words, and in parts."""
    told = status_document(replace(view, tasks=tuple(shown)))["tasks"]
    waits = [waits_document(task, now, names) for task in shown]
    return [
        {**document, "waits_for": held["words"] if held else None, "waits": held}
        for document, held in zip(told, waits, strict=True)
    ]


def names_of(desk: Desk, view: RunView) -> Mapping[str, str]:
    def made(view: RunView, _: Shape) -> dict[str, str]:
        return {task.row.id: task.row.name for task in view.tasks}

    return desk.made(view.run.id, "names", made)


# ------------------------------------------------------------------ time


def timeline(desk: Desk, asked: Asked) -> Document:
    cursor, view = desk.cursor, desk.view(asked.run)
    page, more = paged(sieved(desk, view, asked), asked)
    fold, _, _ = desk.burndown(view.run.id).look(cursor)
    around = _Around(desk, view, fold.landed, cursor)
    rows = [around.row(task) for task in page]
    last = fold.last_at or view.run.created_at
    resting = view.status is not Status.ACTIVE
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "from": view.run.created_at.isoformat(),
        "until": (last if resting else max(last, around.now)).isoformat(),
        "now": around.now.isoformat(),
        "rows": rows,
        "next_cursor": more,
    }


class _Around:
    """What the rows of one timeline are drawn by."""

    def __init__(
        self, desk: Desk, view: RunView, landed: Mapping[str, datetime], cursor: int
    ) -> None:
        self.now = desk.now
        self._desk, self._landed, self._view = desk, landed, view
        self._stops = desk.stops(view.run.id).look(cursor)[0]
        self._everywhere, self._whole, _ = desk.limits.look(cursor)
        self._names = names_of(desk, view)
        self._accounts = {task.row.agent: task.row.account for task in view.tasks}
        self._limits: dict[str, list[Stop]] = {}

    def row(self, task: TaskView) -> Document:
        row = task.row
        told = {"task": row.id, "n": row.n, "name": row.name, "state": row.state.value}
        first = [self._names.get(need, need) for need in task.needs[:NEEDS_SHOWN]]
        stands = {"blocked": task.blocked, "held": row.held}
        needs = {"needs": first, "needs_left_out": len(task.needs) - len(first)}
        return {**told, **stands, **needs, **life_document(self._life(task))}

    def _life(self, task: TaskView) -> Life:
        known = [self._landed[need] for need in task.needs if need in self._landed]
        ready = max(known) if known and len(known) == len(task.needs) else None
        entries = journal_of(self._desk.app, task.row.id)
        life = life_of(entries, self.now, needs=_needed(task, self._names), ready_at=ready)
        life.explain(self._stops.pauses, self._limited(task.row.account), self.now)
        return life

    def _limited(self, account: str) -> list[Stop]:
        """By any run; by this one alone while the journal of all was not read to its end."""
        if account not in self._limits:
            own = self._stops.limited(account, self._accounts)
            found = self._everywhere.limited(account, {}) if self._whole else own
            began = self._view.run.created_at
            self._limits[account] = [one for one in found if not one.until or one.until > began]
        return self._limits[account]


def _needed(task: TaskView, names: Mapping[str, str]) -> str:
    if not task.needs:
        return ""
    shown = [names.get(need, need) for need in task.needs[:NEEDS_SHOWN]]
    more = len(task.needs) - NEEDS_SHOWN
    return f"needs {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")


def burndown(desk: Desk, asked: Asked) -> Document:
    run = desk.run(asked.run)
    fold, complete, cursor = desk.burndown(run.id).look(desk.cursor)
    points = [
        {**point._asdict(), "at": point.at.isoformat()}
        for point in thinned(fold.points, asked.query["points"])
    ]
    return {
        "schema": SCHEMA,
        "run": run.id,
        "cursor": cursor,
        "complete": complete,
        "points": points,
    }


STATES = tuple(state.value for state in State)
