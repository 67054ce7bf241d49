"""The SQL statements that several tables share.  In a queue, the locking is the program."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from yaoki.core.model import AccountProblem, Stage, State


def _quoted_list(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


INSERT_RUN = """
INSERT INTO runs (id, goal, repo, base_branch, base, created_ms, catalogue, done_when, source,
                  parallel, revision, priority, doc)
VALUES (:id, :goal, :repo, :base_branch, :base, :created_ms, :catalogue, :done_when, :source,
        :parallel, :revision, :priority, :doc)
"""

INSERT_TASK = """
INSERT INTO tasks (id, run_id, n, name, kind, state, stage, attempt, epoch, holder, lease_ms,
                   due_ms, rank, priority, required, open_needs, agent, reason, cancel_wanted,
                   recall_wanted, landed, doc, account, held, undo_wanted, parent, phase, tags,
                   place, queued, other_accounts)
VALUES (:id, :run_id, :n, :name, :kind, :state, :stage, :attempt, :epoch, :holder, :lease_ms,
        :due_ms, :rank, :priority, :required, :open_needs, :agent, :reason, :cancel_wanted,
        :recall_wanted, :landed, :doc, :account, :held, :undo_wanted, :parent, :phase, :tags,
        :place, :queued, :other_accounts)
"""

UPDATE_TASK = """
UPDATE tasks SET state = :state, stage = :stage, attempt = :attempt, epoch = :epoch,
                 holder = :holder, lease_ms = :lease_ms, due_ms = :due_ms, agent = :agent,
                 account = :account, reason = :reason, cancel_wanted = :cancel_wanted,
                 recall_wanted = :recall_wanted, landed = :landed, doc = :doc, held = :held,
                 undo_wanted = :undo_wanted, place = :place, queued = :queued,
                 other_accounts = :other_accounts, rank = coalesce(:rank, rank),
                 claimed_ms = coalesce(:claimed_ms, claimed_ms)
WHERE id = :id
"""

INSERT_NEED = "INSERT INTO needs (task_id, need_id) VALUES (:task_id, :need_id)"

# An entry of a task in a group names the task as a subtask as well.
INSERT_ENTRY = """
INSERT INTO journal (at_ms, run_id, task_id, subtask, attempt, event, data)
VALUES (:at_ms, :run_id, :task_id,
        coalesce((SELECT id FROM tasks WHERE id = :task_id AND parent <> ''), ''),
        :attempt, :event, :data)
"""

LAST_ENTRY = """
SELECT data FROM journal WHERE run_id = :run_id AND event = :event ORDER BY seq DESC LIMIT 1
"""

INSERT_NUMBERED_ENTRY = """
INSERT INTO journal (seq, at_ms, run_id, task_id, subtask, attempt, event, data)
VALUES (:seq, :at_ms, :run_id, :task_id, :subtask, :attempt, :event, :data)
"""

# Runs without a row, with a gap in the numbers of their tasks, or with fewer tasks than their plan.
INCOMPLETE_RUNS = """
SELECT p.run_id FROM (SELECT DISTINCT run_id FROM journal) p LEFT JOIN runs r ON r.id = p.run_id
WHERE (r.id IS NULL AND p.run_id NOT IN (SELECT run_id FROM journal WHERE event = 'RUN_ARCHIVED'))
   OR r.tasks_made > (SELECT count(*) FROM tasks t WHERE t.run_id = r.id)
   OR r.tasks_made < (SELECT max(json_extract(j.data, '$.tasks')) FROM journal j
                      WHERE j.run_id = r.id AND j.event = 'PLAN_SUBMITTED')
ORDER BY p.run_id
"""

# The oldest such notice that is not sent: ids may differ from those of the lost store.
MARK_NOTICE_SENT = """
UPDATE outbox SET sent_ms = :at_ms WHERE id = (
    SELECT min(id) FROM outbox WHERE sent_ms = 0 AND run_id = :run_id AND task_id = :task_id
    AND channel = :channel AND event = :tells)
