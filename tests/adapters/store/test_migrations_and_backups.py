"""Opening a store: new, old, newer, damaged, or missing."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.store import server
from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    finish,
    open_test_store,
    rewind_schema,
    run_sql,
    submit,
)
from tests.builders import NOW, RUN_ID, HandClock, a_spec
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.store.migrations import (
    migrate,
    split_statements,
)
from yaoki.adapters.store.schema_files import load_migrations, newest_version
from yaoki.adapters.store.sqlite.database import SqliteDatabase
from yaoki.core.model import State
from yaoki.errors import StoreCorrupt, StoreError, StoreNewer

SERVER_SCHEMA = (
    """SELECT table_name, column_name, data_type, collation_name, column_default, is_nullable
    FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, column_name
    """,
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexdef",
)
# The newest version whose columns have kept their names since.
OLD_VERSION = 14


@pytest.mark.sqlite
@pytest.mark.spec("13.1")
def test_a_new_store_ignores_itself_in_git(store: SqlStore, path: Path) -> None:
    assert store.runs() == []
    assert "*" in (path.parent / ".gitignore").read_text().splitlines()


@pytest.mark.sqlite
@pytest.mark.spec("13.1", "0.6")
def test_a_missing_store_is_not_created_without_create(path: Path, clock: HandClock) -> None:
    with pytest.raises(StoreError, match="no store here yet") as missing:
        open_store(path, clock, create=False)

    assert missing.value.hint == "yaoki run PLAN"
    assert not path.parent.exists()


@pytest.mark.spec("13.2")
def test_the_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in load_migrations()] == list(range(1, newest_version() + 1))


@pytest.mark.spec("13.2")
def test_a_new_store_has_the_tables_that_all_migrations_make(tmp_path: Path) -> None:
    new, migrated = SqliteDatabase(tmp_path / "new.db"), SqliteDatabase(tmp_path / "old.db")
    with closing(new), closing(migrated):
        migrate(new)
        migrate(migrated, known=load_migrations())

    assert schema_of(new.path) == schema_of(migrated.path)
    assert len(schema_of(new.path)) > 15


@pytest.mark.postgres
@pytest.mark.spec("13.2")
def test_a_new_store_on_a_server_has_the_tables_that_all_migrations_make(server_url: str) -> None:
    """Defaults and indices as well."""
    import psycopg
    from psycopg.rows import dict_row

    from yaoki.adapters.store.postgres.connection import ServerAddress
    from yaoki.adapters.store.postgres.preflight import BareDatabase

    found = []
    for known in (None, load_migrations()):
        with (
            server.a_database(server_url) as url,
            psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection,
        ):
            migrate(BareDatabase(connection, ServerAddress(url)), known=known)
            found.append([connection.execute(query).fetchall() for query in SERVER_SCHEMA])

    assert found[0] == found[1]
    assert all(len(rows) > 15 for rows in found[0])


@pytest.mark.sqlite
@pytest.mark.spec("13.2")
def test_opening_again_migrates_nothing(store: SqlStore, path: Path, clock: HandClock) -> None:
    submit(store, a_spec("a"))

    again = open_store(path, clock, durable=False)

    assert len(again.rows(RUN_ID)) == 1
    assert not (path.parent / "backups").exists()
    again.close()


@pytest.mark.spec("13.2", "0.2")
def test_an_old_store_is_backed_up_before_it_is_migrated(tmp_path: Path) -> None:
    """The store of this version, and a migration of a later yaoki."""
    path = tmp_path / "state.db"
    old = SqliteDatabase(path)
    migrate(old, tmp_path / "backups")
    later = [*load_migrations(), (newest_version() + 1, "CREATE TABLE extra (id TEXT); -- more\n")]

    before = migrate(old, tmp_path / "backups", later)

    assert before == newest_version()
    (backup,) = (tmp_path / "backups").iterdir()
    assert backup.name == f"before-v{newest_version() + 1}.db"
    assert tables(path) - tables(backup) == {"extra"}
    assert version(backup) == newest_version()
    assert migrate(old, tmp_path / "backups", later) == newest_version() + 1
    old.close()


@pytest.mark.spec("13.2", "0.2")
def test_a_failed_migration_leaves_the_old_version_intact(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old = SqliteDatabase(path)
    migrate(old, tmp_path / "backups")
    broken = [
        *load_migrations(),
        (newest_version() + 1, "CREATE TABLE extra (id TEXT); CREATE nonsense;"),
    ]

    with pytest.raises(StoreError):
        migrate(old, tmp_path / "backups", broken)

    assert "extra" not in tables(path)
    assert version(path) == newest_version()
    old.close()


@pytest.mark.spec("13.2")
def test_a_newer_store_is_refused_and_not_changed(
    store: SqlStore, store_location: StoreLocation, clock: HandClock
) -> None:
    submit(store, a_spec("a"))
    run_sql(store_location, "INSERT INTO schema_version (version) VALUES (999)")

    with pytest.raises(StoreNewer, match="version 999") as refused:
        open_test_store(store_location, clock)

    assert "update yaoki" in refused.value.hint
    assert refused.value.exit_code == 6
    assert len(store.rows(RUN_ID)) == 1


@pytest.mark.spec("13.2")
def test_tasks_of_an_old_store_are_carried_on_after_its_migration(
    store_location: StoreLocation, clock: HandClock
) -> None:
    """Run for every new column: its old rows have the default of the migration."""
    old = open_test_store(store_location, clock)
    submit(old, a_spec("a"))
    before = old.rows(RUN_ID)
    old.close()
    rewind_schema(store_location, OLD_VERSION)

    migrated = open_test_store(store_location, clock)

    assert migrated.rows(RUN_ID) == before
    finish(migrated, claim_one(migrated))
    submit(migrated, a_spec("b"), run="run00002")
    assert list(migrated.audit(RUN_ID)) == []
    migrated.close()


@pytest.mark.spec("8.7", "0.6")
@pytest.mark.parametrize("content", [b"not a database, " * 500, b"\0" * 8192, b"short"])
def test_a_file_that_is_no_database_is_refused_and_not_changed(
    path: Path, clock: HandClock, content: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(StoreCorrupt, match="not a yaoki store") as broken:
        open_store(path, clock)

    assert "backups" in broken.value.hint
    assert path.read_bytes() == content


@pytest.mark.spec("0.6")
def test_a_foreign_database_is_refused_and_not_changed(path: Path, clock: HandClock) -> None:
    path.parent.mkdir()
    run_sql(path, "CREATE TABLE photos (id INTEGER)")

    with pytest.raises(StoreCorrupt, match="not a yaoki store"):
        open_store(path, clock)

    assert tables(path) == {"photos"}


@pytest.mark.spec("0.6")
def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path, clock: HandClock) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="cannot be created") as refused:
        open_store(tmp_path / "file" / "state.db", clock)

    assert refused.value.hint


@pytest.mark.spec("0.6")
def test_a_folder_with_the_name_of_the_store_is_reported(path: Path, clock: HandClock) -> None:
    path.mkdir(parents=True)

    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(path, clock)


@pytest.mark.spec("13.2")
def test_comments_in_a_migration_are_not_statements() -> None:
    assert split_statements("-- why\nA;\n  -- B;\nC\n;") == ["A", "C"]


@pytest.mark.spec("8.7")
def test_an_intact_file_passes_the_integrity_check(store: SqlStore) -> None:
    assert store.check_integrity() == []


# ------------------------------------------------------------------ backups


@pytest.mark.sqlite
@pytest.mark.spec("8.7", "0.2")
def test_a_backup_is_complete_and_can_be_opened(
    store: SqlStore, tmp_path: Path, clock: HandClock
) -> None:
    submit(store, a_spec("a"), a_spec("b"))
    finish(store, claim_one(store))

    backup = store.backups.take(NOW)
    submit(store, a_spec("later"), run="run00002")
    target = tmp_path / "restored" / "state.db"
    target.parent.mkdir()
    shutil.copy(backup, target)
    restored = open_store(target, clock, create=False)

    assert restored.rows(RUN_ID) == store.rows(RUN_ID)
    assert len(restored.runs()) == 1
    assert restored.audit(RUN_ID) == []
    finish(restored, claim_one(restored))
    assert restored.count_by_state(RUN_ID) == {(State.DONE, True): 2}
    restored.close()


@pytest.mark.sqlite
@pytest.mark.spec("8.7", "11.1")
def test_a_backup_and_a_reader_do_not_wait_for_each_other(store: SqlStore) -> None:
    """A backup once kept the lock of all readers for its whole length, in the thread that renews
    the leases: claims and heartbeats of a large store waited for it.
    """
    submit(store, a_spec("a"))
    taken: list[Path] = []
    copy = threading.Thread(target=lambda: taken.append(store.backups.take(NOW)))

    with store.database.read() as tx:
        copy.start()
        copy.join(20)
        seen = tx.rows("SELECT id FROM tasks")
        early = list(taken)

    copy.join(20)
    assert [path.is_file() for path in early] == [True]
    assert len(seen) == 1


@pytest.mark.spec("8.7")
def test_only_the_newest_backups_are_kept(path: Path, clock: HandClock) -> None:
    store = open_store(path, clock, durable=False, limits={"backups_kept": 3})

    taken = [store.backups.take(NOW + timedelta(minutes=n)) for n in range(5)]

    assert store.backups.list_newest_first() == taken[:1:-1]
    assert sorted(p.name for p in (path.parent / "backups").iterdir()) == sorted(
        p.name for p in taken[2:]
    )
    store.close()


@pytest.mark.sqlite
@pytest.mark.spec("8.7")
def test_a_backup_is_taken_when_the_last_is_old_enough(store: SqlStore, clock: HandClock) -> None:
    hour = timedelta(hours=1)

    first = store.backups.take_if_older(clock.now(), hour)
    too_soon = store.backups.take_if_older(clock.advance(hour / 2), hour)
    second = store.backups.take_if_older(clock.advance(hour), hour)

    assert first is not None
    assert too_soon is None
    assert second is not None
    assert store.backups.list_newest_first() == [second, first]


def tables(path: Path) -> set[str]:
    return {
        row[0]
        for row in query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
        if not row[0].startswith("sqlite_")
    }


def schema_of(path: Path) -> dict[str, Any]:
    """Of each table its columns, indices and references, as SQLite has understood them."""
    pragmas = ("table_info", "foreign_key_list")
    found: dict[str, Any] = {
        table: [query(path, f"PRAGMA {pragma}({table})") for pragma in pragmas]
        for table in tables(path)
    }
    made = "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name"
    return {**found, "indices": query(path, made)}


def version(path: Path) -> int:
    number: int = query(path, "SELECT max(version) FROM schema_version")[0][0]
    return number


def query(path: Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()
