-- Is the task in the merge queue of its branch?  Until now: how often its landing was refused.
ALTER TABLE tasks RENAME COLUMN refused TO queued;
