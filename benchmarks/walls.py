"""(w) What the sandbox costs: the same tasks inside and outside, beside each other.

The agent commits, so that a repository of its own is lent and taken back; each task has one check
that is a process.  Both kinds of run take turns, so that a slow minute of the machine hits both.
"""

from __future__ import annotations

from statistics import median

from benchmarks.place import Place
from benchmarks.repositories import Repository
from benchmarks.results import Line, Part, at_most
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.errors import Fault

COMMITS = (
    *("sh", "-c"),
    'echo good > "$YAOKI_TASK_NAME.txt" && git add -A && '
    "git -c user.name=a -c user.email=a@localhost commit -qm mine",
)
CHECK = "test -s README"
# Seconds that an agent of any use works at the least: what the walls add is held against them.
AGENT_S = 60
GOAL_PERCENT = 1.0


def measured(place: Place) -> Part:
    if why := _lacking(place):
        return Part((Line("w", "a task inside / outside", None, "x", note=why),))
    tasks, rounds = (4, 1) if place.quick else (10, 3)
    seconds: dict[str, list[float]] = {"off": [], "on": []}
    for _ in range(rounds):
        for mode, found in seconds.items():
            with place.fresh() as folder:
                found += _tasks(Repository(folder, f'[sandbox]\nmode = "{mode}"\n'), tasks)
    outside, inside = median(seconds["off"]), median(seconds["on"])
    more = inside - outside
    lines = (
        Line("w", "a task outside of the sandbox", outside, "s", note="start to landing, median"),
        Line("w", "the same inside", inside, "s", f"{outside:.2f} s outside", inside / outside),
        at_most(
            "w",
            f"the walls' part of a task of {AGENT_S} s",
            100 * more / (AGENT_S + outside),
            "%",
            GOAL_PERCENT,
            beside=f"{more:.3f} s more",
        ),
    )
    return Part(lines, {"tasks": tasks, "rounds": rounds, **seconds})


def _lacking(place: Place) -> str:
    try:
        Sandbox(place.folder).check_available()
    except Fault as fault:
        return fault.sentence
    return ""


def _tasks(repository: Repository, tasks: int) -> list[float]:
    """Seconds from the start of each attempt to its landing, one at a time."""
    plan = repository.plan(tasks, agent=COMMITS, check=CHECK)
    said = repository.document("run", plan, "--quiet", "--parallel", "1")
    if said["status"] != "DONE":
        raise RuntimeError(f"the run is {said['status']}, not done")
    journal = repository.journal()
    began = {e.task_id: e.at for e in journal if e.event == "ATTEMPT_STARTED"}
    landed = [(e.at, e.task_id) for e in journal if e.event == "TASK_LANDED"]
    return [(at - began[task]).total_seconds() for at, task in landed if task in began]
