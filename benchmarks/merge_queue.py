"""(m) The merge queue: makespan beside the bound of the slots, and executions a landing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.place import Place
from benchmarks.repositories import Repository
from benchmarks.results import Line, Part, at_most

TASKS, QUICK_TASKS = 24, 12
# A third of the first attempts fail.
FAILING_EACH = 3
CLEAN_GOALS, FAILING_GOALS, DISJOINT_GOAL = (1.25, 1.15), (1.6, 1.5), 1.02

# What the checks demand of a commit.
DEMAND = "! grep -rqx bad t*"


@dataclass(frozen=True, slots=True)
class Load:
    """What every task of a run takes: seconds of the agent and of the check, on so many slots."""

    agent_s: float
    check_s: float
    slots: int

    @property
    def words(self) -> str:
        return f"agent {self.agent_s:g} s, check {self.check_s:g} s, {self.slots} slots"

    def bound(self, attempts: int) -> float:
        return attempts * (self.agent_s + self.check_s) / self.slots


LOADS = (Load(2, 1, 4), Load(2, 4, 8), Load(10, 2, 8), Load(1, 8, 8))
QUICK_LOADS = LOADS[:1]


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: its duration, the executions of the checks, and the commits of its branch."""

    seconds: float
    executions: int
    landings: int
    failed: int
    steps: int


def measured(place: Place) -> Part:
    tasks, loads = (QUICK_TASKS, QUICK_LOADS) if place.quick else (TASKS, LOADS)
    lines: list[Line] = []
    data: dict[str, Any] = {"tasks": tasks}
    for load in loads:
        for failing in (False, True):
            run = _run(place, load, tasks, failing=failing)
            what = f"{load.words}{', a third fails' if failing else ''}"
            lines += _lines(what, load, run, FAILING_GOALS if failing else CLEAN_GOALS)
            data[what] = _data(run)
    disjoint = _run(place, loads[0], tasks, failing=False, disjoint=True)
    ratio = disjoint.executions / disjoint.landings
    lines.append(at_most("m", "executions a landing, disjoint inputs", ratio, "x", DISJOINT_GOAL))
    data["disjoint"] = _data(disjoint)
    return Part(tuple(lines), data)


def _data(run: Measured) -> Mapping[str, float]:
    return {name: getattr(run, name) for name in Measured.__slots__}


def _lines(what: str, load: Load, run: Measured, goals: tuple[float, float]) -> Sequence[Line]:
    bound = load.bound(run.landings + run.failed)
    makespan, share = run.seconds / bound, run.executions / run.landings
    note = f"{run.executions} executions, {run.landings} landings in {run.steps} commits"
    return (
        at_most(
            *("m", f"{what}: makespan", makespan, "x", goals[0]),
            beside=f"{bound:.0f} s bound",
            ratio=makespan,
        ),
        at_most("m", f"{what}: executions", share, "x", goals[1], note=note),
    )


def _run(
    place: Place, load: Load, tasks: int, *, failing: bool, disjoint: bool = False
) -> Measured:
    with place.fresh() as folder:
        repository, log = Repository(folder), folder / "executions"
        log.touch()
        plan = _write_plan(folder, load, tasks, log, failing=failing, disjoint=disjoint)
        words = ("run", str(plan), "--quiet", "--parallel", str(load.slots))
        said = repository.document(*words)
        if said["status"] != "DONE":
            raise RuntimeError(f"the run is {said['status']}, not done")
        executions = len(log.read_text().splitlines())
        journal = repository.journal()
        steps = _prove_every_commit(repository, said["run"])
    begun = min(e.at for e in journal if e.event == "TASK_CLAIMED")
    ended = max(e.at for e in journal if e.event == "TASK_LANDED")
    failed = sum(e.event == "QUALITY_JUDGMENT" and not e.data["passed"] for e in journal)
    return Measured((ended - begun).total_seconds(), executions, tasks, failed, steps)


def _write_plan(
    folder: Path, load: Load, tasks: int, log: Path, *, failing: bool, disjoint: bool
) -> Path:
    names = [f"t{n:02}" for n in range(tasks)]
    bad = names[1::FAILING_EACH] if failing else []
    word = f'case "$YAOKI_ATTEMPT$YAOKI_TASK_NAME" in {"|".join(f"1{name}" for name in bad)}) '
    choose = f"{word} w=bad;; *) w=good;; esac" if bad else "w=good"
    act = f'sleep {load.agent_s}; {choose}; mkdir $YAOKI_TASK_NAME; echo $w > "$YAOKI_TASK_NAME/x"'
    command = f"echo . >> {log}; sleep {load.check_s}; {DEMAND}"
    plan = {
        "goal": "Benchmark",
        "agents": {"scripted": {"command": ["sh", "-c", act.replace("mkdir", "mkdir -p")]}},
        "agent": "scripted",
        "checks": {"tests": {"shell": command, "rerun": False}},
        "tasks": [{"id": name, "goal": "Write a file."} for name in names],
    }
    if disjoint:
        plan["checks"] = {
            name: {"shell": command, "rerun": False, "inputs": [f"{name}/**"]} for name in names
        }
        plan["tasks"] = [{"id": name, "goal": "Write.", "checks": [name]} for name in names]
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    return file


def _prove_every_commit(repository: Repository, run: str) -> int:
    """Check out every commit of the run branch and repeat what the check demands there."""
    commits = repository.git("rev-list", "--first-parent", f"main..yaoki/{run}").split()
    room = repository.folder / "again"
    repository.git("worktree", "add", "-q", "--detach", str(room), "main")
    for commit in commits:
        repository.git("checkout", "-q", "--detach", commit, at=room)
        if subprocess.run(("sh", "-c", DEMAND), cwd=room, check=False).returncode != 0:
            raise RuntimeError(f"{commit} of the run branch is unproven")
    return len(commits)
