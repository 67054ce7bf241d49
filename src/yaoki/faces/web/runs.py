"""Responses about runs: the list, one run, its tasks, timeline and burn-down."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from yaoki.adapters.store.tables import journal_pages, run_changes
from yaoki.app.forecast import load_forecast_score
from yaoki.app.run_branch import find_last_merge
from yaoki.app.run_view import find_indistinct_work, is_served, load_task_journal, view_run_head
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import FINAL_CHECK_NAME, State, TaskId
from yaoki.core.run_status import RunStatus
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.faces.web.timeline import TaskTimeline, build_timeline, timeline_document
from yaoki.faces.web.waits import waits_document
from yaoki.ports import TaskRow
from yaoki.views import SCHEMA, RunView, TaskView, runs_document, status_document
from yaoki.views.dependency_graph import DependencyGraph
from yaoki.views.documents import Document
from yaoki.views.history.progress import thin_points
from yaoki.views.history.stoppages import Stoppage
from yaoki.views.tasks import is_proof

ASKING_MAX = 100
LOOKED_AT_MAX = 2_000
NEEDS_SHOWN = 3
# How many of the newest tasks are searched for final checks.
LAST_LOOKED = 32


def get_runs(context: RequestContext, request: PageRequest) -> Document:
    """Newest first; the cursor is the number of runs already shown."""
    if not context.has_store:
        return {"schema": SCHEMA, "cursor": 0, "runs": [], "next_cursor": None}
    cursor, skip, limit = context.cursor, request.cursor_number("cursor"), request.query["limit"]
    runs = context.app.reads.runs()[::-1]
    page = [view_run_head(context.app, run) for run in runs[skip : skip + limit]]
    more = str(skip + limit) if len(runs) > skip + limit else None
    listing = runs_document(page)
    for view, document in zip(page, listing["runs"], strict=True):
        document |= {"blocked": _blocked(context, view), "carried": _has_worker(context, view)}
        document |= {"proofs": _proofs(context, view)}
    return {"cursor": cursor, **listing, "next_cursor": more}


def _blocked(context: RequestContext, view: RunView) -> int | None:
    """Reads the tasks only where one waits and one is stuck.

    For a large run in a list that would take too long; its own page has the number.
    """
    counts = view.counts
    if not counts["WAITING"] or not (counts["ESCALATED"] or counts["CANCELLED"]):
        return 0
    if sum(counts.values()) > LOOKED_AT_MAX:
        return None
    return sum(task.blocked for task in context.view(view.run.id).tasks)


def _has_worker(context: RequestContext, view: RunView) -> bool:
    """Does a worker run it?  A run that is not active needs none."""
    return view.status is not RunStatus.ACTIVE or is_served(context.app, view.run)


def get_run(context: RequestContext, request: PageRequest) -> Document:
    cursor, view = context.cursor, context.forecaster.refresh(context.view(request.run))
    merge = context.cached(
        view.run.id, "last_merge", lambda view, _: find_last_merge(context.app, view)
    )
    # In a larger run, the evidence of each task says it.
    indistinct = (
        context.cached(view.run.id, "indistinct", lambda v, _: find_indistinct_work(context.app, v))
        if sum(view.counts.values()) <= LOOKED_AT_MAX
        else None
    )
    shown = replace(view, tasks=(), last_merge=merge, indistinct_task_ids=indistinct)
    document = status_document(shown)
    del document["tasks"]
    return {
        **document,
        "cursor": cursor,
        "notes": [task.row.id for task in view.unlanded_optional_tasks][:ASKING_MAX],
        "asking": [task.row.id for task in view.tasks_asking][:ASKING_MAX],
        "landed": len(view.landed_tasks),
        "planned": len(view.counted_tasks),
        "carried": view.is_carried,
        "moved_at": _last_change_at(context, view),
        "seconds": view.spent.seconds,
        "agent_runs": view.spent.attempts,
        "parallel": view.run.parallel,
        "phases": list(dict.fromkeys(t.row.phase for t in view.tasks if t.row.phase)),
        "blocked": sum(task.blocked for task in view.tasks),
        "held": sum(task.row.awaiting_rerun for task in view.tasks),
        "proofs": _count_states(task.row for task in view.tasks if is_proof(task)),
        "actions": run_actions(view),
        "forecast_score": _forecast_score(context, view),
    }


def _forecast_score(context: RequestContext, view: RunView) -> Document | None:
    """The forecast at the start beside the result, for a run that is over."""
    if view.run.finished_at is None:
        return None
    return context.cached(
        view.run.id, "forecast", lambda view, _: load_forecast_score(context.app, view.run)
    )


def _last_change_at(context: RequestContext, view: RunView) -> str:
    """When anything last happened in the run, without the time it waits for a person.

    An agent may work for an hour without an entry, so the last sight of a worker and the last
    renewal of a lease count too.
    """
    run, lease = view.run, timedelta(seconds=context.app.settings.limits.lease_s)
    newest = journal_pages.read_newest(context.app.store.database, run_id=run.id, limit=1)
    rows = [task.row for task in view.tasks if task.row.state is State.ACTIVE]
    renewed = [row.lease_until - lease for row in rows if row.lease_until is not None]
    seen = [at for at in (context.last_carried_at(run.id),) if at is not None]
    known = [at for at in (*renewed, *seen) if at <= context.now]
    return max([run.created_at, *(entry.at for entry in newest), *known]).isoformat()


def _proofs(context: RequestContext, view: RunView) -> dict[str, int]:
    """Final checks come after all tasks of the plan, so only the last few tasks are read."""
    if not view.run.done_when:
        return {}
    submitted = sum(view.counts.values())
    last = [
        TaskId(f"{view.run.id}-{n}")
        for n in range(max(1, submitted - LAST_LOOKED + 1), submitted + 1)
    ]
    rows = run_changes.reload_rows(context.app.store.database, view.run.id, last)
    wanted = {row.id: row for row in rows if row.id in last}
    return _count_states(
        r for r in wanted.values() if r.kind == "check" and r.name.startswith(FINAL_CHECK_NAME)
    )


def _count_states(rows: Iterable[TaskRow]) -> dict[str, int]:
    return dict(Counter(row.state.value for row in rows))


def run_actions(view: RunView) -> list[str]:
    """The actions that are possible on the run now."""
    open_ = (
        view.status not in {RunStatus.DONE, RunStatus.CANCELLED} and not view.run.cancel_requested
    )
    go = ["go"] if view.run.pause_reason and not view.run.cancel_requested else []
    return [*go, *(["cancel"] if open_ else [])]


# ------------------------------------------------------------------ tasks


def get_tasks(context: RequestContext, request: PageRequest) -> Document:
    cursor, view = context.cursor, context.view(request.run)
    found = filter_tasks(context, view, request)
    page, more = page_of_tasks(found, request)
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "total": len(view.tasks),
        "matched": len(found),
        "tasks": task_documents(view, page, context.now, clean_task_names(context, view)),
        "next_cursor": more,
    }


def filter_tasks(
    context: RequestContext, view: RunView, request: PageRequest
) -> Sequence[TaskView]:
    states, ids = request.query["state"], request.query.get("ids", ())
    text = request.query["text"].casefold()
    among = _tasks_by_id(context, view, ids) if ids else view.tasks
    if not states and not text:
        return among
    return [
        task
        for task in among
        if (not states or task.row.state.value in states)
        and (not text or text in task.row.name.casefold() or text in task.row.id)
    ]


def _tasks_by_id(context: RequestContext, view: RunView, ids: Iterable[str]) -> list[TaskView]:
    """The tasks with these ids, in the order of the plan."""
    places = context.cached(view.run.id, "places", lambda view, _: _positions(view))
    indexes = sorted(places[one] for one in set(ids) if one in places)
    return [view.tasks[at] for at in indexes if at < len(view.tasks)]


def _positions(view: RunView) -> dict[str, int]:
    return {task.row.id: at for at, task in enumerate(view.tasks)}


def page_of_tasks(
    found: Sequence[TaskView], request: PageRequest
) -> tuple[Sequence[TaskView], str | None]:
    """In the order of the plan; the cursor is the number of the last task shown."""
    after, limit = request.cursor_number("cursor"), request.query["limit"]
    first = bisect_right(found, after, key=lambda task: task.row.n)
    page = found[first : first + limit]
    return page, str(page[-1].row.n) if len(found) > first + limit else None


def task_documents(
    view: RunView, shown: Sequence[TaskView], now: datetime, names: Mapping[str, str]
) -> list[Document]:
    """The tasks as in `status --json`, each with what it waits for, in words and in parts."""
    documents = status_document(replace(view, tasks=tuple(shown)))["tasks"]
    waits = [waits_document(task, now, names) for task in shown]
    return [
        {**document, "waits_for": wait["words"] if wait else None, "waits": wait}
        for document, wait in zip(documents, waits, strict=True)
    ]


def clean_task_names(context: RequestContext, view: RunView) -> Mapping[str, str]:
    def made(view: RunView, _: DependencyGraph) -> dict[str, str]:
        return {task.row.id: task.row.name for task in view.tasks}

    return context.cached(view.run.id, "names", made)


# ------------------------------------------------------------------ time


def get_timeline(context: RequestContext, request: PageRequest) -> Document:
    cursor, view = context.cursor, context.view(request.run)
    page, more = page_of_tasks(filter_tasks(context, view, request), request)
    fold, _, _ = context.burndown(view.run.id).read_up_to(cursor)
    around = _TimelineContext(context, view, fold.landed_at, cursor)
    rows = [around.row(task) for task in page]
    last = fold.last_at or view.run.created_at
    resting = view.status is not RunStatus.ACTIVE
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


class _TimelineContext:
    """What all rows of one timeline share."""

    def __init__(
        self, context: RequestContext, view: RunView, landed: Mapping[str, datetime], cursor: int
    ) -> None:
        self.now = context.now
        self._context, self._landed, self._view = context, landed, view
        self._stops = context.stoppages(view.run.id).read_up_to(cursor)[0]
        self._everywhere, self._whole, _ = context.limits.read_up_to(cursor)
        self._names = clean_task_names(context, view)
        self._accounts = {task.row.agent: task.row.account for task in view.tasks}
        self._limits: dict[str, list[Stoppage]] = {}

    def row(self, task: TaskView) -> Document:
        row = task.row
        document = {"task": row.id, "n": row.n, "name": row.name, "state": row.state.value}
        first = [self._names.get(need, need) for need in task.needs[:NEEDS_SHOWN]]
        flags = {"blocked": task.blocked, "held": row.awaiting_rerun}
        needs = {"needs": first, "needs_left_out": len(task.needs) - len(first)}
        return {**document, **flags, **needs, **timeline_document(self._timeline(task))}

    def _timeline(self, task: TaskView) -> TaskTimeline:
        known = [self._landed[need] for need in task.needs if need in self._landed]
        ready = max(known) if known and len(known) == len(task.needs) else None
        entries = load_task_journal(self._context.app, task.row.id)
        timeline = build_timeline(
            entries, self.now, needs=_needs_words(task, self._names), ready_at=ready
        )
        return timeline.explain_waits(
            self._stops.pauses, self._limits_of(task.row.account), self.now
        )

    def _limits_of(self, account: str) -> list[Stoppage]:
        """Limits hit by any run; only by this one until the journal of all runs is read."""
        if account not in self._limits:
            own = self._stops.limits_of(account, self._accounts)
            found = self._everywhere.limits_of(account, {}) if self._whole else own
            began = self._view.run.created_at
            self._limits[account] = [one for one in found if not one.until or one.until > began]
        return self._limits[account]


def _needs_words(task: TaskView, names: Mapping[str, str]) -> str:
    if not task.needs:
        return ""
    shown = [names.get(need, need) for need in task.needs[:NEEDS_SHOWN]]
    more = len(task.needs) - NEEDS_SHOWN
    return f"needs {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")


def get_burndown(context: RequestContext, request: PageRequest) -> Document:
    run = context.run(request.run)
    fold, complete, cursor = context.burndown(run.id).read_up_to(context.cursor)
    points = [
        {**point._asdict(), "at": point.at.isoformat()}
        for point in thin_points(fold.points, request.query["points"])
    ]
    return {
        "schema": SCHEMA,
        "run": run.id,
        "cursor": cursor,
        "complete": complete,
        "points": points,
    }


STATES = tuple(state.value for state in State)
