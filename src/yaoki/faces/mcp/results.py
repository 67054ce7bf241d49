"""The result that an agent reports for its own attempt: a claim, never a proof.

It is checked against the store, recorded once, and written to the attempt's result file, where
the worker reads it like any other agent's note.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.agents.result_file import BYTES_MAX, RESULT, TEXT_MAX, WAIT_MAX_S, ResultStatus
from yaoki.adapters.system.files import read_plain_bytes, write_atomically
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.machine.events import Event
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import replace_lone_surrogates
from yaoki.errors import OverLimit, Unknown
from yaoki.faces.mcp.caller import CallingAttempt, CallRefusal, amend_task, call_refused
from yaoki.faces.mcp.secrets import agent_secrets
from yaoki.ports import OUTBOX, SANDBOX_VARIABLE

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Task
    from yaoki.faces.mcp.call_context import CallContext
    from yaoki.ports import JournalEntry

RESULT_NOTED = "RESULT_NOTED"
CLAIMS_MAX = 16


@dataclass(frozen=True, slots=True)
class ResultClaim:
    """`retry_safe` by default, unless partial changes are reported."""

    status: ResultStatus
    summary: str = ""
    question: str = ""
    retry_safe: bool | None = None
    partial_changes: bool = False
    retry_after_s: float | None = None


def claim_defect(claim: ResultClaim) -> str:
    """The defect of a claim in words; empty when it is valid."""
    if claim.status is ResultStatus.NONE:
        return "a status is needed"
    if claim.status is ResultStatus.QUESTION and not claim.question.strip():
        return "a question is needed for status question"
    if claim.status is not ResultStatus.QUESTION and claim.question:
        return f"a question does not go with status {claim.status}"
    if claim.status is not ResultStatus.QUESTION and not claim.summary.strip():
        return "a summary is needed: one sentence that says what happened"
    unsafe = (
        claim.retry_safe is not None or claim.partial_changes or claim.retry_after_s is not None
    )
    if claim.status is not ResultStatus.FAILED and unsafe:
        return "retry_safe, partial_changes and retry_after are only for status failed"
    if claim.retry_after_s is not None and not 0 <= claim.retry_after_s <= WAIT_MAX_S:
        return f"retry_after is in seconds, 0 to {WAIT_MAX_S:.0f}"
    return ""


def record_claim(
    app: App, caller: CallingAttempt, claim: ResultClaim, environ: Mapping[str, str]
) -> Task:
    """Record the claim once.  A repetition is refused by name; another claim replaces it."""
    record = _stored_form(caller, claim, _secrets(app, caller, environ))
    ignored: list[bool] = []

    def then(entries: Sequence[JournalEntry]) -> Sequence[Event]:
        mine = [e.data for e in entries if e.event == RESULT_NOTED and e.attempt == caller.attempt]
        ignored.append(bool(mine) and mine[-1] == record)
        if ignored[-1]:
            return ()
        if len(mine) >= CLAIMS_MAX:
            hint = "finish the work; the last result counts"
            raise OverLimit("results of one attempt", len(mine) + 1, CLAIMS_MAX, hint=hint)
        return (JournalNote(RESULT_NOTED, record),)

    task = amend_task(app, caller, "result", then)
    file = app.runs_folder / task.run_id / task.id / str(caller.attempt) / OUTBOX / RESULT
    # After a kill between journal and file, the next call writes the file.
    if not _write_note(file, record) and ignored[-1]:
        words = f"{task.id}: this result is already recorded"
        raise call_refused(CallRefusal.DUPLICATE, words, hint="nothing was changed; continue")
    return task


def submit_claim(context: CallContext, claim: ResultClaim) -> CallingAttempt:
    """Record an agent's claim about its attempt; inside the sandbox only in its outbox.

    The sandbox cannot reach the store; the worker finds the note when the attempt ends.
    """
    if not context.environ.get(SANDBOX_VARIABLE):
        with context.open_for_attempt() as (app, caller):
            record_claim(app, caller, claim, context.environ)
        return caller
    caller = context.require_caller()
    record = _stored_form(caller, claim, secret_values(context.environ))
    _write_note(Path(context.environ["YAOKI_RESULT"]), record)
    return caller


def _secrets(app: App, caller: CallingAttempt, environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        task = app.reads.task(caller.task_id)
    except Unknown:  # `amend_task` refuses it and records the refusal
        return secret_values(environ)
    return agent_secrets(app.reads.run(task.run_id), task, environ)


def _stored_form(
    caller: CallingAttempt, claim: ResultClaim, secrets: tuple[str, ...]
) -> dict[str, Any]:
    """The claim as it is stored: limited in size and without secrets."""
    safe = not claim.partial_changes if claim.retry_safe is None else claim.retry_safe
    whole = replace(
        claim,
        summary=_clean("the summary", claim.summary, secrets),
        question=_clean("the question", claim.question, secrets),
        retry_safe=safe,
    )
    values = {key: value for key, value in asdict(whole).items() if value not in ("", None)}
    return {**values, "epoch": caller.epoch}


def _clean(what: str, text: str, secrets: tuple[str, ...]) -> str:
    if len(text) > TEXT_MAX:
        raise OverLimit(what, len(text), TEXT_MAX, hint="shorten it; the limit is in characters")
    words = replace_lone_surrogates(text.replace("\0", ""))
    return mask(words.strip(), secrets)


def _write_note(file: Path, record: Mapping[str, Any]) -> bool:
    """Write the note to the attempt's folder; False when it exists already."""
    data = json.dumps(dict(record), ensure_ascii=False).encode("utf-8")
    if read_plain_bytes(file, BYTES_MAX) == data:
        return False
    write_atomically(file, data)
    return True
