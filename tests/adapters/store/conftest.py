"""A store on each database, and a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.adapters.store import server
from tests.adapters.store.store_actions import StoreLocation, open_test_store
from tests.builders import HandClock
from yaoki.adapters.store import SqlStore

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
def template_name(server_url: str) -> Iterator[str]:
    """A database with the tables of a store: a copy of it takes half the time of a new store."""
    with server.a_database(server_url) as value:
        open_test_store(value).close()
        yield urlsplit(value).path.strip("/")


@pytest.fixture
def url_with_tables(server_url: str, template_name: str) -> Iterator[str]:
    """A store without runs on the server."""
    with server.a_database(server_url, template_name) as value:
        yield value


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
