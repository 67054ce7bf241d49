-- Only a few of many tasks have an open question.
CREATE INDEX tasks_asking ON tasks (run_id, n) WHERE state = 'ESCALATED';
