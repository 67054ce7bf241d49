"""A run with a false claim and its fix, a question and a task that waits for it; and its server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes
from tests.faces.web.page_server import PageServer, run_page_server

SECRET = "hunter2-hunter2-hunter2"


def the_plan() -> dict[str, Any]:
    """`lie` lands at its second attempt, `cured` needs it; `asks` asks, and `waits` needs that."""
    said = {"write": {"said.txt": "good\n"}}
    return a_plan(
        {
            "lie": [writes("lie.txt", "bad\n"), writes("lie.txt")],
            "cured": [[{"write": {"cured.txt": "good\n"}}]],
            "asks": [[{"ask": "Shall it be an owl?"}], [said]],
            "waits": [writes("waits.txt")],
        },
        [
            {"id": "lie", "checks": ["lie"]},
            {"id": "cured", "checks": ["cured"], "needs": ["lie"]},
            {"id": "asks", "checks": ["asks"]},
            {"id": "waits", "checks": ["waits"], "needs": ["asks", "cured"]},
        ],
        {
            "lie": {**file_contains("lie.txt"), "pattern": "test-failed"},
            "cured": file_contains("cured.txt"),
            "asks": file_contains("said.txt"),
            "waits": file_contains("waits.txt"),
        },
    )


def a_whole_plan() -> dict[str, Any]:
    """A group of two tasks and one more; `done_when` checks the whole."""
    subtasks = [{"id": name, "goal": f"Do {name}.", "checks": [name]} for name in ("head", "foot")]
    pair = {"id": "pair", "kind": "group", "tasks": subtasks, "checks": ["head"]}
    names = ("head", "foot", "alone")
    return a_plan(
        {name: [writes(f"{name}.txt")] for name in names},
        [pair, {"id": "alone", "checks": ["alone"]}],
        {name: file_contains(f"{name}.txt") for name in names},
        done_when=["alone", "foot"],
    )


def a_place(folder: Path, pycache: Path) -> Project:
    project = Project(folder, pycache)
    project.env["MY_API_KEY"] = SECRET
    return project


@pytest.fixture(scope="session")
def pycache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beside this test worker's base folder, so that parallel workers share it."""
    return tmp_path_factory.getbasetemp().parent / "pycache"


@pytest.fixture
def project(tmp_path: Path, pycache: Path) -> Iterator[Project]:
    made = a_place(tmp_path, pycache)
    yield made
    made.end_started()


@pytest.fixture(scope="session")
def finished_project(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Project:
    """Run until it needs a person; tests only read it."""
    project = a_place(tmp_path_factory.mktemp("played"), pycache)
    done = project.yaoki("run", project.plan(the_plan()), "--json")
    assert done.code == 4, done.out + done.err
    return project


@pytest.fixture(scope="session")
def page_server(finished_project: Project) -> Iterator[PageServer]:
    with run_page_server(finished_project) as server:
        yield server


@pytest.fixture(scope="session")
def run_id(finished_project: Project) -> str:
    return str(finished_project.status()["run"])


@pytest.fixture(scope="session")
def whole_server(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Iterator[PageServer]:
    """A run that is done, with a group and a final check."""
    project = a_place(tmp_path_factory.mktemp("whole"), pycache)
    done = project.yaoki("run", project.plan(a_whole_plan()), "--json")
    assert done.code == 0, done.out + done.err
    with run_page_server(project) as server:
        yield server
