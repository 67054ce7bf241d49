"""Durable no-op tasks per second: `python benchmarks/store.py [--sizes 1000,10000,100000]`.

Each task is submitted, claimed, and brought from prepare to done with its whole journal.  Threads
share group commits.  A bare loop does the same inserts and updates with as many commits.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from yaoki.core.events import (  # noqa: E402 - the path is made above, so no installation is needed
    AgentFinished,
    AttemptStarted,
    Event,
    Judged,
    Landed,
)
from yaoki.core.model import (  # noqa: E402
    AgentExit,
    AgentSpec,
    Catalogue,
    CheckSpec,
    Policy,
    Run,
    RunId,
    Spec,
    State,
    Task,
)
from yaoki.store import SqlStore, open_store  # noqa: E402

THREADS = 16
CLAIMED_AT_ONCE = 32
LEASE = timedelta(hours=1)
ENTRIES_PER_TASK = 6  # submitted, claimed, started, finished, judged, landed


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, duration: timedelta) -> None:
        time.sleep(duration.total_seconds())

    def chance(self) -> float:
        return 0.5


@dataclass(frozen=True)
class Measure:
    """One shape at one size."""

    shape: str
    tasks: int
    submit_s: float
    work_s: float
    cpu_s: float
    commits: int

    @property
    def cost_us(self) -> float:
        return (self.submit_s + self.work_s) / self.tasks * 1e6

    @property
    def cpu_us(self) -> float:
        return self.cpu_s / self.tasks * 1e6


CHECK, AGENT, POLICY = CheckSpec("tests"), AgentSpec("noop"), Policy(rules={})
SHARED = Catalogue({"tests": CHECK}, {"noop": AGENT}, {"default": POLICY})


def specs(shape: str, tasks: int) -> list[Spec]:
    return [
        Spec(
            f"t{n}",
            "Do nothing.",
            needs=needs(shape, n),
            checks=(CHECK,),
            agents=(AGENT,),
            policy=POLICY,
        )
        for n in range(tasks)
    ]


def needs(shape: str, n: int) -> tuple[str, ...]:
    if n == 0 or shape == "flat":
        return ()
    return (f"t{n - 1}",) if shape == "chain" else ("t0",)


def whole_attempt(task: Task) -> Sequence[Event]:
    commit = f"{task.n:040x}"
    return (
        AttemptStarted(task.attempt + 1, "noop", "base", "/worktree", "host", True),
        AgentFinished(AgentExit(code=0), commit, commit),
        Judged(True, commit, "base", {"tests": "PASSED"}),
        Landed(commit),
    )


# ------------------------------------------------------------------ the store


def measure(folder: Path, shape: str, tasks: int, threads: int) -> Measure:
    store = open_store(
        folder / f"{shape}-{tasks}.db", RealClock(), limits={"pending_tasks_max": tasks}
    )
    run = Run(RunId("bench001"), "bench", "/repo", "main", "base", datetime.now(UTC), SHARED)
    plan = specs(shape, tasks)
    commits, cpu = store.database.commits, time.process_time()
    with clocked() as submitted:
        store.submit(run, plan, {})
    with clocked() as worked:
        in_threads(threads, lambda n: drain(store, f"host:{n}"))
    assert store.tally(run.id) == {(State.DONE, True): tasks}, store.tally(run.id)
    used, cpu = store.database.commits - commits, time.process_time() - cpu
    store.close()
    return Measure(shape, tasks, submitted(), worked(), cpu, used)


def drain(store: SqlStore, holder: str) -> None:
    """Claim a batch, finish its tasks one by one; each finish is its own transaction."""
    while True:
        batch = store.claim(holder, LEASE, CLAIMED_AT_ONCE)
        for task in batch:
            assert task.lease is not None
            store.record(task.lease, whole_attempt)
        if not batch and store.resting(RunId("bench001")):
            return


def in_threads(count: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def clocked() -> Iterator[Callable[[], float]]:
    began = time.perf_counter()
    took = [0.0]
    yield lambda: took[0]
    took[0] = time.perf_counter() - began


# ------------------------------------------------------------------ the bare loop

BARE_SCHEMA = """
CREATE TABLE tasks (id TEXT PRIMARY KEY, run_id TEXT, n INTEGER, name TEXT, state TEXT,
                    epoch INTEGER, holder TEXT, rank INTEGER, landed TEXT, doc TEXT,
                    UNIQUE (run_id, n), UNIQUE (run_id, name));
CREATE INDEX ready ON tasks (run_id, rank, n) WHERE state = 'WAITING';
CREATE INDEX active ON tasks (run_id) WHERE state = 'ACTIVE';
CREATE TABLE journal (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, run_id TEXT,
                      task_id TEXT, event TEXT, data TEXT);
