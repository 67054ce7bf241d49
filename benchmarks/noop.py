"""yaoki's side: no-op tasks through the public store, and through the engine's own loop.

`python -m benchmarks.noop store|engine ADDRESS STAMPS_FOLDER THREADS` is one worker process.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.machine.events import AgentFinished, AttemptStarted, Event, Judged, Landed
from yaoki.core.model import (
    AgentExit,
    AgentSpec,
    Catalogue,
    CheckSpec,
    Finding,
    Outcome,
    RetryPolicy,
    Run,
    RunId,
    State,
    Task,
    TaskSpec,
    Verdict,
)
from yaoki.core.model.stage_report import (
    CandidateVerified,
    CommitLanded,
    StageReport,
    WorkCommitted,
    WorktreePrepared,
)
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.loop.admission import AdmissionDecision
from yaoki.engine.loop.pool import Pool, PoolSettings
from yaoki.engine.loop.upkeep import PoolUpkeep
from yaoki.engine.loop.worker import Worker
from yaoki.engine.stages.stages import Stages
from yaoki.ports import Claimant, Workspace

RUN = RunId("bench001")
LEASE = timedelta(hours=1)
CLAIMED_AT_ONCE = 32
# Journal lines of a task: submitted, claimed, started, finished, judged, landed.
ENTRIES = 6
CHECK, AGENT, POLICY = CheckSpec("tests"), AgentSpec("noop"), RetryPolicy(rules={})
SHARED = Catalogue({"tests": CHECK}, {"noop": AGENT}, {"default": POLICY})
SHAPES = ("flat", "fan", "diamond", "chain")
Stamp = Callable[[], None]


# ------------------------------------------------------------------ tasks


def opened(address: str, pending: int = 1_000_000) -> SqlStore:
    limits = {"pending_tasks_max": pending}
    where = address if address.startswith("postgresql:") else Path(address)
    return open_store(where, SystemClock(), limits=limits)


def specs(shape: str, tasks: int) -> list[TaskSpec]:
    return [spec(f"t{n}", needs(shape, n, tasks)) for n in range(tasks)]


def spec(name: str, wanted: tuple[str, ...] = ()) -> TaskSpec:
    return TaskSpec(
        name, "Do nothing.", needs=wanted, checks=(CHECK,), agents=(AGENT,), policy=POLICY
    )


def needs(shape: str, n: int, tasks: int) -> tuple[str, ...]:
    """A diamond is a fan that one last task closes."""
    if n == 0 or shape == "flat":
        return ()
    if shape == "chain":
        return (f"t{n - 1}",)
    if shape == "diamond" and n == tasks - 1:
        return tuple(f"t{before}" for before in range(1, n)) or ("t0",)
    return ("t0",)


def submitted(store: SqlStore, plan: Sequence[TaskSpec]) -> float:
    """How long it took to store a run of these."""
    run = Run(RUN, "bench", "/repo", "main", "base", datetime.now(UTC), SHARED, parallel=1000)
    began = time.monotonic()
    store.submit(run, plan, {})
    return time.monotonic() - began


def all_done(store: SqlStore, tasks: int) -> bool:
    return store.count_by_state(RUN) == {(State.DONE, True): tasks}


def whole_attempt(task: Task) -> Sequence[Event]:
    commit = f"{task.n:040x}"
    return (
        AttemptStarted(task.attempt + 1, "noop", "base", "/worktree", "host", True),
        AgentFinished(AgentExit(code=0), commit, commit),
        Judged(True, commit, "base", {"tests": "PASSED"}),
        Landed(commit),
    )


# ------------------------------------------------------------------ through the store


def drain(store: SqlStore, holder: str, stamp: Stamp, over: Callable[[], bool]) -> None:
    """Claim a batch, finish its tasks; each finish is durable when it returns.

    Finishes of threads that wait for the disk at the same time share a commit: the store's doing.
    """
    while not over():
        batch = store.claim(Claimant(holder, LEASE), CLAIMED_AT_ONCE)
        for task in batch:
            assert task.lease is not None
            store.record(task.lease, whole_attempt)
            stamp()
        if not batch and store.is_idle(RUN):
            return


def drained(
    store: SqlStore,
    threads: int,
    stamp: Stamp = lambda: None,
    over: Callable[[], bool] = lambda: False,
) -> None:
    name = f"bench:{os.getpid()}"
    crew = [
        threading.Thread(target=drain, args=(store, f"{name}:{n}", stamp, over))
        for n in range(threads)
    ]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()


# ------------------------------------------------------------------ through the engine


class NoStages:
    """Stages with nothing to do; everything around them is the engine's own."""

    def __init__(self, started: Callable[[Task], None], ended: Callable[[Task], None]) -> None:
        self._started, self._ended = started, ended

    def prepare(self, _run: Run, task: Task, _hold: ClaimContext) -> StageReport:
        self._started(task)
        return WorktreePrepared("base", "/worktree", "host", True)

    def work(self, _run: Run, task: Task, _hold: ClaimContext) -> StageReport:
        commit = f"{task.n:040x}"
        return WorkCommitted(AgentExit(code=0), commit, commit, ("file",))

    def verify(self, _run: Run, task: Task, _hold: ClaimContext) -> StageReport:
        verdict = Verdict((Finding("tests", Outcome.PASSED),))
        return CandidateVerified(verdict, f"{task.n:040x}", "base", ("file",))

    def land(self, _run: Run, task: Task, _hold: ClaimContext) -> StageReport:
        return CommitLanded(task.work.verified_commit)

    def remove_worktree(self, _run: Run, task: Task) -> str:
        self._ended(task)
        return ""

    def end_leftovers(self, task: Task) -> None:
        """Nothing was started."""


