"""`--workers N` gives the reports, the exit code and the fixtures of a run in one process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.parallel.order import chunks
from tests.time_limits import has_line

ROOT = Path(__file__).parents[2]
WORKERS = """
import pytest
from tests.parallel.workers import PLUGIN, ForkedWorkers

def pytest_configure(config):
    config.addinivalue_line("markers", "long: started first")
    config.pluginmanager.register(ForkedWorkers(config, 2), PLUGIN)

@pytest.fixture(scope="session")
def worker(tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    with (folder.parent / "begun").open("a") as begun:
        print(folder.name, file=begun)
    yield folder
    with (folder.parent / "ended").open("a") as ended:
        print(folder.name, file=ended)
"""
MIXED = """
import os, sys, time
import pytest

@pytest.mark.parametrize("n", range(40))
def test_passes(n, tmp_path, worker, record_property):
    assert tmp_path.parent == worker
    assert os.environ["TESTS_WORKER"] == worker.name
    record_property("squared", n * n)

def test_fails():
    print("words of the test")
    assert 1 + 1 == 3

def test_is_skipped():
    pytest.skip("no reason")

@pytest.mark.parametrize("code", [0, 7])
def test_dies(code):
    os._exit(code)

def test_takes_too_long():
    time.sleep(60)

def test_of_a_broken_fixture(missing):
    pass
"""


def pytest_run(folder: Path, *words: str) -> subprocess.Popen[str]:
    (folder / "conftest.py").write_text(WORKERS)
    (folder / "pytest.ini").write_text("[pytest]\ntimeout = 3\n")
    return subprocess.Popen(
        (sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", *words),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Nothing of it runs after the test."""
    yield tmp_path
    for found in Path("/proc").glob("[0-9]*/cwd"):
        if found.exists() and found.resolve().is_relative_to(tmp_path):
            os.kill(int(found.parent.name), signal.SIGKILL)


def test_every_result_counts_and_is_shown_once(folder: Path) -> None:
    for name in ("test_one.py", "test_two.py"):
        (folder / name).write_text(MIXED)

    run = pytest_run(folder, "--basetemp", "t", "--junitxml", "junit.xml")
    said, _ = run.communicate(timeout=60)

    assert run.returncode == pytest.ExitCode.TESTS_FAILED, said
    assert "8 failed, 80 passed, 2 skipped, 2 errors" in said
    assert said.count("- Captured stdout call -") == 2
    assert "assert (1 + 1) == 3" in said
    assert said.count("a worker of the tests died with code 7") >= 2
    assert "Timeout (>3.0s)" in said
    assert (folder / "junit.xml").read_text().count('value="1521"') == 2
    assert said.count("a worker of the tests died with code 0") >= 2
    assert len(list((folder / "t").glob("w*"))) == 6, "another worker for each that died"


def test_nothing_is_started_after_the_first_failure_of_a_run_that_ends_there(folder: Path) -> None:
    fails = "def test_fails(worker):\n    assert False\n"
    slow = "import time\n\n\ndef test_{}(worker):\n    time.sleep(0.05)\n"
    (folder / "test_a.py").write_text(fails)
    (folder / "test_b.py").write_text("".join(slow.format(n) for n in range(200)))

    run = pytest_run(folder, "-x", "--basetemp", "t")
    said, _ = run.communicate(timeout=60)

    assert run.returncode == pytest.ExitCode.TESTS_FAILED, said
    assert "stopping after 1 failures" in said
    counted = re.search(r"1 failed(?:, (\d+) passed)?", said)
    assert counted
    assert int(counted[1] or 0) < 200
    # The second worker may have been stopped before its first test.
    begun = (folder / "t" / "begun").read_text().split()
    assert sorted(begun) == sorted((folder / "t" / "ended").read_text().split())


def test_an_interrupt_ends_the_workers_and_their_fixtures(folder: Path) -> None:
    waits = "import time\n\n\ndef test_waits(worker):\n    print('ok', file=open({!r}, 'w'))\n"
    begun = [folder / "begun-a", folder / "begun-b"]
    for name, file in zip("ab", begun, strict=True):
        sleeps = f"{waits.format(str(file))}    time.sleep(60)\n"
        (folder / f"test_{name}.py").write_text(sleeps)
    run = pytest_run(folder, "--basetemp", "t", "-o", "timeout=60")
    give_up = time.monotonic() + 30
    while not all(map(has_line, begun)):
        assert run.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.02)

    os.kill(run.pid, signal.SIGINT)
    said, _ = run.communicate(timeout=60)

    assert run.returncode == pytest.ExitCode.INTERRUPTED, said
    assert (folder / "t" / "ended").read_text().count("w") == 2


def test_long_tests_come_first_and_alone_those_of_the_page_late_and_computing_ones_last() -> None:
    class Item:
        def __init__(self, file: str, *marks: str) -> None:
            self.path, self.nodeid, self._marks = Path(file), f"{file}::test", marks

        def get_closest_marker(self, name: str) -> object:
            return name if name in self._marks else None

    files = ["tests/core/test_a.py"] * 3 + ["tests/store/test_b.py"] * 20
    items = [*map(Item, files), Item("tests/store/test_c.py", "long")]
    items.insert(5, Item("tests/store/test_b.py", "long"))
    items.insert(0, Item("tests/faces/test_d.py", "browser", "long"))

    found = chunks(items, 1)  # type: ignore[arg-type]

    assert found[:2] == [[6], [25]]
    assert found[-2:] == [[0], [1, 2, 3]]
    assert found[2:-2] == [[4, 5], *([n, n + 1, n + 2, n + 3] for n in range(7, 23, 4)), [23, 24]]
    assert sorted(chain.from_iterable(found)) == list(range(26))
