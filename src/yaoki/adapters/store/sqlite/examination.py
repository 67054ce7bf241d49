"""Is the database damaged, or no store at all?

A quick check at every opening, a thorough one when there is a sign of damage.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.journal_file.checksummed_line import (
    COLUMNS,
    NOT_REPLAYED,
    RUN_ARCHIVED,
)
from yaoki.adapters.store.schema_files import newest_version
from yaoki.adapters.store.sqlite.database import TABLE_NAMES
from yaoki.errors import StoreCorrupt

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.journal_file.journal_file import JournalFile
    from yaoki.adapters.store.paths import StorePaths
    from yaoki.adapters.store.rows import SqlRow

# Checking this many bytes takes a few milliseconds; a larger file is checked when there is a sign.
SMALL_BYTES = 4 << 20
BEFORE_MIGRATION = "before-v*.db"
HEADER = b"SQLite format 3\0"
OWN_TABLES = frozenset(("runs", "tasks"))
# All tables of a store of the newest version.
STORE_TABLES = OWN_TABLES | {
    *("needs", "journal", "accounts", "baselines", "totals", "outbox", "session_lines"),
    *("workers", "run_tags", "leased_ports", "trust_marks", "hidden_files", "verdicts"),
    *("treatments", "flaky_tests", "flaky_sightings", "schema_version"),
}


def find_damage(paths: StorePaths, journal_file: JournalFile) -> str:
    """The damage in words; empty when the store is intact or there never was one."""
    path = paths.path
    if not path.exists():
        return "it is missing" if paths.was_used() else ""
    if not path.is_file():
        return ""
    if path.stat().st_size == 0:
        return "it is empty" if paths.was_used() else ""
    try:
        with open_read_only(path) as connection:
            return _damage_inside(connection, paths, journal_file)
    except sqlite3.OperationalError as error:
        # Locks, permissions and disk space are no damage; opening the store reports them.
        return str(error) if "decode" in str(error) else ""
    except sqlite3.DatabaseError as error:
        return str(error)


def _damage_inside(
    connection: sqlite3.Connection, paths: StorePaths, journal_file: JournalFile
) -> str:
    names = _list_tables(connection)
    if names and "schema_version" not in names:
        return ""  # a foreign database, which the migration refuses
    if names and (lacking := _find_missing_table(connection, names)):
        return lacking
    thorough = paths.damage_marker.exists()
    if thorough or _has_sign_of_damage(paths.path):
        damage = run_check(connection, "integrity_check" if thorough else "quick_check")
        damage = damage or (find_disagreement(connection, journal_file) if thorough else "")
        if damage:
            return damage
    seq = last_journal_seq(connection)
    file_seq = journal_file.last_seq()
    if file_seq > seq:
        return f"it ends with line {seq} of the journal, its journal file with line {file_seq}"
    if seq == 0 and any(last_seq_of_backup(copy) > 0 for copy in list_backups(paths)):
        return "it is empty, its backups are not"
    return ""


def _has_sign_of_damage(path: Path) -> bool:
    """A small file is always checked; a large one if it is shorter than its header says."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(100)
    page = int.from_bytes(head[16:18], "big") or 1
    pages = int.from_bytes(head[28:32], "big")
    return size <= SMALL_BYTES or size < pages * (65536 if page == 1 else page)


def find_damage_thoroughly(paths: StorePaths, journal_file: JournalFile) -> str:
    """Check every page, every text, and every line against the journal file."""
    try:
        with open_read_only(paths.path) as connection:
            return (
                run_check(connection, "integrity_check")
                or _find_missing_table(connection, _list_tables(connection))
                or find_disagreement(connection, journal_file)
            )
    except sqlite3.DatabaseError as error:
        return str(error)


def _list_tables(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(str(name) for (name,) in connection.execute(TABLE_NAMES))


def _find_missing_table(connection: sqlite3.Connection, names: frozenset[str]) -> str:
    """The first table that is missing, in words; the migration makes those of an older store."""
    lacking = STORE_TABLES - names
    if not lacking:
        return ""
    version = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    return f"its table {min(lacking)} is missing" if version == newest_version() else ""


def find_missing_lines(paths: StorePaths, journal_file: JournalFile) -> list[int]:
    """Lines of the database that the journal file lacks or has damaged."""
    intact = {line["seq"] for _, line in journal_file.read_lines() if line is not None}
    with open_read_only(paths.path) as connection:
        return [
            row[0] for row in connection.execute("SELECT seq FROM journal") if row[0] not in intact
        ]


def run_check(connection: sqlite3.Connection, pragma: str) -> str:
    results = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}(5)")]
    return "" if results == ["ok"] else " ".join(results[0].split())


