-- Where a person's own work on a task lies: only there it is claimed.
ALTER TABLE tasks ADD COLUMN place TEXT NOT NULL DEFAULT '';

-- How often a landing of this attempt was refused: from the first time on, proofs take turns.
ALTER TABLE tasks ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;

-- Archived runs by name: who asks for one that is no longer here must not read the whole journal.
CREATE INDEX journal_archived ON journal (run_id) WHERE event = 'RUN_ARCHIVED';
