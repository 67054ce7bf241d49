"""A store on each database, and a clock to hold in the hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import HandClock
from tests.store import server
from tests.store.acts import Where, opened
from yaoki.adapters.store import SqlStore

DATABASES = ["sqlite", "postgres"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of the store runs on each database, unless it is about the file of one."""
    if "database" in metafunc.fixturenames:
        marked = [name for name in DATABASES if metafunc.definition.get_closest_marker(name)]
        metafunc.parametrize("database", marked or DATABASES, scope="session")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def url(server_url: str) -> Iterator[str]:
    """An empty database on the server."""
    with server.a_database(server_url) as found:
        yield found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store of its own file lives."""
    return tmp_path / ".yaoki" / "state.db"


@pytest.fixture
def where(database: str, request: pytest.FixtureRequest) -> Where:
    found: Where = request.getfixturevalue("path" if database == "sqlite" else "url")
    return found


@pytest.fixture
def store(where: Where, clock: HandClock) -> Iterator[SqlStore]:
    """Not synced to disk: what a power failure does is no matter of these tests."""
    made = opened(where, clock)
    yield made
    made.close()
