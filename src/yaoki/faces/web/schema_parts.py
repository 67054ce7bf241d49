"""The parts of which the schemas of responses are made."""

from __future__ import annotations

from typing import Any

from yaoki.faces.web.waits import TaskWaitCause
from yaoki.views import SCHEMA, status_schema
from yaoki.views.choices import RetrySubject
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
ACCOUNTS: Schema = STATUS["accounts"]
LAST_MERGE: Schema = STATUS["last_merge"]
_NOT_OF_RUNS = {
    "schema",
    "tasks",
    "notes",
    "accounts",
    "forecast",
    "last_merge",
    "indistinct",
    "next",
}
RUN_FIELDS: Schema = {key: held for key, held in STATUS.items() if key not in _NOT_OF_RUNS}
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
    draw=nullable(OPEN),
)
ANSWER = object_of(
    at=INSTANT,
    attempt=INTEGER,
    choice=TEXT,
    **dict.fromkeys(("check", "words", "how"), nullable(TEXT)),
)
TRY = object_of(
    attempt=INTEGER,
    at=INSTANT,
    agent=nullable(TEXT),
    checks=OPEN,
    ended=nullable(TEXT),
    session=nullable(TEXT),
    conversation=nullable(TEXT),
    prompt_draw=nullable(OPEN),
    queue=nullable(OPEN),
    check_runs=INTEGER,
    checks_s=NUMBER,
    **SPENT,
)
CANDIDATE = object_of(
    id=TEXT,
    **dict.fromkeys(("name", "agent", "outcome", "head", "message"), nullable(TEXT)),
    **dict.fromkeys(("failed_checks", "hidden_failures"), nullable(INTEGER)),
    **dict.fromkeys(("surviving_mutants", "changed_lines"), nullable(INTEGER)),
    cost=nullable(NUMBER),
)
RACE_JUDGE = object_of(
    id=nullable(TEXT),
    agent=TEXT,
    letters={"type": "object", "additionalProperties": TEXT},
    **dict.fromkeys(("choice", "reason", "message"), nullable(TEXT)),
)
RACE = object_of(
    attempt=INTEGER,
    at=INSTANT,
    decided_at=nullable(INSTANT),
    winner=nullable(TEXT),
    criterion=nullable(TEXT),
    words=TEXT,
    judge=nullable(RACE_JUDGE),
    candidates=array_of(CANDIDATE),
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
QUANTILES = object_of(p10=NUMBER, p50=NUMBER, p90=NUMBER)
_TOLD = {
    "seconds": QUANTILES,
    "agent_runs": QUANTILES,
    "cost": nullable(QUANTILES),
    **dict.fromkeys(("asks", "over_budget"), NUMBER),
    "attempts": INTEGER,
    **dict.fromkeys(("unknown_costs", "assumed_agents"), array_of(TEXT)),
    "open_ended": BOOLEAN,
}
FORECAST = object_of(**_TOLD, done_at=object_of(p50=INSTANT, p90=INSTANT))
FORECAST_SCORE = object_of(
    told=object_of(**_TOLD),
    took=nullable(
        object_of(
            seconds=NUMBER,
            agent_runs=INTEGER,
            cost=nullable(NUMBER),
            **dict.fromkeys(("time_result", "runs_result"), TEXT),
            cost_result=nullable(TEXT),
        )
    ),
    not_compared=nullable(TEXT),
    words=TEXT,
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
    mutants=nullable(object_of(killed=INTEGER, survived=INTEGER)),
    quarantined=array_of(object_of(test=TEXT, owner=TEXT, expires=INSTANT, reason=TEXT)),
    items=array_of(object_of(name=TEXT, message=TEXT, where=TEXT)),
    exit_code=nullable(INTEGER),
    seconds=NUMBER,
    log=BOOLEAN,
)
PLACE = object_of(where=TEXT, words=TEXT)
EVIDENCE = object_of(
    commit=nullable(TEXT),
    red_first=object_of(
        asked=BOOLEAN,
        required=BOOLEAN,
        outcome=nullable(TEXT),
        tests=array_of(TEXT),
        tests_left_out=INTEGER,
        reason=nullable(TEXT),
    ),
    hidden_checks=array_of(
        object_of(
            check=TEXT,
            required=BOOLEAN,
            outcome=nullable(TEXT),
            digest=nullable(TEXT),
        )
    ),
    mutants=object_of(
        asked=BOOLEAN,
        required=BOOLEAN,
        outcome=nullable(TEXT),
        counts=nullable(integers("killed", "survived", "timed_out", "unjudged", "untried")),
        survivors=array_of(PLACE),
        survivors_left_out=INTEGER,
        reason=nullable(TEXT),
    ),
    tell_tales=object_of(
        outcome=nullable(TEXT),
        places=array_of(PLACE),
        places_left_out=INTEGER,
    ),
    indistinct=BOOLEAN,
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
    **dict.fromkeys(("kind", "pattern", "path", "fault", "conversation"), nullable(TEXT)),
    draw=nullable(OPEN),
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
_CURE_COUNTS: dict[str, Schema] = {
    **dict.fromkeys(("sent", "cured", "not_cured", "open"), INTEGER),
    "rate": nullable(NUMBER),
    "low": NUMBER,
    "high": NUMBER,
}
CURE = object_of(pattern=TEXT, prompt=TEXT, **_CURE_COUNTS)
TREATMENT = object_of(pattern=TEXT, prompt=TEXT, agent=TEXT, conversation=TEXT, **_CURE_COUNTS)
RETRY_SUBJECT: Schema = {"enum": [subject.value for subject in RetrySubject]}
QUESTION = object_of(
    run=TEXT,
    goal=TEXT,
    task=schema_reference("Task"),
    since=nullable(INSTANT),
    **dict.fromkeys(("message", "failure", "check", "worktree"), nullable(TEXT)),
    waivable=array_of(TEXT),
    retry_subject=RETRY_SUBJECT,
    required=BOOLEAN,
    blocks=INTEGER,
)
COUNTS = integers(
    *("kills_survived", "leases_expired", "results_refused", "attempts_lost", "dead_letters"),
    *("reconciled", "landings_verified_again", "snapshots_restored", "landings", "attempts"),
)
WAITS: Schema = object_of(
    cause={"enum": [cause.value for cause in TaskWaitCause]},
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
