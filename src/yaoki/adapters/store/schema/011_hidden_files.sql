-- The files of hidden checks as they were at submit, and the folder that agents must not see.

CREATE TABLE hidden_files (
    digest  TEXT NOT NULL,
    folder  TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (digest, folder)
);
