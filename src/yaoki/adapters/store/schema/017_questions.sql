-- Open questions of all runs are few among many tasks.
CREATE INDEX tasks_asking ON tasks (run_id, n) WHERE state = 'ESCALATED';
