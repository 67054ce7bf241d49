"""Workers as screens show them: name, host, load, tasks, and why one is idle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from yaoki.core.model import Stage, State
from yaoki.core.settings.tags import has_all_tags
from yaoki.core.text import format_duration, one_line
from yaoki.ports.workers import WorkerActivity

if TYPE_CHECKING:
    from yaoki.ports import TaskRow, WorkerSeen

SCHEMA = 1
TASKS_SHOWN = 5
STOPPING_WORDS = "its worker is stopping and takes no new tasks"


def why_not_taken(
    row: TaskRow,
    live: Sequence[WorkerSeen],
    now: datetime | None = None,
    grace_s_of: Callable[[str], float] = lambda _: 0.0,
    *,
    here: Callable[[], str],
) -> str:
    """The reason why none of these workers takes a task that could start; empty when one may.

    With `now` the row is current, so its lease tells whether a worker has the task;
    `grace_s_of`: how long a silent holder keeps its task because its process is known to live.
    `here`: this machine.  Where it is the only one, a task waits for a worker like any other.
    """
    until = row.lease_until
    if now is not None and row.state is State.ACTIVE and until is not None and until < now:
        return _silence_words(row.holder, (now - until).total_seconds(), grace_s_of(row.holder))
    if row.state is not State.WAITING or row.open_needs or row.awaiting_rerun:
        return ""
    fit = [seen for seen in live if _serves(seen, row)]
    place = row.worktree_host
    if place and not _is_only_here(place, live, here()) and not _serves_at(place, fit):
        return f"waits for a worker on {place}, where its worktree is; none runs there"
    if row.tags and not fit:
        names = row.tags.replace(",", ", ")
        return f"waits for a worker with the tags {names}; none is running"
    if fit and all(seen.worker.activity is WorkerActivity.STOPPING for seen in fit):
        return STOPPING_WORDS
    waits = [seen.worker.idle_reason for seen in fit]
    if waits and all(waits) and row.stage == Stage.PREPARE:
        return f"waits: {waits[0]}"
    return ""


def _is_only_here(place: str, live: Sequence[WorkerSeen], here: str) -> bool:
    return place == here and all(seen.worker.host == here for seen in live)


def _serves_at(place: str, fit: Sequence[WorkerSeen]) -> bool:
    return any(place.startswith(seen.worker.host) for seen in fit)


def _silence_words(holder: str, silent_s: float, keeps_s: float) -> str:
    silent = format_duration(round(silent_s))
    if silent_s >= keeps_s:
        return f"no heartbeat from its worker for {silent}; the next worker takes it over"
    pid, left = holder.split(":")[1], format_duration(round(keeps_s - silent_s))
    return (
        f"its worker, process {pid}, is alive but sent no heartbeat for {silent}; "
        f"unless it ends or continues, it keeps the task for {left} more"
    )


def _serves(seen: WorkerSeen, row: TaskRow) -> bool:
    worker = seen.worker
    return (not worker.runs or row.run_id in worker.runs) and has_all_tags(row.tags, worker.tags)


def worker_lines(live: Sequence[WorkerSeen], now: datetime) -> list[str]:
    """One line for each worker, and one more for why it is idle."""
    lines = []
    for seen in live:
        load = f"{_load_words(seen)}, {_uptime_words(seen, now)}{_extras(seen)}"
        lines.append(f"worker {_worker_name(seen)}: {load}")
        if seen.worker.idle_reason:
            lines.append(f"  starts no new tasks: {one_line(seen.worker.idle_reason, 200)}")
    return lines


def _worker_name(seen: WorkerSeen) -> str:
    pid = seen.worker.holder.partition(":")[2].partition(":")[0]
    return one_line(f"{seen.worker.name}:{pid}" if pid else seen.worker.name, 80)


def _load_words(seen: WorkerSeen) -> str:
    shown = ", ".join(seen.tasks[:TASKS_SHOWN])
    more = f" and {len(seen.tasks) - TASKS_SHOWN} more" if len(seen.tasks) > TASKS_SHOWN else ""
    busy = f"{len(seen.tasks)} of {seen.worker.slots} slots busy"
    return f"{busy} ({shown}{more})" if seen.tasks else busy


def _uptime_words(seen: WorkerSeen, now: datetime) -> str:
    seconds = max(0, round((now - seen.since).total_seconds()))
    return f"up for {format_duration(seconds)}"


def _extras(seen: WorkerSeen) -> str:
    worker = seen.worker
    parts = [
        "in the background" if worker.background else "",
        f"only run {', '.join(worker.runs)}" if worker.runs else "",
        f"tags {one_line(', '.join(worker.tags), 120)}" if worker.tags else "",
        "stopping and takes no new tasks" if worker.activity is WorkerActivity.STOPPING else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def workers_document(live: Sequence[WorkerSeen]) -> dict[str, Any]:
    return {"schema": SCHEMA, "workers": [_document(seen) for seen in live]}


def _document(seen: WorkerSeen) -> dict[str, Any]:
    worker = seen.worker
    return {
        "holder": worker.holder,
        "host": worker.host,
        "name": worker.name,
        "slots": worker.slots,
        "tags": list(worker.tags),
        "runs": list(worker.runs),
        "background": worker.background,
        "state": worker.activity.value,
        "waits": worker.idle_reason or None,
        "since": seen.since.isoformat(),
        "heartbeat": seen.last_beat.isoformat(),
        "tasks": list(seen.tasks),
    }
