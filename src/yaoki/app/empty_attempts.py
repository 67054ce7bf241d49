"""Kept work that is none: attempts that stand where they began, or at what another task landed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.adapters.store.tables import journal_pages
from yaoki.errors import YaokiError

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.ports import JournalEntry, SavedWork

LINES_MAX = 50_000
STARTED, LANDED = "ATTEMPT_STARTED", "TASK_LANDED"


def find_empty_attempts(app: App, works: Sequence[SavedWork]) -> Mapping[str, datetime]:
    """Their refs, with the time at which each began.  Without a store nobody knows."""
    mine = {work.task_id.rpartition("-")[0] for work in works}
    try:
        runs = [run for run in app.store.runs() if run.id in mine] if app.has_store else []
        return {ref: at for run in runs for ref, at in _of_run(app, run, works)}
    except YaokiError:
        # What is kept is listed whatever became of the store.
        return {}


def _of_run(app: App, run: Run, works: Sequence[SavedWork]) -> Iterable[tuple[str, datetime]]:
    database, events = app.store.database, (STARTED, LANDED)
    told = journal_pages.read_forward(database, run_id=run.id, events=events, limit=LINES_MAX)
    began = {(entry.task_id, entry.attempt): entry for entry in told if entry.event == STARTED}
    landed = _landed(told, {row.id: row.name for row in app.store.rows(run.id)})
    for work in works:
        if not work.task_id.startswith(f"{run.id}-"):
            continue
        start = began.get((work.task_id, work.attempt))
        at_base = work.commit == (start.data.get("base") if start else run.base)
        # What a group held before it was rolled back is that of its parts.
        others = landed.get(work.commit) if work.attempt else None
        if at_base or (others is not None and not _made(work, others)):
            yield work.ref, start.at if start else work.at


def _landed(told: Sequence[JournalEntry], names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Who landed which commit, by id and name, also if it was taken back since."""
    found: dict[str, dict[str, str]] = {}
    for entry in told:
        if entry.event == LANDED:
            by = found.setdefault(entry.data["commit"], {})
            by[entry.task_id] = names.get(entry.task_id, "")
    return found


def _made(work: SavedWork, landed: Mapping[str, str]) -> bool:
    """Is the commit the task's own?  Where several landed it, most of them had nothing to change,
    and its subject names the one that made it.
    """
    name = landed.get(work.task_id)
    return name is not None and (len(landed) == 1 or work.subject.startswith(f"{name}: "))
