-- Where a person's own work on a task lies: only there it is claimed.  And archived runs by name,
-- for whoever asks for one that is no longer here must not read the whole journal.

ALTER TABLE tasks ADD COLUMN place TEXT NOT NULL DEFAULT '';
CREATE INDEX journal_archived ON journal (run_id) WHERE event = 'RUN_ARCHIVED';
