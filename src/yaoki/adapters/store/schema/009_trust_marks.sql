-- Marks that users left here when they trusted the store, or made it; each is known to its user's
-- own state alone.  A store that came from elsewhere has none that anybody here knows.

CREATE TABLE trust_marks (
    mark TEXT PRIMARY KEY
);
