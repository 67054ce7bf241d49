"""What a task waits for, in parts that the page translates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from yaoki.core.model import Reason, Stage, State
from yaoki.ports import TaskRow
from yaoki.views import IdleReason, TaskView, describe_wait
from yaoki.views.documents import Document

NEEDS_SHOWN = 3
WAIT_CAUSES = (
    *("BLOCKED", "HELD", "HELD_GROUP", "HELD_USED", "DUE", "NEEDS", "ACCOUNT", "PROBE"),
    *("TURN", "PAUSED", "NOBODY", "SLOT", "SAID"),
)


def waits_document(task: TaskView, now: datetime, names: Mapping[str, str]) -> Document | None:
    """The wait of `describe_wait` in parts; `SAID` has only words."""
    words = describe_wait(task, now, names)
    if not words:
        return None
    cause = _cause(task, now)
    row, wanted = task.row, (task.blocked_by,) if cause == "BLOCKED" else task.unmet_needs
    listed = [names.get(one, one) for one in wanted] if cause in {"BLOCKED", "NEEDS"} else []
    until = {"DUE": row.due_at, "ACCOUNT": task.limited_until}.get(cause)
    return {
        "cause": cause,
        "names": listed[:NEEDS_SHOWN],
        "names_left_out": max(0, len(listed) - NEEDS_SHOWN),
        "account": row.account if cause in {"ACCOUNT", "PROBE"} else None,
        "seconds": max(0, round((until - now).total_seconds())) if until else None,
        "words": words,
    }


def _cause(task: TaskView, now: datetime) -> str:
    row = task.row
    if row.state is State.ACTIVE:
        return "SAID"
    if task.blocked:
        return "BLOCKED"
    if row.awaiting_rerun:
        return _hold_cause(row)
    if row.due_at is not None and row.due_at > now:
        return "DUE"
    if task.unmet_needs:
        return "NEEDS"
    if task.limited_until is not None and row.stage == Stage.PREPARE:
        return "ACCOUNT" if task.limited_until > now else "PROBE"
    if task.not_taken_because:
        return (
            task.not_taken_because.name
            if isinstance(task.not_taken_because, IdleReason)
            else "SAID"
        )
    return "TURN" if row.landing_refusals and row.stage == Stage.VERIFY else "SLOT"


def _hold_cause(row: TaskRow) -> str:
    if row.parent:
        return "HELD_GROUP"
    return "HELD_USED" if row.reason == Reason.MAX_RETRIES_INTEGRATION else "HELD"
