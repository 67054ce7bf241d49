"""Row <-> value.  Columns hold what statements look for; the rest of a task is its document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from yaoki.core.machine.codec import from_data, part_from_data, part_to_data, to_data
from yaoki.core.model import (
    Catalogue,
    Lease,
    Reason,
    Run,
    RunId,
    Spec,
    Spend,
    Stage,
    State,
    Task,
    TaskId,
)
from yaoki.core.model.outcome import ending
from yaoki.core.settings.tags import joined
from yaoki.ports import Entry, Row

DOC = (
    "counts",
    "forgiven",
    "work",
    "failure",
    "feedback",
    "failed_tree",
    "same_failures",
    "alike_failures",
    "kinds",
    "agent_index",
    "fresh_next",
    "question",
    "words",
    "waivers",
    "take_over",
    "session",
    "began_at",
    "lineage",
    "rerun",
    "blame",
    "recalled",
    "unmovable",
    "strategy",
    "recovered",
    "left_out",
    "spent_on",
    "forgiven_spend",
)
# Of a run: what is given when it is submitted and no statement looks for.
RUN_DOC = ("planner", "chain", "budget", "continuous", "language", "approved")
SAME = "same"
NOTHING_SPENT = Spend()
# What reading a row or a line that somebody else wrote may raise.
UNREADABLE = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Fields(Protocol):
    """A row of whichever database: values by column name."""

    def __getitem__(self, key: str, /) -> Any: ...
    def keys(self) -> Iterable[str]: ...


def ms(instant: datetime | None) -> int:
    return 0 if instant is None else round(instant.timestamp() * 1000)


def instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def dumps(value: Any) -> str:
    """Short JSON; what is no text, such as a file name in another encoding, is escaped."""
    text = _JSON.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def task_params(task: Task) -> dict[str, Any]:
    """The columns that an event can change."""
    return {
        "id": task.id,
        "state": task.state.value,
        "stage": task.stage.value,
        "attempt": task.attempt,
        "epoch": task.epoch,
        "holder": task.lease.holder if task.lease else "",
        "lease_ms": ms(task.lease.expires_at) if task.lease else 0,
        "due_ms": ms(task.due_at),
        "agent": task.agent.name if task.agent else "",
        "account": (task.agent.account or task.agent.name) if task.agent else "",
        "reason": task.reason.value if task.reason else "",
        "cancel_wanted": int(task.cancel_wanted),
        "recall_wanted": int(task.recall_wanted),
        "landed": task.landed,
        "held": int(task.held),
        "undo_wanted": int(task.undo_wanted),
        "place": task.work.host if task.take_over else "",
        "refused": task.work.refused,
        "doc": _doc(task),
    }


def new_task_params(task: Task, open_needs: int, rank: int) -> dict[str, Any]:
    return {
        **task_params(task),
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
        "tags": joined(task.spec.tags),
    }


def _doc(task: Task) -> str:
    data = part_to_data(task, DOC)
    if task.feedback is not None and task.feedback == task.failure:
        data["feedback"] = SAME
    return dumps(data) if data else "{}"


def task_of(row: Fields, spec: Spec) -> Task:
    data = json.loads(row["doc"])
    if data.get("feedback") == SAME:
        data["feedback"] = data["failure"]
    task_id = TaskId(row["id"])
    state = State(row["state"])
    lease = (
        Lease(task_id, row["holder"], row["epoch"], instant(row["lease_ms"]))
        if row["holder"]
        else None
    )
    return Task(
        id=task_id,
        run_id=RunId(row["run_id"]),
        n=row["n"],
        spec=spec,
        state=state,
        stage=Stage(row["stage"]),
        attempt=row["attempt"],
        epoch=row["epoch"],
        lease=lease,
        due_at=instant(row["due_ms"]) if row["due_ms"] else None,
        reason=_reason(row["reason"], state),
        cancel_wanted=bool(row["cancel_wanted"]),
        recall_wanted=bool(row["recall_wanted"]),
        landed=row["landed"],
        held=bool(row["held"]),
        undo_wanted=bool(row["undo_wanted"]),
        parent=row["parent"],
        **part_from_data(Task, DOC, data),
    )


def _reason(stored: str, state: State) -> Reason | None:
    """An escalated row without a reason we know reads as UNKNOWN."""
    if stored in Reason.__members__:
        return Reason(stored)
    return Reason.UNKNOWN if state is State.ESCALATED else None


def by_name(found: Sequence[Any]) -> Iterable[Fields]:
    """Rows of which every column is wanted: one of SQLite looks for each name from its first."""
    if not found or isinstance(found[0], Mapping):
        return found
    names = tuple(found[0].keys())
    return (dict(zip(names, row, strict=True)) for row in found)


def tally_of(rows: Iterable[Fields]) -> dict[tuple[State, bool], int]:
    found: dict[tuple[State, bool], int] = {}
    for row in rows:
        key = (state_of(row["state"]), bool(row["required"]))
        found[key] = found.get(key, 0) + row["n"]
    return found


def _known(row: Fields) -> bool:
    return row["state"] in State.__members__ and row["stage"] in Stage.__members__


def state_of(stored: str) -> State:
    """A state that yaoki does not know is a person's business: nothing goes on by itself."""
    return State(stored) if stored in State.__members__ else State.ESCALATED


