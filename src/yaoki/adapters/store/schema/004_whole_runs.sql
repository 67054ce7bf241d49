-- Whole runs: tasks that wait for a re-run, groups, phases, pauses, usage, notices to people.

ALTER TABLE tasks ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN undo_wanted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN phase TEXT NOT NULL DEFAULT '';

DROP INDEX tasks_ready;
CREATE INDEX tasks_ready ON tasks (run_id, rank, n)
    WHERE state = 'WAITING' AND open_needs = 0 AND held = 0;
-- Tasks that are read when no task of a run can be claimed; always few.
CREATE INDEX tasks_held ON tasks (run_id, n) WHERE held = 1;
CREATE INDEX tasks_undo ON tasks (run_id, n) WHERE undo_wanted = 1;
CREATE INDEX tasks_plan ON tasks (run_id, n) WHERE kind = 'plan';

ALTER TABLE runs ADD COLUMN paused TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN iteration INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN failures_in_row INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN grants INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN acknowledged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN doc TEXT NOT NULL DEFAULT '{}';

-- The usage of agents, per run and per day; `warned` is the share of the limit at which a person was
-- warned last.
CREATE TABLE totals (
    name     TEXT PRIMARY KEY,
    money    DOUBLE PRECISION NOT NULL DEFAULT 0,
    tokens   BIGINT NOT NULL DEFAULT 0,
    seconds  DOUBLE PRECISION NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    unknown  BIGINT NOT NULL DEFAULT 0,
    warned   INTEGER NOT NULL DEFAULT 0
);

-- Notices, written in the transaction of the change that they report, one row per channel.  `ready`
-- is 0 while they are collected for the end of the run; `sent_ms` is 0 until a notice is delivered,
-- and negative when it is given up.
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
