"""Saved work without changes: attempts at the commit they began at, or at another task's commit."""

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
    """The refs, with the time at which each attempt began; empty without a store."""
    mine = {work.task_id.rpartition("-")[0] for work in works}
    try:
        runs = [run for run in app.store.runs() if run.id in mine] if app.has_store else []
        return {ref: at for run in runs for ref, at in _empty_attempts_of_run(app, run, works)}
    except YaokiError:
        # Saved work is listed whatever happened to the store.
        return {}


def _empty_attempts_of_run(
    app: App, run: Run, works: Sequence[SavedWork]
) -> Iterable[tuple[str, datetime]]:
    database, events = app.store.database, (STARTED, LANDED)
    entries = journal_pages.read_forward(database, run_id=run.id, events=events, limit=LINES_MAX)
    began = {(entry.task_id, entry.attempt): entry for entry in entries if entry.event == STARTED}
    landed = _landed_commits(entries, {row.id: row.name for row in app.store.rows(run.id)})
    for work in works:
        if not work.task_id.startswith(f"{run.id}-"):
            continue
        start = began.get((work.task_id, work.attempt))
        at_base = work.commit == (start.data.get("base") if start else run.base)
        # The content of a group before it was rolled back is that of its subtasks.
        others = landed.get(work.commit) if work.attempt else None
        if at_base or (others is not None and not _is_author(work, others)):
            yield work.ref, start.at if start else work.at


def _landed_commits(
    told: Sequence[JournalEntry], names: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The tasks that landed each commit, by id and name, also if it was reverted since."""
    found: dict[str, dict[str, str]] = {}
    for entry in told:
        if entry.event == LANDED:
            by = found.setdefault(entry.data["commit"], {})
            by[entry.task_id] = names.get(entry.task_id, "")
    return found


def _is_author(work: SavedWork, landed: Mapping[str, str]) -> bool:
    """Is the commit the task's own?

    Of several tasks that landed it, most had nothing to change; its subject names its author.
    """
    name = landed.get(work.task_id)
    return name is not None and (len(landed) == 1 or work.subject.startswith(f"{name}: "))
