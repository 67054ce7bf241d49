"""The JSON Schema of every response, published in the OpenAPI document and tested."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.faces.web.graph import NODE_FIELDS as GRAPH_FIELDS
from yaoki.faces.web.schema_parts import (
    ACCOUNTS,
    ACT,
    ANSWER,
    ANY,
    BOOLEAN,
    BUDGET,
    COUNTS,
    CURE,
    DECISION,
    DIFF,
    ENTRY,
    EVIDENCE,
    EXIT,
    FINDING,
    FORECAST,
    FORECAST_SCORE,
    INSTANT,
    INTEGER,
    LINEAGE,
    NUMBER,
    OPEN,
    POINT,
    PROMPT,
    QUESTION,
    RACE,
    RETRY_SUBJECT,
    RUN_FIELDS,
    STRETCH,
    TALLY,
    TASK_FIELDS,
    TEXT,
    TREATMENT,
    TRY,
    WAIT,
    WAITS,
    WORKER,
    Schema,
    array_of,
    document_of,
    integers,
    nullable,
    object_of,
    schema_reference,
)

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
        accounts=ACCOUNTS,
        forecast=nullable(FORECAST),
        forecast_score=nullable(FORECAST_SCORE),
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
        answers=array_of(ANSWER),
        attempts=array_of(TRY),
        proven=OPEN,
        survivors=array_of(TEXT),
        races=array_of(RACE),
        message=nullable(TEXT),
        goal=TEXT,
        **dict.fromkeys(("checks", "agents", "scope", "waivable", "warnings"), array_of(TEXT)),
        retry_subject=RETRY_SUBJECT,
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
        evidence=EVIDENCE,
        decision=nullable(DECISION),
        logs=array_of(object_of(file=TEXT, bytes=INTEGER, purpose=nullable(TEXT))),
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
        accounts=ACCOUNTS,
        budgets=array_of(BUDGET),
        limits=OPEN,
        room=integers("disk_free_bytes", "memory_free_bytes"),
    ),
    "Prompts": document_of(
        cursor=INTEGER,
        complete=BOOLEAN,
        prompts=array_of(CURE),
        treatments=array_of(TREATMENT),
    ),
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
    "Answered": document_of(task=TEXT, answer=TEXT, state=TEXT, worker=BOOLEAN, next=TEXT),
    "Undone": document_of(task=TEXT, state=TEXT, undo_wanted=BOOLEAN, next=TEXT),
    "Cancelled": document_of(
        run=TEXT, status=TEXT, cancelled=array_of(TEXT), ending=array_of(TEXT), kept=array_of(TEXT)
    ),
    "Went": document_of(run=TEXT, paused=nullable(TEXT), status=TEXT, next=TEXT),
    "OpenApi": object_of(
        openapi=TEXT, info=OPEN, paths=OPEN, components=OPEN, security=array_of(OPEN)
    ),
}
