-- The task's place in the merge queue of its branch: 0 is not in it, 1 is in it, 2 was verified once
-- before.  Until now the column counted how often its landing was refused.
ALTER TABLE tasks RENAME COLUMN refused TO queued;
UPDATE tasks SET queued = 2 WHERE queued > 0;
