-- Hook mode: the events of interactive sessions, one per line; the empty session is the checkout
-- itself.  The state of a session is computed from its lines and never stored.

CREATE TABLE session_lines (
    seq      {{identity}},
    at_ms    BIGINT NOT NULL,
    checkout TEXT NOT NULL,
    session  TEXT NOT NULL,
    event    TEXT NOT NULL,
    data     TEXT NOT NULL
);
CREATE INDEX session_lines_by_session ON session_lines (checkout, session, seq);
