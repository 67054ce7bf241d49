-- Which proof passed a check on exactly these inputs; the journal of its task has the verdict itself.

CREATE TABLE verdicts (
    verdict_key TEXT PRIMARY KEY,
    run_id      TEXT NOT NULL,
    task_id     TEXT NOT NULL,
    commit_id   TEXT NOT NULL
);
