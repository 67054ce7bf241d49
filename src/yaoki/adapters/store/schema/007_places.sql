-- The machine and clone with a person's own work on a task: only a worker there claims the task.
ALTER TABLE tasks ADD COLUMN place TEXT NOT NULL DEFAULT '';

-- How often a landing of this attempt was refused; after the first time, verifications take turns.
ALTER TABLE tasks ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;

-- Archived runs by name: the search for an archived run must not read the whole journal.
CREATE INDEX journal_archived ON journal (run_id) WHERE event = 'RUN_ARCHIVED';
