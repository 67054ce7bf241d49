"""What a task waits for, in parts that the page translates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum, unique

from yaoki.core.model import Reason, Stage, State
from yaoki.ports import AccountRow, TaskRow
from yaoki.views import IdleReason, TaskView, describe_wait
from yaoki.views.documents import Document
from yaoki.views.wait_text import awaited_date

NEEDS_SHOWN = 3


@unique
class TaskWaitCause(StrEnum):
    """Why a task waits now; the page translates all but SAID, which has only words."""

    BLOCKED = "BLOCKED"
    HELD = "HELD"
    HELD_GROUP = "HELD_GROUP"
    HELD_USED = "HELD_USED"
    DUE = "DUE"
    NEEDS = "NEEDS"
    ACCOUNT = "ACCOUNT"
    ACCOUNT_ASKED = "ACCOUNT_ASKED"
    PROBE = "PROBE"
    TURN = "TURN"
    PAUSED = "PAUSED"
    NOBODY = "NOBODY"
    SLOT = "SLOT"
    RACE = "RACE"
    RACE_START = "RACE_START"
    RACE_END = "RACE_END"
    SAID = "SAID"


_WITH_ACCOUNT = frozenset({TaskWaitCause.ACCOUNT, TaskWaitCause.ACCOUNT_ASKED, TaskWaitCause.PROBE})


def waits_document(task: TaskView, now: datetime, names: Mapping[str, str]) -> Document | None:
    """The wait of `describe_wait` in parts; `SAID` has only words."""
    words = describe_wait(task, now, names)
    if not words:
        return None
    cause = _cause(task, now)
    row, closed = task.row, task.closed_account
    named = {
        TaskWaitCause.BLOCKED: (task.blocked_by,),
        TaskWaitCause.NEEDS: task.unmet_needs,
        TaskWaitCause.ACCOUNT_ASKED: (closed.asking_task,) if closed else (),
    }
    listed = [names.get(one, one) for one in named.get(cause, ())]
    ends = {TaskWaitCause.DUE: row.due_at, TaskWaitCause.ACCOUNT: closed.until if closed else None}
    until = ends.get(cause)
    return {
        "cause": cause.value,
        "names": listed[:NEEDS_SHOWN],
        "names_left_out": max(0, len(listed) - NEEDS_SHOWN),
        "account": row.account if cause in _WITH_ACCOUNT else None,
        "seconds": max(0, round((until - now).total_seconds())) if until else None,
        "words": words,
    }


def _cause(task: TaskView, now: datetime) -> TaskWaitCause:
    row = task.row
    if row.state is State.ACTIVE or row.undo_requested:
        return TaskWaitCause.SAID
    if task.blocked:
        return TaskWaitCause.BLOCKED
    if row.awaiting_rerun:
        return _hold_cause(row)
    if row.awaiting_race:
        return _race_cause(row)
    if awaited_date(task, now) is not None:
        return TaskWaitCause.DUE
    if task.unmet_needs:
        return TaskWaitCause.NEEDS
    if task.closed_account is not None and row.stage == Stage.PREPARE:
        return _account_cause(task.closed_account, now)
    if task.not_taken_because:
        if isinstance(task.not_taken_because, IdleReason):
            return TaskWaitCause(task.not_taken_because.name)
        return TaskWaitCause.SAID
    return TaskWaitCause.TURN if row.is_queued and row.stage == Stage.VERIFY else TaskWaitCause.SLOT


def _account_cause(account: AccountRow, now: datetime) -> TaskWaitCause:
    if account.asking_task:
        return TaskWaitCause.ACCOUNT_ASKED
    return TaskWaitCause.ACCOUNT if account.until > now else TaskWaitCause.PROBE


def _race_cause(row: TaskRow) -> TaskWaitCause:
    if not row.race_task:
        return TaskWaitCause.RACE
    return TaskWaitCause.RACE_END if row.stage == Stage.LAND else TaskWaitCause.RACE_START


def _hold_cause(row: TaskRow) -> TaskWaitCause:
    if row.parent:
        return TaskWaitCause.HELD_GROUP
    return (
        TaskWaitCause.HELD_USED
        if row.reason == Reason.MAX_RETRIES_INTEGRATION
        else TaskWaitCause.HELD
    )
