"""Numbered, forward-only migrations: an old store is backed up first, a newer one refused."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from yaoki.errors import StoreBroken, StoreNewer
from yaoki.store.sqlite import IDENTITY, TABLES, Link, SqliteDatabase

VERSION_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)
"""


def migrations() -> list[tuple[int, str]]:
    """All of them in order, as (number, SQL)."""
    folder = resources.files("yaoki.store") / "schema"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return [(int(name.split("_")[0]), (folder / name).read_text()) for name in names]


def newest() -> int:
    return migrations()[-1][0]


def migrate(
    database: SqliteDatabase, backups: Path, known: Sequence[tuple[int, str]] | None = None
) -> int:
    """Bring the store to the newest version; returns the version it had before."""
    known = known or migrations()
    last = known[-1][0]
    database.write(lambda link: _refuse_foreign(link, database.path))
    before = database.write(_current)
    steps = [(number, sql) for number, sql in known if number > before]
    if before > last:
        raise StoreNewer(
            f"the store has version {before}, this yaoki knows {last}",
            hint="update yaoki: a newer one has used this repository",
        )
    if not steps:
        return before
    if before > 0:
        backups.mkdir(parents=True, exist_ok=True)
        database.backup(backups / f"before-v{last}.db")
    database.write(lambda link: _apply(link, steps))
    return before


def _refuse_foreign(link: Link, path: Path) -> None:
    """A database that holds tables but not ours belongs to somebody else."""
    names = {row["name"] for row in link.rows(TABLES)}
    if names and "schema_version" not in names:
        raise StoreBroken(
            f"{path} is not a yaoki store: it holds {', '.join(sorted(names)[:3])}",
            hint="name another file under [store] url in yaoki.toml",
        )


def _current(link: Link) -> int:
    link.run(VERSION_TABLE)
    row = link.row("SELECT max(version) AS version FROM schema_version")
    return int(row["version"] or 0) if row else 0


def _apply(link: Link, steps: list[tuple[int, str]]) -> None:
    """All steps in one transaction: a crash leaves the old version whole.

    Another process may have migrated while this one waited for its turn.
    """
    done = _current(link)
    for number, sql in steps:
        if number <= done:
            continue
        for statement in statements(sql.replace("{{identity}}", IDENTITY)):
            link.run(statement)
        link.run("INSERT INTO schema_version (version) VALUES (:number)", {"number": number})


def statements(sql: str) -> list[str]:
    """One at a time: `executescript` would commit the transaction it is called in."""
    bare = "\n".join(line for line in sql.splitlines() if not line.strip().startswith("--"))
    return [part.strip() for part in bare.split(";") if part.strip()]
