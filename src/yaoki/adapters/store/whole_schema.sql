-- A new store, written by `python3 dev.py generate` from the files in `schema`.

CREATE TABLE runs (
    id            TEXT PRIMARY KEY,
    goal          TEXT NOT NULL,
    repo          TEXT NOT NULL,
    base_branch   TEXT NOT NULL,
    base          TEXT NOT NULL,
    created_ms    BIGINT NOT NULL,
    catalogue     TEXT NOT NULL,
    done_when     TEXT NOT NULL,
    source        TEXT NOT NULL,
    parallel      INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    priority      INTEGER NOT NULL,
    cancel_wanted INTEGER NOT NULL DEFAULT 0,
    merged        TEXT NOT NULL DEFAULT '',
    summed_ms     BIGINT,
    tasks_made    INTEGER NOT NULL DEFAULT 0,
    paused TEXT NOT NULL DEFAULT '',
    iteration INTEGER NOT NULL DEFAULT 0,
    failures_in_row INTEGER NOT NULL DEFAULT 0,
    grants INTEGER NOT NULL DEFAULT 0,
    acknowledged INTEGER NOT NULL DEFAULT 0,
    doc TEXT NOT NULL DEFAULT '{}');

CREATE TABLE tasks (
    id            TEXT PRIMARY KEY,
    run_id        TEXT NOT NULL REFERENCES runs (id),
    n             INTEGER NOT NULL,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    state         TEXT NOT NULL,
    stage         TEXT NOT NULL,
    attempt       INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    holder        TEXT NOT NULL DEFAULT '',
    lease_ms      BIGINT NOT NULL DEFAULT 0,
    claimed_ms    BIGINT NOT NULL DEFAULT 0,
    due_ms        BIGINT NOT NULL DEFAULT 0,
    rank          BIGINT NOT NULL,
    priority      INTEGER NOT NULL,
    required      INTEGER NOT NULL,
    open_needs    INTEGER NOT NULL,
    agent         TEXT NOT NULL DEFAULT '',
    reason        TEXT NOT NULL DEFAULT '',
    cancel_wanted INTEGER NOT NULL DEFAULT 0,
    landed        TEXT NOT NULL DEFAULT '',
    doc           TEXT NOT NULL DEFAULT '{}',
    account TEXT NOT NULL DEFAULT '',
    held INTEGER NOT NULL DEFAULT 0,
    undo_wanted INTEGER NOT NULL DEFAULT 0,
    parent TEXT NOT NULL DEFAULT '',
    phase TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '',
    place TEXT NOT NULL DEFAULT '',
    queued INTEGER NOT NULL DEFAULT 0,
    recall_wanted INTEGER NOT NULL DEFAULT 0,
    other_accounts TEXT NOT NULL DEFAULT '',
    UNIQUE (run_id, n),
    UNIQUE (run_id, name)
);

CREATE INDEX tasks_active ON tasks (run_id, lease_ms) WHERE state = 'ACTIVE';

CREATE TABLE needs (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    need_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, need_id)
);

CREATE INDEX needs_by_need ON needs (need_id);

CREATE TABLE journal (
    seq     {{identity}},
    at_ms   BIGINT NOT NULL,
    run_id  TEXT NOT NULL,
    task_id TEXT NOT NULL DEFAULT '',
    subtask TEXT NOT NULL DEFAULT '',
    attempt INTEGER NOT NULL DEFAULT 0,
    event   TEXT NOT NULL,
    data    TEXT NOT NULL
);

CREATE INDEX journal_by_task ON journal (task_id, seq);

CREATE INDEX journal_by_run ON journal (run_id, seq);

CREATE TABLE accounts (
    name     TEXT PRIMARY KEY,
    until_ms BIGINT NOT NULL,
    probe    TEXT NOT NULL DEFAULT '',
    why      TEXT NOT NULL DEFAULT '',
    problem TEXT NOT NULL DEFAULT '',
    since_ms BIGINT NOT NULL DEFAULT 0,
    probes INTEGER NOT NULL DEFAULT 0,
    promised_ms BIGINT NOT NULL DEFAULT 0,
    asking TEXT NOT NULL DEFAULT '',
    avoided INTEGER NOT NULL DEFAULT 0);

CREATE INDEX tasks_wished ON tasks (run_id, n) WHERE state = 'WAITING' AND cancel_wanted = 1;

CREATE TABLE baselines (
    commit_id TEXT NOT NULL,
    command   TEXT NOT NULL,
    finding   TEXT NOT NULL,
    PRIMARY KEY (commit_id, command)
);

CREATE INDEX tasks_ready ON tasks (run_id, rank, n)
    WHERE state = 'WAITING' AND open_needs = 0 AND held = 0;

