"""The schema of a new store: the one in which all migrations result."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

from yaoki.adapters.store.migrations import split_statements
from yaoki.adapters.store.schema_files import load_migrations

HEAD = """-- A new store, written by `python3 dev.py generate` from the files in `schema`.
"""
IDENTITY = "INTEGER PRIMARY KEY AUTOINCREMENT"
# SQLite writes the columns that are added later into one line.
ADDED = re.compile(r"\s*, (?=\w+ (?:TEXT|INTEGER|BIGINT) NOT NULL DEFAULT )")
# In the order in which they were made, without those that SQLite makes itself.
MADE = "SELECT sql FROM sqlite_master WHERE sql <> '' AND name NOT LIKE 'sqlite%' ORDER BY rowid"


def whole_schema() -> str:
    with closing(sqlite3.connect(":memory:")) as database:
        for _, migration in load_migrations():
            for statement in split_statements(migration.replace("{{identity}}", IDENTITY)):
                database.execute(statement)
        made = [str(sql) for (sql,) in database.execute(MADE)]
    texts = (ADDED.sub(",\n    ", sql.replace(IDENTITY, "{{identity}}")) for sql in made)
    return HEAD + "".join(f"\n{text};\n" for text in texts)
