"""The installed program with a damaged store: it is moved to quarantine, restored and reported."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)
from tests.adapters.store.store_actions import open_test_store, plan, run_sql, submit
from tests.builders import NOW, HandClock
from yaoki.adapters.store import StorePaths, open_store
from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.sqlite.database import TABLE_NAMES
from yaoki.adapters.store.sqlite.examination import STORE_TABLES
from yaoki.adapters.store.tables import journal_pages
from yaoki.errors import StoreCorrupt

NAMES = ("one", "two", "three", "four")
TABLES = ("runs", "tasks", "needs", "accounts", "journal")


def the_plan(project: Project) -> str:
    """The third task continues after the worker was killed."""
    acts = {
        "one": [writes("one.txt")],
        "two": [writes("two.txt", "bad\n"), writes("two.txt")],
        "three": [[waits_for(project.folder / "killed"), *writes("three.txt")]],
        "four": [writes("four.txt")],
    }
    needs = {"one": [], "two": ["one"], "three": ["two"], "four": ["three"]}
    tasks = [{"id": name, "checks": [name], "needs": held} for name, held in needs.items()]
    return project.plan(a_plan(acts, tasks, {name: file_contains(f"{name}.txt") for name in NAMES}))


class InterruptedRun:
    """A run whose worker was killed, restored for every test."""

    def __init__(self, folder: Path, pycache: Path) -> None:
        (folder / "place").mkdir()
        self.project = Project(folder / "place", pycache)
        self.db = self.project.repo / ".yaoki" / "state.db"
        self.saved, self.with_log = folder / "saved", folder / "with-log"
        self._make()

    def _make(self) -> None:
        worker = self.project.start("run", the_plan(self.project))
        try:
            wait_until(self._at_work, "the third task is at work")
        finally:
            worker.kill()
            worker.communicate(timeout=BOUND_S)
        self.settle("killed")
        shutil.copytree(self.db.parent, self.with_log)
        assert (self.with_log / "state.db-wal").stat().st_size > 100_000
        # A command that looks leaves everything in the database itself.
        self.before = self.project.status()
        assert not (self.db.parent / "state.db-wal").exists()
        self.rows = rows(self.db)
        shutil.copytree(self.project.folder, self.saved, symlinks=True)

    def _at_work(self) -> bool:
        if not self.db.exists():
            return False
        try:
            with closing(sqlite3.connect(f"{self.db.as_uri()}?mode=ro", uri=True)) as connection:
                result = connection.execute(
                    "SELECT task_id FROM journal WHERE event = 'PROMPT_SENT'"
                )
                return any(row[0].endswith("-3") for row in result)
        except sqlite3.OperationalError:
            return False

    def settle(self, marker: str) -> None:
        """Let the agent that waits for it end, and with it the last process here."""
        (self.project.folder / marker).touch()
        wait_until(lambda: not self._processes(), "its agent ended")

    def _processes(self) -> list[str]:
        mark = str(self.project.home).encode()
        result = []
        for project in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (project / "environ").read_bytes():
                    result.append(project.name)
            except OSError:
                continue
        return result

    def store_again(self) -> None:
        """Without the files around it."""
        for name in ("quarantine", "rebuild", "journal", "backups"):
            shutil.rmtree(self.db.parent / name, ignore_errors=True)
        saved_bytes = self.saved / "repo" / ".yaoki"
        shutil.copytree(saved_bytes, self.db.parent, dirs_exist_ok=True)

    def again(self) -> Project:
        shutil.rmtree(self.project.folder)
        shutil.copytree(self.saved, self.project.folder, symlinks=True)
        return self.project


@pytest.fixture(scope="module")
def middle(tmp_path_factory: pytest.TempPathFactory) -> InterruptedRun:
    base = tmp_path_factory.getbasetemp()
    return InterruptedRun(tmp_path_factory.mktemp("middle"), base.parent / "pycache")


def rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows, without lease dates: heartbeats change them without a journal entry."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        result = {
            name: [dict(row) for row in connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]
            for name in TABLES
        }
    return {**result, "tasks": [{**row, "lease_ms": 0} for row in result["tasks"]]}


def pages(path: Path) -> int:
    return path.stat().st_size // 4096


def garbage(path: Path, first: int, last: int) -> None:
    with path.open("r+b") as file:
        file.seek(first)
        file.write(b"\xa7garbage" * ((last - first) // 8))


def half(path: Path) -> None:
    os.truncate(path, pages(path) // 2 * 4096)


def torn(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 5000)


def zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def middle_pages(path: Path) -> None:
    garbage(path, 4096 * 4, 4096 * (pages(path) - 2))


def one_page(path: Path) -> None:
    garbage(path, 4096 * (pages(path) // 2), 4096 * (pages(path) // 2 + 1))


def header(path: Path) -> None:
    garbage(path, 0, 104)


def gone(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    os.truncate(path, 0)


def an_empty_database(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")


def no_log(path: Path) -> None:
    """The write-ahead log is lost; the database beside it is intact and old."""
    shutil.copy(path.parents[3] / "with-log" / "state.db", path)


def a_dropped_table(path: Path) -> None:
    run_sql(path, "DROP TABLE treatments")


def an_old_copy(path: Path) -> None:
    shutil.copy(sorted((path.parent / "backups").iterdir())[0], path)


KINDS = [
    half,
    torn,
    zeros,
    middle_pages,
    one_page,
    header,
    gone,
    empty,
    an_empty_database,
    no_log,
    an_old_copy,
    a_dropped_table,
]

# The rows are compared after each kind of damage; the run is continued after some.
GONE_ON_WITH = [half, middle_pages, gone, no_log]


@pytest.mark.full
def test_the_fixture_is_an_interrupted_run(middle: InterruptedRun) -> None:
    project = middle.again()

    states = [task["state"] for task in project.status()["tasks"]]

    assert states == ["DONE", "DONE", "ACTIVE", "WAITING"]
    assert len(list((middle.db.parent / "backups").iterdir())) == 1


@pytest.mark.quick_cases(2)
@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.2", "0.6")
@pytest.mark.parametrize("harm", KINDS)
def test_a_damaged_store_is_moved_to_quarantine_and_restored(
    middle: InterruptedRun, harm: Callable[[Path], None]
) -> None:
    project = middle.again()
    harm(middle.db)
    harmed = middle.db.read_bytes() if middle.db.exists() else None

    done = project.yaoki("status", "--json")
    after = rows(middle.db)
    quiet = project.yaoki("status", "--json")
    healthy = project.yaoki("doctor")

    (aside,) = (middle.db.parent / "quarantine").iterdir()
    assert str(aside) in done.err
    assert "restored from" in done.err
    assert "are lost" not in done.err
    assert [f.read_bytes() for f in aside.glob("state.db")] == [harmed] * (harmed is not None)
    assert _tasks(done.document) == _tasks(middle.before)
    assert {k: after[k] for k in TABLES[:-1]} == {k: middle.rows[k] for k in TABLES[:-1]}
    count = len(middle.rows["journal"])
    assert after["journal"][:count] == middle.rows["journal"]
    assert [line["event"] for line in after["journal"][count:]] == ["RECONCILED"]
    assert (quiet.err, healthy.code) == ("", 0), healthy.out
    assert str(aside) in healthy.out
    if harm in GONE_ON_WITH:
        _continue_run(project)


def _tasks(document: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(task["id"], task["state"], task["attempt"]) for task in document["tasks"]]


def _continue_run(project: Project) -> None:
    """Continue to the end; landed work has landed once."""
    resumed = project.yaoki("resume")
    assert resumed.code == 0, resumed.out + resumed.err
    status = project.status()
    branch = status["run_branch"]
    assert [project.show(branch, f"{name}.txt") for name in NAMES] == ["good"] * 4
    format_ = "--format=%(trailers:key=Yaoki-Task)"
    trailers = project.git("log", "--first-parent", format_, branch).splitlines()
    landed = Counter(line for line in trailers if line.strip())
    assert sorted(landed.values()) == [1] * 4
    entries = project.yaoki("trace", "--json").document["entries"]
    output = [entry["data"] for entry in entries if entry["event"] == "RECONCILED"]
    assert "corrupt store" in {data["mismatch"] for data in output}


@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.2")
def test_a_lost_log_is_noticed(middle: InterruptedRun) -> None:
    """The files of a killed worker, without the write-ahead log."""
    project = middle.again()
    for name in ("state.db", "state.db-shm"):
        shutil.copy(middle.with_log / name, middle.db.parent / name)

    done = project.yaoki("status", "--json")

    assert "quarantine" in done.err
    assert _tasks(done.document) == _tasks(middle.before)
    assert project.yaoki("doctor").code == 0


@pytest.mark.quick_cases(2)
@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.2")
@pytest.mark.parametrize("harm", [half, zeros, header])
def test_a_damaged_backup_is_skipped(middle: InterruptedRun, harm: Callable[[Path], None]) -> None:
    project = middle.again()
    store = open_store(middle.db, HandClock(datetime.now(UTC)))
    newest = store.backups.take(datetime.now(UTC))
    older = store.backups.list_newest_first()[1]
    store.close()
    for file in (newest, middle.db):
        harm(file)

    done = project.yaoki("status", "--json")

    assert f"restored from {older}" in done.err
    assert _tasks(done.document) == _tasks(middle.before)
    (line,) = (e for e in _entries(project) if e["event"] == "RECONCILED")
    assert line["data"]["damaged_backups"] == [newest.name]


def _entries(project: Project) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = project.yaoki("trace", "--json").document["entries"]
    return result


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.7", "10.2")
def test_without_a_backup_the_store_is_rebuilt_from_the_journal_file(
    middle: InterruptedRun,
) -> None:
    project = middle.again()
    shutil.rmtree(middle.db.parent / "backups")
    half(middle.db)

    done = project.yaoki("status", "--json")

    assert "the journal file alone" in done.err
    assert _tasks(done.document) == _tasks(middle.before)
    _continue_run(project)


@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.2")
def test_without_a_journal_file_the_backup_and_git_restore_the_run(
    middle: InterruptedRun,
) -> None:
    """The backup is older than the work; what landed since does not land twice."""
    project = middle.again()
    shutil.rmtree(middle.db.parent / "journal")
    gone(middle.db)

    done = project.yaoki("status", "--json")

    assert "restored from" in done.err
    assert {task["state"] for task in done.document["tasks"]} == {"WAITING"}


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.6")
@pytest.mark.parametrize("harm", [gone, zeros, empty, header])
def test_without_backup_and_journal_file_the_repair_is_refused(
    middle: InterruptedRun, harm: Callable[[Path], None]
) -> None:
    project = middle.again()
    for name in ("journal", "backups"):
        shutil.rmtree(middle.db.parent / name)
    harm(middle.db)
    harmed = middle.db.read_bytes() if middle.db.exists() else None

    for words in (("status",), ("run", the_plan(project)), ("resume",)):
        refused = project.yaoki(*words)
        assert refused.code == 1
        assert "neither a good backup nor a journal file" in refused.err
        assert "start over" in refused.err
        assert "Traceback" not in refused.err
    assert "neither a good backup" in project.yaoki("doctor").out
    assert (middle.db.read_bytes() if middle.db.exists() else None) == harmed


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.2", "0.3")
@pytest.mark.parametrize("lost", [1, 2, 4])
def test_a_landing_that_the_journal_file_lost_is_found_on_the_branch(
    middle: InterruptedRun, lost: int
) -> None:
    """The end of the file is torn: the landing of `two`, then its verification, is lost."""
    project = middle.again()
    witness = JournalFile(StorePaths(middle.db).journal)
    result = [line for _, line in witness.read_lines() if line is not None]
    at = [n for n, line in enumerate(result) if line["event"] == "TASK_LANDED"][-1]
    (segment,) = witness.list_segments()
    saved_bytes = segment.read_bytes().split(b"\n")[: at + 1 - (lost - 1)]
    segment.write_bytes(b"\n".join(saved_bytes)[:-20])
    zeros(middle.db)
    branch = middle.before["run_branch"]
    head = project.git("rev-parse", branch)

    project.yaoki("status")

    assert project.git("rev-parse", branch) == head
    assert project.task("two")["state"] != "DONE"
    _continue_run(project)
    landed = [e for e in _entries(project) if e["event"] == "TASK_LANDED"]
    two = next(e["data"] for e in landed if e["task"].endswith("-2"))
    assert two.get("already") is True


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.3")
def test_concurrent_commands_repair_the_store_once(middle: InterruptedRun) -> None:
    project = middle.again()
    half(middle.db)

    commands = [project.start("status") for _ in range(4)]
    done = [each.communicate(timeout=BOUND_S)[0] for each in commands]

    assert [each.returncode for each in commands] == [project.yaoki("status").code] * 4
    assert len([words for words in done if "quarantine" in words]) == 1
    assert len(list((middle.db.parent / "quarantine").iterdir())) == 1
    assert _tasks(project.status()) == _tasks(middle.before)


KILLED = """
import os, signal, sys
from pathlib import Path
from yaoki.adapters.store import open_store
from tests.builders import HandClock
left = int(sys.argv[2])
def count(name, args):
    global left
    if name in {"os.rename", "os.mkdir", "os.rmdir", "sqlite3.connect", "shutil.copyfile"}:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
