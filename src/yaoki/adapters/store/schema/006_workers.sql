-- Workers: who serves the store, which tasks ask for what only some of them have, and the ranges of
-- ports that worktrees hold.  A worker whose beat is old is gone; nobody has to say so.

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

-- The tags a task needs, sorted, with commas between; `run_tags` is the few different ones per run.
ALTER TABLE tasks ADD COLUMN tags TEXT NOT NULL DEFAULT '';
CREATE TABLE run_tags (
    run_id TEXT NOT NULL,
    tags   TEXT NOT NULL,
    PRIMARY KEY (run_id, tags)
);

-- One range of ports per worktree and machine, and the name its databases may have.
CREATE TABLE leased_ports (
    task_id TEXT PRIMARY KEY,
    host    TEXT NOT NULL,
    base    INTEGER NOT NULL,
    ports   INTEGER NOT NULL,
    UNIQUE (host, base)
);