CREATE INDEX tasks_held ON tasks (run_id, n) WHERE held = 1;

CREATE INDEX tasks_undo ON tasks (run_id, n) WHERE undo_wanted = 1;

CREATE INDEX tasks_plan ON tasks (run_id, n) WHERE kind = 'plan';

CREATE TABLE totals (
    name     TEXT PRIMARY KEY,
    money    DOUBLE PRECISION NOT NULL DEFAULT 0,
    tokens   BIGINT NOT NULL DEFAULT 0,
    seconds  DOUBLE PRECISION NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    unknown  BIGINT NOT NULL DEFAULT 0,
    warned   INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE outbox (
    id      {{identity}},
    at_ms   BIGINT NOT NULL,
    run_id  TEXT NOT NULL,
    task_id TEXT NOT NULL DEFAULT '',
    event   TEXT NOT NULL,
    channel TEXT NOT NULL,
    subject TEXT NOT NULL,
    body    TEXT NOT NULL,
    ready   INTEGER NOT NULL,
    due_ms  BIGINT NOT NULL,
    tries   INTEGER NOT NULL DEFAULT 0,
    sent_ms BIGINT NOT NULL DEFAULT 0,
    error   TEXT NOT NULL DEFAULT ''
);

CREATE INDEX outbox_due ON outbox (due_ms) WHERE sent_ms = 0 AND ready = 1;

CREATE INDEX outbox_collected ON outbox (run_id) WHERE sent_ms = 0 AND ready = 0;

CREATE TABLE session_lines (
    seq      {{identity}},
    at_ms    BIGINT NOT NULL,
    checkout TEXT NOT NULL,
    session  TEXT NOT NULL,
    event    TEXT NOT NULL,
    data     TEXT NOT NULL
);

CREATE INDEX session_lines_by_session ON session_lines (checkout, session, seq);

CREATE TABLE workers (
    holder   TEXT PRIMARY KEY,
    host     TEXT NOT NULL,
    name     TEXT NOT NULL,
    slots    INTEGER NOT NULL,
    tags     TEXT NOT NULL,
    since_ms BIGINT NOT NULL,
    beat_ms  BIGINT NOT NULL,
    gone_ms  BIGINT NOT NULL,
    runs     TEXT NOT NULL DEFAULT '',
    waits    TEXT NOT NULL DEFAULT '',
    doing    TEXT NOT NULL DEFAULT '',
    background INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE run_tags (
    run_id TEXT NOT NULL,
    tags   TEXT NOT NULL,
    PRIMARY KEY (run_id, tags)
);

CREATE TABLE leased_ports (
    task_id TEXT PRIMARY KEY,
    host    TEXT NOT NULL,
    base    INTEGER NOT NULL,
    ports   INTEGER NOT NULL,
    UNIQUE (host, base)
);

CREATE INDEX journal_archived ON journal (run_id) WHERE event = 'RUN_ARCHIVED';

CREATE TABLE trust_marks (
    mark TEXT PRIMARY KEY
);

CREATE TABLE hidden_files (
    digest  TEXT NOT NULL,
    folder  TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (digest, folder)
);

CREATE TABLE verdicts (
    verdict_key TEXT PRIMARY KEY,
    run_id      TEXT NOT NULL,
    task_id     TEXT NOT NULL,
    commit_id   TEXT NOT NULL
);

CREATE TABLE treatments (
    task_id      TEXT NOT NULL,
    attempt      INTEGER NOT NULL,
    sent_ms      BIGINT NOT NULL,
    decided_ms   BIGINT NOT NULL DEFAULT 0,
    pattern      TEXT NOT NULL,
    prompt       TEXT NOT NULL,
    agent        TEXT NOT NULL,
    conversation TEXT NOT NULL,
    cured        INTEGER,
    PRIMARY KEY (task_id, attempt)
);

CREATE INDEX treatments_by_pattern ON treatments (pattern, decided_ms);

CREATE TABLE flaky_tests (
    test          TEXT PRIMARY KEY,
    check_name    TEXT NOT NULL,
    passed        BIGINT NOT NULL,
    failed        BIGINT NOT NULL,
    always_failed BIGINT NOT NULL,
    first_ms      BIGINT NOT NULL,
    last_ms       BIGINT NOT NULL
);

CREATE TABLE flaky_sightings (
    test        TEXT NOT NULL,
    commit_id   TEXT NOT NULL,
    environment TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    task_id     TEXT NOT NULL,
    passed      BIGINT NOT NULL,
    failed      BIGINT NOT NULL,
    at_ms       BIGINT NOT NULL,
    PRIMARY KEY (test, commit_id, environment)
);

CREATE INDEX tasks_asking ON tasks (run_id, n) WHERE state = 'ESCALATED';
