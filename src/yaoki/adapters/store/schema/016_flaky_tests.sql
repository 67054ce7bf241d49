-- Tests that gave different results on the same commit, of all runs: kept when runs are archived.
-- The failure that caused the re-runs is not counted in `failed`.

CREATE TABLE flaky_tests (
    test          TEXT PRIMARY KEY,
    check_name    TEXT NOT NULL,
    passed        BIGINT NOT NULL,
    failed        BIGINT NOT NULL,
    always_failed BIGINT NOT NULL,
    first_ms      BIGINT NOT NULL,
    last_ms       BIGINT NOT NULL
);

-- The evidence: the newest commits on which each test gave different results.
CREATE TABLE flaky_sightings (
    test        TEXT NOT NULL,
    commit_id   TEXT NOT NULL,
    environment TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    task_id     TEXT NOT NULL,
    passed      BIGINT NOT NULL,
    failed      BIGINT NOT NULL,
    at_ms       BIGINT NOT NULL,
    PRIMARY KEY (test, commit_id, environment)
);