CREATE INDEX by_task ON journal (task_id, seq);
CREATE INDEX by_run ON journal (run_id, seq);
"""
BARE_TASK = "INSERT INTO tasks VALUES (?, 'r', ?, ?, 'WAITING', 0, '', 0, '', ?)"
BARE_ENTRY = "INSERT INTO journal (at, run_id, task_id, event, data) VALUES (0, 'r', ?, 'E', ?)"
BARE_CLAIM = "UPDATE tasks SET state = 'ACTIVE', epoch = 1, holder = 'h', doc = ? WHERE id = ?"
BARE_DONE = "UPDATE tasks SET state = 'DONE', holder = '', landed = ?, doc = ? WHERE id = ?"
BARE_DATA = '{"x":"' + "y" * 110 + '"}'


def bare(folder: Path, tasks: int, commits: int) -> tuple[float, float]:
    """The same rows in plain sqlite3, one thread, no rules, as many durable commits.

    Microseconds a task: by the clock, and of CPU.
    """
    link = sqlite3.connect(folder / f"bare-{tasks}.db", isolation_level=None)
    link.execute("PRAGMA journal_mode = WAL")
    link.execute("PRAGMA synchronous = FULL")
    link.executescript(BARE_SCHEMA)
    share = max(1, tasks // max(1, commits - 1))
    cpu = time.process_time()
    with clocked() as took:
        link.execute("BEGIN IMMEDIATE")
        for n in range(tasks):
            link.execute(BARE_TASK, (f"r-{n}", n, f"t{n}", BARE_DATA))
            link.execute(BARE_ENTRY, (f"r-{n}", BARE_DATA))
        link.execute("COMMIT")
        for first in range(0, tasks, share):
            link.execute("BEGIN IMMEDIATE")
            for n in range(first, min(first + share, tasks)):
                bare_task(link, f"r-{n}")
            link.execute("COMMIT")
    cpu = time.process_time() - cpu
    link.close()
    return took() / tasks * 1e6, cpu / tasks * 1e6


def bare_task(link: sqlite3.Connection, task_id: str) -> None:
    link.execute(BARE_CLAIM, (BARE_DATA, task_id))
    link.execute("SELECT * FROM tasks WHERE id = ?", (task_id,)).fetchone()
    link.execute(BARE_DONE, ("c" * 40, BARE_DATA, task_id))
    for _ in range(ENTRIES_PER_TASK - 1):
        link.execute(BARE_ENTRY, (task_id, BARE_DATA))


# ------------------------------------------------------------------ the table


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--sizes", default="1000,10000,100000")
    asked.add_argument("--threads", type=int, default=THREADS)
    asked.add_argument("--folder", type=Path, default=None, help="where the databases are made")
    options = asked.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    folder = Path(tempfile.mkdtemp(prefix="yaoki-bench-", dir=options.folder))
    try:
        report(folder, sizes, options.threads)
    finally:
        shutil.rmtree(folder)


def report(folder: Path, sizes: list[int], threads: int) -> None:
    python = sys.version.split()[0]
    print(f"SQLite {sqlite3.sqlite_version}, Python {python}, WAL, synchronous=FULL")
    print(f"{threads} threads, {CLAIMED_AT_ONCE} tasks a claim, one transaction a finish")
    print("µs a task by the clock and of CPU: the store, then the bare loop\n")
    print(f"{'shape':6} {'tasks':>7} {'tasks/s':>8} {'commits':>8}", end="")
    print(f" {'clock':>7} {'CPU':>6} {'bare':>7} {'CPU':>6} {'ratio':>6}")
    flat = [shown(folder, "flat", size, threads) for size in sizes]
    for shape in ("fan", "chain"):
        shown(folder, shape, sizes[0], threads)
    # Other work on the disk drifts; the smallest size at both ends shows by how much.
    ends = (flat[0], shown(folder, "flat", sizes[0], threads))
    clock = flat[-1].cost_us / (sum(end.cost_us for end in ends) / 2)
    cpu = flat[-1].cpu_us / (sum(end.cpu_us for end in ends) / 2)
    print(f"\ncost of a task at {sizes[-1]} over that at {sizes[0]} (goal: 1.30): ", end="")
    print(f"{clock:.2f} by the clock, {cpu:.2f} of CPU")


def shown(folder: Path, shape: str, tasks: int, threads: int) -> Measure:
    found = measure(folder, shape, tasks, threads)
    took, cpu = bare(folder, tasks, found.commits)
    for left in folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()
    print(
        f"{shape:6} {tasks:7} {1e6 / found.cost_us:8.0f} {found.commits:8} {found.cost_us:7.0f}"
        f" {found.cpu_us:6.0f} {took:7.0f} {cpu:6.0f} {found.cost_us / took:6.1f}",
        flush=True,
    )
    return found


if __name__ == "__main__":
    main()
