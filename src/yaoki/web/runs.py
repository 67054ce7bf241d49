"""Answers about runs: their list, one of them, its tasks, timeline and burn-down."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from yaoki.app.looking import carried, head, journal_of
from yaoki.core.model import Run, State
from yaoki.core.status import Status
from yaoki.store import pages
from yaoki.views import (
    SCHEMA,
    RunView,
    TaskView,
    runs_document,
    status_document,
    waiting_for,
)
from yaoki.views.shape import Shape
from yaoki.web.asked import Asked
from yaoki.web.desk import Desk
from yaoki.web.folds import thinned
from yaoki.web.timeline import life_document, life_of

ASKING_MAX = 100
LOOKED_AT_MAX = 2_000
NEEDS_SHOWN = 3
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
        "moved_at": _moved_at(desk, view.run),
        "seconds": view.spent.seconds,
        "agent_runs": view.spent.attempts,
        "parallel": view.run.parallel,
        "phases": list(dict.fromkeys(t.row.phase for t in view.tasks if t.row.phase)),
        "blocked": sum(task.blocked for task in view.tasks),
        "held": sum(task.row.held for task in view.tasks),
        "actions": actions(view),
    }


def _moved_at(desk: Desk, run: Run) -> str:
    """When anything last happened in it: whoever waits for a person takes no time."""
    newest = pages.newest(desk.app.store.database, run_id=run.id, limit=1)
    return max([run.created_at, *(entry.at for entry in newest)]).isoformat()


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
    """As `status --json` has them, with what each waits for."""
    told = status_document(replace(view, tasks=tuple(shown)))["tasks"]
    return [
        {**document, "waits_for": waiting_for(task, now, names) or None}
        for document, task in zip(told, shown, strict=True)
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
    names, now = names_of(desk, view), desk.now
    rows = [_row(desk, task, fold.landed, names, now) for task in page]
    last = fold.points[-1].at if fold.points else view.run.created_at
    resting = view.status is not Status.ACTIVE
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "from": view.run.created_at.isoformat(),
        "until": (last if resting else max(last, now)).isoformat(),
        "now": now.isoformat(),
        "rows": rows,
        "next_cursor": more,
    }


def _row(
    desk: Desk,
    task: TaskView,
    landed: Mapping[str, datetime],
    names: Mapping[str, str],
    now: datetime,
) -> Document:
    row = task.row
    known = [landed[need] for need in task.needs if need in landed]
    ready = max(known) if known and len(known) == len(task.needs) else None
    life = life_of(journal_of(desk.app, row.id), now, needs=_needed(task, names), ready_at=ready)
    told = {"task": row.id, "n": row.n, "name": row.name, "state": row.state.value}
    first = [names.get(need, need) for need in task.needs[:NEEDS_SHOWN]]
    stands = {"blocked": task.blocked, "held": row.held}
    left_out = len(task.needs) - len(first)
    return {**told, **stands, "needs": first, "needs_left_out": left_out, **life_document(life)}


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
