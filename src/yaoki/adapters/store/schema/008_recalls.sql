-- A task whose ground is taken back is recalled; that a person cancelled it is another thing.
ALTER TABLE tasks ADD COLUMN recall_wanted INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET recall_wanted = 1, cancel_wanted = 0 WHERE cancel_wanted = 2;
