-- What a check said of a commit that others build on: run once, by commit and command.

CREATE TABLE baselines (
    commit_id TEXT NOT NULL,
    command   TEXT NOT NULL,
    finding   TEXT NOT NULL,
    PRIMARY KEY (commit_id, command)
);
