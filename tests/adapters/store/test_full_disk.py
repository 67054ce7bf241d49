"""A full disk at any time: reported, nothing half written, and the run continues later."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.project import BOUND_S, Completed, Project, a_plan, file_contains, writes
from tests.adapters.store.store_actions import submit
from tests.adapters.store.test_journal_file import journal, rows, written
from tests.builders import RUN_ID, HandClock, a_spec
from yaoki.adapters.store import StorePaths, open_store

CHILD = """
import json, resource, sys
from pathlib import Path
from tests.builders import HandClock, RUN_ID
from yaoki.errors import StoreError
from yaoki.adapters.store import open_store

said = []
store = open_store(Path(sys.argv[1]), HandClock(), warn=said.append)
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
stored = []
for n in range(40):
    try:
        store.note(RUN_ID, "WARNING", {"n": n, "message": "x" * 3000})
        stored.append(n)
    except StoreError as error:
        print(json.dumps({"stored": stored, "error": type(error).__name__, "hint": error.hint,
                          "warned": said}), flush=True)
        break
else:
    print(json.dumps({"stored": stored, "error": "", "hint": "", "warned": said}), flush=True)
import os
os._exit(0)
"""


def write_notes_with_limit(path: Path, bytes_: int) -> dict[str, object]:
    """Forty notes by a process whose files are limited to this many bytes, killed at the end."""
    done = subprocess.run(
        (sys.executable, "-c", CHILD, str(path), str(bytes_)),
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=True,
    )
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.quick_cases(2)
@pytest.mark.spec("0.2", "0.6", "8.7", "11.5")
@pytest.mark.parametrize("size", [40_000, 60_000, 80_001, 100_000, 131_072])
def test_a_commit_on_a_full_disk_is_rolled_back_and_reported(
    path: Path, clock: HandClock, size: int
) -> None:
    """Every acknowledged note is stored and no refused one; after that the store works."""
    store = open_store(path, clock)
    submit(store, a_spec("a"))
    store.close()

    result = write_notes_with_limit(path, size)
    again = open_store(path, clock)

    notes = [e.data["n"] for e in again.journal() if e.event == "WARNING" and "n" in e.data]
    assert result["error"] == "StoreFull"
    assert "free some space" in str(result["hint"])
    assert notes == result["stored"]
    assert again.check_integrity() == []
    again.note(RUN_ID, "WARNING", {"message": "room again"})
    assert written(path) == journal(path)
    assert not StorePaths(path).quarantine.exists(), "a full disk is no damage"
    again.close()


@pytest.mark.spec("0.2", "8.7")
def test_a_journal_file_on_a_full_disk_warns_once_and_is_completed_later(
    path: Path, clock: HandClock
) -> None:
    """Only the journal file has no space, so every commit is stored."""
    said: list[str] = []
    store = open_store(path, clock, warn=said.append)
    submit(store, a_spec("a"))
    segment = StorePaths(path).journal / "0001.jsonl"
    backup_copy = segment.rename(segment.with_suffix(".kept"))
    segment.symlink_to("/dev/full")

    for n in range(3):
        store.note(RUN_ID, "WARNING", {"n": n})
    backup_copy.replace(segment)
    missing = store.lines_missing_in_journal_file()
    store.note(RUN_ID, "WARNING", {"message": "room again"})

    assert len(missing) == 3
    assert len(said) == 1, said
    assert "No space left" in said[0]
    assert written(path) == journal(path)
    store.close()


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("0.2", "0.6", "8.7", "11.5")
@pytest.mark.parametrize("size", [20_000, 60_000, 120_000])
def test_a_run_on_a_full_disk_reports_it_and_continues_when_there_is_space(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, size: int
) -> None:
    project = Project(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")
    names = [f"t{n}" for n in range(3)]
    plan = project.plan(
        a_plan(
            {name: [writes(f"{name}.txt")] for name in names},
            [{"id": name, "checks": [name], "goal": "x" * 4000} for name in names],
            {name: file_contains(f"{name}.txt") for name in names},
        )
    )

    full = yaoki_with_file_limit(project, size, "run", plan)
    db = project.repo / ".yaoki" / "state.db"
    submitted = db.exists() and bool(rows_of(db))
    went_on = project.yaoki("resume") if submitted else project.yaoki("run", plan)

    assert full.code == 1, full.out + full.err
    assert "free some space" in full.err
    assert "Traceback" not in full.err
    assert went_on.code == 0, went_on.out + went_on.err
    assert {task["state"] for task in project.status()["tasks"]} == {"DONE"}
    assert not (db.parent / "quarantine").exists()
    assert project.yaoki("doctor").code == 0


def rows_of(db: Path) -> list[object]:
    try:
        return list(rows(db, "runs")["runs"])
    except Exception:  # noqa: BLE001 - no table yet: nothing was submitted
        return []


def yaoki_with_file_limit(project: Project, bytes_: int, *words: str) -> Completed:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, resource.RLIM_INFINITY))

    done = subprocess.run(
        (sys.executable, "-m", "yaoki", *words),
        cwd=project.repo,
        # A truncated bytecode file would be used by every later process.
        env={**project.env, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
        preexec_fn=limit,
    )
    return Completed(done.returncode, done.stdout, done.stderr)


@pytest.mark.spec("0.2", "8.7")
def test_a_backup_on_a_full_disk_leaves_no_partial_copy(path: Path, clock: HandClock) -> None:
    store = open_store(path, clock)
    submit(store, *(a_spec(f"t{n}", goal="g" * 3000) for n in range(40)))
    store.close()
    code = (
        "import sys, resource\n"
        "from pathlib import Path\n"
        "from tests.builders import HandClock\n"
        "from yaoki.errors import StoreFull\n"
        "from yaoki.adapters.store import open_store\n"
        "store = open_store(Path(sys.argv[1]), HandClock())\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    store.backups.take(HandClock().now())\n"
        "except StoreFull:\n"
        "    sys.exit(7)\n"
    )
    ended = subprocess.run(
        (sys.executable, "-c", code, str(path)),
        cwd=Path(__file__).parents[3],
        check=False,
        timeout=BOUND_S,
    )

    assert ended.returncode == 7
    assert list(StorePaths(path).backups.iterdir()) == []


@pytest.mark.quick_cases(2)
@pytest.mark.spec("0.2", "8.7", "0.6")
@pytest.mark.parametrize("backup", [True, False])
@pytest.mark.parametrize("size", [30_000, 90_000, 150_000])
def test_a_repair_on_a_full_disk_changes_nothing_and_succeeds_later(
    path: Path, clock: HandClock, size: int, backup: bool
) -> None:
    store = open_store(path, clock)
    submit(store, *(a_spec(f"t{n}", goal="g" * 3000) for n in range(40)))
    if backup:
        store.backups.take(clock.now())
    store.close()
    before = rows(path, "tasks")
    harmed = b"garbage " * 5000
    path.write_bytes(harmed)
    code = (
        "import sys, resource\n"
        "from pathlib import Path\n"
        "from tests.builders import HandClock\n"
        "from yaoki.errors import StoreError\n"
        "from yaoki.adapters.store import open_store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))\n"
        "try:\n"
        "    open_store(Path(sys.argv[1]), HandClock())\n"
        "except StoreError as error:\n"
        "    print(error.hint)\n"
        "    sys.exit(7)\n"
    )
    ended = subprocess.run(
        (sys.executable, "-c", code, str(path), str(size)),
        cwd=Path(__file__).parents[3],
        check=False,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    left = path.read_bytes()
    open_store(path, clock).close()

    assert ended.returncode == 7, ended.stderr
    assert "free some space" in ended.stdout
    assert left == harmed
    assert rows(path, "tasks") == before
