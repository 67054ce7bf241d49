-- The result of a check on a commit that other tasks build on; it runs once per commit and command.

CREATE TABLE baselines (
    commit_id TEXT NOT NULL,
    command   TEXT NOT NULL,
    finding   TEXT NOT NULL,
    PRIMARY KEY (commit_id, command)
);
