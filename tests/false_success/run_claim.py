"""What a run claims, read from its store by plain SQL: the oracle uses no code of yaoki's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Outcomes that a person or the plan excused: such a check is not required.
EXCUSED_OUTCOMES = {"WAIVED", "SKIPPED", "FLAKY"}


@dataclass(frozen=True)
class DoneTask:
    """One DONE task: its landed commit and its required checks."""

    name: str
    commit: str
    group: str
    checks: tuple[Mapping[str, Any], ...]
    setup: tuple[Sequence[str], ...]


@dataclass(frozen=True)
class RunClaim:
    """What a run claims: its tasks that are done and, if it is done as a whole, its head."""

    branch: str
    base: str
    tasks: tuple[DoneTask, ...]
    whole: bool
    done_when: tuple[Mapping[str, Any], ...]


def read_runs(repo: Path) -> list[str]:
    """The ids of all runs that are stored there, oldest first."""
    if not _database(repo).exists():
        return []
    with _link(repo) as link:
        return [row["id"] for row in link.execute("SELECT id FROM runs ORDER BY created_ms, rowid")]


def read_claim(repo: Path, run: str = "") -> RunClaim | None:
    """What this run (the newest unless named) claims; None where nothing was stored."""
    if not _database(repo).exists():
        return None
    with _link(repo) as link:
        wanted = ("SELECT * FROM runs WHERE id = ?", (run,))
        newest = ("SELECT * FROM runs ORDER BY created_ms DESC, rowid DESC LIMIT 1", ())
        row = link.execute(*(wanted if run else newest)).fetchone()
        return _claim(link, row) if row else None


def _database(repo: Path) -> Path:
    return repo / ".yaoki" / "state.db"


@contextmanager
def _link(repo: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{_database(repo)}?mode=ro", uri=True)) as link:
        link.row_factory = sqlite3.Row
        yield link


def _claim(link: sqlite3.Connection, run: sqlite3.Row) -> RunClaim:
    known = json.loads(run["catalogue"])["checks"]
    rows = link.execute("SELECT * FROM tasks WHERE run_id = ? ORDER BY n", (run["id"],)).fetchall()
    events = link.execute(
        "SELECT task_id, event, data FROM journal WHERE run_id = ? ORDER BY seq", (run["id"],)
    ).fetchall()
    specs = {e["task_id"]: json.loads(e["data"]) for e in events if e["event"] == "TASK_SUBMITTED"}
    let_go = _excused_checks(events)
    tasks = tuple(
        _done(row, specs.get(row["id"], {}).get("spec", {}), known, let_go)
        for row in rows
        if row["state"] == "DONE" and row["landed"]
    )
    required = [row["state"] for row in rows if row["required"]]
    whole = bool(rows) and all(state in ("DONE", "REPLACED") for state in required)
    names = json.loads(run["done_when"])
    return RunClaim(
        f"yaoki/{run['id']}",
        run["base"],
        tasks,
        whole and not run["paused"],
        tuple(known[name] for name in names if ("", name) not in let_go),
    )


def _excused_checks(events: Iterable[sqlite3.Row]) -> set[tuple[str, str]]:
    """Task and check where the last outcome was excused."""
    last: dict[tuple[str, str], str] = {}
    for event in events:
        if event["event"] == "CHECK_FINISHED":
            data = json.loads(event["data"])
            last[event["task_id"], data["check"]] = data["outcome"]
    return {key for key, outcome in last.items() if outcome in EXCUSED_OUTCOMES}


def _done(
    row: sqlite3.Row,
    spec: Mapping[str, Any],
    known: Mapping[str, Any],
    let_go: set[tuple[str, str]],
) -> DoneTask:
    checks = (known[name] for name in spec.get("checks", ()) if (row["id"], name) not in let_go)
    needed = tuple(check for check in checks if check.get("required", True))
    setup = tuple(spec.get("setup", ()))
    return DoneTask(row["name"], row["landed"], row["parent"], needed, setup)
