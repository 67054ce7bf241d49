"""The shape of every answer, as JSON Schema: published in the OpenAPI document, held by tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.faces.web.graph import FIELDS as GRAPH_FIELDS
from yaoki.faces.web.waits import CAUSES as WAIT_CAUSES
from yaoki.views import SCHEMA, status_schema

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
YES: Schema = {"type": "boolean"}
ANY: Schema = {}
INSTANT: Schema = {"type": "string", "format": "date-time"}
OPEN: Schema = {"type": "object", "additionalProperties": True}
VERSION: Schema = {"const": SCHEMA}


def maybe(held: Schema) -> Schema:
    """It, or nothing."""
    kind = held.get("type")
    return {**held, "type": [kind, "null"]} if kind else {"oneOf": [held, {"type": "null"}]}


def many(held: Schema) -> Schema:
    return {"type": "array", "items": held}


def numbers(*names: str) -> Schema:
    return shape(**dict.fromkeys(names, WHOLE))


def shape(**fields: Schema) -> Schema:
    """An object with all of these fields."""
    return {"type": "object", "properties": fields, "required": sorted(fields)}


def document(**fields: Schema) -> Schema:
    return shape(schema=VERSION, **fields)


def named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


STATUS = status_schema()["properties"]
RUN_FIELDS: Schema = {
    key: held for key, held in STATUS.items() if key not in {"schema", "tasks", "notes", "next"}
}
TASK_FIELDS: Schema = STATUS["tasks"]["items"]["properties"]
SPENT: Schema = {key: TASK_FIELDS[key] for key in ("cost", "tokens")}
ENTRY: Schema = {
    "seq": WHOLE,
    "at": INSTANT,
    "run": TEXT,
    "task": maybe(TEXT),
    "subtask": maybe(TEXT),
    "attempt": WHOLE,
    "event": TEXT,
    "data": OPEN,
    "words": TEXT,
    "name": maybe(TEXT),
    "cut": YES,
}
SPAN: Schema = {"from": INSTANT, "until": maybe(INSTANT)}
DECISION = shape(
    at=INSTANT,
    attempt=WHOLE,
    decision=TEXT,
    failure=TEXT,
    reasoning=TEXT,
    rule=TEXT,
    rule_words=TEXT,
    inputs=OPEN,
    otherwise=many(TEXT),
)
TRY = shape(
    attempt=WHOLE,
    at=INSTANT,
    agent=maybe(TEXT),
    checks=OPEN,
    ended=maybe(TEXT),
    session=maybe(TEXT),
    **SPENT,
)
STRETCH = shape(
    attempt=WHOLE,
    agent=maybe(TEXT),
    ended=maybe(TEXT),
    failure=maybe(TEXT),
    stages=many(shape(stage=TEXT, **SPAN)),
    checks=many(shape(check=TEXT, outcome=TEXT, seconds=NUMBER, until=INSTANT)),
    **SPAN,
)
WAIT = shape(
    cause={"enum": ["NEEDS", "SLOT", "PAUSED", "BACKOFF", "LIMIT", "PERSON", "HELD", "LEASE"]},
    words=TEXT,
    **SPAN,
)
LINEAGE = shape(
    first=TEXT,
    replaces=maybe(TEXT),
    replaced_by=maybe(TEXT),
    group=maybe(TEXT),
    needs=many(TEXT),
    needed_by=many(TEXT),
    inside=many(TEXT),
)
FINDING = shape(
    at=INSTANT,
    check=TEXT,
    outcome=TEXT,
    required=YES,
    commit=maybe(TEXT),
    pattern=maybe(TEXT),
    message=maybe(TEXT),
    tests=maybe(WHOLE),
    known_failures=WHOLE,
    items=many(shape(name=TEXT, message=TEXT, where=TEXT)),
    exit_code=maybe(WHOLE),
    seconds=NUMBER,
    log=YES,
)
EXIT = shape(
    code=maybe(WHOLE),
    signal=maybe(WHOLE),
    seconds=maybe(NUMBER),
    cost=maybe(NUMBER),
    tokens=maybe(WHOLE),
    turns=maybe(WHOLE),
    **dict.fromkeys(("ended_by", "limit", "error", "said", "question"), maybe(TEXT)),
    **dict.fromkeys(("session", "start_error"), maybe(TEXT)),
)
PROMPT = shape(
    **dict.fromkeys(("kind", "pattern", "path", "fault"), maybe(TEXT)),
    steps=many(TEXT),
    bytes=WHOLE,
)
POINT = shape(
    at=INSTANT,
    **dict.fromkeys(("total", "done", "escalated", "cancelled", "open", "agent_runs"), WHOLE),
    **SPENT,
)
WORKER = shape(
    **dict.fromkeys(("holder", "host", "name", "state"), TEXT),
    slots=WHOLE,
    tags=many(TEXT),
    runs=many(TEXT),
    background=YES,
    waits=maybe(TEXT),
    since=INSTANT,
    heartbeat=INSTANT,
    tasks=many(TEXT),
)
BUDGET = shape(
    whose={"enum": ["run", "day"]},
    run=TEXT,
    name=TEXT,
    used=NUMBER,
    limit=NUMBER,
    share=NUMBER,
    granted=WHOLE,
)
CURE = shape(
    pattern=TEXT,
    prompt=TEXT,
    **dict.fromkeys(("sent", "cured", "not_cured", "open"), WHOLE),
    rate=maybe(NUMBER),
)
QUESTION = shape(
    run=TEXT,
    goal=TEXT,
    task=named("Task"),
    since=maybe(INSTANT),
    **dict.fromkeys(("message", "failure", "check", "worktree"), maybe(TEXT)),
    waivable=many(TEXT),
    required=YES,
    blocks=WHOLE,
)
COUNTS = numbers(
    *("kills_survived", "leases_expired", "results_refused", "attempts_lost", "dead_letters"),
    *("reconciled", "landings_verified_again", "snapshots_restored", "landings", "attempts"),
)
WAITS: Schema = shape(
    cause={"enum": list(WAIT_CAUSES)},
    names=many(TEXT),
    names_left_out=WHOLE,
    account=maybe(TEXT),
    seconds=maybe(WHOLE),
    words=TEXT,
)
TALLY: Schema = {"type": "object", "additionalProperties": WHOLE}
ACT = {"enum": ["answer", "retry", "cancel", "undo"]}
DIFF: Schema = {
    **dict.fromkeys(("task", "old", "new", "diff"), TEXT),
    "attempt": maybe(WHOLE),
    "landed": YES,
    "bytes": WHOLE,
    "cut": YES,
}

SCHEMAS: Mapping[str, Schema] = {
    "Error": document(
        error=shape(code=TEXT, sentence=TEXT, hint=TEXT, defects=many(TEXT), exit_code=WHOLE)
    ),
    "Run": shape(**RUN_FIELDS),
    "Task": shape(**TASK_FIELDS, waits_for=maybe(TEXT), waits=maybe(WAITS)),
    "Entry": shape(**ENTRY),
    "Session": document(
        may={"enum": ["act", "look"]},
        **dict.fromkeys(("version", "repository", "folder", "language"), TEXT),
        now=INSTANT,
        cursor=WHOLE,
        has_store=YES,
        newest=maybe(TEXT),
    ),
    "Runs": document(
        cursor=WHOLE,
        runs=many(shape(**RUN_FIELDS, blocked=maybe(WHOLE), carried=YES, proofs=TALLY)),
        next_cursor=maybe(TEXT),
    ),
    "RunHead": document(
        **RUN_FIELDS,
        cursor=WHOLE,
        notes=many(TEXT),
        next=TEXT,
        asking=many(TEXT),
        landed=WHOLE,
        planned=WHOLE,
        carried=YES,
        moved_at=INSTANT,
        seconds=NUMBER,
        agent_runs=WHOLE,
        parallel=WHOLE,
        phases=many(TEXT),
        blocked=WHOLE,
        held=WHOLE,
        proofs=TALLY,
        actions=many({"enum": ["cancel", "go"]}),
    ),
    "Tasks": document(
        cursor=WHOLE,
        run=TEXT,
        total=WHOLE,
        matched=WHOLE,
        tasks=many(named("Task")),
        next_cursor=maybe(TEXT),
    ),
    "Graph": document(
        cursor=WHOLE,
        run=TEXT,
        layers=WHOLE,
        fields={"const": list(GRAPH_FIELDS)},
        nodes=many({"type": "array", "minItems": len(GRAPH_FIELDS), "maxItems": len(GRAPH_FIELDS)}),
        edges=many({"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}),
    ),
    "Timeline": document(
        cursor=WHOLE,
        run=TEXT,
        now=INSTANT,
        rows=many(
            shape(
                **dict.fromkeys(("task", "name", "state"), TEXT),
                **dict.fromkeys(("n", "needs_left_out"), WHOLE),
                **dict.fromkeys(("blocked", "held"), YES),
                needs=many(TEXT),
                attempts=many(STRETCH),
                waits=many(WAIT),
            )
        ),
        next_cursor=maybe(TEXT),
        **{"from": INSTANT, "until": INSTANT},
    ),
    "Burndown": document(run=TEXT, cursor=WHOLE, complete=YES, points=many(POINT)),
    "TaskStory": document(
        cursor=WHOLE,
        run=TEXT,
        task=named("Task"),
        headline=TEXT,
        waits_for=maybe(TEXT),
        decisions=many(DECISION),
        attempts=many(TRY),
        proven=OPEN,
        message=maybe(TEXT),
        goal=TEXT,
        **dict.fromkeys(("checks", "agents", "scope", "waivable", "warnings"), many(TEXT)),
        lineage=LINEAGE,
        worktree=maybe(TEXT),
        holder=maybe(TEXT),
        lease_until=maybe(INSTANT),
        actions=many(ACT),
    ),
    "Attempt": document(
        cursor=WHOLE,
        task=TEXT,
        attempt=WHOLE,
        ended=maybe(TEXT),
        fresh=maybe(YES),
        **dict.fromkeys(("agent", "base", "head", "snapshot"), maybe(TEXT)),
        prompt=maybe(PROMPT),
        exit=maybe(EXIT),
        changed=maybe(WHOLE),
        findings=many(FINDING),
        decision=maybe(DECISION),
        logs=many(shape(file=TEXT, bytes=WHOLE)),
        **{"from": maybe(INSTANT), "until": maybe(INSTANT)},
    ),
    "Log": document(
        **dict.fromkeys(("task", "file", "text"), TEXT),
        **dict.fromkeys(("attempt", "from", "until", "bytes"), WHOLE),
    ),
    "Diff": document(**DIFF),
    "Journal": document(cursor=WHOLE, entries=many(named("Entry")), next_cursor=maybe(TEXT)),
    "JournalEntry": document(entry=named("Entry")),
    "NeedsYou": document(
        cursor=WHOLE,
        total=WHOLE,
        asking=many(QUESTION),
        paused=many(shape(run=TEXT, goal=TEXT, paused=TEXT, choices=many(TEXT), next=TEXT)),
    ),
    "Workers": document(cursor=WHOLE, now=INSTANT, workers=many(WORKER)),
    "Limits": document(
        cursor=WHOLE,
        now=INSTANT,
        accounts=many(shape(name=TEXT, until=INSTANT, why=TEXT, probe=maybe(TEXT))),
        budgets=many(BUDGET),
        limits=OPEN,
        room=numbers("disk_free_bytes", "memory_free_bytes"),
    ),
    "Prompts": document(cursor=WHOLE, complete=YES, prompts=many(CURE)),
    "Reliability": document(
        cursor=WHOLE,
        complete=YES,
        since=maybe(INSTANT),
        counts=COUNTS,
        refused=TALLY,
        reconciled=TALLY,
        recent=many(named("Entry")),
    ),
    "Config": document(
        file=maybe(TEXT),
        settings={"type": "object", "additionalProperties": shape(value=ANY, origin=TEXT)},
    ),
    "Answered": document(task=TEXT, answer=TEXT, state=TEXT, next=TEXT),
    "Undone": document(task=TEXT, state=TEXT, undo_wanted=YES, next=TEXT),
    "Cancelled": document(
        run=TEXT, status=TEXT, cancelled=many(TEXT), ending=many(TEXT), kept=many(TEXT)
    ),
    "Went": document(run=TEXT, paused=maybe(TEXT), status=TEXT, next=TEXT),
    "OpenApi": shape(openapi=TEXT, info=OPEN, paths=OPEN, components=OPEN, security=many(OPEN)),
}
