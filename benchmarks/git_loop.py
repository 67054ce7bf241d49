"""(d) Tasks with real git and a no-op agent, beside a bare loop of git that proves as well."""

from __future__ import annotations

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.place import Place
from benchmarks.repositories import AGENT, WHO, Repository
from benchmarks.results import Line, Part, at_most

GOAL = 1.5
SIDE_BY_SIDE = 4
ROUNDS = 5


def measured(place: Place) -> Part:
    tasks, rounds = (8, 1) if place.quick else (48, ROUNDS)
    alone, bare_alone = _in_turns(place, tasks, 1, rounds)
    wide, bare_wide = _in_turns(place, tasks, SIDE_BY_SIDE, rounds)
    lines = (
        Line("d", "bare git loop", 1 / bare_alone, "tasks/s"),
        Line("d", f"bare git, {SIDE_BY_SIDE} loops", 1 / bare_wide, "tasks/s"),
        Line("d", "yaoki run, 1 slot", 1 / alone, "tasks/s"),
        Line("d", f"yaoki run, {SIDE_BY_SIDE} slots", 1 / wide, "tasks/s"),
        _over("yaoki / bare, 1 slot", alone, bare_alone, "bare git loop"),
        _over(f"yaoki / bare, {SIDE_BY_SIDE} slots", wide, bare_wide, f"{SIDE_BY_SIDE} bare loops"),
    )
    data = {
        "tasks": tasks,
        "rounds": rounds,
        "yaoki_s": {"1": alone, str(SIDE_BY_SIDE): wide},
        "bare_s": {"1": bare_alone, str(SIDE_BY_SIDE): bare_wide},
    }
    return Part(lines, data)


def _over(what: str, own: float, bare: float, beside: str) -> Line:
    note = f"{own * 1e3:.0f} ms a task beside {bare * 1e3:.0f} ms"
    return at_most("d", what, own / bare, "x", GOAL, beside=beside, ratio=own / bare, note=note)


def _in_turns(place: Place, tasks: int, slots: int, rounds: int) -> tuple[float, float]:
    """The medians of yaoki's and of the bare loop's seconds a task.

    A shared machine changes its speed within seconds: one after the other, one of them would be
    measured in the better moment.
    """
    pairs = [(_yaoki(place, tasks, slots), _bare(place, tasks, slots)) for _ in range(rounds)]
    own, bare = zip(*pairs, strict=True)
    return median(own), median(bare)


def _yaoki(place: Place, tasks: int, slots: int) -> float:
    """Seconds a task of a whole `yaoki run`, from the first claim to the last landing."""
    with place.fresh() as folder:
        repository = Repository(folder)
        words = ("run", repository.plan(tasks), "--quiet", "--parallel", str(slots))
        said = repository.document(*words)
        journal = repository.journal()
    if said["status"] != "DONE":
        raise RuntimeError(f"the run is {said['status']}, not done")
    begun = min(e.at for e in journal if e.event == "TASK_CLAIMED")
    ended = max(e.at for e in journal if e.event == "TASK_LANDED")
    return (ended - begun).total_seconds() / tasks


def _bare(place: Place, tasks: int, loops: int) -> float:
    """Seconds a task; only the landing is done in turns."""
    with place.fresh() as folder:
        loop = BareLoop(Repository(folder))
        began = time.monotonic()
        with ThreadPoolExecutor(loops) as crew:
            list(crew.map(loop.task, range(tasks)))
        return (time.monotonic() - began) / tasks


class BareLoop:
    """worktree add, the agent, commit, merge-tree, commit-tree, a clean worktree of that commit in
    which the check holds, update-ref, worktree remove.
    """

    def __init__(self, repository: Repository) -> None:
        self._git, self._folder = repository.git, repository.folder
        self._landing, self._worktrees = threading.Lock(), threading.Lock()
        self._git("branch", "run")

    def task(self, n: int) -> None:
        path, branch = self._folder / f"w{n}", f"task-{n}"
        with self._worktrees:
            self._git("worktree", "add", "-q", "-b", branch, str(path), "run")
        subprocess.run(AGENT, cwd=path, check=True, env={"YAOKI_TASK_NAME": f"t{n}"})
        self._commit(path, n)
        with self._landing:
            self._land(branch, n)
        with self._worktrees:
            self._git("worktree", "remove", "--force", str(path))

    def _commit(self, path: Path, n: int) -> None:
        self._git("add", "-A", at=path)
        self._git(*WHO, "commit", "-qm", f"task {n}", at=path)

    def _land(self, branch: str, n: int) -> None:
        head, work = self._git("rev-parse", "run", branch).split()
        tree = self._git("merge-tree", "--write-tree", head, work)
        words = ("commit-tree", "-p", head, "-p", work, "-m", f"land {branch}", tree)
        commit = self._git(*WHO, *words)
        self._prove(commit, self._folder / f"p{n}")
        self._git("update-ref", "refs/heads/run", commit, head)

    def _prove(self, commit: str, path: Path) -> None:
        """The check of the plan, in a worktree that contains nothing but the commit."""
        with self._worktrees:
            self._git("worktree", "add", "-q", "--detach", str(path), commit)
        if not (path / "README").exists():
            raise RuntimeError(f"{commit} is unproven")
        with self._worktrees:
            self._git("worktree", "remove", "--force", str(path))
