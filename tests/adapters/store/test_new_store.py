"""A new store: complete and marked as made here, or not there at all."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import NoReturn

import pytest

from tests.builders import HandClock
from yaoki.adapters.store import is_store_known, open_store, read_trust_marks
from yaoki.errors import StoreError

pytestmark = [pytest.mark.sqlite, pytest.mark.spec("0.2", "13.1")]

STEPS_MAX = 2000


def create_and_die(path: Path, clock: HandClock, step: int) -> NoReturn:
    """Create the store, killed at its n-th file, connection, lock or rename."""
    seen = 0

    def count(event: str, _: tuple[object, ...]) -> None:
        nonlocal seen
        if event.startswith(("open", "os.", "sqlite3.", "fcntl.", "shutil.")):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    open_store(path, clock, mark="ours").close()
    os._exit(0)


def is_killed(path: Path, clock: HandClock, step: int) -> bool:
    """Is the creation in another process killed at this step?"""
    if (pid := os.fork()) == 0:
        create_and_die(path, clock, step)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_a_store_whose_creator_was_killed_at_any_step_is_ours_or_not_there(
    tmp_path: Path, clock: HandClock
) -> None:
    """A command that only reads made a store without a mark of a file without tables."""
    for step in range(1, STEPS_MAX):
        path = tmp_path / str(step) / ".yaoki" / "state.db"
        killed = is_killed(path, clock, step)
        with suppress(StoreError):
            open_store(path, clock, create=False).close()

        marks = read_trust_marks(path)
        assert marks in (None, {"ours"}), f"killed at step {step}"
        open_store(path, clock, mark="second").close()
        assert read_trust_marks(path) == (marks or {"second"}), f"killed at step {step}"
        if not killed:
            break
    assert step > 10
    assert step < STEPS_MAX - 1


def empty_file(path: Path) -> None:
    path.touch()


def empty_database_with_log(path: Path) -> None:
    """As a kill between the first page and the first table left it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    path.with_name(f"{path.name}-wal").touch()


@pytest.mark.parametrize("begin", [empty_file, empty_database_with_log])
def test_a_file_without_tables_is_not_made_a_store_by_a_command_that_reads(
    path: Path, clock: HandClock, begin: object
) -> None:
    path.parent.mkdir(parents=True)
    assert callable(begin)
    begin(path)

    assert not is_store_known(path)
    with pytest.raises(StoreError, match="no store here yet"):
        open_store(path, clock, create=False)
    assert read_trust_marks(path) is None


def test_a_new_store_leaves_nothing_beside_it(path: Path, clock: HandClock) -> None:
    open_store(path, clock, mark="ours").close()

    assert sorted(file.name for file in path.parent.iterdir()) == [
        ".gitignore",
        "state.db",
        "state.lock",
    ]
