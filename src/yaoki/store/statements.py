"""The statements of the store, in one place: in a queue the locking is the program."""

from __future__ import annotations

INSERT_RUN = """
INSERT INTO runs (id, goal, repo, base_branch, base, created_ms, catalogue, done_when, source,
                  parallel, revision, priority)
VALUES (:id, :goal, :repo, :base_branch, :base, :created_ms, :catalogue, :done_when, :source,
        :parallel, :revision, :priority)
"""

INSERT_TASK = """
INSERT INTO tasks (id, run_id, n, name, kind, state, stage, attempt, epoch, holder, lease_ms,
                   due_ms, rank, priority, required, open_needs, agent, reason, cancel_wanted,
                   landed, doc, account)
VALUES (:id, :run_id, :n, :name, :kind, :state, :stage, :attempt, :epoch, :holder, :lease_ms,
        :due_ms, :rank, :priority, :required, :open_needs, :agent, :reason, :cancel_wanted,
        :landed, :doc, :account)
"""

UPDATE_TASK = """
UPDATE tasks SET state = :state, stage = :stage, attempt = :attempt, epoch = :epoch,
                 holder = :holder, lease_ms = :lease_ms, due_ms = :due_ms, agent = :agent,
                 account = :account, reason = :reason, cancel_wanted = :cancel_wanted,
                 landed = :landed, doc = :doc, rank = coalesce(:rank, rank),
                 claimed_ms = coalesce(:claimed_ms, claimed_ms)
WHERE id = :id
"""

INSERT_NEED = "INSERT INTO needs (task_id, need_id) VALUES (:task_id, :need_id)"

INSERT_ENTRY = """
INSERT INTO journal (at_ms, run_id, task_id, attempt, event, data)
VALUES (:at_ms, :run_id, :task_id, :attempt, :event, :data)
"""

# A task that is done opens its dependents; one taken back closes them again.
OPEN_DEPENDENTS = """
UPDATE tasks SET open_needs = open_needs + :change,
                 rank = CASE WHEN open_needs + :change = 0
                             THEN :now - priority * :ageing_ms ELSE rank END
WHERE id IN (SELECT task_id FROM needs WHERE need_id = :id)
"""

TASK = "SELECT * FROM tasks WHERE id = :id"

SPEC = """
SELECT data FROM journal WHERE task_id = :id AND event = 'TASK_SUBMITTED' ORDER BY seq LIMIT 1
"""

READY = """
SELECT * FROM tasks
WHERE run_id = :run_id AND state = 'WAITING' AND open_needs = 0 AND due_ms <= :now
ORDER BY rank, n LIMIT :limit
"""

WISHED = """
SELECT * FROM tasks WHERE state = 'WAITING' AND cancel_wanted = 1
ORDER BY run_id, n LIMIT :limit
"""

OPEN_RUNS = """
SELECT r.id FROM runs r
WHERE EXISTS (SELECT 1 FROM tasks t
              WHERE t.run_id = r.id AND t.state = 'WAITING' AND t.open_needs = 0)
ORDER BY r.priority DESC, r.created_ms, r.id
"""

ACTIVE = "SELECT id, run_id, holder, epoch FROM tasks WHERE state = 'ACTIVE'"

EXPIRED = """
SELECT id, holder, epoch, lease_ms, claimed_ms FROM tasks
WHERE state = 'ACTIVE' AND lease_ms < :now
"""

# Counted by the database: a claim reads a line per holder and agent, not one per task at work.
BUSY = """
SELECT run_id, holder, account, count(*) AS n FROM tasks
WHERE state = 'ACTIVE' GROUP BY run_id, holder, account
"""

EXTEND = """
UPDATE tasks SET lease_ms = :lease_ms
WHERE id = :id AND epoch = :epoch AND state = 'ACTIVE' AND holder = :holder
"""

WANTED_CANCELLED = "SELECT id FROM tasks WHERE state = 'ACTIVE' AND cancel_wanted = 1"

TALLY = """
SELECT state, required, count(*) AS n FROM tasks WHERE run_id = :run_id GROUP BY state, required
"""

RESTLESS = """
SELECT 1 AS found FROM tasks
WHERE run_id = :run_id AND state = 'WAITING' AND open_needs = 0
UNION ALL
SELECT 1 FROM tasks WHERE run_id = :run_id AND state = 'ACTIVE'
LIMIT 1
"""

NEXT_DUE = """
SELECT min(CASE WHEN a.until_ms > t.due_ms AND t.stage = 'PREPARE'
                THEN a.until_ms ELSE t.due_ms END) AS due
FROM tasks t LEFT JOIN accounts a ON a.name = t.account
WHERE t.run_id = :run_id AND t.state = 'WAITING' AND t.open_needs = 0
"""

JOURNAL = """
SELECT * FROM journal
WHERE seq > :after AND (:run_id = '' OR run_id = :run_id) ORDER BY seq LIMIT :limit
"""

JOURNAL_OF_TASK = """
SELECT * FROM journal WHERE task_id = :task_id AND seq > :after ORDER BY seq LIMIT :limit
"""

NEEDS_OF_RUN = """
SELECT n.task_id, n.need_id FROM needs n JOIN tasks t ON t.id = n.task_id
WHERE t.run_id = :run_id ORDER BY t.n
"""

MISCOUNTED = """
SELECT t.id, t.open_needs, (SELECT count(*) FROM needs n JOIN tasks d ON d.id = n.need_id
                            WHERE n.task_id = t.id AND d.state <> 'DONE') AS counted
FROM tasks t WHERE t.run_id = :run_id AND t.open_needs <> (
    SELECT count(*) FROM needs n JOIN tasks d ON d.id = n.need_id
    WHERE n.task_id = t.id AND d.state <> 'DONE')
"""

# All levels, each once, in one statement; a fan of ten thousand is one look.
DOWNSTREAM = """
WITH RECURSIVE down (id) AS (
    SELECT task_id FROM needs WHERE need_id = :id
    UNION
    SELECT n.task_id FROM needs n JOIN down d ON n.need_id = d.id
)
SELECT t.id FROM down d JOIN tasks t ON t.id = d.id
WHERE t.state IN ('WAITING', 'ACTIVE') ORDER BY t.n
"""

BASELINE = "SELECT finding FROM baselines WHERE commit_id = :commit_id AND command = :command"

KEEP_BASELINE = """
INSERT INTO baselines (commit_id, command, finding) VALUES (:commit_id, :command, :finding)
ON CONFLICT (commit_id, command) DO NOTHING
"""
