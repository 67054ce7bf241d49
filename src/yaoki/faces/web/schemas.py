"""The JSON Schema of every response, published in the OpenAPI document and tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.faces.web.graph import NODE_FIELDS as GRAPH_FIELDS
from yaoki.faces.web.waits import WAIT_CAUSES as WAIT_CAUSES
from yaoki.views import SCHEMA, status_schema
from yaoki.views.history.values import WaitCause

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
ANY: Schema = {}
INSTANT: Schema = {"type": "string", "format": "date-time"}
OPEN: Schema = {"type": "object", "additionalProperties": True}
VERSION: Schema = {"const": SCHEMA}


def nullable(held: Schema) -> Schema:
    """The schema, or null."""
    kind = held.get("type")
    return {**held, "type": [kind, "null"]} if kind else {"oneOf": [held, {"type": "null"}]}


def array_of(held: Schema) -> Schema:
    return {"type": "array", "items": held}


def integers(*names: str) -> Schema:
    return object_of(**dict.fromkeys(names, INTEGER))


def object_of(**fields: Schema) -> Schema:
    """An object with all of these fields."""
    return {"type": "object", "properties": fields, "required": sorted(fields)}


def document_of(**fields: Schema) -> Schema:
    return object_of(schema=VERSION, **fields)


def schema_reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


STATUS = status_schema()["properties"]
RUN_FIELDS: Schema = {
    key: held for key, held in STATUS.items() if key not in {"schema", "tasks", "notes", "next"}
}
TASK_FIELDS: Schema = STATUS["tasks"]["items"]["properties"]
SPENT: Schema = {key: TASK_FIELDS[key] for key in ("cost", "tokens")}
ENTRY: Schema = {
    "seq": INTEGER,
    "at": INSTANT,
    "run": TEXT,
    "task": nullable(TEXT),
    "subtask": nullable(TEXT),
    "attempt": INTEGER,
    "event": TEXT,
    "data": OPEN,
    "words": TEXT,
    "name": nullable(TEXT),
    "cut": BOOLEAN,
}
SPAN: Schema = {"from": INSTANT, "until": nullable(INSTANT)}
DECISION = object_of(
    at=INSTANT,
    attempt=INTEGER,
    decision=TEXT,
    failure=TEXT,
    reasoning=TEXT,
    rule=TEXT,
    rule_words=TEXT,
    inputs=OPEN,
    otherwise=array_of(TEXT),
)
TRY = object_of(
    attempt=INTEGER,
    at=INSTANT,
    agent=nullable(TEXT),
    checks=OPEN,
    ended=nullable(TEXT),
    session=nullable(TEXT),
    **SPENT,
)
STRETCH = object_of(
    attempt=INTEGER,
    agent=nullable(TEXT),
    ended=nullable(TEXT),
    failure=nullable(TEXT),
    stages=array_of(object_of(stage=TEXT, **SPAN)),
    checks=array_of(object_of(check=TEXT, outcome=TEXT, seconds=NUMBER, until=INSTANT)),
    **SPAN,
)
WAIT = object_of(
    cause={"enum": [cause.value for cause in WaitCause]},
    words=TEXT,
    **SPAN,
)
LINEAGE = object_of(
    first=TEXT,
    replaces=nullable(TEXT),
    replaced_by=nullable(TEXT),
    group=nullable(TEXT),
    needs=array_of(TEXT),
    needed_by=array_of(TEXT),
    inside=array_of(TEXT),
)
FINDING = object_of(
    at=INSTANT,
    check=TEXT,
    outcome=TEXT,
    required=BOOLEAN,
    commit=nullable(TEXT),
    pattern=nullable(TEXT),
    message=nullable(TEXT),
    tests=nullable(INTEGER),
    known_failures=INTEGER,
    items=array_of(object_of(name=TEXT, message=TEXT, where=TEXT)),
    exit_code=nullable(INTEGER),
    seconds=NUMBER,
    log=BOOLEAN,
)
EXIT = object_of(
    code=nullable(INTEGER),
    signal=nullable(INTEGER),
    seconds=nullable(NUMBER),
    cost=nullable(NUMBER),
    tokens=nullable(INTEGER),
    turns=nullable(INTEGER),
    **dict.fromkeys(("ended_by", "limit", "error", "said", "question"), nullable(TEXT)),
    **dict.fromkeys(("session", "start_error"), nullable(TEXT)),
)
PROMPT = object_of(
    **dict.fromkeys(("kind", "pattern", "path", "fault"), nullable(TEXT)),
    steps=array_of(TEXT),
    bytes=INTEGER,
)
POINT = object_of(
    at=INSTANT,
    **dict.fromkeys(("total", "done", "escalated", "cancelled", "open", "agent_runs"), INTEGER),
    **SPENT,
)
WORKER = object_of(
    **dict.fromkeys(("holder", "host", "name", "state"), TEXT),
    slots=INTEGER,
    tags=array_of(TEXT),
    runs=array_of(TEXT),
    background=BOOLEAN,
    waits=nullable(TEXT),
    since=INSTANT,
    heartbeat=INSTANT,
    tasks=array_of(TEXT),
)
BUDGET = object_of(
    whose={"enum": ["run", "day"]},
    run=TEXT,
    name=TEXT,
    used=NUMBER,
    limit=NUMBER,
    share=NUMBER,
    granted=INTEGER,
)
CURE = object_of(
    pattern=TEXT,
    prompt=TEXT,
    **dict.fromkeys(("sent", "cured", "not_cured", "open"), INTEGER),
    rate=nullable(NUMBER),
)
QUESTION = object_of(
    run=TEXT,
    goal=TEXT,
    task=schema_reference("Task"),
    since=nullable(INSTANT),
    **dict.fromkeys(("message", "failure", "check", "worktree"), nullable(TEXT)),
    waivable=array_of(TEXT),
    required=BOOLEAN,
    blocks=INTEGER,
)
COUNTS = integers(
    *("kills_survived", "leases_expired", "results_refused", "attempts_lost", "dead_letters"),
    *("reconciled", "landings_verified_again", "snapshots_restored", "landings", "attempts"),
)
WAITS: Schema = object_of(
    cause={"enum": list(WAIT_CAUSES)},
    names=array_of(TEXT),
    names_left_out=INTEGER,
    account=nullable(TEXT),
    seconds=nullable(INTEGER),
    words=TEXT,
)
TALLY: Schema = {"type": "object", "additionalProperties": INTEGER}
ACT = {"enum": ["answer", "retry", "cancel", "undo"]}
DIFF: Schema = {
    **dict.fromkeys(("task", "old", "new", "diff"), TEXT),
    "attempt": nullable(INTEGER),
    "landed": BOOLEAN,
    "bytes": INTEGER,
    "cut": BOOLEAN,
}

SCHEMAS: Mapping[str, Schema] = {
    "Error": document_of(
        error=object_of(
            code=TEXT, sentence=TEXT, hint=TEXT, defects=array_of(TEXT), exit_code=INTEGER
        )
    ),
    "Run": object_of(**RUN_FIELDS),
    "Task": object_of(**TASK_FIELDS, waits_for=nullable(TEXT), waits=nullable(WAITS)),
    "Entry": object_of(**ENTRY),
    "Session": document_of(
        may={"enum": ["act", "look"]},
        **dict.fromkeys(("version", "repository", "folder", "language"), TEXT),
        now=INSTANT,
        cursor=INTEGER,
        has_store=BOOLEAN,
        newest=nullable(TEXT),
    ),
    "Runs": document_of(
        cursor=INTEGER,
        runs=array_of(
            object_of(**RUN_FIELDS, blocked=nullable(INTEGER), carried=BOOLEAN, proofs=TALLY)
        ),
        next_cursor=nullable(TEXT),
    ),
    "RunHead": document_of(
        **RUN_FIELDS,
        cursor=INTEGER,
        notes=array_of(TEXT),
        next=TEXT,
        asking=array_of(TEXT),
        landed=INTEGER,
        planned=INTEGER,
        carried=BOOLEAN,
        moved_at=INSTANT,
        seconds=NUMBER,
        agent_runs=INTEGER,
        parallel=INTEGER,
        phases=array_of(TEXT),
        blocked=INTEGER,
        held=INTEGER,
        proofs=TALLY,
        actions=array_of({"enum": ["cancel", "go"]}),
    ),
    "Tasks": document_of(
        cursor=INTEGER,
        run=TEXT,
        total=INTEGER,
        matched=INTEGER,
        tasks=array_of(schema_reference("Task")),
        next_cursor=nullable(TEXT),
    ),
    "Graph": document_of(
        cursor=INTEGER,
        run=TEXT,
        layers=INTEGER,
        fields={"const": list(GRAPH_FIELDS)},
        nodes=array_of(
            {"type": "array", "minItems": len(GRAPH_FIELDS), "maxItems": len(GRAPH_FIELDS)}
        ),
        edges=array_of({"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2}),
    ),
    "Timeline": document_of(
        cursor=INTEGER,
        run=TEXT,
        now=INSTANT,
        rows=array_of(
            object_of(
                **dict.fromkeys(("task", "name", "state"), TEXT),
                **dict.fromkeys(("n", "needs_left_out"), INTEGER),
                **dict.fromkeys(("blocked", "held"), BOOLEAN),
                needs=array_of(TEXT),
                attempts=array_of(STRETCH),
                waits=array_of(WAIT),
            )
        ),
        next_cursor=nullable(TEXT),
        **{"from": INSTANT, "until": INSTANT},
    ),
    "Burndown": document_of(run=TEXT, cursor=INTEGER, complete=BOOLEAN, points=array_of(POINT)),
    "TaskStory": document_of(
        cursor=INTEGER,
        run=TEXT,
        task=schema_reference("Task"),
        headline=TEXT,
        waits_for=nullable(TEXT),
        decisions=array_of(DECISION),
        attempts=array_of(TRY),
        proven=OPEN,
        message=nullable(TEXT),
        goal=TEXT,
        **dict.fromkeys(("checks", "agents", "scope", "waivable", "warnings"), array_of(TEXT)),
        lineage=LINEAGE,
        worktree=nullable(TEXT),
        holder=nullable(TEXT),
        lease_until=nullable(INSTANT),
        actions=array_of(ACT),
    ),
    "Attempt": document_of(
        cursor=INTEGER,
        task=TEXT,
        attempt=INTEGER,
        ended=nullable(TEXT),
        fresh=nullable(BOOLEAN),
        **dict.fromkeys(("agent", "base", "head", "snapshot"), nullable(TEXT)),
        prompt=nullable(PROMPT),
        exit=nullable(EXIT),
        changed=nullable(INTEGER),
        findings=array_of(FINDING),
        decision=nullable(DECISION),
        logs=array_of(object_of(file=TEXT, bytes=INTEGER)),
        **{"from": nullable(INSTANT), "until": nullable(INSTANT)},
    ),
    "Log": document_of(
        **dict.fromkeys(("task", "file", "text"), TEXT),
        **dict.fromkeys(("attempt", "from", "until", "bytes"), INTEGER),
    ),
    "Diff": document_of(**DIFF),
    "Journal": document_of(
        cursor=INTEGER, entries=array_of(schema_reference("Entry")), next_cursor=nullable(TEXT)
    ),
    "JournalEntry": document_of(entry=schema_reference("Entry")),
    "NeedsYou": document_of(
        cursor=INTEGER,
        total=INTEGER,
        asking=array_of(QUESTION),
        paused=array_of(
            object_of(run=TEXT, goal=TEXT, paused=TEXT, choices=array_of(TEXT), next=TEXT)
        ),
    ),
    "Workers": document_of(cursor=INTEGER, now=INSTANT, workers=array_of(WORKER)),
    "Limits": document_of(
        cursor=INTEGER,
        now=INSTANT,
        accounts=array_of(object_of(name=TEXT, until=INSTANT, why=TEXT, probe=nullable(TEXT))),
        budgets=array_of(BUDGET),
        limits=OPEN,
        room=integers("disk_free_bytes", "memory_free_bytes"),
    ),
    "Prompts": document_of(cursor=INTEGER, complete=BOOLEAN, prompts=array_of(CURE)),
    "Reliability": document_of(
        cursor=INTEGER,
        complete=BOOLEAN,
        since=nullable(INSTANT),
        counts=COUNTS,
        refused=TALLY,
        reconciled=TALLY,
        recent=array_of(schema_reference("Entry")),
    ),
    "Config": document_of(
        file=nullable(TEXT),
        settings={"type": "object", "additionalProperties": object_of(value=ANY, origin=TEXT)},
    ),
    "Answered": document_of(task=TEXT, answer=TEXT, state=TEXT, next=TEXT),
    "Undone": document_of(task=TEXT, state=TEXT, undo_wanted=BOOLEAN, next=TEXT),
    "Cancelled": document_of(
        run=TEXT, status=TEXT, cancelled=array_of(TEXT), ending=array_of(TEXT), kept=array_of(TEXT)
    ),
    "Went": document_of(run=TEXT, paused=nullable(TEXT), status=TEXT, next=TEXT),
    "OpenApi": object_of(
        openapi=TEXT, info=OPEN, paths=OPEN, components=OPEN, security=array_of(OPEN)
    ),
}
