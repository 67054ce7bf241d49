-- Where a person's own work on a task lies: only there it is claimed.

ALTER TABLE tasks ADD COLUMN place TEXT NOT NULL DEFAULT '';