open_store(Path(sys.argv[1]), HandClock()).close()
"""


@pytest.mark.full
@pytest.mark.spec("8.7", "0.2")
def test_the_next_opening_completes_a_repair_that_was_killed(middle: InterruptedRun) -> None:
    """Killed at every file operation, one after the other, until a repair completes."""
    killed = 0
    project = middle.again()
    for touch in range(1, 100):
        middle.store_again()
        middle_pages(middle.db)
        ended = subprocess.run(
            (sys.executable, "-c", KILLED, str(middle.db), str(touch)),
            cwd=Path(__file__).parents[3],
            env=project.env,
            check=False,
            timeout=BOUND_S,
        )
        if ended.returncode == 0:
            break
        killed += ended.returncode == -signal.SIGKILL
        open_store(middle.db, HandClock(datetime.now(UTC))).close()
        after = rows(middle.db)
        assert {k: after[k] for k in TABLES[:-1]} == {k: middle.rows[k] for k in TABLES[:-1]}
        count = len(middle.rows["journal"])
        assert after["journal"][:count] == middle.rows["journal"]
        assert not StorePaths(middle.db).rebuild.exists()
    assert killed > 8


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.2", "13.3")
def test_a_worker_with_the_replaced_file_stops_and_reports_it(middle: InterruptedRun) -> None:
    """Another command found damage and replaced the store; what the worker would write is refused,
    and nothing of it reaches the journal file."""
    project = middle.again()
    acts = {"slow": [[waits_for(project.folder / "enough")]]}
    slow = a_plan(acts, [{"id": "slow", "checks": ["x"]}], {"x": file_contains("x")})
    worker = project.start("run", project.plan(slow))
    try:
        wait_until(lambda: _prompted(middle.db, "slow"), "the agent is at work")
        gone(middle.db)
        project.yaoki("status")
        output = worker.communicate(timeout=BOUND_S)[0]
    finally:
        worker.kill()
        worker.communicate(timeout=BOUND_S)
        # The next test removes the folders in which the agent works.
        middle.settle("enough")

    assert worker.returncode == 1
    assert "deleted or replaced while this worker used it" in output
    doctor = project.yaoki("doctor")
    assert doctor.code == 0, doctor.out


def _prompted(path: Path, name: str) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            result = connection.execute(
                "SELECT 1 FROM journal j JOIN tasks t ON t.id = j.task_id"
                " WHERE t.name = ? AND j.event = 'PROMPT_SENT'",
                (name,),
            )
            return result.fetchone() is not None
    except sqlite3.OperationalError:
        return False


@pytest.mark.acceptance
@pytest.mark.spec("8.7", "0.6")
def test_the_doctor_finds_damage_that_needs_a_thorough_check(middle: InterruptedRun) -> None:
    """A journal entry was changed inside the database; every page is well formed."""
    project = middle.again()
    content = middle.db.read_bytes()
    assert content.count(b'"reasoning":"') >= 1
    middle.db.write_bytes(content.replace(b'"reasoning":"', b'"reasonink":"'))

    noticed = project.yaoki("doctor")
    repaired = project.yaoki("status")

    assert noticed.code == 1
    assert "is not what was written" in noticed.out
    assert noticed.out.endswith("next: yaoki status\n")
    assert "restored from" in repaired.err
    assert project.yaoki("doctor").code == 0


@pytest.mark.parametrize("data", ["{broken", "[]"])
@pytest.mark.spec("8.7", "0.6")
def test_a_line_that_cannot_be_read_is_named_and_the_next_opening_restores_it(
    path: Path, data: str
) -> None:
    """`report`, `why`, `trace` and `logs` read the journal; counts over all runs leave it out."""
    messages: list[str] = []
    with closing(open_test_store(path)) as store:
        submit(store, *plan(a=[]))
        entries = store.journal()
        seq = entries[1].seq
        run_sql(path, "UPDATE journal SET data = ? WHERE seq = ?", data, seq)
        marked = journal_pages.read_forward(store.database, mark_damaged=True)
        with pytest.raises(StoreCorrupt) as refused:
            store.journal()

    with closing(open_test_store(path, warn=messages.append)) as store:
        restored = store.journal()[: len(entries)]

    assert refused.value.sentence == f"line {seq} of the journal cannot be read"
    assert refused.value.hint == "yaoki doctor"
    assert [one.seq for one in marked if one.event == journal_pages.DAMAGED_LINE] == [seq]
    assert restored == entries
    assert "restored from" in messages[0]


@pytest.mark.spec("8.7", "0.6")
def test_a_missing_table_is_found_and_restored(path: Path) -> None:
    """The doctor finds it in the open store; a backup without the table is left out."""
    messages: list[str] = []
    with closing(open_test_store(path)) as store:
        submit(store, *plan(a=[]))
        entries = store.journal()
        created = {name for (name,) in run_sql(path, TABLE_NAMES)}
        store.backups.take(NOW)
        for one in (path, *store.backups.list_newest_first()):
            run_sql(one, "DROP TABLE treatments")
        found = store.check_integrity()

    with closing(open_test_store(path, warn=messages.append)) as store:
        assert (store.treatment_counts(), store.journal()[: len(entries)]) == ([], entries)
        assert store.check_integrity() == []

    assert found == ["its table treatments is missing"]
    assert "its table treatments is missing" in messages[0]
    assert "restored from the journal file alone" in messages[0]
    assert created - {"sqlite_sequence"} == STORE_TABLES, "update STORE_TABLES"


@pytest.mark.acceptance
@pytest.mark.spec("8.7")
def test_the_doctor_reports_a_damaged_journal_file_and_it_is_written_again(
    middle: InterruptedRun,
) -> None:
    project = middle.again()
    folder = middle.db.parent / "journal"
    (segment,) = folder.iterdir()
    content = segment.read_bytes()
    segment.write_bytes(content[:3000] + b"#" + content[3001:])

    noticed = project.yaoki("doctor")
    subprocess.run(noticed.out.splitlines()[-1].removeprefix("next: "), shell=True, check=True)
    project.yaoki("status")

    assert noticed.code == 1
    assert folder.with_suffix(".old").is_dir()
    assert "lacks 1 line," in noticed.out
    assert project.yaoki("doctor").code == 0
    assert segment.read_bytes() == content