def find_disagreement(connection: sqlite3.Connection, journal_file: JournalFile) -> str:
    """The first line of the database that differs from the journal file.

    Reading every row raises an error for damaged text as well.
    """
    for table in ("runs", "tasks", "needs", "accounts"):
        for _ in connection.execute(f"SELECT * FROM {table}"):
            pass
    lines = (line for _, line in journal_file.read_lines() if line is not None)
    line = next(lines, None)
    for row in connection.execute(f"SELECT {', '.join(COLUMNS)} FROM journal ORDER BY seq"):
        while line is not None and line["seq"] < row["seq"]:
            line = next(lines, None)
        if line is None:
            return ""
        if line["seq"] == row["seq"] and not _is_same(line, row):
            return f"line {row['seq']} of its journal is not what was written"
    return ""


def find_differences(tx: Transaction, journal_file: JournalFile, run_id: str) -> list[str]:
    """The differences between the journal of one run and its journal file, in words."""
    lines: dict[int, dict[str, Any]] = {}
    differences = []
    for position, line in journal_file.read_lines_of(run_id):
        if line is None:
            differences.append(f"{position} of the journal file is damaged")
        elif line["event"] != RUN_ARCHIVED:
            lines.setdefault(line["seq"], line)
    statement = f"SELECT {', '.join(COLUMNS)} FROM journal WHERE run_id = :id ORDER BY seq"
    for row in tx.rows(statement, {"id": run_id}):
        copy = lines.pop(row["seq"], None)
        entry = f"line {row['seq']} of the journal ({row['event']})"
        if copy is None:
            differences.append(f"{entry} is not in the journal file")
        elif not _is_same(copy, row):
            differences.append(f"{entry} is not what the journal file has")
    return differences + [
        f"line {seq} of the journal file ({line['event']}) is not in the database"
        for seq, line in lines.items()
    ]


def _is_same(line: Mapping[str, object], row: SqlRow) -> bool:
    if row["event"] == NOT_REPLAYED or all(line[name] == row[name] for name in COLUMNS):
        return True
    try:
        same_data = json.loads(str(line["data"])) == json.loads(row["data"])
    except ValueError:
        return False
    return same_data and all(line[name] == row[name] for name in COLUMNS if name != "data")


def last_journal_seq(connection: sqlite3.Connection) -> int:
    names = {row[0] for row in connection.execute(TABLE_NAMES)}
    if "journal" not in names:
        return 0
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0])


def list_backups(paths: StorePaths) -> list[Path]:
    """Backups, the newest first; those made before a migration come last."""
    older = sorted(
        paths.backups.glob(BEFORE_MIGRATION), key=lambda p: p.stat().st_mtime, reverse=True
    )
    return [*sorted(paths.backups.glob("state-*.db"), reverse=True), *older]


def last_seq_of_backup(copy: Path) -> int:
    """The number of the last line in a backup; -1 if it is damaged."""
    try:
        with open_read_only(copy, "&immutable=1") as connection:
            damage = run_check(connection, "integrity_check")
            if damage or _find_missing_table(connection, _list_tables(connection)):
                return -1
            return last_journal_seq(connection)
    except (sqlite3.Error, OSError):
        return -1


@contextmanager
def open_read_only(path: Path, options: str = "") -> Iterator[sqlite3.Connection]:
    """Read-only, so that an examination does not change a damaged file."""
    with closing(
        sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{options}", uri=True)
    ) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


# ------------------------------------------------------------------ foreign files


def refuse_foreign(paths: StorePaths) -> None:
    """A damaged store has a journal file or backups beside it, and is repaired instead."""
    path = paths.path
    if not path.is_file() or path.stat().st_size == 0 or paths.was_used():
        return
    with path.open("rb") as file:
        is_sqlite = file.read(len(HEADER)) == HEADER
    names = read_table_names(path) if is_sqlite else frozenset(("",))
    # An unreadable file is treated as a store: the examination says what is wrong.
    if not names or names >= OWN_TABLES:
        return
    raise StoreCorrupt(
        f"{path} is not a yaoki store; it was not changed",
        hint="name another file under [store] url in yaoki.toml; if it was a store, restore a "
        f"copy: backups would be in {paths.backups}",
    )


def read_table_names(path: Path) -> frozenset[str] | None:
    """The tables of a database; None if it cannot be read.

    Reads without a lock, and without the files that a reader creates next to the database.  Only
    where a write-ahead log is beside it, that is read as well: a store whose creator was killed
    may have all its tables there.
    """
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    address = f"{path.absolute().as_uri()}?{mode}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            return _list_tables(connection)
    except sqlite3.Error:
        return None
