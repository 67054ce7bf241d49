-- Why an account is closed, since when its service has not answered, and the task that asks a person.
ALTER TABLE accounts ADD COLUMN problem TEXT NOT NULL DEFAULT '';
ALTER TABLE accounts ADD COLUMN since_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN promised_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN asking TEXT NOT NULL DEFAULT '';

-- The account of the next agent in a task's chain, which continues when the first cannot be used.
ALTER TABLE tasks ADD COLUMN next_account TEXT NOT NULL DEFAULT '';