def pool(store: SqlStore, stages: NoStages, slots: int) -> Pool:
    """As `app` wires it, around stages that do nothing."""
    clock, name = store.clock, f"bench:{os.getpid()}"
    worker = Worker(
        store,
        cast(Stages, stages),
        BranchGuard(store, cast(Workspace, stages)),
        clock,
        Claimant(name, LEASE, host=name, host_max=slots),
    )
    return Pool(
        store,
        worker,
        clock,
        PoolSettings(
            slots=slots,
            lease=LEASE,
            heartbeat=timedelta(seconds=10),
            park_after=timedelta(hours=1),
        ),
        complete=store.is_idle,
        admission=AdmissionDecision,
        presence=None,
        upkeep=PoolUpkeep(),
    )


def carried(store: SqlStore, stamp: Stamp, slots: int, asked: threading.Event) -> None:
    """Until the run rests or somebody asks to stop."""
    made = pool(store, NoStages(lambda _: None, lambda _: stamp()), slots)
    obeying(made, asked)
    made.serve([RUN])


def obeying(made: Pool, asked: threading.Event) -> None:
    """Stop it, from a thread beside it, when somebody asks."""

    def wait() -> None:
        asked.wait()
        made.stop.escalate()

    threading.Thread(target=wait, daemon=True).start()


# ------------------------------------------------------------------ one process


def stamping(folder: Path) -> Stamp:
    """Writes the instant of each end to this process's file."""
    path = folder / f"{os.getpid()}.stamps"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return lambda: _written(file)


def _written(file: int) -> None:
    os.write(file, struct.pack("d", time.monotonic()))


def wait_for_go(folder: Path) -> None:
    (folder / f"{os.getpid()}.ready").touch()
    give_up = time.monotonic() + 90
    while not (folder / "go").exists() and time.monotonic() < give_up:
        time.sleep(0.005)


def main(how: str, address: str, folder: Path, threads: int) -> None:
    store, stamp = opened(address), stamping(folder)
    wait_for_go(folder)
    commits, cpu = store.database.commit_count, time.process_time()
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    if how == "engine":
        carried(store, stamp, threads, asked)
    else:
        drained(store, threads, stamp, asked.is_set)
    told = {"commits": store.database.commit_count - commits, "cpu_s": time.process_time() - cpu}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(told))
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
