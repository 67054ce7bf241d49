"""Responses about one task: its state and why, and the attempts with their logs and diffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from yaoki.app.attempt_files import (
    LOG_FILES,
    execution_folder,
    find_diff_ends,
    find_log_file,
    find_log_folder,
    list_check_executions,
    select_execution,
)
from yaoki.app.run_view import load_explanation, load_task_journal
from yaoki.core.decide.escalation import waivable_check_names
from yaoki.core.model import CheckRunPurpose, State, Task
from yaoki.errors import NotNow, Unknown
from yaoki.faces.web.evidence import evidence_document
from yaoki.faces.web.logs import read_piece
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.faces.web.runs import clean_task_names, task_documents
from yaoki.faces.web.timeline import end_word
from yaoki.ports import JournalEntry
from yaoki.views import SCHEMA, RunView, explain, explanation_document
from yaoki.views.check_executions import CheckExecution
from yaoki.views.choices import retry_subject
from yaoki.views.documents import Document
from yaoki.views.history import Attempt, CheckResult, build_history
from yaoki.views.proof_evidence import collect_evidence

IDS_MAX = 1000
ITEMS_MAX = 200
EXECUTIONS_MAX = 20
CHECK_LOG, EXECUTION_LOG = "check:", "execution:"


def get_task(context: RequestContext, request: PageRequest) -> Document:
    cursor, task = context.cursor, context.task(request.task)
    view = context.view(task.run_id)
    explanation = explanation_document(load_explanation(context.app, view, task.id))
    task_view = next(one for one in view.tasks if one.row.id == task.id)
    spec = task.spec
    return {
        **explanation,
        "cursor": cursor,
        "task": task_documents(view, [task_view], context.now, clean_task_names(context, view))[0],
        "goal": spec.goal,
        "checks": [check.name for check in spec.checks],
        "agents": [agent.name for agent in spec.agents],
        "scope": list(spec.scope),
        "lineage": _lineage(context, view, task),
        "worktree": _worktree(task),
        "waivable": waivable_checks(task),
        "retry_subject": retry_subject(task_view.row).value,
        "holder": task.lease.holder if task.lease else None,
        "lease_until": task.lease.expires_at.isoformat() if task.lease else None,
        "actions": task_actions(view, task),
    }


def _worktree(task: Task) -> str | None:
    """The worktree, if it still exists; a landed task has none."""
    place = task.work.worktree
    return place if place and Path(place).is_dir() else None


def waivable_checks(task: Task) -> list[str]:
    """The plan's own checks first."""
    own = [check.name for check in task.spec.checks]
    return [*own, *sorted(waivable_check_names(task).difference(own))]


def task_actions(view: RunView, task: Task) -> list[str]:
    """The actions that are possible now; the store makes the final decision."""
    asks = task.state is State.ESCALATED and task.question is not None
    retry = asks and any(
        choice.value == "retry" for choice in (task.question or _NoQuestion).choices
    )
    open_ = not task.state.is_final and not task.cancel_requested
    undo = task.state is State.DONE and bool(task.landed_commit) and not view.run.cancel_requested
    can = {"answer": asks, "retry": retry, "cancel": open_, "undo": undo and _has_own_commit(task)}
    return [name for name, possible in can.items() if possible]


class _NoQuestion:
    choices: tuple[Any, ...] = ()


def _has_own_commit(task: Task) -> bool:
    return task.landed_commit != task.work.onto and task.spec.kind.value not in {"plan", "group"}


def _lineage(context: RequestContext, view: RunView, task: Task) -> Document:
    by = {one.row.id: one.needs for one in view.tasks}
    history = build_history(load_task_journal(context.app, task.id))
    earlier = task.lineage if task.lineage and task.lineage != task.id else ""
    return {
        "first": task.lineage or task.id,
        "replaces": earlier or None,
        "replaced_by": history.replaced_by or None,
        "group": task.parent or None,
        "needs": list(by.get(task.id, ())),
        "needed_by": [one for one, needs in by.items() if task.id in needs][:IDS_MAX],
        "inside": [one.row.id for one in view.tasks if one.row.parent == task.id][:IDS_MAX],
    }


