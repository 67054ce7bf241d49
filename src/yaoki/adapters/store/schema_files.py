"""The numbered files of the schema, and the whole schema in which they result."""

from __future__ import annotations

from pathlib import Path

SCHEMA = Path(__file__).with_name("schema")
# Written by `python3 dev.py generate`.  SQLite takes 10 ms for the two dozen columns that the
# migrations add one by one, of 14 ms for all of them.
WHOLE_SCHEMA = Path(__file__).with_name("whole_schema.sql")


def load_migrations() -> list[tuple[int, str]]:
    """All migrations in order, as (number, SQL)."""
    return [(_number(file.name), file.read_text()) for file in sorted(SCHEMA.glob("*.sql"))]


def load_whole_schema() -> str:
    """The SQL that makes a new store of the newest version."""
    return WHOLE_SCHEMA.read_text(encoding="utf-8")


def newest_version() -> int:
    return max(_number(file.name) for file in SCHEMA.iterdir() if file.suffix == ".sql")


def _number(name: str) -> int:
    return int(name.split("_")[0])