"""

UPDATE_TASK_COUNT = """
UPDATE runs SET tasks_made = CASE WHEN tasks_made < :n THEN :n ELSE tasks_made END,
                summed_ms = NULL WHERE id = :id
"""

# A done task opens its dependents; a reverted one closes them again.
OPEN_DEPENDENTS = """
UPDATE tasks SET open_needs = open_needs + :change,
                 rank = CASE WHEN open_needs + :change = 0
                             THEN :now - priority * :ageing_ms ELSE rank END
WHERE id IN (SELECT task_id FROM needs WHERE need_id = :id)
"""

_DEPENDENTS = "(SELECT task_id FROM needs WHERE need_id = :id)"


@cache
def open_dependents_statement(for_update: str) -> str:
    """The statement that updates open dependents.  Rows are locked in one order, so that two tasks
    that end at once cannot deadlock.
    """
    if not for_update:
        return OPEN_DEPENDENTS
    in_order = f"(SELECT id FROM tasks WHERE id IN {_DEPENDENTS} ORDER BY n{for_update})"
    return OPEN_DEPENDENTS.replace(_DEPENDENTS, in_order)


TASK = "SELECT * FROM tasks WHERE id = :id"

# Tasks that are verified or landed on the same branch; without those whose worker may be dead.
COMPETING_TASKS = """
SELECT id, run_id, stage, queued, attempt FROM tasks
WHERE run_id = :run_id AND state = 'ACTIVE' AND parent = :parent AND id <> :id
  AND lease_ms > :now
ORDER BY n
"""

LANDING_TASKS = """
SELECT * FROM tasks
WHERE run_id = :run_id AND state = 'ACTIVE' AND parent = :parent AND id <> :id
  AND stage = 'LAND' AND queued = 0
ORDER BY n
"""

SPEC = """
SELECT data FROM journal WHERE task_id = :id AND event = 'TASK_SUBMITTED' ORDER BY seq LIMIT 1
"""

NEEDS_PERSON = f"problem IN ({_quoted_list(p for p in AccountProblem if p.needs_person)})"
# Accounts that are not waited for where the chain has another one.
AVOIDED_ACCOUNTS = f"""
SELECT name FROM accounts
WHERE avoided = 1 OR {NEEDS_PERSON}
"""
# Accounts about which a task asks a person: nothing of them can start before the answer.
ASKED_ACCOUNTS = """
SELECT a.name FROM accounts a JOIN tasks q ON q.id = a.asking WHERE q.state = 'ESCALATED'
"""
# Is every other account of the chain one of these?  In the list each is enclosed in bars.
_OTHERS_ASKED = f"""
length(other_accounts) = (
    SELECT coalesce(sum(length(o.name) + 2), 0) FROM ({ASKED_ACCOUNTS}) o
    WHERE replace(other_accounts, '|' || o.name || '|', '') <> other_accounts)
"""
_STARTS_LATER = f"""
(stage = 'PREPARE' AND kind <> 'judge' AND account IN ({ASKED_ACCOUNTS})
 AND ({_OTHERS_ASKED} OR account NOT IN ({AVOIDED_ACCOUNTS})))
"""


def other_account_condition(count: int) -> str:
    """Has the chain an account besides those named `:a0`, `:a1` and so on?"""
    others = "other_accounts"
    for n in range(count):
        others = f"replace({others}, '|' || :a{n} || '|', '')"
    return f"{others} <> ''"


READY = """
SELECT * FROM tasks
WHERE run_id = :run_id AND state = 'WAITING' AND open_needs = 0 AND held = 0 AND due_ms <= :now
  AND (place = '' OR :place = '' OR place = :place)
