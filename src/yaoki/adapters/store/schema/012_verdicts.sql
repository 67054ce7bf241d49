-- The verification in which a check passed on exactly these inputs; its task's journal has the verdict.

CREATE TABLE verdicts (
    verdict_key TEXT PRIMARY KEY,
    run_id      TEXT NOT NULL,
    task_id     TEXT NOT NULL,
    commit_id   TEXT NOT NULL
);
