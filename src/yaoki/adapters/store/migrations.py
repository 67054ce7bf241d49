"""Numbered, forward-only migrations: an old store is backed up first, a newer one refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from yaoki.adapters.store.database import ResultT, Transaction
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.adapters.store.trust_marks import INSERT_TRUST_MARK
from yaoki.errors import StoreCorrupt, StoreNewer

VERSION_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)
"""


def load_migrations() -> list[tuple[int, str]]:
    """All of them in order, as (number, SQL)."""
    files = sorted(Path(__file__).with_name("schema").glob("*.sql"))
    return [(int(file.name.split("_")[0]), file.read_text()) for file in files]


def newest_version() -> int:
    return load_migrations()[-1][0]


class MigrationTarget(Protocol):
    """What a database says of itself to be migrated."""

    tables_query: str
    extra_schema: Sequence[str]

    @property
    def location(self) -> str: ...

    def write(self, work: Callable[[Transaction], ResultT]) -> ResultT: ...
    def translate_schema(self, sql: str) -> str:
        """A migration in the words of this database."""


def migrate(
    database: MigrationTarget,
    backups: Path | None = None,
    known: Sequence[tuple[int, str]] | None = None,
    mark: str = "",
) -> int:
    """Bring the store to the newest version; returns the version it had before.

    Whoever makes it leaves their `mark` in it, in the same transaction.
    """
    known = known or load_migrations()
    last = known[-1][0]
    before = database.write(lambda link: read_version(link, database))
    steps = [(number, sql) for number, sql in known if number > before]
    if before > last:
        raise StoreNewer(
            f"the store has version {before}, this yaoki knows {last}",
            hint="update yaoki: a newer one has used this repository",
        )
    if not steps:
        return before
    if before > 0 and backups is not None and isinstance(database, SqliteDatabase):
        backups.mkdir(parents=True, exist_ok=True)
        database.backup(backups / f"before-v{last}.db")
    database.write(lambda link: _apply(link, database, steps, mark))
    return before


def read_version(link: Transaction, database: MigrationTarget) -> int:
    """0 when there is no store yet; a database that holds only other tables is somebody else's."""
    names = {row["name"] for row in link.rows(database.tables_query)}
    if not names:
        return 0
    if "schema_version" not in names:
        raise StoreCorrupt(
            f"{database.location} is not a yaoki store: it holds {', '.join(sorted(names)[:3])}",
            hint="name another one under [store] url in yaoki.toml",
        )
    row = link.row("SELECT max(version) AS version FROM schema_version")
    return int(row["version"] or 0) if row else 0


def _apply(
    link: Transaction, database: MigrationTarget, steps: list[tuple[int, str]], mark: str
) -> None:
    """All steps in one transaction: a crash leaves the old version whole.

    Another process may have migrated while this one waited for its turn.
    """
    link.lock_by_name("migrate")
    done = read_version(link, database)
    link.run(VERSION_TABLE)
    for number, sql in steps:
        if number <= done:
            continue
        for statement in split_statements(database.translate_schema(sql)):
            link.run(statement)
        link.run("INSERT INTO schema_version (version) VALUES (:number)", {"number": number})
    for statement in database.extra_schema:
        link.run(statement)
    if mark and not done:
        link.run(INSERT_TRUST_MARK, {"mark": mark})


def split_statements(sql: str) -> list[str]:
    """One at a time: `executescript` would commit the transaction it is called in."""
    bare = "\n".join(line for line in sql.splitlines() if not line.strip().startswith("--"))
    return [part.strip() for part in bare.split(";") if part.strip()]