ORDER BY rank, n LIMIT :limit
"""

# Would a claim start an agent?  One of a task with a place verifies the work of a person.
READY_FOR_AGENT = """
SELECT 1 AS found FROM tasks
WHERE run_id = :run_id AND state = 'WAITING' AND open_needs = 0 AND held = 0
  AND stage = 'PREPARE' AND kind NOT IN ('check', 'group') AND place = '' LIMIT 1
"""

CANCEL_WANTED = """
SELECT * FROM tasks WHERE state = 'WAITING' AND cancel_wanted = 1
ORDER BY run_id, n LIMIT :limit
"""

CANCEL_WANTED_OF_RUN = """
SELECT * FROM tasks WHERE run_id = :run_id AND state = 'WAITING' AND cancel_wanted = 1
ORDER BY n LIMIT :limit
"""

RUNS_WITH_READY_TASKS = """
SELECT r.id FROM runs r
WHERE r.paused = '' AND EXISTS (
    SELECT 1 FROM tasks t
    WHERE t.run_id = r.id AND t.state = 'WAITING' AND t.open_needs = 0 AND t.held = 0)
ORDER BY r.priority DESC, r.created_ms, r.id
"""

ACTIVE = "SELECT id, run_id, holder, epoch FROM tasks WHERE state = 'ACTIVE'"

EXPIRED_LEASES = """
SELECT id, holder, epoch, lease_ms, claimed_ms FROM tasks
WHERE state = 'ACTIVE' AND lease_ms < :now
"""

# Counted by the database: a claim reads a row per holder and account, not one per active task.
# A landing task may have to wait for others, and needs neither an agent nor the machine.
ACTIVE_COUNTS = """
SELECT run_id, holder, account, count(*) AS n FROM tasks
WHERE state = 'ACTIVE' AND stage <> 'LAND' GROUP BY run_id, holder, account
"""

EXTEND_LEASE = """
UPDATE tasks SET lease_ms = :lease_ms
WHERE id = :id AND epoch = :epoch AND state = 'ACTIVE' AND holder = :holder
"""

ACTIVE_TO_STOP = """
SELECT id FROM tasks WHERE state = 'ACTIVE' AND (cancel_wanted = 1 OR recall_wanted = 1)
"""

REPLACED_BY = """
SELECT data FROM journal WHERE task_id = :id AND event = 'TASK_REPLACED' ORDER BY seq DESC LIMIT 1
"""

AWAITING_RERUN = "SELECT * FROM tasks WHERE run_id = :run_id AND held = 1 ORDER BY n"

UNDO_WANTED = "SELECT * FROM tasks WHERE run_id = :run_id AND undo_wanted = 1 ORDER BY n"

OPEN_PLANNING_TASKS = """
SELECT * FROM tasks WHERE run_id = :run_id AND kind = 'plan' AND open_needs = 0
  AND state IN ('WAITING', 'ACTIVE', 'ESCALATED') AND cancel_wanted = 0 AND recall_wanted = 0
ORDER BY n
"""

# When the last of its needs was done, or when it was submitted if it has none.
READY_SINCE = """
SELECT max(j.at_ms) AS at FROM journal j
WHERE (j.task_id = :id AND j.event = 'TASK_SUBMITTED')
   OR (j.event IN ('TASK_LANDED', 'TASKS_PLANNED')
       AND j.task_id IN (SELECT need_id FROM needs WHERE task_id = :id))
"""

# A replacement takes over the dependents; a dependency on both becomes one.
MOVE_NEEDS_TO_REPLACEMENT = """
UPDATE needs SET need_id = :by WHERE need_id = :id
  AND task_id NOT IN (SELECT task_id FROM needs WHERE need_id = :by)
