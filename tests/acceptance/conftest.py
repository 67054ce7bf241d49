"""Fixtures of the acceptance tests; `--store postgresql` gives each a store on a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import compiled_code
from tests.acceptance.prepared import Prepared, SharedRuns
from tests.acceptance.project import Project, Stores


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a server a test of the store's own file is left out, and the summary says why."""
    if config.getoption("store") == "sqlite":
        return
    for item in items:
        if marker := item.get_closest_marker("sqlite"):
            item.add_marker(pytest.mark.skip(f"{item.name}: {marker.kwargs['why']}"))


@pytest.fixture(scope="session")
def stores(request: pytest.FixtureRequest) -> Stores:
    on_server = request.config.getoption("store") == "postgresql"
    return Stores(request.getfixturevalue("server_url") if on_server else "")


@pytest.fixture
def store_url(stores: Stores) -> Iterator[str]:
    """An empty store for one test."""
    with stores.new() as url:
        yield url


@pytest.fixture(scope="session")
def pycache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beside the base of this worker, so that workers side by side share it."""
    return compiled_code.shared_folder(tmp_path_factory.getbasetemp().parent)


@pytest.fixture
def project(tmp_path: Path, pycache: Path, store_url: str) -> Iterator[Project]:
    made = Project(tmp_path, pycache, store_url)
    yield made
    made.end_started()


@pytest.fixture(scope="module")
def shared_runs(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Iterator[SharedRuns]:
    shared = SharedRuns(tmp_path_factory.mktemp("shared"), pycache)
    yield shared
    shared.end_started()


@pytest.fixture
def prepared(
    shared_runs: SharedRuns, stores: Stores, tmp_path: Path, pycache: Path
) -> Iterator[Prepared]:
    with ExitStack() as stack:
        yield Prepared(shared_runs, stores, tmp_path, pycache, stack)
