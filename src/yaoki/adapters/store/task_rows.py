"""Rows of tasks to values and back.  Columns hold what statements search; the rest is JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from yaoki.adapters.store.rows import ROW_READ_ERRORS, SqlRow, dump_json, from_ms, to_ms
from yaoki.core.machine.value_codec import fields_from_data, fields_to_data, from_data
from yaoki.core.model import (
    AccountProblem,
    AttemptMode,
    Lease,
    PendingRequest,
    Reason,
    RunId,
    Spend,
    Stage,
    State,
    Task,
    TaskId,
    TaskSpec,
    WaitReason,
    Work,
)
from yaoki.core.model.outcome import describe_exit
from yaoki.core.settings.tags import join_tags
from yaoki.ports import TaskRow

TASK_DOC_FIELDS = (
    "counts",
    "forgiven_counts",
    "work",
    "failure",
    "feedback",
    "failed_work_digest",
    "same_work_failures",
    "same_fingerprint_failures",
    "failure_kinds",
    "agent_index",
    "given_up_agents",
    "needs_fresh_worktree",
    "question",
    "answer_text",
    "waivers",
    "waived_work",
    "session",
    "session_failures",
    "first_base",
    "lineage",
    "revert_cause",
    "revert_failed",
    "recovery_strategy",
    "recovered_subtasks",
    "left_out_subtasks",
    "spend",
    "forgiven_spend",
    "check_revision",
    "earlier_checks",
    "candidates",
    "race_task",
    "score",
    "settled_spend",
    "judge",
    "judgment",
)
# Stored instead of a feedback that equals the failure.
SAME = "same"
# The column `held`: a task that awaits its re-run, and one that a race keeps from being claimed.
HELD_FOR = {WaitReason.RERUN: 1, WaitReason.RACE: 2}
WAIT_REASON_OF_HELD = {number: reason for reason, number in HELD_FOR.items()}
# The column `queued` of a task whose landing was refused.
REFUSED = 2
NOTHING_SPENT = Spend()
NO_PROBLEM = AccountProblem.NONE


def join_accounts(names: Iterable[str]) -> str:
    """Each name between bars, so that SQL can take names out of the list."""
    return "".join(f"|{name}|" for name in names if "|" not in name)


def split_accounts(joined: str) -> tuple[str, ...]:
    return tuple(filter(None, joined.split("|")))


def task_columns(task: Task) -> dict[str, Any]:
    """The columns that an event can change."""
    return {
        "id": task.id,
        "state": task.state.value,
        "stage": task.stage.value,
        "attempt": task.attempt,
        "epoch": task.epoch,
        "holder": task.lease.holder if task.lease else "",
        "lease_ms": to_ms(task.lease.expires_at) if task.lease else 0,
        "due_ms": to_ms(task.due_at),
        "agent": task.agent.name if task.agent else "",
        "account": task.account,
        "other_accounts": join_accounts(task.other_accounts),
        "reason": task.reason.value if task.reason else "",
        "cancel_wanted": int(task.cancel_requested),
        "recall_wanted": int(task.recall_requested),
        "landed": task.landed_commit,
        "held": HELD_FOR.get(task.waiting_for, 0),
        "undo_wanted": int(task.undo_requested),
        "place": task.work.host if task.taken_over else "",
        "queued": _queued_column(task.work),
        "doc": _task_doc(task),
    }


def new_task_columns(task: Task, open_needs: int, rank: int) -> dict[str, Any]:
    return {
        **task_columns(task),
        "run_id": task.run_id,
        "n": task.n,
        "name": task.spec.name,
        "kind": task.spec.kind.value,
        "rank": rank,
        "priority": task.spec.priority,
        "required": int(task.spec.required),
        "open_needs": open_needs,
        "parent": task.parent,
        "phase": task.spec.phase,
        "tags": join_tags(task.spec.tags),
    }


def _queued_column(work: Work) -> int:
    if not work.is_queued:
        return 0
    return REFUSED if work.landing_refusals else 1


def _task_doc(task: Task) -> str:
    data = {**fields_to_data(task, TASK_DOC_FIELDS), **_stored_flags(task)}
    if task.feedback is not None and task.feedback == task.failure:
        data["feedback"] = SAME
    return dump_json(data) if data else "{}"


def task_from_row(row: SqlRow, spec: TaskSpec) -> Task:
    data = json.loads(row["doc"])
    if data.get("feedback") == SAME:
        data["feedback"] = data["failure"]
    task_id = TaskId(row["id"])
    state = State(row["state"])
    lease = (
        Lease(task_id, row["holder"], row["epoch"], from_ms(row["lease_ms"]))
        if row["holder"]
        else None
    )
    flags = {word: data.pop(word, False) for word in ("recalled", "rerun", "take_over")}
    fields = fields_from_data(Task, TASK_DOC_FIELDS, data)
    revision = fields.get("check_revision")
    return Task(
        id=task_id,
        run_id=RunId(row["run_id"]),
        n=row["n"],
        spec=revision.apply_to(spec) if revision else spec,
        state=state,
        stage=Stage(row["stage"]),
        attempt=row["attempt"],
        epoch=row["epoch"],
        lease=lease,
        due_at=from_ms(row["due_ms"]) if row["due_ms"] else None,
        reason=_reason(row["reason"], state),
        waiting_for=_wait_reason(row, state, decision_due=flags["recalled"]),
        request=_pending_request(row, state),
        mode=_attempt_mode(rerun=flags["rerun"], taken_over=flags["take_over"]),
        landed_commit=row["landed"],
        parent=row["parent"],
        **fields,
    )


def _stored_flags(task: Task) -> dict[str, bool]:
    """The flags of the document; those that are false are left out, like any default."""
    flags = {
        "rerun": task.is_rerun,
        "recalled": task.decision_due,
        "take_over": task.taken_over,
    }
    return {word: True for word, flag in flags.items() if flag}


def _wait_reason(row: SqlRow, state: State, *, decision_due: bool) -> WaitReason:
    """Flags of a task that does not wait were left by earlier versions and mean nothing."""
    if state is not State.WAITING:
        return WaitReason.CLAIM
    if row["held"]:
        return WAIT_REASON_OF_HELD[row["held"]]
    return WaitReason.DECISION if decision_due else WaitReason.CLAIM


def _pending_request(row: SqlRow, state: State) -> PendingRequest:
    """Earlier versions kept requests that a landing had ended: the state decides which count."""
    match state:
        case State.DONE:
            return PendingRequest.UNDO if row["undo_wanted"] else PendingRequest.NONE
        case State.ESCALATED | State.REPLACED:
            return PendingRequest.NONE
        case State.CANCELLED:
            return PendingRequest.CANCEL if row["cancel_wanted"] else PendingRequest.NONE
        case State.WAITING | State.ACTIVE:
            if row["cancel_wanted"]:
                return PendingRequest.CANCEL
            return PendingRequest.RECALL if row["recall_wanted"] else PendingRequest.NONE


def _attempt_mode(*, rerun: bool, taken_over: bool) -> AttemptMode:
    if taken_over:
        return AttemptMode.TAKEN_OVER
    return AttemptMode.RERUN if rerun else AttemptMode.NORMAL


def _reason(stored: str, state: State) -> Reason | None:
    """An escalated row without a known reason reads as UNKNOWN."""
    if stored in Reason.__members__:
        return Reason(stored)
    return Reason.UNKNOWN if state is State.ESCALATED else None


def tally_from_rows(rows: Iterable[SqlRow]) -> dict[tuple[State, bool], int]:
    counts: dict[tuple[State, bool], int] = {}
    for row in rows:
        key = (read_state(row["state"]), bool(row["required"]))
        counts[key] = counts.get(key, 0) + row["n"]
    return counts


def _is_legal(row: SqlRow) -> bool:
    return row["state"] in State.__members__ and row["stage"] in Stage.__members__


def read_state(stored: str) -> State:
    """A state that yaoki does not know needs a person: nothing continues by itself."""
    return State(stored) if stored in State.__members__ else State.ESCALATED


def _screen_fields(stored: str) -> dict[str, Any]:
    """The fields of a task's JSON that a screen needs.  Unreadable JSON gives nothing, so no screen
    fails.
    """
    if stored == "{}":
        return {}
    try:
        data = json.loads(stored)
        return {
            "question": _question_text(data.get("question") or {}),
            "session": data.get("session", ""),
            "spend": from_data(Spend, data["spent_on"]) if "spent_on" in data else NOTHING_SPENT,
            "onto": data["work"].get("onto", "") if "work" in data else "",
            "agent_exit": _agent_exit(data),
            "account_problem": _account_problem(data),
            "waivers": tuple(data.get("waivers", ())),
            "race_task": data.get("race_task", ""),
        }
    except ROW_READ_ERRORS:
        return {}


def _question_text(question: Mapping[str, Any]) -> str:
    note, text = question.get("note", ""), question.get("text", "")
    return f"{note}\n{text}" if note else str(text)


def to_screen_row(row: SqlRow) -> TaskRow:
    # A screen reads ten thousand at once, and most have empty JSON and no reason.
    data = _screen_fields(row["doc"]) if _is_legal(row) else {}
    state = read_state(row["state"])
    has_reason = row["reason"] or state is State.ESCALATED
    reason = _reason(row["reason"], state) if has_reason else None
    return TaskRow(
        id=TaskId(row["id"]),
        run_id=RunId(row["run_id"]),
        n=row["n"],
        name=row["name"],
        kind=row["kind"],
        state=state,
        stage=row["stage"],
        attempt=row["attempt"],
        epoch=row["epoch"],
        holder=row["holder"],
        due_at=from_ms(row["due_ms"]) if row["due_ms"] else None,
        lease_until=from_ms(row["lease_ms"]) if row["lease_ms"] else None,
        open_needs=row["open_needs"],
        required=bool(row["required"]),
        reason=reason.value if reason else "",
        agent=row["agent"],
        cancel_requested=bool(row["cancel_wanted"]),
        landed_commit=row["landed"],
        question=data.get("question", ""),
        undo_requested=bool(row["undo_wanted"]),
        parent=row["parent"],
        awaiting_rerun=row["held"] == HELD_FOR[WaitReason.RERUN],
        awaiting_race=row["held"] == HELD_FOR[WaitReason.RACE],
        race_task=TaskId(data.get("race_task", "")),
        phase=row["phase"],
        account=row["account"],
        other_accounts=split_accounts(row["other_accounts"]) if row["other_accounts"] else (),
        tags=row["tags"],
        worktree_host=row["place"],
        is_queued=bool(row["queued"]),
        session=data.get("session", ""),
        spend=data.get("spend", NOTHING_SPENT),
        onto=data.get("onto", ""),
        agent_exit=data.get("agent_exit", "") if row["landed"] else "",
        account_problem=data.get("account_problem", NO_PROBLEM)
        if state is State.ESCALATED
        else NO_PROBLEM,
        waivers=data.get("waivers", ()),
    )


def _account_problem(data: Mapping[str, Any]) -> AccountProblem:
    return AccountProblem((data.get("failure") or {}).get("account_problem", ""))


def _agent_exit(data: Mapping[str, Any]) -> str:
    exit_ = data.get("work", {}).get("exit") or {}
    return describe_exit(exit_.get("code"), exit_.get("signal"), exit_.get("ended_by", ""))