def _document(stored: str) -> dict[str, Any]:
    """What a screen needs of it.  One that cannot be read says nothing, and no screen fails."""
    if stored == "{}":
        return {}
    try:
        data = json.loads(stored)
        return {
            "question": (data.get("question") or {}).get("text", ""),
            "session": data.get("session", ""),
            "spent": from_data(Spend, data["spent_on"]) if "spent_on" in data else NOTHING_SPENT,
            "onto": data["work"].get("onto", "") if "work" in data else "",
            "agent_ended": _agent_ended(data),
        }
    except UNREADABLE:
        return {}


def screen_row(row: Fields) -> Row:
    # Ten thousand at once for a screen, and most of them have no document and no reason.
    data = _document(row["doc"]) if _known(row) else {}
    state = state_of(row["state"])
    asked = row["reason"] or state is State.ESCALATED
    reason = _reason(row["reason"], state) if asked else None
    return Row(
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
        due_at=instant(row["due_ms"]) if row["due_ms"] else None,
        lease_until=instant(row["lease_ms"]) if row["lease_ms"] else None,
        open_needs=row["open_needs"],
        required=bool(row["required"]),
        reason=reason.value if reason else "",
        agent=row["agent"],
        cancel_wanted=bool(row["cancel_wanted"]),
        landed=row["landed"],
        question=data.get("question", ""),
        undo_wanted=bool(row["undo_wanted"]),
        parent=row["parent"],
        held=bool(row["held"]),
        phase=row["phase"],
        account=row["account"],
        tags=row["tags"],
        place=row["place"],
        refused=row["refused"],
        session=data.get("session", ""),
        spent=data.get("spent", NOTHING_SPENT),
        onto=data.get("onto", ""),
        agent_ended=data.get("agent_ended", "") if row["landed"] else "",
    )


def _agent_ended(data: Mapping[str, Any]) -> str:
    exit_ = data.get("work", {}).get("exit") or {}
    return ending(exit_.get("code"), exit_.get("signal"), exit_.get("ended_by", ""))


def run_params(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "goal": run.goal,
        "repo": run.repo,
        "base_branch": run.base_branch,
        "base": run.base,
        "created_ms": ms(run.created_at),
        "catalogue": dumps(to_data(run.catalogue)),
        "done_when": dumps(list(run.done_when)),
        "source": run.source,
        "parallel": run.parallel,
        "revision": run.revision,
        "priority": run.priority,
        "doc": dumps(part_to_data(run, RUN_DOC)),
    }


def run_of(row: Fields) -> Run:
    return Run(
        id=RunId(row["id"]),
        goal=row["goal"],
        repo=row["repo"],
        base_branch=row["base_branch"],
        base=row["base"],
        created_at=instant(row["created_ms"]),
        catalogue=from_data(Catalogue, json.loads(row["catalogue"])),
        done_when=tuple(json.loads(row["done_when"])),
        source=row["source"],
        parallel=row["parallel"],
        revision=row["revision"],
        priority=row["priority"],
        cancel_wanted=bool(row["cancel_wanted"]),
        merged=row["merged"],
        summed_at=instant(row["summed_ms"]) if row["summed_ms"] else None,
        paused=row["paused"],
        iteration=row["iteration"],
        failures_in_row=row["failures_in_row"],
        grants=row["grants"],
        acknowledged=row["acknowledged"],
        **part_from_data(Run, RUN_DOC, json.loads(row["doc"])),
    )


def entry_of(row: Fields) -> Entry:
    return Entry(
        seq=row["seq"],
        at=instant(row["at_ms"]),
        run_id=row["run_id"],
        task_id=row["task_id"],
        attempt=row["attempt"],
        event=row["event"],
        data=json.loads(row["data"]),
        subtask=row["subtask"],
    )
