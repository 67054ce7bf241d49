-- Limits that an agent's service set for a whole account: all tasks of the account wait.
-- `probe` is the one task that tries first when the wait is over.

CREATE TABLE accounts (
    name     TEXT PRIMARY KEY,
    until_ms BIGINT NOT NULL,
    probe    TEXT NOT NULL DEFAULT '',
    why      TEXT NOT NULL DEFAULT ''
);

-- Tasks that a person cancelled and no worker has claimed; always few.
CREATE INDEX tasks_wished ON tasks (run_id, n) WHERE state = 'WAITING' AND cancel_wanted = 1;

ALTER TABLE tasks ADD COLUMN account TEXT NOT NULL DEFAULT '';
UPDATE tasks SET account = agent;