# ------------------------------------------------------------------ attempts


def get_attempt(context: RequestContext, request: PageRequest) -> Document:
    cursor, task = context.cursor, context.task(request.task)
    entries, attempt = _load_attempt(context, task, request.attempt)
    # The history names the entries of the attempt; they have more details than it needs.
    details: Mapping[int, Mapping[str, Any]] = {entry.seq: entry.data for entry in entries}
    run = attempt.agent_runs[-1] if attempt.agent_runs else None
    started, finished = details[attempt.started_seq], details[run.seq] if run else {}
    return {
        "schema": SCHEMA,
        "cursor": cursor,
        "task": task.id,
        "attempt": request.attempt,
        "agent": attempt.agent_title or None,
        "from": attempt.start.isoformat(),
        "until": attempt.until.isoformat() if attempt.until else None,
        "ended": end_word(attempt),
        "fresh": started.get("fresh"),
        "base": attempt.base or None,
        "head": attempt.head or None,
        "snapshot": started.get("snapshot") or None,
        "prompt": _prompt(details[attempt.prompt.seq]) if attempt.prompt else None,
        "exit": _exit(finished["exit"]) if finished else None,
        "changed": finished.get("changed"),
        "findings": [_finding(check, details[check.seq]) for check in attempt.checks],
        "evidence": evidence_document(collect_evidence(attempt, task.spec)),
        "decision": _decision(context, task, request.attempt, entries),
        "logs": list(_logs(context, task, request.attempt)),
    }


def _load_attempt(
    context: RequestContext, task: Task, number: int
) -> tuple[Sequence[JournalEntry], Attempt]:
    """The journal of the task, and one of its attempts."""
    entries = load_task_journal(context.app, task.id)
    attempt = build_history(entries).numbered_attempts.get(number)
    if attempt is None:
        raise Unknown(
            f"{task.id} has no attempt {number}", hint=f"it had {task.attempt}: yaoki why {task.id}"
        )
    return entries, attempt


def _prompt(data: Mapping[str, Any]) -> Document:
    keys = ("kind", "pattern", "path", "fault", "conversation", "draw")
    words = {key: data.get(key) or None for key in keys}
    return {**words, "steps": list(data.get("steps", ())), "bytes": data.get("bytes", 0)}


def _exit(exit_data: Mapping[str, Any]) -> Document:
    numbers = ("code", "signal", "seconds", "cost", "tokens", "turns")
    words = ("ended_by", "limit", "error", "said", "question", "session", "start_error")
    return {
        **{key: exit_data.get(key) for key in numbers},
        **{key: exit_data.get(key) or None for key in words},
    }


def _finding(check: CheckResult, data: Mapping[str, Any]) -> Document:
    same = ("check", "outcome", "commit", "message", "exit_code", "seconds", "tests")
    mutants = check.mutants
    return {
        "at": check.at.isoformat(),
        **{key: data.get(key) for key in same},
        "required": check.required,
        "pattern": data.get("pattern") or None,
        "known_failures": check.known_count,
        "mutants": {"killed": mutants.killed, "survived": mutants.survived} if mutants else None,
        "quarantined": [dict(entry) for entry in check.quarantined],
        "items": list(data.get("items", ()))[:ITEMS_MAX],
        "log": bool(check.log),
    }


def _decision(
    context: RequestContext, task: Task, number: int, entries: Sequence[JournalEntry]
) -> Document | None:
    view = context.view(task.run_id)
    task_view = next(one for one in view.tasks if one.row.id == task.id)
    explanation = explain(task_view, entries, context.now, {})
    decisions = explanation_document(explanation)["decisions"]
    return next((one for one in decisions if one["attempt"] == number), None)


# ------------------------------------------------------------------ logs and diffs


