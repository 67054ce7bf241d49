-- The merge queue of its branch: 0 the task is not in it, 1 it is, 2 it was verified once before.
-- Until now: how often its landing was refused.
ALTER TABLE tasks RENAME COLUMN refused TO queued;
UPDATE tasks SET queued = 2 WHERE queued > 0;
