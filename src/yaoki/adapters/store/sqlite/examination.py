"""Is the database what it was?  A look at every opening, a thorough one when there is a sign."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.journal_file.checksummed_line import (
    COLUMNS,
    NOT_REPLAYED,
    RUN_ARCHIVED,
)
from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.rows import SqlRow
from yaoki.adapters.store.sqlite.database import TABLE_NAMES

# Checking so many bytes takes a few milliseconds; a larger file is checked when there is a sign.
SMALL_BYTES = 4 << 20
OLDER = "before-v*.db"


def find_damage(places: StorePaths, witness: JournalFile) -> str:
    """What is wrong, in words; nothing when the store is whole or there never was one."""
    path = places.path
    if not path.exists():
        return "it is gone" if places.was_used() else ""
    if not path.is_file():
        return ""
    if path.stat().st_size == 0:
        return "it is empty" if places.was_used() else ""
    try:
        with open_read_only(path) as link:
            return _damage_inside(link, places, witness)
    except sqlite3.OperationalError as error:
        # Locks, rights and room are no damage; whoever opens the store says so.
        return str(error) if "decode" in str(error) else ""
    except sqlite3.DatabaseError as error:
        return str(error)


def _damage_inside(link: sqlite3.Connection, places: StorePaths, witness: JournalFile) -> str:
    names = {row[0] for row in link.execute(TABLE_NAMES)}
    if names and "schema_version" not in names:
        return ""  # somebody else's, which the migration refuses
    thorough = places.damage_marker.exists()
    if thorough or _sign(places.path):
        wrong = run_check(link, "integrity_check" if thorough else "quick_check")
        wrong = wrong or (find_disagreement(link, witness) if thorough else "")
        if wrong:
            return wrong
    seq = last_journal_seq(link)
    known = witness.last_seq()
    if known > seq:
        return f"it ends with line {seq} of the journal, its journal file with line {known}"
    if seq == 0 and any(last_seq_of_backup(copy) > 0 for copy in list_backups(places)):
        return "it holds nothing, its backups do"
    return ""


def _sign(path: Path) -> bool:
    """Small, or shorter than its own header says."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(100)
    page = int.from_bytes(head[16:18], "big") or 1
    pages = int.from_bytes(head[28:32], "big")
    return size <= SMALL_BYTES or size < pages * (65536 if page == 1 else page)


def find_damage_thoroughly(places: StorePaths, witness: JournalFile) -> str:
    """Every page, every text, and every line against what the journal file saw."""
    try:
        with open_read_only(places.path) as link:
            return run_check(link, "integrity_check") or find_disagreement(link, witness)
    except sqlite3.DatabaseError as error:
        return str(error)


def find_missing_lines(places: StorePaths, witness: JournalFile) -> list[int]:
    """Lines of the database that the journal file does not hold whole."""
    told = {line["seq"] for _, line in witness.read_lines() if line is not None}
    with open_read_only(places.path) as link:
        return [row[0] for row in link.execute("SELECT seq FROM journal") if row[0] not in told]


def run_check(link: sqlite3.Connection, how: str) -> str:
    found = [str(row[0]) for row in link.execute(f"PRAGMA {how}(5)")]
    return "" if found == ["ok"] else " ".join(found[0].split())


def find_disagreement(link: sqlite3.Connection, witness: JournalFile) -> str:
    """Where a line of the database is not what the journal file saw; damaged text comes up too."""
    for table in ("runs", "tasks", "needs", "accounts"):
        for _ in link.execute(f"SELECT * FROM {table}"):
            pass
    told = (line for _, line in witness.read_lines() if line is not None)
    seen = next(told, None)
    for row in link.execute(f"SELECT {', '.join(COLUMNS)} FROM journal ORDER BY seq"):
        while seen is not None and seen["seq"] < row["seq"]:
            seen = next(told, None)
        if seen is None:
            return ""
        if seen["seq"] == row["seq"] and not _same(seen, row):
            return f"line {row['seq']} of its journal is not what was written"
    return ""


def find_differences(link: Transaction, witness: JournalFile, run_id: str) -> list[str]:
    """Where the journal of one run and its journal file do not say the same, each in words."""
    told: dict[int, dict[str, Any]] = {}
    found = []
    for place, line in witness.read_lines_of(run_id):
        if line is None:
            found.append(f"{place} of the journal file is damaged")
        elif line["event"] != RUN_ARCHIVED:
            told.setdefault(line["seq"], line)
    statement = f"SELECT {', '.join(COLUMNS)} FROM journal WHERE run_id = :id ORDER BY seq"
    for row in link.rows(statement, {"id": run_id}):
        seen = told.pop(row["seq"], None)
        what = f"line {row['seq']} of the journal ({row['event']})"
        if seen is None:
            found.append(f"{what} is not in the journal file")
        elif not _same(seen, row):
            found.append(f"{what} is not what the journal file has")
    return found + [
        f"line {seq} of the journal file ({line['event']}) is not in the database"
        for seq, line in told.items()
    ]


def _same(seen: Mapping[str, object], row: SqlRow) -> bool:
    if row["event"] == NOT_REPLAYED or all(seen[name] == row[name] for name in COLUMNS):
        return True
    try:
        data = json.loads(str(seen["data"])) == json.loads(row["data"])
    except ValueError:
        return False
    return data and all(seen[name] == row[name] for name in COLUMNS if name != "data")


def last_journal_seq(link: sqlite3.Connection) -> int:
    names = {row[0] for row in link.execute(TABLE_NAMES)}
    if "journal" not in names:
        return 0
    return int(link.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0])


def list_backups(places: StorePaths) -> list[Path]:
    """Backups, the newest first; those before a migration come last."""
    older = sorted(places.backups.glob(OLDER), key=lambda p: p.stat().st_mtime, reverse=True)
    return [*sorted(places.backups.glob("state-*.db"), reverse=True), *older]


def last_seq_of_backup(copy: Path) -> int:
    """The last line that a backup holds; -1 for one that is damaged."""
    try:
        with open_read_only(copy, "&immutable=1") as link:
            return -1 if run_check(link, "integrity_check") else last_journal_seq(link)
    except (sqlite3.Error, OSError):
        return -1


@contextmanager
def open_read_only(path: Path, how: str = "") -> Iterator[sqlite3.Connection]:
    """Read-only, so that a look changes nothing of a damaged file."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{how}", uri=True)) as link:
        link.row_factory = sqlite3.Row
        yield link
