"""(p) What a proof room costs: landings with a slow set-up beside landings without one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.place import Place
from benchmarks.repositories import WHO, Repository
from benchmarks.results import Line, Part, at_most

SLOTS = 2
GOAL = 1.5


def measured(place: Place) -> Part:
    tasks, setup_s = (6, 1.0) if place.quick else (12, 10.0)
    with place.fresh() as folder:
        log = folder / "set-ups"
        slow = _landings(Repository(folder), tasks, _slow(log, setup_s))
        rooms = _in_rooms(log)
    with place.fresh() as folder:
        plain = _landings(Repository(folder), tasks, ())
    once, without = median(slow[SLOTS:]), median(plain[SLOTS:])
    lines = (
        at_most("p", f"set-ups in rooms, {tasks} tasks", rooms, "runs", SLOTS, beside="slots"),
        Line("p", f"landing, set-up of {setup_s:g} s", once, "s", note="median, rooms are set up"),
        at_most(
            "p",
            "landing with set-up / without",
            once / without,
            "x",
            GOAL,
            beside=f"{without:.2f} s without set-up",
            ratio=once / without,
        ),
    )
    return Part(lines, {"tasks": tasks, "setup_s": setup_s, "landing_s": slow, "plain_s": plain})


def _slow(log: Path, seconds: float) -> Sequence[Sequence[str]]:
    return (("sh", "-c", f"sleep {seconds}; mkdir -p lib; echo made > lib/x; pwd >> {log}"),)


def _in_rooms(log: Path) -> int:
    return sum("/rooms/" in line for line in log.read_text().splitlines())


def _landings(repository: Repository, tasks: int, setup: Sequence[Sequence[str]]) -> list[float]:
    """Seconds from the end of each agent to its landing, in the order they landed."""
    (repository.top / ".gitignore").write_text("lib/\n")
    repository.git("add", "-A")
    repository.git(*WHO, "commit", "-qm", "what set-up makes is ignored")
    plan = Path(repository.plan(tasks))
    held = json.loads(plan.read_text()) | {"setup": setup}
    plan.write_text(json.dumps(held))
    said = repository.document("run", str(plan), "--quiet", "--parallel", str(SLOTS))
    if said["status"] != "DONE":
        raise RuntimeError(f"the run is {said['status']}, not done")
    journal = repository.journal()
    ended = {e.task_id: e.at for e in journal if e.event == "AGENT_FINISHED"}
    landed = [(e.at, e.task_id) for e in journal if e.event == "TASK_LANDED"]
    return [(at - ended[task]).total_seconds() for at, task in landed if task in ended]
