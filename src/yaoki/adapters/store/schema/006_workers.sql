-- Workers of the store, the tags that tasks require of a worker, and the port ranges of worktrees.
-- A worker whose last heartbeat is too old counts as gone.

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

-- The tags that a task requires, sorted and joined by commas; `run_tags` has each different list of a
-- run once.
ALTER TABLE tasks ADD COLUMN tags TEXT NOT NULL DEFAULT '';
CREATE TABLE run_tags (
    run_id TEXT NOT NULL,
    tags   TEXT NOT NULL,
    PRIMARY KEY (run_id, tags)
);

-- One range of ports per worktree and machine.
CREATE TABLE leased_ports (
    task_id TEXT PRIMARY KEY,
    host    TEXT NOT NULL,
    base    INTEGER NOT NULL,
    ports   INTEGER NOT NULL,
    UNIQUE (host, base)
);
