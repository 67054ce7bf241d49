"""A run with a false claim and its fix, a question and a task that waits for it; and its server."""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    WITHOUT_PLUGINS,
    Project,
    a_plan,
    file_contains,
    writes,
)
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


def make_once(folder: Path, pycache: Path, make: Callable[[Project], None]) -> Project:
    """A project that tests only read: the first test process that needs it makes it for all."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        project = a_place(folder, pycache)
        if not (folder / "made").exists():
            make(project)
            (folder / "made").touch()
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
def finished_project(pycache: Path) -> Project:
    """Run until it needs a person; tests only read it."""

    def make(project: Project) -> None:
        done = project.yaoki("run", project.plan(the_plan()), "--json")
        assert done.code == 4, done.out + done.err

    return make_once(pycache.with_name("played"), pycache, make)


@pytest.fixture(scope="session")
def page_server(finished_project: Project) -> Iterator[PageServer]:
    with run_page_server(finished_project) as server:
        yield server


@pytest.fixture(scope="session")
def run_id(finished_project: Project) -> str:
    return str(finished_project.status()["run"])


@pytest.fixture(scope="session")
def whole_server(pycache: Path) -> Iterator[PageServer]:
    """A run that is done, with a group and a final check."""

    def make(project: Project) -> None:
        done = project.yaoki("run", project.plan(a_whole_plan()), "--json")
        assert done.code == 0, done.out + done.err

    with run_page_server(make_once(pycache.with_name("whole"), pycache, make)) as server:
        yield server


HALF = "def half(n):\n    return n // 2\n"
RIGHT_HALF = "def half(n):\n    if n is None:\n        return 0\n    return n / 2\n"
TEST_HALF = "from half import half\n\n\ndef test_even():\n    assert half(4) == 2\n"
RED_HALF = f"{TEST_HALF}\n\ndef test_odd():\n    assert half(3) == 1.5\n"
# A tell-tale, work that fits only the visible tests, then right work.
GAMED_HALF = (
    'import os\n\n\ndef half(n):\n    if "PYTEST_CURRENT_TEST" in os.environ:\n'
    "        return 1.5\n    return n // 2\n"
)
PARTIAL_HALF = "def half(n):\n    return n / 2 if n < 9 else n // 2\n"
HIDDEN_TEST = (
    "from half import half\n\n\ndef test_large():\n    assert half(424300071) == 212150035.5\n"
)


def evidence_plan(hidden: Path) -> dict[str, Any]:
    """`half` has evidence of each kind in three attempts; `plain` is asked for none."""
    pytest_run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tried = [
        {"half.py": GAMED_HALF, "test_half.py": RED_HALF},
        {"half.py": PARTIAL_HALF, "test_half.py": RED_HALF},
        {"half.py": RIGHT_HALF, "test_half.py": RED_HALF},
    ]
    acceptance = {"run": [*pytest_run, "acceptance"], "env": WITHOUT_PLUGINS}
    return a_plan(
        {"half": [[{"write": files}] for files in tried], "plain": [writes("plain.txt")]},
        [
            {
                "id": "half",
                "kind": "fix",
                "goal": "Half of an odd number is wrong.",
                "checks": ["tests", "acceptance"],
                "mutants": {"max": 4, "survive": 0.5},
            },
            {"id": "plain", "checks": ["plain"]},
        ],
        {
            "tests": {"run": [*pytest_run, "test_half.py"], "env": WITHOUT_PLUGINS},
            "acceptance": {**acceptance, "hidden": str(hidden)},
            "plain": file_contains("plain.txt"),
        },
    )


@pytest.fixture(scope="session")
def evidence_project(pycache: Path) -> Project:
    """A run that is done; tests only read it."""

    def make(project: Project) -> None:
        (project.repo / "half.py").write_text(HALF)
        (project.repo / "test_half.py").write_text(TEST_HALF)
        project.git("add", "-A")
        project.git(*GIT_IDENTITY, "commit", "-qm", "a fault")
        hidden = project.folder / "acceptance-tests"
        (hidden / "acceptance").mkdir(parents=True)
        (hidden / "acceptance" / "test_large.py").write_text(HIDDEN_TEST)
        done = project.yaoki("run", project.plan(evidence_plan(hidden)), "--json")
        assert done.code == 0, done.out + done.err

    return make_once(pycache.with_name("evidence"), pycache, make)


@pytest.fixture(scope="session")
def evidence_server(evidence_project: Project) -> Iterator[PageServer]:
    with run_page_server(evidence_project) as server:
        yield server
