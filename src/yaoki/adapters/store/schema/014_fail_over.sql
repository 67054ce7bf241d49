-- The accounts of the other agents in a task's chain, each between bars (`|`).  One of these agents
-- continues if the present account is avoided.
ALTER TABLE tasks RENAME COLUMN next_account TO other_accounts;
UPDATE tasks SET other_accounts = '|' || other_accounts || '|' WHERE other_accounts <> '';

-- Tasks with another account in their chain do not wait for this one.
ALTER TABLE accounts ADD COLUMN avoided INTEGER NOT NULL DEFAULT 0;
