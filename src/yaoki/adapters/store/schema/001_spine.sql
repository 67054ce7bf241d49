-- The main tables: runs, tasks, needs, journal.  Times are milliseconds since 1970, UTC.
-- A field of a task has a column only if a statement uses it; the others are JSON in `doc`.

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
    tasks_made    INTEGER NOT NULL DEFAULT 0
);

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
    -- The number of needs that are not done; a task with 0 can start.  `yaoki doctor` recounts it.
    open_needs    INTEGER NOT NULL,
    agent         TEXT NOT NULL DEFAULT '',
    reason        TEXT NOT NULL DEFAULT '',
    cancel_wanted INTEGER NOT NULL DEFAULT 0,
    landed        TEXT NOT NULL DEFAULT '',
    doc           TEXT NOT NULL DEFAULT '{}',
    UNIQUE (run_id, n),
    UNIQUE (run_id, name)
);

-- A claim reads only tasks that can start; these indexes leave out finished and blocked tasks.
CREATE INDEX tasks_ready ON tasks (run_id, rank, n) WHERE state = 'WAITING' AND open_needs = 0;
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
