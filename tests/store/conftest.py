"""A store on each database, and a clock to hold in the hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import HandClock
from yaoki.store import SqlStore, open_store

DATABASES = ["sqlite"]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def path(database: str, tmp_path: Path) -> Path:
    """Where the store lives; PostgreSQL will bring an address of its own."""
    assert database == "sqlite"
    return tmp_path / ".yaoki" / "state.db"


@pytest.fixture
def store(path: Path, clock: HandClock) -> Iterator[SqlStore]:
    """Not synced to disk: what a power failure does is no matter of these tests."""
    opened = open_store(path, clock, durable=False)
    yield opened
    opened.close()
