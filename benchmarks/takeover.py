"""(c) A worker is killed with SIGKILL: when do others go on, and is anything lost or doubled?

Twice: a real `yaoki worker` of this machine, whose death its neighbours can see; and a holder of
another machine, of which only its lease tells.
`python -m benchmarks.takeover ADDRESS FILE LEASE_S` is that other machine's worker.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks import noop
from benchmarks.crew import STEP_S, WARM_UP_S, started, until
from benchmarks.place import Place, python
from benchmarks.repositories import Repository
from benchmarks.results import Line, Part, at_most
from yaoki.core.model import RunId
from yaoki.ports import Claimant, JournalEntry, TaskRow

LEASE_S, HEARTBEAT_S, PATIENCE_S = 3.0, 0.5, 2.0
SETTINGS = f"""\
[limits]
parallel = 2
heartbeat_s = {HEARTBEAT_S}
lease_s = {LEASE_S}
hang_warning_s = 20.0
hang_s = 30.0
deadline_s = 60.0
adopt = "kill"
[retry.default_backoff]
initial_delay_ms = 20
max_delay_ms = 40
"""
# Long enough to be cut off in the middle, short enough for a benchmark.
SLOW = ("sh", "-c", 'echo good > "$YAOKI_TASK_NAME.txt"; sleep 0.4')
RUN_S_MAX = 60.0
FAR = ":elsewhere:"


def measured(place: Place) -> Part:
    tasks = 8 if place.quick else 24
    near, far = _neighbour(place, tasks), _elsewhere(place)
    goal = (LEASE_S + PATIENCE_S) * 1e3
    lines = (
        _went_on("killed worker of this machine: others may go on", near, goal),
        _went_on("killed worker of another machine: others may go on", far, goal),
        _count("tasks lost", near["lost"] + far["lost"], 0),
        _count("tasks landed twice", near["twice"] + far["twice"], 0),
        _count("attempts repeated beyond the cut ones", near["repeated"], 0),
    )
    return Part(lines, {"neighbour": near, "elsewhere": far, "lease_s": LEASE_S})


def _went_on(what: str, found: Mapping[str, Any], goal: float) -> Line:
    if not found["cut"]:
        # Nothing seen is nothing shown.
        note = "nothing that it held was claimed again"
        return Line("c", what, None, "ms", goal=f"<= {goal:g} ms", met=False, note=note)
    note = (
        f"{found['cut']} tasks cut off; a slot was free for the last of them after"
        f" {found['claimed_ms']:.0f} ms; the goal is a lease of {LEASE_S:g} s + {PATIENCE_S:g} s"
    )
    return at_most("c", what, found["ms"], "ms", goal, note=note)


def _count(what: str, found: int, goal: int) -> Line:
    return Line("c", what, found, "", "", None, f"<= {goal}", found <= goal)


def _neighbour(place: Place, tasks: int) -> dict[str, Any]:
    """Two real workers carry a run; one is killed while its agents are at work."""
    with place.fresh() as folder:
        repository = Repository(folder, SETTINGS)
        plan = repository.plan(tasks, SLOW)
        run = RunId(repository.document("plan", "submit", plan)["run"])
        store = noop.opened(str(repository.top / ".yaoki" / "state.db"))
        words = (*repository.command("worker", "--slots", "4"), "--repo", str(repository.top))
        with started([words, words], folder, repository.env) as crew:
            victim = f":{crew[0].pid}:"
            until(lambda: _at_work(store.rows(run), victim), crew, WARM_UP_S)
            crew[0].kill()
            killed = time.time()
            until(lambda: store.run(run).finished_at is not None, crew[1:], RUN_S_MAX)
        journal = store.journal(run_id=run, limit=100_000)
        store.close()
    return _judged(journal, tasks, victim, killed)


def _at_work(rows: Sequence[TaskRow], victim: str) -> bool:
    """Is an agent at work for it?"""
    return any(victim in f":{row.holder}:" and row.stage == "WORK" for row in rows)


def _judged(
    journal: Sequence[JournalEntry], tasks: int, victim: str, killed: float
) -> dict[str, Any]:
    """All of it from the journal.  Cut off is what others claimed after the victim had it."""
    claims = [e for e in journal if e.event == "TASK_CLAIMED"]
    victims = {e.task_id for e in claims if victim in f":{e.data['holder']}:"}
    again = {
        e.task_id: e.at.timestamp()
        for e in claims
        if e.task_id in victims and victim not in f":{e.data['holder']}:"
    }
    freed = [e for e in journal if e.event == "LEASE_EXPIRED" and e.task_id in again]
    back = {e.task_id: e.at.timestamp() for e in freed if victim in f":{e.data['holder']}:"}
    landed = Counter(e.task_id for e in journal if e.event == "TASK_LANDED")
    begun = Counter(e.task_id for e in journal if e.event == "ATTEMPT_STARTED")
    return {
        "ms": (max(back.values(), default=killed) - killed) * 1e3,
        "claimed_ms": (max(again.values(), default=killed) - killed) * 1e3,
        "cut": len(back),
        "lost": tasks - len(landed),
        "twice": sum(count > 1 for count in landed.values()),
        "repeated": sum(max(0, n - 1 - (task in again)) for task, n in begun.items()),
    }


def _elsewhere(place: Place) -> dict[str, Any]:
    """The other machine renews its lease until it is killed; a real worker serves the store."""
    with place.fresh() as folder:
        repository = Repository(folder, SETTINGS)
        run = RunId(repository.document("plan", "submit", repository.plan(2))["run"])
        address, told = repository.top / ".yaoki" / "state.db", folder / "claimed.json"
        store = noop.opened(str(address))
        far = (python(), "-m", "benchmarks.takeover", str(address), str(told), str(LEASE_S))
        serve = (*repository.command("worker", "--slots", "4"), "--repo", str(repository.top))
        with started([far], folder) as (other,):
            until(told.exists, (other,), WARM_UP_S)
            with started([serve], folder, repository.env) as crew:
                until(lambda: store.workers(), crew, WARM_UP_S)
                other.kill()
                killed = time.time()
                until(lambda: store.run(run).finished_at is not None, crew, RUN_S_MAX)
        journal = store.journal(run_id=run, limit=100_000)
        store.close()
    return _judged(journal, 2, FAR, killed)


def main(address: str, file: Path, lease_s: float) -> None:
    """Claims everything, renews, and is killed from outside."""
    store, lease = noop.opened(address), timedelta(seconds=lease_s)
    held = store.claim(
        Claimant(f"elsewhere:{os.getpid()}:1", lease, host="elsewhere", host_max=10), 10
    )
    leases = [task.lease for task in held if task.lease]
    part = file.with_suffix(".part")
    part.write_text(json.dumps([task.id for task in held]))
    part.replace(file)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        store.heartbeat(leases, lease)
        time.sleep(STEP_S * 10)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
