"""A store on each database, and a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.store import server
from tests.adapters.store.store_actions import StoreLocation, open_test_store, run_sql
from tests.builders import HandClock
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.schema_files import newest_version

DATABASES = ["sqlite", "postgres"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs on each database, unless it is marked for one of them."""
    if "database" in metafunc.fixturenames:
        marked = [name for name in DATABASES if metafunc.definition.get_closest_marker(name)]
        metafunc.parametrize("database", marked or DATABASES, scope="session")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def url(server_url: str) -> Iterator[str]:
    """An empty database on the server."""
    with server.a_database(server_url) as value:
        yield value


@pytest.fixture(scope="session")
def database_with_tables(server_url: str) -> Iterator[str]:
    """The tests of one process share a database: to make one and drop it takes 150 ms."""
    with server.a_database(server_url) as value:
        open_test_store(value).close()
        yield value


@pytest.fixture
def url_with_tables(database_with_tables: str) -> str:
    """A store without runs on the server."""
    server.empty_tables(database_with_tables, but="schema_version")
    run_sql(database_with_tables, f"DELETE FROM schema_version WHERE version > {newest_version()}")
    return database_with_tables


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a store in a SQLite file."""
    return tmp_path / ".yaoki" / "state.db"


@pytest.fixture
def store_location(database: str, request: pytest.FixtureRequest) -> StoreLocation:
    value: StoreLocation = request.getfixturevalue(
        "path" if database == "sqlite" else "url_with_tables"
    )
    return value


@pytest.fixture
def store(store_location: StoreLocation, clock: HandClock) -> Iterator[SqlStore]:
    """Not synced to disk: these tests are not about power failures."""
    opened_store = open_test_store(store_location, clock)
    yield opened_store
    opened_store.close()
