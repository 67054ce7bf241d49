-- The marks of users who trusted this store or created it.  Only the state folder of a user has that
-- user's mark, so a store from elsewhere has no mark that a user here knows.

CREATE TABLE trust_marks (
    mark TEXT PRIMARY KEY
);