"""
DELETE_NEEDS_ON = "DELETE FROM needs WHERE need_id = :id"
DROP_NEED = "DELETE FROM needs WHERE task_id = :task_id AND need_id = :need_id"
DEPENDENTS = "SELECT task_id FROM needs WHERE need_id = :id"
ADD_NEED = """
INSERT INTO needs (task_id, need_id) VALUES (:task_id, :need_id)
ON CONFLICT (task_id, need_id) DO NOTHING
"""
RECOUNT_OPEN_NEEDS = """
UPDATE tasks SET open_needs = (SELECT count(*) FROM needs n JOIN tasks d ON d.id = n.need_id
                               WHERE n.task_id = tasks.id
                                 AND (d.state <> 'DONE' OR d.undo_wanted = 1))
WHERE id = :id
"""
UPDATE_REQUIRED = "UPDATE tasks SET required = :required WHERE id = :id AND required <> :required"
RANK_IF_READY = """
UPDATE tasks SET rank = :now - priority * :ageing_ms WHERE id = :id AND open_needs = 0
"""

ILLEGAL = f"""
SELECT id, state, stage FROM tasks WHERE run_id = :run_id
  AND (state NOT IN ({_quoted_list(State)}) OR stage NOT IN ({_quoted_list(Stage)})) ORDER BY n
"""

TALLY = """
SELECT state, required, count(*) AS n FROM tasks WHERE run_id = :run_id GROUP BY state, required
"""

UNFINISHED_WORK = f"""
SELECT 1 AS found FROM tasks
WHERE run_id = :run_id AND state = 'WAITING' AND open_needs = 0 AND held = 0
  AND NOT {_STARTS_LATER}
  AND NOT EXISTS (SELECT 1 FROM runs WHERE id = :run_id AND paused <> '')
UNION ALL
SELECT 1 FROM tasks WHERE run_id = :run_id AND state = 'ACTIVE'
LIMIT 1
"""

NEXT_DUE = f"""
SELECT min(CASE WHEN a.until_ms > t.due_ms AND t.stage = 'PREPARE' AND t.kind <> 'judge'
                THEN a.until_ms ELSE t.due_ms END) AS due
FROM (SELECT * FROM tasks WHERE run_id = :run_id AND state = 'WAITING' AND open_needs = 0
        AND held = 0 AND NOT {_STARTS_LATER}) t
LEFT JOIN accounts a ON a.name = t.account
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
                            WHERE n.task_id = t.id
                              AND (d.state <> 'DONE' OR d.undo_wanted = 1)) AS counted
FROM tasks t WHERE t.run_id = :run_id AND t.open_needs <> (
    SELECT count(*) FROM needs n JOIN tasks d ON d.id = n.need_id
    WHERE n.task_id = t.id AND (d.state <> 'DONE' OR d.undo_wanted = 1))
"""

# Dependents on all levels, each once, in one statement.
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

INSERT_BASELINE = """
INSERT INTO baselines (commit_id, command, finding) VALUES (:commit_id, :command, :finding)
ON CONFLICT (commit_id, command) DO NOTHING
"""

HIDDEN_FILES = "SELECT content FROM hidden_files WHERE digest = :digest LIMIT 1"

HIDDEN_FOLDERS = "SELECT DISTINCT folder FROM hidden_files ORDER BY folder"

INSERT_HIDDEN_FILES = """
INSERT INTO hidden_files (digest, folder, content) VALUES (:digest, :folder, :content)
ON CONFLICT (digest, folder) DO NOTHING
"""

VERDICT = "SELECT run_id, task_id, commit_id FROM verdicts WHERE verdict_key = :verdict_key"

INSERT_VERDICT = """
INSERT INTO verdicts (verdict_key, run_id, task_id, commit_id)
VALUES (:verdict_key, :run_id, :task_id, :commit_id)
ON CONFLICT (verdict_key) DO NOTHING
"""

CHECKS_OF_TASK = """
SELECT data FROM journal WHERE task_id = :task_id AND event = 'CHECK_FINISHED'
"""

INSERT_RUN_TAGS = """
INSERT INTO run_tags (run_id, tags) VALUES (:run_id, :tags) ON CONFLICT (run_id, tags) DO NOTHING
"""
