"""The numbered files of the schema."""

from __future__ import annotations

from pathlib import Path

SCHEMA = Path(__file__).with_name("schema")


def load_migrations() -> list[tuple[int, str]]:
    """All migrations in order, as (number, SQL)."""
    return [(_number(file.name), file.read_text()) for file in sorted(SCHEMA.glob("*.sql"))]


def newest_version() -> int:
    return max(_number(file.name) for file in SCHEMA.iterdir() if file.suffix == ".sql")


def _number(name: str) -> int:
    return int(name.split("_")[0])
