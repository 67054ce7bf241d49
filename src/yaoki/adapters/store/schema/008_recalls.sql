-- A task is recalled when work that it is based on is reverted.  Before, `cancel_wanted` was 2 then.
ALTER TABLE tasks ADD COLUMN recall_wanted INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET recall_wanted = 1, cancel_wanted = 0 WHERE cancel_wanted = 2;
