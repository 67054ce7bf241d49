"""Numbered, forward-only migrations: an old store is backed up first, a newer one is refused.

A new store is made in one step from the schema in which the migrations result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from yaoki.adapters.store.schema_files import load_migrations, load_whole_schema, newest_version
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.errors import StoreCorrupt, StoreNewer

if TYPE_CHECKING:
    from yaoki.adapters.store.database import ResultT, Transaction

# The migration that makes the table of treatments, which is then filled from the journal.
TREATMENTS_VERSION = 15
VERSION_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)
"""


class MigrationTarget(Protocol):
    """A database as a migration sees it."""

    tables_query: str
    extra_schema: Sequence[str]

    @property
    def location(self) -> str: ...

    def write(self, work: Callable[[Transaction], ResultT]) -> ResultT: ...
    def translate_schema(self, sql: str) -> str:
        """A migration in the SQL dialect of this database."""


def migrate(
    database: MigrationTarget,
    backups: Path | None = None,
    known: Sequence[tuple[int, str]] | None = None,
    mark: str = "",
) -> int:
    """Bring the store to the newest version; returns the version it had before.

    A new store gets the trust mark `mark` in the same transaction.
    """
    last = known[-1][0] if known else newest_version()
    before = database.write(lambda tx: read_version(tx, database))
    if before > last:
        raise StoreNewer(
            f"the store has version {before}, but this version of yaoki supports only {last}",
            hint="update yaoki: a newer version has used this repository",
        )
    if before == last:
        return before
    steps = [(number, sql) for number, sql in known or load_migrations() if number > before]
    if before > 0 and backups is not None and isinstance(database, SqliteDatabase):
        backups.mkdir(parents=True, exist_ok=True)
        database.backup(backups / f"before-v{last}.db")
    whole = "" if known or before else load_whole_schema()
    database.write(lambda tx: _apply(tx, database, steps, whole, mark))
    return before


def read_version(tx: Transaction, database: MigrationTarget) -> int:
    """0 when there is no store yet; a database with only other tables is refused."""
    names = {row["name"] for row in tx.rows(database.tables_query)}
    if not names:
        return 0
    if "schema_version" not in names:
        raise StoreCorrupt(
            f"{database.location} is not a yaoki store: it has the tables "
            f"{', '.join(sorted(names)[:3])}",
            hint="name another database under [store] url in yaoki.toml",
        )
    row = tx.row("SELECT max(version) AS version FROM schema_version")
    return int(row["version"] or 0) if row else 0


def _apply(
    tx: Transaction,
    database: MigrationTarget,
    steps: list[tuple[int, str]],
    whole: str,
    mark: str,
) -> None:
    """All steps in one transaction: a crash leaves the old version intact.

    Another process may have migrated while this one waited for the lock.
    """
    tx.lock_by_name("migrate")
    current = read_version(tx, database)
    tx.run(VERSION_TABLE)
    is_whole = bool(whole) and not current
    if is_whole:
        _run_statements(tx, database, whole)
    for number, sql in steps:
        if number <= current:
            continue
        if not is_whole:
            _run_statements(tx, database, sql)
        if number == TREATMENTS_VERSION and current:
            from yaoki.adapters.store.treatment_backfill import fill_treatments

            fill_treatments(tx)
        tx.run("INSERT INTO schema_version (version) VALUES (:number)", {"number": number})
    for statement in database.extra_schema:
        tx.run(statement)
    if mark and not current:
        from yaoki.adapters.store.trust_marks import INSERT_TRUST_MARK

        tx.run(INSERT_TRUST_MARK, {"mark": mark})


def _run_statements(tx: Transaction, database: MigrationTarget, sql: str) -> None:
    for statement in split_statements(database.translate_schema(sql)):
        tx.run(statement)


def split_statements(sql: str) -> list[str]:
    """SQLite's `executescript` would commit the open transaction, so statements run one by one."""
    bare = "\n".join(line for line in sql.splitlines() if not line.strip().startswith("--"))
    return [part.strip() for part in bare.split(";") if part.strip()]
