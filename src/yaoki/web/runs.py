"""Answers about runs: their list, one of them, its tasks, graph, timeline and burn-down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from yaoki.app.looking import head, journal_of
from yaoki.core.model import State
from yaoki.core.status import Status
from yaoki.views import (
    SCHEMA,
    RunView,
    TaskView,
    runs_document,
    status_document,
    waiting_for,
)
from yaoki.web.asked import Asked
from yaoki.web.desk import Desk
from yaoki.web.folds import thinned
from yaoki.web.timeline import life_document, life_of

ASKING_MAX = 100
NEEDS_SHOWN = 3
GRAPH_FIELDS = (
    *("n", "name", "state", "stage", "kind", "attempt", "layer"),
    *("phase", "group", "blocked", "held", "required"),
)
Document = dict[str, Any]


def listed(desk: Desk, asked: Asked) -> Document:
    """Newest first; the cursor is how many newer ones were shown."""
    if not desk.has_store:
        return {"schema": SCHEMA, "cursor": 0, "runs": [], "next_cursor": None}
    cursor, skip, limit = desk.cursor, asked.number("cursor"), asked.query["limit"]
    runs = desk.app.store.runs()[::-1]
    page = [head(desk.app, run) for run in runs[skip : skip + limit]]
    more = str(skip + limit) if len(runs) > skip + limit else None
    return {"cursor": cursor, **runs_document(page), "next_cursor": more}


def one(desk: Desk, asked: Asked) -> Document:
    cursor, view = desk.cursor, desk.view(asked.run)
    told = status_document(replace(view, tasks=()))
    del told["tasks"]
    return {
        **told,
        "cursor": cursor,
        "notes": [task.row.id for task in view.notes][:ASKING_MAX],
        "asking": [task.row.id for task in view.asking][:ASKING_MAX],
        "seconds": view.spent.seconds,
        "agent_runs": view.spent.attempts,
        "parallel": view.run.parallel,
        "phases": list(dict.fromkeys(t.row.phase for t in view.tasks if t.row.phase)),
        "blocked": sum(task.blocked for task in view.tasks),
        "held": sum(task.row.held for task in view.tasks),
        "actions": actions(view),
    }


def actions(view: RunView) -> list[str]:
    """What can be asked of the run now."""
    open_ = view.status not in {Status.DONE, Status.CANCELLED} and not view.run.cancel_wanted
    go = ["go"] if view.run.paused and not view.run.cancel_wanted else []
    return [*go, *(["cancel"] if open_ else [])]


# ------------------------------------------------------------------ tasks


def tasks(desk: Desk, asked: Asked) -> Document:
    cursor, view = desk.cursor, desk.view(asked.run)
    found = sieved(view, asked)
    page, more = paged(found, asked)
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "total": len(view.tasks),
        "matched": len(found),
        "tasks": task_documents(view, page, desk.now),
        "next_cursor": more,
    }


def sieved(view: RunView, asked: Asked) -> list[TaskView]:
    states, ids = asked.query["state"], frozenset(asked.query.get("ids", ()))
    text = asked.query["text"].casefold()
    return [
        task
        for task in view.tasks
        if (not states or task.row.state.value in states)
        and (not ids or task.row.id in ids)
        and (not text or text in task.row.name.casefold() or text in task.row.id)
    ]


def paged(found: Sequence[TaskView], asked: Asked) -> tuple[Sequence[TaskView], str | None]:
    """In the order of the plan; the cursor is the number of the last task shown."""
    after, limit = asked.number("cursor"), asked.query["limit"]
    rest = [task for task in found if task.row.n > after]
    return rest[:limit], str(rest[limit - 1].row.n) if len(rest) > limit else None


def task_documents(view: RunView, shown: Sequence[TaskView], now: datetime) -> list[Document]:
    """As `status --json` has them, with what each waits for."""
    names = names_of(view)
    told = status_document(replace(view, tasks=tuple(shown)))["tasks"]
    return [
        {**document, "waits_for": waiting_for(task, now, names) or None}
        for document, task in zip(told, shown, strict=True)
    ]


def names_of(view: RunView) -> Mapping[str, str]:
    return {task.row.id: task.row.name for task in view.tasks}


# ------------------------------------------------------------------ graph


def graph(desk: Desk, asked: Asked) -> Document:
    cursor, view = desk.cursor, desk.view(asked.run)
    numbers: dict[str, int] = {task.row.id: task.row.n for task in view.tasks}
    edges = [
        (numbers[need], task.row.n) for task in view.tasks for need in task.needs if need in numbers
    ]
    layer = layers(view.tasks)
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "layers": max(layer.values(), default=-1) + 1,
        "fields": list(GRAPH_FIELDS),
        "nodes": [_node(task, layer, numbers) for task in view.tasks],
        "edges": [list(edge) for edge in edges],
    }


def _node(task: TaskView, layer: Mapping[str, int], numbers: Mapping[str, int]) -> list[Any]:
    row = task.row
    return [
        *(row.n, row.name, row.state.value, row.stage, row.kind, row.attempt, layer[row.id]),
        *(row.phase or None, numbers.get(row.parent), task.blocked, row.held, row.required),
    ]


def layers(shown: Sequence[TaskView]) -> dict[str, int]:
    """The longest way from a task without needs; needs may stand after who needs them."""
    needs: dict[str, tuple[str, ...]] = {task.row.id: task.needs for task in shown}
    found: dict[str, int] = {}
    for first in needs:
        way = [first]
        while way:
            task_id = way[-1]
            open_ = [need for need in needs[task_id] if need in needs and need not in found]
            if open_ and task_id not in found:
                way += open_
                continue
            way.pop()
            below = [found[need] for need in needs[task_id] if need in found]
            found.setdefault(task_id, max(below, default=-1) + 1)
    return found


# ------------------------------------------------------------------ time


def timeline(desk: Desk, asked: Asked) -> Document:
    cursor, view = desk.cursor, desk.view(asked.run)
    page, more = paged(sieved(view, asked), asked)
    fold, _, _ = desk.burndown(view.run.id).look(cursor)
    names, now = names_of(view), desk.now
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
    return {**told, **life_document(life)}


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
