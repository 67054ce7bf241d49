-- What each retry used against the failure before it, and whether that helped.  The rows belong to
-- no run: they stay when a run is archived.  `decided_ms` is 0 and `cured` NULL until the attempt
-- was verified.

CREATE TABLE treatments (
    task_id      TEXT NOT NULL,
    attempt      INTEGER NOT NULL,
    sent_ms      BIGINT NOT NULL,
    decided_ms   BIGINT NOT NULL DEFAULT 0,
    pattern      TEXT NOT NULL,
    prompt       TEXT NOT NULL,
    agent        TEXT NOT NULL,
    conversation TEXT NOT NULL,
    cured        INTEGER,
    PRIMARY KEY (task_id, attempt)
);
CREATE INDEX treatments_by_pattern ON treatments (pattern, decided_ms);