def _logs(context: RequestContext, task: Task, number: int) -> Iterator[Document]:
    """`check:NAME` is the execution of the verdict; others go by the names of their folders."""
    home = find_log_folder(context.app, task, number)
    yield from _log_sizes(home, "", None)
    executions = list_check_executions(context.app, task, number)
    for check in dict.fromkeys(one.check for one in executions):
        chosen = select_execution(executions, task, number, check)
        place = execution_folder(context.app, task, number, chosen)
        yield from _log_sizes(place, f"{CHECK_LOG}{check}", None)
        others = [one for one in executions if one.check == check and one is not chosen]
        shown = [one for one in others if one.purpose is not CheckRunPurpose.MUTANT]
        for one in shown[-EXECUTIONS_MAX:]:
            place = execution_folder(context.app, task, number, one)
            yield from _log_sizes(place, f"{EXECUTION_LOG}{one.name}", one)


def _log_sizes(place: Path, what: str, execution: CheckExecution | None) -> Iterator[Document]:
    purpose = execution.purpose.value if execution else None
    for name, file in LOG_FILES.items():
        size = _size(place / file)
        if size is not None:
            yield {"file": _log_name(what, name), "bytes": size, "purpose": purpose}


def _log_name(what: str, name: str) -> str:
    if not what:
        return name
    return what if name == "out" else f"{what}:{name}"


def _size(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None


def get_log(context: RequestContext, request: PageRequest) -> Document:
    task = context.task(request.task)
    file = _find_log(context, task, request.attempt, request.query["file"])
    start = request.query["from"]
    text, begin, until, size = read_piece(file, start, request.query["bytes"])
    document = {"task": task.id, "attempt": request.attempt, "file": request.query["file"]}
    ends = {"from": begin, "until": until, "bytes": size}
    return {"schema": SCHEMA, **document, "text": text, **ends}


def _find_log(context: RequestContext, task: Task, attempt: int, text: str) -> Path:
    """`out`, `check:NAME`, `check:NAME:err`, `execution:FOLDER` or `execution:FOLDER:err`."""
    if text in LOG_FILES:
        return find_log_file(context.app, task, attempt, text)
    channels = (name for name in ("err", "prompt") if text.endswith(f":{name}"))
    channel = next(channels, "out")
    what = text.removesuffix(f":{channel}")
    executions = list_check_executions(context.app, task, attempt)
    named = {f"{EXECUTION_LOG}{one.name}": one for one in executions}
    if what.startswith(CHECK_LOG):
        check = what.removeprefix(CHECK_LOG)
        chosen = select_execution(executions, task, attempt, check)
    elif what in named:
        chosen = named[what]
    else:
        raise Unknown(f"there is no log {text[:40]!r}", hint=f"one of: {', '.join(LOG_FILES)}")
    return find_log_file(context.app, task, attempt, channel, chosen)


def get_diff(context: RequestContext, request: PageRequest) -> Document:
    """The diff of the whole task, as `yaoki diff` shows it."""
    task = context.task(request.task)
    ends = find_diff_ends(context.app, task)
    return _diff(context, request, task, (ends.old, ends.new), landed=ends.is_landed)


def get_attempt_diff(context: RequestContext, request: PageRequest) -> Document:
    task = context.task(request.task)
    _, attempt = _load_attempt(context, task, request.attempt)
    if not attempt.head:
        raise NotNow(
            f"attempt {request.attempt} of {task.id} has no changes yet",
            hint=f"yaoki why {task.id}",
        )
    ends = (attempt.base, attempt.head)
    return {**_diff(context, request, task, ends, landed=False), "attempt": request.attempt}


def _diff(
    context: RequestContext,
    request: PageRequest,
    task: Task,
    ends: tuple[str, str],
    *,
    landed: bool,
) -> Document:
    old, new = ends
    text = context.app.workspace.contents.diff(old, new, stat=request.query["stat"])
    raw = text.encode("utf-8", "replace")
    most = request.query["bytes"]
    document = {"task": task.id, "attempt": None, "old": old, "new": new, "landed": landed}
    cut = raw[:most].decode("utf-8", "ignore")
    return {"schema": SCHEMA, **document, "diff": cut, "bytes": len(raw), "cut": len(raw) > most}
